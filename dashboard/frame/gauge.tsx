/** Shows the view's tokens against the threshold, which is marked on the bar. */
import { count, short } from "../format.ts";

export function Gauge({ tokens, threshold }: { tokens: number; threshold: number | null }) {
  const full = Math.max(tokens, threshold ?? tokens, 1);
  const state =
    threshold === null ? "none" : tokens > threshold ? "over" : tokens > threshold * 0.85 ? "near" : "under";
  const text =
    threshold === null
      ? `${count(tokens)} tokens in view, no threshold`
      : `${count(tokens)} of ${count(threshold)} tokens in view`;
  return (
    <div
      className={`gauge gauge-${state}`}
      role="meter"
      aria-label="Tokens in view"
      aria-valuemin={0}
      aria-valuemax={full}
      aria-valuenow={tokens}
      aria-valuetext={text}
      title={text}
    >
      <span className="gauge-bar">
        {threshold !== null && <i style={{ width: `${(tokens / full) * 100}%` }} />}
        {threshold !== null && <b style={{ left: `${(threshold / full) * 100}%` }} />}
      </span>
      <span className="gauge-text">
        {short(tokens)}
        {threshold === null ? ", no threshold" : ` / ${short(threshold)}`}
      </span>
    </div>
  );
}
