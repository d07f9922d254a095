/** All sessions of an agent in families, with the size of each view, and a search over all of them. */
import type { SearchHit } from "../../src/recall/search.ts";
import type { SessionInfo } from "../../src/memory/sessions/sessions.ts";
import { Empty, isClosed, Shown, Told } from "../frame/states.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { when } from "../format.ts";
import { formatRoute, toSession, type Route } from "../route.ts";
import { useAct, useCall, useRunEvents, useTick } from "../use-agent.ts";
import { nameOf, orderByLineage } from "./lineage.ts";
import { SessionList } from "./session-list.tsx";
import { WaitingRuns } from "./waiting-runs.tsx";

/** Sessions per request, which is the most that the agent returns. */
const PAGE = 500;
/** Milliseconds between two requests for new sessions. No event reports a new session. */
const LOOK_MS = 10_000;

export function SessionsPage({ route }: { route: Extract<Route, { page: "sessions" }> }) {
  const { agent, query } = route;
  const events = useRunEvents();
  const tick = useTick(LOOK_MS);
  const sessions = useCall("listSessions", { limit: PAGE }, [
    tick,
    events.filter((event) => event.outcome !== null).length,
  ]);
  // An agent whose base class keeps the messages has one conversation.
  const status = useCall("status", {});
  return (
    <>
      <div className="page-head">
        <h1>Sessions</h1>
        <SearchBox agent={agent} query={query} />
        {status.kind === "ready" && !status.value.isHosted && <NewSession agent={agent} />}
      </div>
      {query !== "" && <Hits agent={agent} query={query} sessions={sessions.kind === "ready" ? sessions.value : []} />}
      <WaitingRuns agent={agent} sessions={sessions.kind === "ready" ? sessions.value : []} />
      {isClosed(sessions) && <a href={formatRoute(toSession(agent, ""))}>The agent's conversation</a>}
      <Shown asked={sessions} what="the sessions">
        {(list) =>
          list.length === 0 ? (
            <Empty title="No conversation yet.">
              Begin one here, or say something to this agent from your app. Another agent is chosen by its name, at the
              top.
            </Empty>
          ) : (
            <>
              <SessionList agent={agent} kin={orderByLineage(list)} />
              {list.length === PAGE && <p className="note">The newest {PAGE} sessions. Search finds older ones.</p>}
            </>
          )
        }
      </Shown>
    </>
  );
}

function SearchBox({ agent, query }: { agent: string; query: string }) {
  return (
    <search>
      <form
        key={query}
        onSubmit={(event) => {
          event.preventDefault();
          const words = new FormData(event.currentTarget).get("words");
          globalThis.location.hash = formatRoute({
            page: "sessions",
            agent,
            query: typeof words === "string" ? words : "",
          });
        }}
      >
        <label>
          <span className="unseen">Search all sessions</span>
          <input type="search" name="words" defaultValue={query} placeholder="Search all sessions" />
        </label>
        <button type="submit">Search</button>
      </form>
    </search>
  );
}

function NewSession({ agent }: { agent: string }) {
  const act = useAct();
  return (
    <>
      <button
        type="button"
        className="primary"
        disabled={act.busy}
        onClick={() =>
          void act.run(async (connection) => {
            const { id } = await connection.call("createSession", {});
            globalThis.location.hash = formatRoute(toSession(agent, id));
            return null;
          })
        }
      >
        New session
      </button>
      {act.told !== null && <Told act={act} />}
    </>
  );
}

function Hits({ agent, query, sessions }: { agent: string; query: string; sessions: readonly SessionInfo[] }) {
  const hits = useCall("searchSessions", { query, limit: 50 });
  return (
    <section aria-label="Search results" className="hits">
      <Shown asked={hits} what="what was found">
        {(found) =>
          found.length === 0 ? (
            <Empty title="Nothing was said with all of these words.">
              Try fewer of them; “quoted words” stand side by side, and begin* finds beginnings.
            </Empty>
          ) : (
            <ol>
              {found.map((hit) => (
                <Hit key={`${hit.sessionId}/${hit.id}`} agent={agent} hit={hit} sessions={sessions} />
              ))}
            </ol>
          )
        }
      </Shown>
    </section>
  );
}

function Hit({ agent, hit, sessions }: { agent: string; hit: SearchHit; sessions: readonly SessionInfo[] }) {
  const session = sessions.find(({ id }) => id === hit.sessionId);
  return (
    <li>
      <a href={formatRoute(toSession(agent, hit.sessionId, { branch: hit.id, at: hit.id }))}>
        <b>{showInvisible(session === undefined ? hit.sessionId : nameOf(session))}</b>
        <span className="dim">
          {hit.role}, {when(hit.createdAt)}
          {hit.missing.length > 0 && `, without ${hit.missing.map(showInvisible).join(", ")}`}
        </span>
        <span className="snippet" dir="auto">
          {showInvisible(hit.snippet)}
        </span>
      </a>
    </li>
  );
}
