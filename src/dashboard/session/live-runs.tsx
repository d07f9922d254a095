/** Runs at work, and the last one that ended while the page was open: told as it happens, also to a screen reader. */
import { runEvent, type RunEvent } from "../../agent/events.ts";
import { formatRoute } from "../route.ts";
import { Progress } from "../runs/progress.tsx";
import { describeOutcome } from "../runs/words.ts";
import { useCall } from "../use-agent.ts";

export interface LiveRunsProps {
  readonly agent: string;
  readonly events: readonly RunEvent[];
  /** As the agent says: of a run that began before the page was opened there may be no event yet. */
  readonly liveRunIds: readonly string[];
}

export function LiveRuns({ agent, events, liveRunIds }: LiveRunsProps) {
  const live = events.filter((event) => event.outcome === null);
  const unheard = liveRunIds.filter((id) => !events.some((event) => event.runId === id));
  const [ended] = live.length + unheard.length > 0 ? [] : events;
  return (
    <div className="live-runs" role="status">
      {live.map((event) => (
        <LiveRun key={event.runId} agent={agent} event={event} />
      ))}
      {unheard.map((id) => (
        <UnheardRun key={id} agent={agent} runId={id} />
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

function UnheardRun({ agent, runId }: { agent: string; runId: string }) {
  const run = useCall("getRun", { runId });
  if (run.kind !== "ready" || run.value.outcome !== null) return null;
  return <LiveRun agent={agent} event={runEvent(run.value, run.value.createdAt)} />;
}

function LiveRun({ agent, event }: { agent: string; event: RunEvent }) {
  return (
    <a className="live-run" href={formatRoute({ page: "runs", agent, id: event.sessionId, run: event.runId })}>
      <span>
        Run {event.n} is {event.state}
        {event.step !== null && `: ${event.step}`}
      </span>
      <Progress done={event.done} total={event.total} label={`Run ${event.n}`} />
    </a>
  );
}
