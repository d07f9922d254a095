/** Entry of the page. The address selects the page and the agent. */
import { lazy, StrictMode, Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { Connection } from "./connection.ts";
import { Frame } from "./frame/frame.tsx";
import { Loading } from "./frame/states.tsx";
import { parseRoute, type Route } from "./route.ts";
import { RunsPage } from "./runs/runs-page.tsx";
import { SessionPage } from "./session/session-page.tsx";
import { SessionsPage } from "./sessions/sessions-page.tsx";
import { ConnectionContext } from "./use-agent.ts";
import "./style/base.css";
import "./style/frame.css";
import "./style/session.css";
import "./style/strata.css";
import "./style/runs.css";

/** Loaded separately, because only this page needs the chart library. */
const HealthPage = lazy(() => import("./health/health-page.tsx"));

function Page({ route }: { route: Route }) {
  switch (route.page) {
    case "sessions":
      return <SessionsPage route={route} />;
    case "session":
      return <SessionPage route={route} key={route.id} />;
    case "runs":
      return <RunsPage route={route} key={route.id} />;
    case "health":
      return <HealthPage />;
  }
}

function App() {
  const hash = useSyncExternalStore(listen, () => globalThis.location.hash);
  const route = parseRoute(hash);
  const connection = useAgentConnection(route.agent);
  if (connection === null) return null;
  return (
    <ConnectionContext value={connection}>
      <Frame route={route}>
        <Suspense fallback={<Loading what="the page" />}>
          <Page route={route} />
        </Suspense>
      </Frame>
    </ConnectionContext>
  );
}

function useAgentConnection(agent: string): Connection | null {
  const [connection, setConnection] = useState<Connection | null>(null);
  useEffect(() => {
    const opened = new Connection(agent);
    // An effect opens and closes the connection, because only an effect can do both.
    // oxlint-disable-next-line react/set-state-in-effect
    setConnection(opened);
    return () => opened.close();
  }, [agent]);
  return connection?.name === agent ? connection : null;
}

function listen(changed: () => void): () => void {
  globalThis.addEventListener("hashchange", changed);
  return () => globalThis.removeEventListener("hashchange", changed);
}

const root = document.querySelector("#page");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
