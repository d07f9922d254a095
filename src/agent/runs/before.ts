/**
 * Reads what a view shows beside a span: for the choice of what stands beside its summary, and for a summariser, which must not repeat it.
 *
 * Writes nothing. It reads a bounded number of message bytes, the newest first.
 */
import { earlierSummary, toRecord } from "../../memory/overlays/record.ts";
import type { Facts } from "../../facts/fact.ts";
import { mergeFacts, type Before } from "../../facts/gather.ts";
import type { SpanPlan } from "../../steps/plan/plan.ts";
import type { AroundSource } from "../../workflows/port.ts";
import type { Needs } from "../core.ts";
import { redactionOf } from "../redaction.ts";
import { factsOf } from "./drafts/sources.ts";

/** Bytes of messages that are read for a summariser. They cover the largest default tail. */
const AROUND_BYTES = 256_000;

/** A view, by its leaf. Null for the active one. */
interface Seen {
  readonly sessionId: string;
  readonly leafId: string | null;
}

type Covered = Pick<SpanPlan, "span" | "overlayIds">;

/**
 * What the earlier summaries of a view hand on to a new one: those in front of it, and those that it folds in. `knows` names those in
 * front, and `names` identifies their texts for the key of an answer that builds on them. `freedTokens` is what the last of them gives
 * up, because the new one shows it.
 */
export function readBefore(
  core: Needs<"memory" | "settings">,
  { sessionId, ...leaf }: Seen,
  { span, overlayIds }: Covered,
): { before: Before; knows: readonly string[]; names: readonly string[]; freedTokens: number } {
  const history = core.memory.session(sessionId);
  const found = history.surroundings(span, { ...leaf, maxBytes: 0 });
  const front = (found?.before.overlays ?? []).map(toRecord);
  const folded = overlayIds.flatMap((id) => history.overlays.get(id) ?? []);
  const redaction = redactionOf(core.settings.get(sessionId));
  const facts = [...front, ...folded].map((overlay): Facts => {
    const own = factsOf(core, overlay, sessionId);
    const restored = overlay.details.pinned.instructions.filter((each) => each.restored !== undefined);
    return redaction.facts({ ...own, instructions: [...own.instructions, ...restored] });
  });
  const isLast = (found?.behind.overlays ?? []).length + folded.length === 0;
  return {
    before: { facts },
    knows: front.map(({ id }) => id),
    names: front.map(({ details, spanDigest }) => details.draftKey ?? `overlay ${spanDigest}`),
    freedTokens: isLast ? (front.at(-1)?.details.weights.last ?? 0) : 0,
  };
}

/** Messages shown of each side. */
const SHOWN_MESSAGES = 4;

/** What the reader of a summary sees beside it. */
export function readAround(
  core: Needs<"memory" | "settings">,
  { sessionId, ...leaf }: Seen,
  covered: Covered,
): AroundSource {
  const history = core.memory.session(sessionId);
  const redaction = redactionOf(core.settings.get(sessionId));
  const found = history.surroundings(covered.span, { ...leaf, maxBytes: AROUND_BYTES });
  const front = (found?.before.overlays ?? []).map(toRecord);
  const { before } = readBefore(core, { sessionId, ...leaf }, covered);
  const { instructions } = mergeFacts(before.facts);
  return {
    head: (found?.before.messages ?? []).slice(0, SHOWN_MESSAGES).map(redaction.message),
    earlier: front.map((overlay) => redaction.text(earlierSummary(overlay))),
    following: (found?.behind.messages ?? []).slice(0, SHOWN_MESSAGES).map(redaction.message),
    instructions,
  };
}
