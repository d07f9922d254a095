/** Runs at work, and the last one that ended while the page was open: told as it happens, also to a screen reader. */
import type { RunEvent } from "../../agent/events.ts";
import { formatRoute } from "../route.ts";
import { describeOutcome } from "../runs/words.ts";
import { Progress } from "../runs/progress.tsx";

export function LiveRuns({ agent, events }: { agent: string; events: readonly RunEvent[] }) {
  const live = events.filter((event) => event.outcome === null);
  const [ended] = live.length > 0 ? [] : events;
  return (
    <div className="live-runs" role="status">
      {live.map((event) => (
        <a
          key={event.runId}
          className="live-run"
          href={formatRoute({ page: "runs", agent, id: event.sessionId, run: event.runId })}
        >
          <span>
            Run {event.n} is {event.state}
            {event.step !== null && `: ${event.step}`}
          </span>
          <Progress done={event.done} total={event.total} label={`Run ${event.n}`} />
        </a>
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
