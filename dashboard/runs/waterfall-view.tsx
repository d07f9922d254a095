/** The steps of a run over its time, as an accessible table with bars. */
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { Empty } from "../frame/states.tsx";
import { duration, short } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { layWaterfall, type Bar } from "./waterfall.ts";

export function WaterfallView({ run, now }: { run: RunRecord; now: number }) {
  const { ms, waited, bars } = layWaterfall(run, now);
  if (bars.length === 0) return <Empty title="No step has begun." />;
  return (
    <div className="scroll-x" role="region" aria-label="Steps" tabIndex={0}>
      <table className="waterfall">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Tries</th>
            <th scope="col">Took</th>
            <th scope="col">Model tokens</th>
            <th scope="col" className="bars">
              0 to {duration(ms)}
            </th>
          </tr>
        </thead>
        <tbody>
          {waited * ms >= 1 && (
            <tr>
              <th scope="row" className="waited">
                before the first step
              </th>
              <td />
              <td>{duration(waited * ms)}</td>
              <td />
              <td className="bars">
                <i className="bar bar-waited" style={{ left: 0, width: `${waited * 100}%` }} />
              </td>
            </tr>
          )}
          {bars.map((bar) => (
            <StepRow key={bar.step.name} bar={bar} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function StepRow({ bar }: { bar: Bar }) {
  const { step, state } = bar;
  const tokens = step.inputTokens + step.outputTokens;
  return (
    <tr>
      <th scope="row">
        {showInvisible(step.name)}
        {step.failure !== undefined && (
          <span className="step-failure">
            try {step.failure.attempt}, {showInvisible(step.failure.model)}: {showInvisible(step.failure.reason)}
          </span>
        )}
      </th>
      <td>{step.attempts}</td>
      <td>{state === "running" ? `${duration(bar.ms)} so far` : state === "cut-off" ? "cut off" : duration(bar.ms)}</td>
      <td>{step.reused ? "reused" : tokens === 0 ? "–" : short(tokens)}</td>
      <td className="bars">
        <i
          className={`bar bar-${state}`}
          style={{ left: `${bar.from * 100}%`, width: `${Math.max(0.5, bar.width * 100)}%` }}
        />
      </td>
    </tr>
  );
}
