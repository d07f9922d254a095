/** The runs of a session, newest first and live, with one of them in full. */
import { useState } from "react";
import { runEvent } from "../../src/agent/events.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { Empty, Shown } from "../frame/states.tsx";
import { ago, duration, short } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute, toSession, type Route } from "../route.ts";
import { nameOf } from "../sessions/lineage.ts";
import { useCall, useNow, useRunEvents } from "../use-agent.ts";
import { Progress } from "./progress.tsx";
import { RunDetail } from "./run-detail.tsx";
import { describeOutcome, stateOf } from "./words.ts";

/** Runs per page. */
const PAGE = 50;

type RunsRoute = Extract<Route, { page: "runs" }>;

export function RunsPage({ route }: { route: RunsRoute }) {
  const { agent, id } = route;
  const info = useCall("getSessionInfo", { sessionId: id });
  const name = info.kind === "ready" && info.value !== null ? nameOf(info.value) : nameOf({ id, name: null });
  return (
    <div className="runs-page">
      <header className="session-head">
        <h1 dir="auto">{showInvisible(name)}</h1>
        <nav className="tabs" aria-label="Of this session">
          <a href={formatRoute(toSession(agent, id))}>Conversation</a>
          <a href={formatRoute({ ...route, run: null })} aria-current="page">
            Runs
          </a>
        </nav>
      </header>
      <div className="runs-columns">
        <section aria-label="Runs">
          <h2>Runs</h2>
          <RunList route={route} before={null} />
        </section>
        {route.run !== null && <RunDetail key={route.run} agent={agent} runId={route.run} />}
      </div>
    </div>
  );
}

function RunList({ route, before }: { route: RunsRoute; before: number | null }) {
  const [goesOn, setGoesOn] = useState(false);
  const events = useRunEvents(route.id);
  const moved = before === null ? events.map(({ runId, state, done, step }) => [runId, state, done, step]) : null;
  const runs = useCall("runs", { sessionId: route.id, limit: PAGE, ...(before !== null && { before }) }, moved);
  return (
    <Shown asked={runs} what="the runs">
      {(list) => {
        const last = list.at(-1);
        if (last === undefined) {
          return before === null ? (
            <Empty title="No run yet.">
              One begins by itself when the view crosses its threshold, or when somebody asks.
            </Empty>
          ) : null;
        }
        return (
          <>
            <ol className="runs">
              {list.map((run) => (
                <RunRow key={run.id} run={run} route={route} event={events.find(({ runId }) => runId === run.id)} />
              ))}
            </ol>
            {list.length === PAGE &&
              (goesOn ? (
                <RunList route={route} before={last.n} />
              ) : (
                <button type="button" className="read-on" onClick={() => setGoesOn(true)}>
                  Earlier runs
                </button>
              ))}
          </>
        );
      }}
    </Shown>
  );
}

interface RunRowProps {
  readonly run: RunRecord;
  readonly route: RunsRoute;
  readonly event: { done: number; total: number } | undefined;
}

function RunRow({ run, route, event }: RunRowProps) {
  const now = useNow();
  const state = stateOf(run);
  const { done, total } = event ?? runEvent(run, run.createdAt);
  const took = run.endedAt === null ? null : run.endedAt - run.createdAt;
  return (
    <li>
      <a
        className="run"
        href={formatRoute({ ...route, run: run.id })}
        aria-current={route.run === run.id ? "true" : undefined}
      >
        <b>Run {run.n}</b> <span className={`tag state-${state}`}>{state}</span>{" "}
        <span className="dim">
          {run.kind}, {run.trigger}, {ago(run.createdAt, now)}
          {took !== null && `, took ${duration(took)}`}
          {run.modelCalls > 0 && `, ${short(run.inputTokens + run.outputTokens)} model tokens`}
        </span>
        {run.outcome === null ? (
          <Progress done={done} total={total} label={`Run ${run.n}`} />
        ) : (
          <span className="run-outcome">{describeOutcome(run.outcome)}</span>
        )}
      </a>
    </li>
  );
}
