/** The live runs of a session, and the last one that ended while the page was open. A screen reader announces changes. */
import type { RunEvent } from "../../src/agent/events.ts";
import { formatRoute } from "../route.ts";
import { Progress } from "../runs/progress.tsx";
import { describeOutcome } from "../runs/words.ts";

export interface LiveRunsProps {
  readonly agent: string;
  readonly events: readonly RunEvent[];
}

export function LiveRuns({ agent, events }: LiveRunsProps) {
  const live = events.filter((event) => event.outcome === null);
  const [ended] = live.length > 0 ? [] : events;
  return (
    <div className="live-runs" role="status">
      {live.map((event) => (
        <LiveRun key={event.runId} agent={agent} event={event} />
      ))}
      {ended?.outcome != null && (
        <a
          className="live-run ended"
          href={formatRoute({ page: "runs", agent, id: ended.sessionId, run: ended.runId })}
        >
          Run {ended.n} ended: {describeOutcome(ended.outcome)}
        </a>
      )}
    </div>
  );
}

function tellState({ state, step }: RunEvent): string {
  if (state === "proposed") return "waits for you";
  return step === null ? `is ${state}` : `is ${state}: ${step}`;
}

function LiveRun({ agent, event }: { agent: string; event: RunEvent }) {
  return (
    <a className="live-run" href={formatRoute({ page: "runs", agent, id: event.sessionId, run: event.runId })}>
      <span>
        Run {event.n} {tellState(event)}
      </span>
      <Progress done={event.done} total={event.total} label={`Run ${event.n}`} />
    </a>
  );
}
