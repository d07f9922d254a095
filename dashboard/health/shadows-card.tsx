/** Which summariser would have kept more of what came up again, and for how much. One table for each shadow, beside the real summaries. */
import type { CSSProperties } from "react";
import { NOT_KNOWN_YET } from "../../src/inspect/steps/tell-hindsight.ts";
import type { CallResult } from "../../src/rooms.ts";
import { count, plural } from "../format.ts";
import { Empty, Shown } from "../frame/states.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { useCall } from "../use-agent.ts";

type Comparison = CallResult<"compareShadows">;
type Totals = Comparison["shadows"][number];
type Score = Comparison["compactions"][number]["shadows"][number];
type Sum = Totals["real"];

/** Compactions that are compared. */
const PAGE = 50;

export function ShadowsCard({ sessionId, revision }: { sessionId: string; revision: unknown }) {
  const asked = useCall("compareShadows", { sessionId, limit: PAGE }, revision);
  // The agent has no room of shadows, or the session declared none.
  if (asked.kind === "failed" && asked.code === "not_configured") return null;
  if (asked.kind === "ready" && asked.value.shadows.length === 0) return null;
  return (
    <section className="card below-plots" aria-labelledby="shadows">
      <h2 id="shadows">Which summariser would have kept more</h2>
      <Shown asked={asked} what="the shadows">
        {({ shadows, compactions }) =>
          shadows.map((totals) => <Shadow key={totals.name} totals={totals} compactions={compactions} />)
        }
      </Shown>
    </section>
  );
}

function Shadow({ totals, compactions }: { totals: Totals; compactions: Comparison["compactions"] }) {
  const name = showInvisible(totals.name);
  const scores = compactions.flatMap(({ n, real, shadows }) =>
    shadows.filter((each) => each.name === totals.name).map((shadow) => ({ n, real, shadow })),
  );
  return (
    <div className="shadow">
      <h3>{name}</h3>
      {totals.compared === 0 ? (
        <Empty title={`What was needed again is ${NOT_KNOWN_YET}.`}>
          Both are counted once something is said after a compaction.
        </Empty>
      ) : (
        <p className="verdict">{verdictOf(totals)}</p>
      )}
      <div className="scroll-x" role="region" aria-label={`${name} beside the real summaries`} tabIndex={0}>
        <table className="costs kept" aria-label={`${name} beside the real summaries, in numbers`}>
          <thead>
            <tr>
              <th scope="col">Summaries</th>
              <th scope="col">
                Of {plural(totals.names, "name")} that came up again, over {plural(totals.compared, "compaction")}
              </th>
              <th scope="col">Size</th>
              <th scope="col">Calls</th>
              <th scope="col">Read</th>
              <th scope="col">Written</th>
            </tr>
          </thead>
          <tbody>
            <Side name="the real ones" names={totals.names} sum={totals.real} />
            <Side name={name} names={totals.names} sum={totals.shadow} />
          </tbody>
        </table>
      </div>
      <details>
        <summary>Compaction by compaction</summary>
        <ul className="lines">
          {scores.map(({ n, real, shadow }) => (
            <li key={n}>
              Layer {n}: {toldOf(shadow)}
              {real.hindsight !== null && shadow.hindsight !== null && (
                <>
                  , {count(shadow.hindsight.inView)} of {plural(shadow.hindsight.names, "name")} in view, the real one{" "}
                  {count(real.hindsight.inView)}
                </>
              )}
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

function Side({ name, names, sum }: { name: string; names: number; sum: Sum }) {
  const { inView, recalled, missed, tokens, calls, inputTokens, outputTokens } = sum;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <span className="kept-bar" aria-hidden="true">
          <i className="kept-in-view" style={widthOf(inView, names)} />
          <i className="kept-recalled" style={widthOf(recalled, names)} />
          <i className="kept-missed" style={widthOf(missed, names)} />
        </span>
        {count(inView)} in view, {count(recalled)} recalled, {count(missed)} missed
      </td>
      <td>{count(tokens)}</td>
      <td>{count(calls)}</td>
      <td>{count(inputTokens)}</td>
      <td>{count(outputTokens)}</td>
    </tr>
  );
}

function widthOf(part: number, names: number): CSSProperties {
  return { width: names === 0 ? 0 : `${(part / names) * 100}%` };
}

/** One sentence: which would have shown more names, and for what share of the tokens. */
function verdictOf({ names, real, shadow }: Totals): string {
  if (names === 0) return "No hidden name came up again.";
  const more = shadow.inView - real.inView;
  const kept =
    more === 0
      ? "It would have shown as many names"
      : `It would have shown ${plural(Math.abs(more), "name")} ${more > 0 ? "more" : "fewer"}`;
  return `${kept}, ${count(shadow.inView)} of ${count(names)}, ${priceOf(real, shadow)}.`;
}

function priceOf(real: Sum, shadow: Sum): string {
  const [paid, instead] = [real, shadow].map(({ inputTokens, outputTokens }) => inputTokens + outputTokens);
  if (paid === undefined || instead === undefined || paid === 0) return "and the real summaries cost nothing";
  return `for ${count((instead / paid) * 100)} % of the tokens`;
}

function toldOf({ outcome, tokens }: Score): string {
  if (outcome === null) return "not done";
  switch (outcome.kind) {
    case "kept":
      return plural(tokens ?? 0, "token");
    case "refused":
      return `refused (${outcome.problems.join(", ")})`;
    case "failed":
      return `failed (${showInvisible(outcome.code)})`;
    case "skipped":
      return `not asked (${outcome.reason})`;
    case "stale":
      return "the messages changed before it was done";
  }
}
