/**
 * Reads the view beside a new summary, for the choice of its names.
 *
 * Writes nothing. It runs inside the transaction of a commit, so it reads a bounded number of message bytes
 * ({@link AROUND_BYTES}), the newest first. Names from older messages may then be said twice.
 */
import { earlierSummary, toRecord, type OverlayRecord } from "../../memory/overlays/record.ts";
import type { OverlayRow } from "../../memory/statements.ts";
import { withoutEmptySections } from "../../steps/draft/empty-sections.ts";
import { lookAround } from "../../facts/around.ts";
import { besideEarlier } from "../../facts/fact.ts";
import { tokensOfSummary, NOTHING_AROUND, type Around } from "../../facts/keep.ts";
import { renderInForce } from "../../facts/render.ts";
import type { SpanPlan } from "../../steps/plan/plan.ts";
import type { Needs } from "../core.ts";
import { redactionOf } from "../redaction.ts";
import { factsOf } from "./drafts/sources.ts";

/**
 * Bytes of messages that a commit reads. They cover the largest default tail, and as much again that was appended during the summarising.
 */
const AROUND_BYTES = 256_000;

/** A view, by its leaf. Null for the active one. */
interface Seen {
  readonly sessionId: string;
  readonly leafId: string | null;
  /** The last step of the leaf that it shows. Without it all are shown. */
  readonly toStep?: number | undefined;
}

/**
 * Also returns how many tokens the other summaries take by the count for names, whose words may be among the names, and how many tokens of
 * names the previous last summary gives up, because names stand beside the last summary alone. One in the span is counted with it.
 * `shownAs` may put other texts in the place of overlays.
 */
export function readAround(
  core: Needs<"memory" | "settings">,
  { sessionId, ...leaf }: Seen,
  { span, overlayIds }: Pick<SpanPlan, "span" | "overlayIds">,
  shownAs: (row: OverlayRow) => Pick<OverlayRecord, "summary" | "details"> = toRecord,
): { around: Around; summaryTokens: number; knows: readonly string[]; freedTokens: number } {
  const history = core.memory.session(sessionId);
  const found = history.surroundings(span, { ...leaf, maxBytes: AROUND_BYTES });
  if (found === null) return { around: NOTHING_AROUND, summaryTokens: 0, knows: [], freedTokens: 0 };
  const { before, behind } = found;
  const redaction = redactionOf(core.settings.get(sessionId));
  const rows = [...before.overlays, ...behind.overlays];
  const overlays = rows.map(shownAs);
  const earlier = before.overlays.length;
  const summaries = overlays.map((overlay, at) =>
    withoutEmptySections(at < earlier ? earlierSummary(overlay) : overlay.summary),
  );
  return {
    around: lookAround({
      head: before.messages,
      tail: behind.messages,
      summaries: overlays.map(({ details }, at) => `${summaries[at]}\n${renderInForce(besideEarlier(details.pinned))}`),
      // Only overlays before it, because a branch may leave behind this summary and see no later one.
      hidden: before.overlays.map((row) => redaction.facts(factsOf(core, toRecord(row), sessionId))),
    }),
    summaryTokens: summaries.reduce((sum, text) => sum + tokensOfSummary(text), 0),
    knows: before.overlays.map(({ overlayId }) => overlayId),
    freedTokens: behind.overlays.length + overlayIds.length > 0 ? 0 : (overlays.at(-1)?.details.weights.last ?? 0),
  };
}
