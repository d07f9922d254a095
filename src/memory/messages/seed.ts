/**
 * Seeds a session that continues an ended one with the same view, in as many rows as the view has.
 *
 * Copies the messages that the view shows and adds its overlays over them. Where an overlay hides whole messages, one
 * stored record with the summary stands for all of them. So the child holds only content that a model was shown, and
 * the parent may be deleted. The overlays keep their levels, pinned facts and invalidation. The caller creates the
 * child, ends the parent and opens the transaction.
 *
 * M1: a visible message is copied with its id and content, even where an overlay covers it in part. V1: the child's
 * path is the visible messages and the records, and each overlay covers its record. C3: an overlay's digest is
 * recomputed from the child's content.
 */
import type { CountTokens } from "../../steps/message/message.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { recordMessage } from "../../facts/render.ts";
import { encodeMessage } from "./content.ts";
import { summarySource, toRecord, type OverlayDetails, type OverlayRecord } from "../overlays/overlay.ts";
import { Spans } from "../overlays/spans.ts";
import type { SessionStatements } from "../sessions/statements.ts";
import type { OverlayRow } from "../statements.ts";
import type { Tree } from "./tree.ts";
import { walkView } from "./visible.ts";

export interface Seed {
  readonly from: Tree;
  /** A session that holds no message yet. */
  readonly to: Tree;
  readonly sql: SessionStatements;
  readonly countTokens: CountTokens;
  /** Returns the details stored beside an overlay's copy. Nothing in them may lead to data that only the parent has. */
  readonly detailsOf: (overlay: OverlayRecord) => OverlayDetails;
}

/** One message of the child, in path order: a parent's message, or a record for the messages that an overlay hides. */
type Slot =
  | { readonly kind: "message"; readonly seq: number; readonly id: string }
  | { readonly kind: "record"; readonly overlay: OverlayRow };

/**
 * Reads one row for each visible message and at most four for each overlay. Writes one row for each message and two for
 * each overlay. Returns, for each message of the child by its number, the last number of the parent that it stands for.
 */
export function seedSession(seed: Seed): number[] {
  const { slots, overlays } = layOut(seed.from);
  for (let at = 0; at < slots.length;) at = place(seed, slots, at);
  seed.to.forget();
  // The newest one stays the newest, wherever it stands.
  const byAge = overlays.toSorted((a, b) => a.n - b.n);
  for (const [index, overlay] of byAge.entries()) lay(seed, { slots, overlay, n: index + 1 });
  seed.to.flush();
  return slots.map(lastOf);
}

/** The active view as the child will hold it, oldest first. */
function layOut(tree: Tree): { slots: Slot[]; overlays: OverlayRow[] } {
  const leaf = tree.newest();
  const start = { seq: leaf?.seq ?? 0, step: WHOLE_MESSAGE };
  const elements = leaf === null ? [] : [...walkView(tree, start, { content: false })].toReversed();
  const slots: Slot[] = [];
  const overlays: OverlayRow[] = [];
  const show = (seq: number, id: string): void => {
    const last = slots.at(-1);
    // Each visible part of a message that an overlay cuts names the same message, which is copied once.
    if (last?.kind !== "message" || last.seq !== seq) slots.push({ kind: "message", seq, id });
  };
  for (const element of elements) {
    if (element.kind === "message") {
      show(element.row.seq, element.row.id);
      continue;
    }
    const { overlay } = element;
    overlays.push(overlay);
    if (overlay.fromStep > 0) show(overlay.fromSeq, overlay.fromId);
    if (hidesWhole(tree, overlay)) slots.push({ kind: "record", overlay });
    if (overlay.toStep < WHOLE_MESSAGE) show(overlay.toSeq, overlay.toId);
  }
  return { slots, overlays };
}

/** The last message of the parent that a slot stands for. */
function lastOf(slot: Slot): number {
  return slot.kind === "message" ? slot.seq : slot.overlay.toSeq;
}

/** Whether an overlay covers at least one message from its beginning to its end. */
function hidesWhole(tree: Tree, { fromSeq, fromStep, toSeq, toStep }: OverlayRow): boolean {
  const cutsFirst = fromStep > 0;
  const cutsLast = toStep < WHOLE_MESSAGE;
  if (fromSeq === toSeq) return !cutsFirst && !cutsLast;
  return !cutsFirst || !cutsLast || tree.shape(toSeq).parentSeq !== fromSeq;
}

/** Stores the slot at `at`, and with it the messages that follow directly in the parent's table. Returns the next slot. */
function place(seed: Seed, slots: readonly Slot[], at: number): number {
  const { from, to, sql } = seed;
  const first = slots[at];
  if (first === undefined || first.kind === "record") {
    if (first !== undefined) storeRecord(seed, first.overlay, at);
    return at + 1;
  }
  const follows = (slot: Slot | undefined, by: number): boolean =>
    slot?.kind === "message" && slot.seq === first.seq + by;
  let length = 1;
  while (follows(slots[at + length], length)) length++;
  const stretch = { fromSeq: first.seq, toSeq: first.seq + length - 1, firstSeq: at };
  sql.copyMessagesAs(from.sessionId, to.sessionId, stretch);
  return at + length;
}

function storeRecord({ to, countTokens, detailsOf }: Seed, overlay: OverlayRow, seq: number): void {
  const record = toRecord(overlay);
  const { instructions } = detailsOf(record).pinned;
  const message = recordMessage(summarySource({ ...record, overlayId: overlay.overlayId }), instructions);
  const parentSeq = seq === 0 ? null : seq - 1;
  to.write(encodeMessage(message, countTokens), { seq, parentSeq, branch: 0, createdAt: overlay.createdAt });
}

/**
 * Stores an active copy of an overlay. If the message at an end was not copied, the record takes its place, because the
 * overlay hides that message whole.
 */
function lay(seed: Seed, { slots, overlay, n }: { slots: readonly Slot[]; overlay: OverlayRow; n: number }): void {
  const { to, detailsOf } = seed;
  const record = slots.findIndex((slot) => slot.kind === "record" && slot.overlay.n === overlay.n);
  const placeOf = (seq: number): number => {
    const copied = slots.findIndex((slot) => slot.kind === "message" && slot.seq === seq);
    return copied === -1 ? record : copied;
  };
  const [fromSeq, toSeq] = [placeOf(overlay.fromSeq), placeOf(overlay.toSeq)];
  const { fromStep, toStep } = overlay;
  const range = { from: { seq: fromSeq, step: fromStep }, to: { seq: toSeq, step: toStep } };
  to.sql.insertOverlay(to.sessionId, {
    ...overlay,
    n,
    fromSeq,
    toSeq,
    fromId: to.shape(fromSeq).id,
    toId: to.shape(toSeq).id,
    spanDigest: new Spans(to).describe(range)?.digest ?? overlay.spanDigest,
    details: JSON.stringify(detailsOf(toRecord(overlay))),
    topSeq: slots.findLastIndex((slot) => lastOf(slot) <= overlay.topSeq),
    changes: "[]",
  });
}
