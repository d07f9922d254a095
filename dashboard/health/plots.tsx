/** The plots. Each has its numbers as a table for people who do not see it. */
import type { ReactNode } from "react";
import {
  Bar,
  BarChart,
  CartesianGrid,
  Legend,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import type { CallResult } from "../../src/rooms.ts";
import { Empty } from "../frame/states.tsx";
import { count, short } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";

type Report = CallResult<"health">;

/** Height in pixels. */
const HEIGHT = 240;

const TOOLTIP = {
  contentStyle: { background: "var(--paper-high)", border: "1px solid var(--rule)", color: "var(--ink)" },
  cursor: { fill: "var(--wash)" },
};

export function SavedPlot({ runs }: { runs: Report["runs"] }) {
  const points = runs
    .filter((run) => run.savedTokens + run.spentTokens > 0)
    .toReversed()
    .map((run) => ({ name: `run ${run.n}`, saved: run.savedTokens, spent: run.spentTokens }));
  if (points.length === 0) return <Empty title="Nothing was saved or spent yet." />;
  return (
    <Plot rows={points.map(({ name, saved, spent }) => [name, `${count(saved)} saved`, `${count(spent)} spent`])}>
      <BarChart data={points} accessibilityLayer={false}>
        <CartesianGrid stroke="var(--rule)" vertical={false} />
        <XAxis dataKey="name" stroke="var(--ink-soft)" tickLine={false} />
        <YAxis stroke="var(--ink-soft)" tickFormatter={short} width={48} tickLine={false} />
        <Tooltip {...TOOLTIP} formatter={(value) => count(Number(value))} />
        <Legend />
        <Bar dataKey="saved" name="saved per later call" fill="var(--verdigris)" isAnimationActive={false} />
        <Bar dataKey="spent" name="spent on the summary" fill="var(--rubric)" isAnimationActive={false} />
      </BarChart>
    </Plot>
  );
}

export function FailuresPlot({ failures }: { failures: Report["failures"] }) {
  if (failures.length === 0) return <Empty title="Every run came to something." />;
  const points = failures.map(({ reason, count }) => ({ reason: showInvisible(reason), count }));
  return (
    <Plot rows={points.map((point) => [point.reason, String(point.count)])}>
      <BarChart data={points} layout="vertical" accessibilityLayer={false}>
        <XAxis type="number" allowDecimals={false} stroke="var(--ink-soft)" tickLine={false} />
        <YAxis type="category" dataKey="reason" width={150} stroke="var(--ink-soft)" tickLine={false} />
        <Tooltip {...TOOLTIP} />
        <Bar dataKey="count" name="runs" fill="var(--rubric)" isAnimationActive={false} />
      </BarChart>
    </Plot>
  );
}

export function RatioPlot({ usage }: { usage: Report["usage"] }) {
  const points = usage.map(({ model, ratio }) => ({ model: showInvisible(model), ratio }));
  if (points.length === 0) {
    return (
      <Empty title="No provider told yet what it counts.">
        Call recordUsage after a model call: from then on the trigger sees what the provider would.
      </Empty>
    );
  }
  return (
    <Plot rows={points.map(({ model, ratio }) => [model, ratio.toFixed(2)])}>
      <BarChart data={points} layout="vertical" accessibilityLayer={false}>
        <XAxis type="number" domain={[0, "auto"]} stroke="var(--ink-soft)" tickLine={false} />
        <YAxis type="category" dataKey="model" width={150} stroke="var(--ink-soft)" tickLine={false} />
        <ReferenceLine x={1} stroke="var(--ink-soft)" strokeDasharray="3 3" />
        <Tooltip {...TOOLTIP} formatter={(value) => Number(value).toFixed(2)} />
        <Bar dataKey="ratio" name="counted per estimated token" fill="var(--verdigris)" isAnimationActive={false} />
      </BarChart>
    </Plot>
  );
}

function Plot({ rows, children }: { rows: readonly (readonly string[])[]; children: ReactNode }) {
  return (
    <>
      <div aria-hidden="true">
        <ResponsiveContainer width="100%" height={HEIGHT}>
          {children}
        </ResponsiveContainer>
      </div>
      <details>
        <summary>The numbers</summary>
        <ul className="lines">
          {rows.map((row) => (
            <li key={row.join()}>{row.join(", ")}</li>
          ))}
        </ul>
      </details>
    </>
  );
}
