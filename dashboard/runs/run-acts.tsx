/** A person's actions on a run, which are to pause or cancel it, to start another in its place, and to repeat a step. */
import { useState } from "react";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { Told } from "../frame/states.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute } from "../route.ts";
import { useAct } from "../use-agent.ts";

export function RunActs({ agent, run }: { agent: string; run: RunRecord }) {
  const act = useAct();
  const { id: runId, outcome, path, state, sessionId } = run;
  const ask = (name: "cancelRun" | "pauseRun" | "resumeRun", told: string): void =>
    void act.run(async (connection) => {
      await connection.call(name, { runId });
      return told;
    });
  const retry = (): void =>
    void act.run(async (connection) => {
      const again = await connection.call("retryRun", { runId });
      globalThis.location.hash = formatRoute({ page: "runs", agent, id: sessionId, run: again.run.id });
      return null;
    });
  // A proposal has done its work, and a caller's function cannot be stopped in the middle.
  const isAtWork = state === "running" && path !== "function";
  const fruitless = outcome !== null && !["applied", "split"].includes(outcome.kind);
  return (
    <div className="actions">
      {isAtWork && (
        <button type="button" disabled={act.busy} onClick={() => ask("pauseRun", "Paused.")}>
          Pause
        </button>
      )}
      {state === "paused" && (
        <button type="button" disabled={act.busy} onClick={() => ask("resumeRun", "Resumed.")}>
          Resume
        </button>
      )}
      {outcome === null && (
        <button type="button" disabled={act.busy} onClick={() => ask("cancelRun", "Cancelled.")}>
          Cancel
        </button>
      )}
      {fruitless && (
        <button type="button" disabled={act.busy} onClick={retry}>
          Retry
        </button>
      )}
      {isAtWork && run.steps.length > 0 && <RetryFrom run={run} />}
      <Told act={act} />
    </div>
  );
}

/** Only for a run at work. A run with an outcome keeps it, and a run that replaces it (`Retry`) finds its paid drafts. */
function RetryFrom({ run }: { run: RunRecord }) {
  const act = useAct();
  const [chosen, choose] = useState(0);
  const names = run.steps.map(({ name }) => name);
  const stepName = names[chosen] ?? "";
  const again = (): void =>
    void act.run(async (connection) => {
      await connection.call("retryRunFrom", { runId: run.id, stepName });
      return `Done again from “${showInvisible(stepName)}” on; what was paid for is used again.`;
    });
  return (
    <>
      <label>
        <span className="dim">From the step</span>{" "}
        <select value={chosen} onChange={(event) => choose(event.target.selectedIndex)}>
          {names.map((name, at) => (
            <option key={name} value={at}>
              {showInvisible(name)}
            </option>
          ))}
        </select>
      </label>
      <button type="button" disabled={act.busy} onClick={again}>
        Do it again
      </button>
      <Told act={act} />
    </>
  );
}
