/** One run in full, with its plan, steps, cost and outcome, and the actions on it. */
import { runEvent } from "../../src/agent/events.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { Shown } from "../frame/states.tsx";
import { count, duration, when } from "../format.ts";
import { LayerDiff } from "../layer/layer-diff.tsx";
import { formatRoute, toSession } from "../route.ts";
import { Figure } from "../session/beside.tsx";
import { useCall, useNow, useRunEvents } from "../use-agent.ts";
import { Approval } from "./approval.tsx";
import { Progress } from "./progress.tsx";
import { RunActs } from "./run-acts.tsx";
import { WaterfallView } from "./waterfall-view.tsx";
import { describeOutcome, describePlan, describeTrigger, stateOf } from "./words.ts";

/** Milliseconds between two updates of a live run. Its events report changes, and this updates its duration. */
const LOOK_MS = 1_000;

export function RunDetail({ agent, runId }: { agent: string; runId: string }) {
  const event = useRunEvents().find((each) => each.runId === runId);
  const run = useCall("getRun", { runId }, [
    event?.state,
    event?.done,
    event?.step,
    event?.attempt,
    event?.outcome?.kind,
  ]);
  return (
    <section className="run-detail" aria-label="One run">
      <Shown asked={run} what="the run">
        {(run) => <Detail agent={agent} run={run} event={event} />}
      </Shown>
    </section>
  );
}

interface DetailProps {
  readonly agent: string;
  readonly run: RunRecord;
  readonly event: { done: number; total: number } | undefined;
}

function Detail({ agent, run, event }: DetailProps) {
  const plan = describePlan(run);
  const sofar = run.state === "proposed" ? "waits for you" : "at work";
  const { done, total } = event ?? runEvent(run, run.createdAt);
  return (
    <>
      <h2>
        Run {run.n} <span className={`tag state-${stateOf(run)}`}>{stateOf(run)}</span>
      </h2>
      <p className="dim">
        {when(run.createdAt)}: {describeTrigger(run.trigger)}. <code>{run.id}</code>
      </p>
      {run.outcome === null && <Progress done={done} total={total} label="Steps done" />}
      {run.outcome !== null && <p className="outcome">{describeOutcome(run.outcome)}</p>}
      <RunActs agent={agent} run={run} />
      {run.state === "proposed" && <Approval runId={run.id} />}
      <dl className="figures">
        <Figure name="took" value={run.endedAt === null ? sofar : duration(run.endedAt - run.createdAt)} />
        <Figure name="model calls" value={count(run.modelCalls)} />
        <Figure name="tokens in" value={count(run.inputTokens)} />
        <Figure name="tokens out" value={count(run.outputTokens)} />
        {run.estimatedTokens > 0 && <Figure name="of these, estimated" value={count(run.estimatedTokens)} />}
        {run.restarts > 0 && <Figure name="restarts" value={count(run.restarts)} />}
      </dl>
      <BeforeAfter run={run} />
      <h3>Steps</h3>
      <Steps run={run} />
      {plan.length > 0 && (
        <>
          <h3>The plan</h3>
          <ul className="lines">
            {plan.map((line) => (
              <li key={line} dir="auto">
                {line}
              </li>
            ))}
          </ul>
        </>
      )}
      <Laid agent={agent} run={run} />
    </>
  );
}

/** Has a clock of its own, so that only the bars are rendered again. It stands still while a person is asked. */
function Steps({ run }: { run: RunRecord }) {
  const now = useNow(run.outcome === null ? LOOK_MS : 60_000);
  return <WaterfallView run={run} now={run.state === "proposed" ? (run.heardAt ?? now) : now} />;
}

function BeforeAfter({ run }: { run: RunRecord }) {
  const { outcome } = run;
  if (outcome === null || !("tokensAfter" in outcome)) return null;
  const { tokensBefore, tokensAfter } = outcome;
  const most = Math.max(tokensBefore, tokensAfter, 1);
  const bars = [
    ["before", tokensBefore],
    ["after", tokensAfter],
  ] as const;
  return (
    <dl className="before-after">
      {bars.map(([name, tokens]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <i style={{ width: `${(tokens / most) * 100}%` }} />
            <span>{count(tokens)} tokens</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The run's overlay with its changes. */
function Laid({ agent, run }: { agent: string; run: RunRecord }) {
  const { outcome, sessionId } = run;
  const overlayId = outcome !== null && "overlayId" in outcome ? outcome.overlayId : null;
  if (overlayId === null) return null;
  return (
    <>
      <h3>What it laid</h3>
      <p>
        <a href={formatRoute(toSession(agent, sessionId, { overlay: overlayId }))}>The layer</a>, and{" "}
        <a href={formatRoute(toSession(agent, sessionId, { asOf: overlayId }))}>the session as it was then</a>.
      </p>
      <LayerDiff sessionId={sessionId} overlayId={overlayId} />
    </>
  );
}
