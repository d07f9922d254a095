/** The health of compaction, with its summarisers, failures, savings, costs and the quality of token estimates. */
import { useState } from "react";
import type { CallResult } from "../../src/rooms.ts";
import { Empty, Shown } from "../frame/states.tsx";
import { count, plural, when } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { nameOf } from "../sessions/lineage.ts";
import { Figure } from "../session/beside.tsx";
import { useCall, useRunEvents, useTick } from "../use-agent.ts";
import { CostsCard } from "./costs-card.tsx";
import { FailuresPlot, RatioPlot, SavedPlot } from "./plots.tsx";

/** Number of plotted runs, and milliseconds between two polls. */
const PAGE = 200;
const LOOK_MS = 10_000;

const STATES = {
  ok: "All is well.",
  idle: "Nothing was compacted in this session yet.",
  degraded: "The last summary was made without a model.",
  down: "The last run failed. The session's runs say why.",
} as const;

export default function HealthPage() {
  const [chosen, choose] = useState<string | null>(null);
  const tick = useTick(LOOK_MS);
  const ended = useRunEvents().filter((event) => event.outcome !== null).length;
  const sessions = useCall("listSessions", { limit: 500 });
  const listed = sessions.kind === "ready" ? sessions.value : [];
  // The default choice is a session that exists, because the default session may never have been used.
  const sessionId = chosen ?? (listed.some(({ id }) => id === "") ? "" : (listed[0]?.id ?? ""));
  const asking = sessions.kind === "loading" ? null : { sessionId, limit: PAGE };
  const health = useCall("health", asking, [tick, ended]);
  return (
    <>
      <div className="page-head">
        <h1>Health</h1>
        <label>
          <span>Session</span>{" "}
          <select value={sessionId} onChange={(event) => choose(event.target.value)}>
            {listed.map((session) => (
              <option key={session.id} value={session.id}>
                {showInvisible(nameOf(session))}
              </option>
            ))}
            {sessions.kind === "ready" && listed.length === 0 && <option value="">The default session</option>}
          </select>
        </label>
      </div>
      {health.kind === "failed" && health.code === "not_configured" ? (
        <Empty title="This agent does not report its health.">{showInvisible(health.error)}</Empty>
      ) : (
        <Shown asked={health} what="the health">
          {(report) => <Report report={report} />}
        </Shown>
      )}
      {asking !== null && <CostsCard sessionId={sessionId} revision={[tick, ended]} />}
    </>
  );
}

function Report({ report }: { report: CallResult<"health"> }) {
  const { budget, spend } = report;
  return (
    <>
      <p className={`health-state health-${report.state}`} role="status">
        {report.breakers.some(({ state }) => state === "open") ? "A summariser is left alone." : STATES[report.state]}
      </p>
      <dl className="figures">
        <Figure name="saved per call, in all" value={count(report.savedTokens)} />
        <Figure name="spent on summaries" value={count(report.spentTokens)} />
        <Figure name="spent today, all sessions" value={withLimit(spend.dayTokens, budget?.dayTokens)} />
        <Figure name="spent by this session" value={withLimit(spend.sessionTokens, budget?.sessionTokens)} />
      </dl>
      <section className="card" aria-labelledby="summarisers">
        <h2 id="summarisers">Summarisers</h2>
        {report.breakers.length === 0 ? (
          <Empty title="No model was asked yet." />
        ) : (
          <ul className="breakers">
            {report.breakers.map((breaker) => (
              <li key={breaker.model}>
                <b>{showInvisible(breaker.model)}</b>{" "}
                <span className={`tag breaker-${breaker.state}`}>{breaker.state}</span>{" "}
                {breaker.failures > 0 && `${plural(breaker.failures, "failure")} in a row. `}
                {breaker.until !== null && breaker.state === "open" && `Asked again from ${when(breaker.until)}. `}
                {breaker.advice !== null && showInvisible(breaker.advice)}
              </li>
            ))}
          </ul>
        )}
      </section>
      <div className="plots">
        <section className="card" aria-labelledby="saved">
          <h2 id="saved">Saved and spent, run by run</h2>
          <SavedPlot runs={report.runs} />
        </section>
        <section className="card" aria-labelledby="failures">
          <h2 id="failures">Runs that changed nothing</h2>
          <FailuresPlot failures={report.failures} />
        </section>
        <section className="card" aria-labelledby="estimator">
          <h2 id="estimator">What a provider counts for an estimated token</h2>
          <RatioPlot usage={report.usage} />
        </section>
      </div>
    </>
  );
}

function withLimit(spent: number, limit: number | null | undefined): string {
  return limit == null ? count(spent) : `${count(spent)} of ${count(limit)}`;
}
