/** Runs of all sessions that wait for a person, with a link to each. */
import type { SessionInfo } from "../../src/memory/sessions/sessions.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute } from "../route.ts";
import { useRunEvents } from "../use-agent.ts";
import { nameOf } from "./lineage.ts";

export function WaitingRuns({ agent, sessions }: { agent: string; sessions: readonly SessionInfo[] }) {
  const waiting = useRunEvents().filter(({ outcome, state }) => outcome === null && state === "proposed");
  if (waiting.length === 0) return null;
  return (
    <section className="hits" aria-labelledby="waiting">
      <h2 id="waiting">Waiting for you</h2>
      <ol>
        {waiting.map(({ runId, sessionId, n }) => (
          <li key={runId}>
            <a href={formatRoute({ page: "runs", agent, id: sessionId, run: runId })}>
              <b>
                {showInvisible(nameOf(sessions.find(({ id }) => id === sessionId) ?? { id: sessionId, name: null }))}
              </b>
              <span className="dim">Run {n}: its summary is to be approved or rejected.</span>
            </a>
          </li>
        ))}
      </ol>
    </section>
  );
}
