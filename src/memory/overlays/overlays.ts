/**
 * The overlays of a session: commit, rollback, restore, invalidation, and views of the past.
 *
 * Owns the commit fence with its typed results, and invalidates overlays when a covered message changes. It plans
 * nothing, summarises nothing and renders nothing. It never changes a message (M1).
 *
 * C2: two overlays in force on one path are disjoint or nested. {@link Overlays.add} refuses any other. C3: an overlay
 * in force matches its source. It is added only over the digest it was planned on, and every change of a covered
 * message invalidates it in the same transaction ({@link Overlays.invalidate}). V3: an overlay is smaller than the part
 * that it replaces, in any view that shows it.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { fitOwn } from "../../facts/beside.ts";
import { besideEarlier, NOTHING_PINNED, type Instruction, type Opening } from "../../facts/fact.ts";
import { isSameOne } from "../../facts/instructions.ts";
import { renderInstructions, renderSaid, summaryMessage } from "../../facts/render.ts";
import { checkWhole } from "../../known-fields.ts";
import { DEFAULT_PINNED_TOKENS, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import type { Db } from "../db.ts";
import type { Drafts } from "../drafts.ts";
import { isPruned } from "../messages/content.ts";
import { findLeafAfter, type Tree } from "../messages/tree.ts";
import {
  elementMessages,
  overlayMessage,
  placeFrom,
  placeTo,
  rangeOf,
  readView,
  walkSpan,
  walkView,
  type Element,
  type View,
  type ViewReading,
} from "../messages/visible.ts";
import { comparePlaces, type OverlayRow, type Range, type ShapeRow } from "../statements.ts";
import {
  addChange,
  earlierSummary,
  fillDetails,
  parseDetails,
  parseOverlay,
  summarySource,
  toRecord,
  wasInForce,
  type Leaf,
  type OverlayDetails,
  type OverlayInput,
  type OverlayRecord,
  type OverlayState,
} from "./overlay.ts";
import { Spans, type SpanDigest } from "./spans.ts";
import {
  measureMessage,
  sliceMessage,
  isBareResult,
  isOpenApproval,
  isSaid,
  toolPart,
  type CountTokens,
  type Part,
} from "../../steps/message/message.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import { overlayMessageId, storedId } from "../../steps/view/view.ts";
import { digest } from "../../steps/text/digest.ts";
import { stripInvisible } from "../../steps/text/text.ts";

/**
 * Why a planned overlay no longer fits:
 * - `gone`: an end of its span was deleted.
 * - `changed`: its messages changed.
 * - `overlap`: another overlay covers a part of its span and something else.
 * - `larger`: it would make the view larger.
 * - `open`: it would hide an open approval of the newest message.
 */
export type StaleReason = "gone" | "changed" | "overlap" | "larger" | "open";

/** What became of a summary that was to be put into force. */
export type CommitResult =
  /** In force. `rebased` when the messages are the same, but other overlays than planned lie over them now. */
  | { readonly kind: "applied"; readonly overlay: OverlayRecord; readonly rebased?: true }
  /** This run or this very overlay was committed before. This call wrote nothing. */
  | { readonly kind: "already"; readonly overlay: OverlayRecord }
  /** It waits for a person. Nothing shows it. */
  | { readonly kind: "proposed"; readonly overlay: OverlayRecord }
  | { readonly kind: "stale"; readonly reason: StaleReason };

export interface ExpandOptions {
  /** How many layers to open. At 1 the narrower overlays just beneath appear as their summaries. Defaults to all layers. */
  readonly depth?: number | undefined;
  /** Messages per page. Defaults to all. */
  readonly limit?: number | undefined;
  /** The id of the last message of the previous page. */
  readonly after?: string | undefined;
}

interface OverlaysOptions {
  readonly db: Db;
  readonly now: () => number;
  readonly countTokens: CountTokens;
  /** Called inside the transaction of every change of the visible view. */
  readonly changed: () => void;
}

export class Overlays {
  readonly tree: Tree;
  readonly spans: Spans;
  readonly #options: OverlaysOptions;

  constructor(tree: Tree, options: OverlaysOptions) {
    this.tree = tree;
    this.spans = new Spans(tree);
    this.#options = options;
  }

  /** Overlays that are or were in force, oldest first, disclosed by {@link discloseOverlay}. */
  list(): OverlayRecord[] {
    return this.tree.sql.overlays(this.tree.sessionId).map((row) => discloseOverlay(this, row));
  }

  get(overlayId: string): OverlayRecord | null {
    const row = this.#row(overlayId);
    return row === undefined || row.state === "proposed" ? null : toRecord(row);
  }

  /** Throws `unknown_overlay`. */
  mustGet(overlayId: string): OverlayRecord {
    return toRecord(this.mustGetRow(overlayId));
  }

  /** Throws `unknown_overlay`. */
  mustGetRow(overlayId: string): OverlayRow {
    const row = this.#row(overlayId);
    if (row !== undefined && row.state !== "proposed") return row;
    throw new PalimpsestError(
      "unknown_overlay",
      `There is no overlay "${overlayId}". getCompactions() lists those of a session.`,
    );
  }

  /**
   * The commit fence (C1, C2, C3, V3). Throws `invalid_input`. When no digest was given, it also throws `unknown_message` and
   * `invalid_range`.
   */
  add(input: OverlayInput): CommitResult {
    return this.#change(() => this.#add(input));
  }

  #change(work: () => CommitResult): CommitResult {
    return this.#options.db.transaction(() => {
      const result = work();
      if (result.kind === "applied") this.#options.changed();
      return result;
    });
  }

  #add(given: OverlayInput): CommitResult {
    const input = parseOverlay(given);
    const known = input.overlayId ?? (input.runId === undefined ? undefined : overlayOfRun(input.runId));
    const earlier = known === undefined ? undefined : this.#row(known);
    if (earlier !== undefined) return { kind: "already", overlay: toRecord(earlier) };
    const range = this.spans.locate(input.span);
    const found = range === null ? null : this.spans.describe(range);
    if (range === null || found === null) {
      if (input.digest === undefined) throw this.#badSpan(input.span);
      return { kind: "stale", reason: "gone" };
    }
    if (input.digest !== undefined && input.digest !== found.digest) return { kind: "stale", reason: "changed" };
    const overlayId = known ?? this.#freeId(input, found.digest);
    const same = this.#row(overlayId);
    if (same !== undefined) return { kind: "already", overlay: toRecord(same) };
    const others = this.tree.sql.activeOverlaysEndingFrom(this.tree.sessionId, range.from.seq);
    if (others.some((other) => this.#crosses(other, range))) return { kind: "stale", reason: "overlap" };
    const twin = findTwin(input, others, { range, digest: found.digest });
    if (twin !== null) return { kind: "already", overlay: toRecord(twin) };
    const row = this.#withTrueNames(this.#newRow(input, { range, found, overlayId }));
    const refused = this.#whyRefused(row, found, input);
    if (refused !== null) return { kind: "stale", reason: refused };
    this.tree.sql.insertOverlay(this.tree.sessionId, row);
    this.tree.flush();
    if (row.state === "proposed") return { kind: "proposed", overlay: toRecord(row) };
    this.tree.touch();
    const planned = input.overlayIds === undefined || sameMembers(input.overlayIds, found.overlayIds);
    const leafSeq = input.leafId === undefined ? null : this.tree.seqOf(input.leafId);
    const hidden = others.some((other) => this.#holds(other, range) && this.#isShown(other, leafSeq));
    return inForce(toRecord(row), !planned || hidden);
  }

  /** What a run proposes. Null where it proposes nothing, and once a message under it was edited or deleted. */
  proposalOf(runId: string): OverlayRecord | null {
    const row = this.#row(overlayOfRun(runId));
    return row?.state === "proposed" ? toRecord(row) : null;
  }

  /** Removes what a run proposes, and returns it. */
  takeProposal(runId: string): OverlayRecord | null {
    const proposal = this.proposalOf(runId);
    if (proposal !== null) this.tree.sql.deleteOverlay(this.tree.sessionId, proposal.n);
    return proposal;
  }

  /** Takes an overlay out of force, so the content beneath shows again. Throws `unknown_overlay`. */
  rollback(overlayId: string): OverlayRecord {
    return this.#options.db.transaction(() => {
      const row = this.mustGetRow(overlayId);
      if (row.state !== "active") return toRecord(row);
      this.#setState(row, "rolled-back");
      // An edit under it will no longer invalidate it, so later overlays drop names that may come from its span.
      for (const other of this.tree.sql.activeOverlaysEndingFrom(this.tree.sessionId, row.toSeq)) {
        if (comparePlaces(placeFrom(other), placeTo(row)) > 0) this.#forgetNames(other);
      }
      this.#options.changed();
      return this.mustGet(overlayId);
    });
  }

  /**
   * Shows a text behind an overlay's summary. Returns false and changes nothing when the overlay is out of force or
   * would no longer be smaller than the part that it replaced (V3).
   */
  addContext(overlayId: string, context: string): boolean {
    const row = this.#row(overlayId);
    if (row?.state !== "active") return false;
    return this.#showOtherwise(row, { ...parseDetails(row.details), context: stripInvisible(context) });
  }

  /** Gives an overlay in force other details. Returns false and changes nothing when it would no longer be smaller than its span (V3). */
  #showOtherwise(row: OverlayRow, details: OverlayDetails): boolean {
    const weighed = this.#weighed(row, details);
    if (weighed.tokens >= row.spanTokens) return false;
    this.#options.db.transaction(() => {
      this.tree.sql.changeOverlay(this.tree.sessionId, { ...row, ...weighed });
      this.#options.changed();
    });
    return true;
  }

  /**
   * Lets an instruction hold again that the model of a summary took for ended. Only a still later message of the user can end it then.
   * `shown` has the overlays of a view in order. Returns false where none of them says that it was ended, or where that one would no longer
   * be smaller than its span (V3).
   */
  restoreInstruction({ quote, messageId }: Instruction, shown: readonly string[]): boolean {
    for (const id of shown.toReversed()) {
      const row = this.#row(id);
      if (row?.state !== "active") continue;
      const details = parseDetails(row.details);
      const over = details.pinned.ended.find((each) => isSameOne(each, { quote, messageId }));
      if (over === undefined) continue;
      const { by, ...instruction } = over;
      const pinned = {
        ...details.pinned,
        ended: details.pinned.ended.filter((each) => each !== over),
        instructions: [...details.pinned.instructions, { ...instruction, restored: by.messageId }],
      };
      return this.#showOtherwise(row, { ...details, pinned });
    }
    return false;
  }

  /**
   * Puts an overlay that left force back, through the same fence as a new one. The result is `stale` when its messages
   * are `changed` or `gone`, when another overlay crosses it (`overlap`), or when the current view of the span is
   * smaller (`larger`). It is `already` when the overlay is in force, and `rebased` when other overlays cover it now and are shown
   * instead. Throws `unknown_overlay`.
   */
  restore(overlayId: string): CommitResult {
    const row = this.mustGetRow(overlayId);
    if (row.state === "active") return { kind: "already", overlay: toRecord(row) };
    return this.#change(() => {
      if (isUnchanged(this, row)) return this.#restore(row);
      const gone = [row.fromId, row.toId].some((id) => this.tree.find(id) === null);
      return { kind: "stale", reason: gone ? "gone" : "changed" };
    });
  }

  #restore(row: OverlayRow): CommitResult {
    const range = rangeOf(row);
    const others = this.tree.sql.activeOverlaysEndingFrom(this.tree.sessionId, range.from.seq);
    if (others.some((other) => this.#crosses(other, range))) return { kind: "stale", reason: "overlap" };
    const found = this.spans.describe(range);
    if (found === null) return { kind: "stale", reason: "gone" };
    if (this.#isLarger(row, found)) return { kind: "stale", reason: "larger" };
    this.#setState(this.#withTrueNames(row), "active");
    const hidden = others.some((other) => this.#holds(other, range) || (other.n > row.n && isOverSame(other, row)));
    return inForce(this.mustGet(row.overlayId), hidden);
  }

  /** The view right after an overlay was added. Throws `unknown_overlay`. */
  viewAsOf(overlayId: string, reading: Omit<ViewReading, "overlays"> = {}): PastView {
    return readPastView(this, { ...reading, overlayId });
  }

  /**
   * The content beneath an overlay, oldest first: the originals, or with `depth` also summaries of narrower overlays in
   * force. Empty when its messages were deleted. A page shorter than its limit is the last one. Reads a row for each
   * element and another for each one on the page. Throws `unknown_overlay`, `unknown_message` for `after`,
   * `invalid_options`.
   */
  expand(overlayId: string, options: ExpandOptions = {}): UIMessage[] {
    const { depth = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY, after } = options;
    for (const [name, value] of Object.entries({ depth, limit })) if (value !== Infinity) checkWhole(name, value, 1);
    const elements = this.beneath(overlayId, depth);
    const start = after === undefined ? 0 : elements.findIndex((each) => stands(each, after)) + 1;
    if (after !== undefined && start === 0) {
      throw new PalimpsestError(
        "unknown_message",
        `There is no "${after}" under overlay "${overlayId}" at this depth. Give the last id of the page before.`,
      );
    }
    return this.#read(elements.slice(start, start + limit));
  }

  /** The elements beneath an overlay without content, oldest first, as {@link expand} reads them. */
  beneath(overlayId: string, depth = Number.POSITIVE_INFINITY): Element[] {
    const overlay = this.mustGetRow(overlayId);
    if (this.tree.find(overlay.toId)?.seq !== overlay.toSeq) return [];
    return beneath(this.tree, overlay, depth).toReversed();
  }

  #read(elements: readonly Element[]): UIMessage[] {
    const read = elements.map((element) =>
      element.kind === "overlay" ? element : { ...element, row: this.tree.contentAt(element.row.seq) },
    );
    return elementMessages(this.tree, read);
  }

  /**
   * Invalidates every overlay that covers one of the rows, before the rows change. For a message that an overlay covers
   * in part, `keeps` may say that this part stays the same. `reached` is true when an overlay may show at or above one
   * of the rows, so the view there has more than the row. `gone` lists the overlays that were in force, the widest
   * last. Versions of the notes that describe
   * one of the rows are withdrawn, and proposals over them are deleted.
   */
  invalidate(
    rows: readonly ShapeRow[],
    keeps: (overlay: OverlayRow) => boolean = () => false,
  ): { readonly reached: boolean; readonly gone: readonly OverlayRow[] } {
    const oldest = rows.reduce((least, row) => Math.min(least, row.seq), Number.POSITIVE_INFINITY);
    const active = this.tree.sql.activeOverlaysEndingFrom(this.tree.sessionId, oldest);
    let candidates = active;
    const reached = candidates.length > 0;
    const gone: OverlayRow[] = [];
    while (candidates[0] !== undefined) {
      // One path per branch. Every candidate whose end is on it lies on the same one.
      const isOn = this.tree.pathTo(candidates[0].toSeq);
      const changed = rows.filter((row) => isOn(row.seq));
      for (const overlay of candidates.filter((each) => isOn(each.toSeq))) {
        const covered = changed.some((row) => row.seq >= overlay.fromSeq && row.seq <= overlay.toSeq);
        if (!covered || keeps(overlay)) continue;
        this.#setState(overlay, "invalidated");
        gone.push(overlay);
      }
      candidates = candidates.filter((each) => !isOn(each.toSeq));
    }
    for (const layer of this.tree.sql.unshownEndingFrom(this.tree.sessionId, oldest)) {
      const isOn = this.tree.pathTo(layer.toSeq);
      const covered = rows.some(({ seq }) => seq >= layer.fromSeq && seq <= layer.toSeq && isOn(seq));
      if (!covered || keeps(layer)) continue;
      // A person still reads what they wrote into a version. A proposal says nothing more to anybody.
      if (layer.state === "notes") this.#setState(layer, "invalidated");
      else this.tree.sql.deleteOverlay(this.tree.sessionId, layer.n);
    }
    if (gone.length > 0) for (const overlay of active) if (!gone.includes(overlay)) this.#forgetNames(overlay);
    return { reached, gone: gone.toSorted((a, b) => a.n - b.n) };
  }

  /** Removes names that may come from spans of earlier overlays, because one of those has left force (C3). */
  #forgetNames(row: OverlayRow): void {
    const changed = this.withoutNames(row);
    if (changed === row) return;
    this.tree.sql.changeOverlay(this.tree.sessionId, changed);
    this.tree.touch();
  }

  /** The names stay only if every overlay that they come from is in force, because only then they are known to be true. */
  #withTrueNames(row: OverlayRow): OverlayRow {
    const isTrue = parseDetails(row.details).knows.every((id) => this.#row(id)?.state === "active");
    return isTrue ? row : this.withoutNames(row);
  }

  /** The overlay without names and facts that may come from another overlay's messages. Unchanged when all names are its own. */
  withoutNames(row: OverlayRow): OverlayRow {
    const details = parseDetails(row.details);
    if (details.knows.length === 0) return row;
    const isOwn = (messageId: string): boolean => {
      const seq = this.tree.find(messageId)?.seq ?? -1;
      return seq <= row.toSeq && (seq > row.fromSeq || (seq === row.fromSeq && row.fromStep === 0));
    };
    const { instructions, ended, loaded } = details.pinned;
    const own = <Each extends { readonly messageId: string }>(list: readonly Each[]): Each[] =>
      list.filter(({ messageId }) => isOwn(messageId));
    const pinned = {
      ...details.pinned,
      instructions: own(instructions),
      ended: ended.filter(({ messageId, by }) => isOwn(messageId) && isOwn(by.messageId)),
      loaded: own(loaded),
    };
    return { ...row, ...this.#weighed(row, { ...details, knows: [], pinned }) };
  }

  #row(overlayId: string): OverlayRow | undefined {
    return this.tree.sql.overlayById(this.tree.sessionId, overlayId);
  }

  #setState(row: OverlayRow, state: OverlayState): void {
    const { sql, sessionId } = this.tree;
    const change = { state, afterN: sql.lastOverlayNumber(sessionId), at: this.#options.now() };
    sql.changeOverlay(sessionId, { ...row, ...addChange(row, change) });
    this.tree.touch();
  }

  /** Whether an overlay and the range overlap in part, on a path that both are on (C2). */
  #crosses(other: OverlayRow, range: Range): boolean {
    const from = comparePlaces(placeFrom(other), range.from);
    const to = comparePlaces(placeTo(other), range.to);
    if (from < 0 && to < 0) {
      return comparePlaces(placeTo(other), range.from) >= 0 && this.tree.isOnPath(other.toSeq, range.to.seq);
    }
    if (from > 0 && to > 0) {
      return comparePlaces(placeFrom(other), range.to) <= 0 && this.tree.isOnPath(range.to.seq, other.toSeq);
    }
    return false;
  }

  /** Whether an overlay is on the path to the planned leaf. One on a sibling branch covers nothing there. */
  #isShown(other: OverlayRow, leafSeq: number | null): boolean {
    return leafSeq === null || this.tree.isOnPath(other.toSeq, leafSeq);
  }

  /** Whether an overlay covers all of the range and more, on a path that both are on. */
  #holds(other: OverlayRow, range: Range): boolean {
    const from = comparePlaces(placeFrom(other), range.from);
    const to = comparePlaces(placeTo(other), range.to);
    return from <= 0 && to >= 0 && (from < 0 || to > 0) && this.tree.isOnPath(range.to.seq, other.toSeq);
  }

  #newRow(input: OverlayInput, place: { range: Range; found: SpanDigest; overlayId: string }): OverlayRow {
    const { range, found, overlayId } = place;
    const shown = { overlayId, summary: input.summary, spanMessages: found.messages };
    const newest = this.tree.newest();
    const tools = input.details?.boundary == null ? this.spans.toolsUpTo(input.span) : null;
    return {
      ...this.#weighed(shown, fillDetails({ ...input.details, tools })),
      n: this.tree.sql.lastOverlayNumber(this.tree.sessionId) + 1,
      overlayId,
      state: (input.details?.deadline == null ? "active" : "proposed") satisfies OverlayState,
      fromSeq: range.from.seq,
      fromStep: range.from.step,
      toSeq: range.to.seq,
      toStep: range.to.step,
      fromId: input.span.fromId,
      toId: input.span.toId,
      spanTokens: found.tokens,
      spanMessages: found.messages,
      spanDigest: found.digest,
      runId: input.runId ?? null,
      createdAt: this.#options.now(),
      summary: input.summary,
      topSeq: newest?.seq ?? range.to.seq,
      changes: "[]",
    };
  }

  /** The details as JSON with their weights, and the overlay's tokens as shown. */
  #weighed(
    { overlayId, summary, spanMessages }: Pick<OverlayRow, "overlayId" | "summary" | "spanMessages">,
    details: OverlayDetails,
  ): Pick<OverlayRow, "details" | "tokens"> {
    const measure = (of: OverlayDetails, text = summary): number =>
      this.#measure({ overlayId, summary: text, spanMessages, details: of });
    const earlier = (showsInstructions: boolean): number =>
      measure(
        { ...details, pinned: besideEarlier(details.pinned, showsInstructions) },
        earlierSummary({ summary, details }),
      );
    const [tokens, least] = [measure(details), earlier(false)];
    const instructions = details.pinned.instructions.length === 0 ? 0 : earlier(true) - least;
    const own = measure(fillDetails({}));
    const weights = { last: tokens - least, ...(instructions > 0 && { instructions }), summary: own };
    return { tokens, details: JSON.stringify({ ...details, weights }) };
  }

  /** Estimated tokens of an overlay as it is shown. */
  #measure(overlay: Parameters<typeof summarySource>[0]): number {
    return this.weigh(summaryMessage(summarySource(overlay)));
  }

  /** Tokens of a message by the session's counter. */
  weigh(message: UIMessage): number {
    return measureMessage(message, this.#options.countTokens).tokens;
  }

  /** An id derived from the overlay's content. An overlay out of force does not block an equal one from a new id. */
  #freeId(input: OverlayInput, spanDigest: string): string {
    for (let again = 0; ; again++) {
      const { fromStep, toStep } = input.span;
      const id = idFor("span", spanDigest, `${fromStep}-${toStep}-${again}`, input.summary);
      const row = this.#row(id);
      if (row === undefined || row.state === "active") return id;
    }
  }

  /**
   * Returns whether a view would be larger with the overlay (V3). The last overlay shows the names and loaded texts of all that
   * is hidden, and the overlay that showed them so far drops them. That one counts in the span where it stands there. An overlay with
   * another one behind it shows none.
   */
  #isLarger(row: Pick<OverlayRow, "tokens" | "details">, { tokens, overlayIds }: SpanDigest): boolean {
    const { knows, weights } = parseDetails(row.details);
    const last = knows.at(-1);
    const before = last === undefined || overlayIds.length > 0 ? undefined : this.#row(last);
    const freed = before?.state === "active" ? parseDetails(before.details).weights.last : 0;
    return row.tokens - weights.last + (weights.instructions ?? 0) >= tokens || row.tokens >= tokens + freed;
  }

  /**
   * Returns why an overlay cannot be shown, or null. Throws `invalid_range` for an open approval when the input has no
   * digest.
   */
  #whyRefused(row: OverlayRow, found: SpanDigest, { digest, leafId }: OverlayInput): StaleReason | null {
    const planned = leafId === undefined ? null : this.tree.seqOf(leafId);
    const open = this.#hiddenApproval(row, planned ?? row.toSeq);
    if (open === null) return this.#isLarger(row, found) ? "larger" : null;
    if (digest === undefined) throw openApproval(open);
    return "open";
  }

  /**
   * The id of a covered message whose approval can still be given, or null. Only the newest message with any content
   * can have one, on the newest branch through the row. steps/view/repair.ts uses the same rule.
   */
  #hiddenApproval({ fromSeq, toSeq, toStep }: OverlayRow, throughSeq: number): string | null {
    const leafSeq = this.tree.seqOf(findLeafAfter(this.tree, throughSeq));
    const answered = new Set<string>();
    for (const seq of this.tree.pathDown(leafSeq ?? toSeq, fromSeq)) {
      const row = this.tree.contentAt(seq);
      if (isPruned(row)) continue;
      const message = this.tree.decode(row);
      const spoken = message.parts.filter(isSaid);
      const results = spoken.flatMap((part) => toolPart(part) ?? []).filter(isBareResult);
      if (results.length < spoken.length) {
        const { parts } = seq < toSeq ? message : sliceMessage(message, 0, toStep);
        const isOpen = (part: Part): boolean => isOpenApproval(part) && !answered.has(part.toolCallId);
        return seq <= toSeq && parts.some(isOpen) ? message.id : null;
      }
      for (const { toolCallId } of results) answered.add(toolCallId);
    }
    return null;
  }

  #badSpan(span: Span): PalimpsestError {
    const missing = [span.fromId, span.toId].find((id) => this.tree.find(id) === null);
    if (missing !== undefined) {
      return new PalimpsestError(
        "unknown_message",
        `There is no message "${missing}" in this session: an overlay needs both of its ends.`,
      );
    }
    return new PalimpsestError(
      "invalid_range",
      `Message "${span.fromId}" (from step ${span.fromStep}) does not come before "${span.toId}" on one path. Give both ends on one branch, the older end first.`,
    );
  }
}

function inForce(overlay: OverlayRecord, rebased: boolean): CommitResult {
  return { kind: "applied", overlay, ...(rebased && { rebased }) };
}

function openApproval(messageId: string): PalimpsestError {
  return new PalimpsestError(
    "invalid_range",
    `Message "${messageId}" holds a call that waits for an approval or for its run. Leave it out until it has its result.`,
  );
}

/** The id of the overlay that a run makes. */
export function overlayOfRun(runId: string): string {
  return idFor("run", runId);
}

function idFor(...what: readonly string[]): string {
  return `ov_${digest(...what).slice(0, 16)}`;
}

/**
 * Finds an overlay that another run committed over the very same messages since this run was planned. It serves the
 * same purpose.
 */
function findTwin(
  { runId, overlayIds = [] }: OverlayInput,
  others: readonly OverlayRow[],
  { range, digest: spanDigest }: { range: Range; digest: string },
): OverlayRow | null {
  const twin = others.find((other) => covers(other, range) && other.spanDigest === spanDigest);
  return twin === undefined || runId === undefined || overlayIds.includes(twin.overlayId) ? null : twin;
}

/** Whether an overlay covers exactly that range. */
function covers(overlay: OverlayRow, { from, to }: Range): boolean {
  return comparePlaces(placeFrom(overlay), from) === 0 && comparePlaces(placeTo(overlay), to) === 0;
}

function isOverSame(a: OverlayRow, b: OverlayRow): boolean {
  return covers(a, rangeOf(b));
}

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((each) => b.includes(each));
}

/** The elements beneath an overlay, newest first. */
function beneath(tree: Tree, overlay: OverlayRow, depth: number): Element[] {
  const narrower =
    depth === Number.POSITIVE_INFINITY
      ? []
      : tree.sql.activeOverlaysEndingFrom(tree.sessionId, overlay.fromSeq).filter((each) => isBeneath(each, overlay));
  const options = { content: false, floor: placeFrom(overlay), overlays: narrower } as const;
  return [...walkView(tree, placeTo(overlay), options)].flatMap((element) =>
    element.kind === "overlay" && depth > 1 ? beneath(tree, element.overlay, depth - 1) : [element],
  );
}

/** Whether `inner` lies inside `outer`, or is older and covers the very same span. */
function isBeneath(inner: OverlayRow, outer: OverlayRow): boolean {
  const from = comparePlaces(placeFrom(inner), placeFrom(outer));
  const to = comparePlaces(placeTo(inner), placeTo(outer));
  return from >= 0 && to <= 0 && (from > 0 || to < 0 || inner.n < outer.n);
}

/** Whether the element was shown under this id, as a message, a part of one or a summary. */
function stands(element: Element, id: string): boolean {
  return element.kind === "overlay"
    ? id === overlayMessageId(element.overlay.overlayId)
    : element.row.id === storedId(id);
}

/** A view of the past, with the messages as they are now. */
export interface PastView extends View {
  /** The overlay that had just been added. */
  readonly asOf: { readonly overlayId: string; readonly n: number; readonly createdAt: number };
  /** Ids of overlays in force then whose messages were edited or deleted since. Their text is withheld. */
  readonly changed: readonly string[];
}

const WITHHELD = "What this summary said is not shown, because messages under it were edited or deleted later.";

/**
 * The view of an overlay's branch right after that overlay was added. It has the messages up to that time and the
 * overlays in force then, in any state now. Reads the session's overlays, the rows since the overlay's end, and a view.
 * Throws `unknown_overlay`.
 */
function readPastView(
  overlays: Overlays,
  { overlayId, ...reading }: Omit<ViewReading, "overlays"> & { readonly overlayId: string },
): PastView {
  const { tree } = overlays;
  const at = overlays.mustGetRow(overlayId);
  const changed: string[] = [];
  const shown = tree.sql
    .overlays(tree.sessionId)
    .filter((row) => wasInForce(row, at.n))
    .filter((row) => isPlaced(overlays, row) || changed.push(row.overlayId) === 0);
  const leaf = leafThen(tree, at);
  if (leaf === null) return { ...emptyView(), asOf: stampOf(at), changed };
  const start = { seq: leaf, step: WHOLE_MESSAGE };
  const visible = [...walkView(tree, start, { content: false, overlays: shown })];
  const withheld = new Set(
    visible.flatMap((element) =>
      element.kind === "overlay" && !isUnchanged(overlays, element.overlay) ? [element.overlay.n] : [],
    ),
  );
  // Names of an overlay that left force may come from messages that changed since, so only an active one keeps them.
  const disclosed = (row: OverlayRow): OverlayRow => (row.state === "active" ? row : overlays.withoutNames(row));
  const rows = shown.map((row) => (withheld.has(row.n) ? withhold(row, overlays) : disclosed(row)));
  changed.push(...rows.filter((row) => withheld.has(row.n)).map((row) => row.overlayId));
  return {
    ...readView(tree, start, { ...reading, overlays: rows }),
    leafId: tree.shape(leaf).id,
    asOf: stampOf(at),
    changed,
  };
}

/**
 * True when the messages under an overlay are the same as when it was added. C3 ensures that only while the overlay is
 * in force. Reads a row for each element that stands in its place.
 */
function isUnchanged(overlays: Overlays, overlay: OverlayRow): boolean {
  if (overlay.state === "active") return true;
  if (!isPlaced(overlays, overlay)) return false;
  return overlays.spans.describe(rangeOf(overlay))?.digest === overlay.spanDigest;
}

/**
 * The overlay for callers. Its words are withheld where covered messages were edited or deleted since. Reads rows only
 * for an overlay that was rolled back.
 */
export function discloseOverlay(overlays: Overlays, row: OverlayRow): OverlayRecord {
  const overlay = toRecord(row.state === "active" ? row : overlays.withoutNames(row));
  const holds = row.state === "active" || (row.state === "rolled-back" && isUnchanged(overlays, row));
  if (holds) return overlay;
  const silent = {
    pinned: NOTHING_PINNED,
    knows: [],
    weights: { last: 0, summary: 0 },
    facts: null,
    carried: [],
    opening: null,
    context: null,
  };
  return { ...overlay, summary: "", withheld: true, details: { ...overlay.details, ...silent } };
}

/** The overlays that an overlay replaced when it was added, oldest first. Null when its messages are gone. */
export function listReplaced(overlays: Overlays, overlay: OverlayRow): OverlayRow[] | null {
  const { tree } = overlays;
  if (!isPlaced(overlays, overlay)) return null;
  const before = tree.sql
    .overlays(tree.sessionId)
    .filter((row) => row.n < overlay.n && wasInForce(row, overlay.n) && isPlaced(overlays, row));
  const elements = walkSpan(tree, rangeOf(overlay), { content: false, overlays: before });
  return elements?.flatMap((element) => (element.kind === "overlay" ? [element.overlay] : [])).toReversed() ?? null;
}

/** Whether both of its ends are still in place. */
function isPlaced(overlays: Overlays, row: OverlayRow): boolean {
  if (row.state === "active") return true;
  const range = overlays.spans.locate(toRecord(row).span);
  return (
    range !== null && comparePlaces(range.from, placeFrom(row)) === 0 && comparePlaces(range.to, placeTo(row)) === 0
  );
}

/** The newest remaining message at that time on the overlay's branch, or in the session when the overlay's end is gone. */
function leafThen(tree: Tree, { toSeq, topSeq }: OverlayRow): number | null {
  const below = new Set([toSeq]);
  let newest: number | null = null;
  for (const { seq, parentSeq } of tree.sql.links(tree.sessionId, toSeq - 1, topSeq)) {
    if (seq !== toSeq && (parentSeq === null || !below.has(parentSeq))) continue;
    below.add(seq);
    newest = seq;
  }
  return newest ?? tree.sql.links(tree.sessionId, -1, topSeq).at(-1)?.seq ?? null;
}

function withhold(row: OverlayRow, overlays: Overlays): OverlayRow {
  const details = JSON.stringify({
    ...parseDetails(row.details),
    pinned: NOTHING_PINNED,
    weights: { last: 0, summary: 0 },
    opening: null,
  } satisfies OverlayDetails);
  const silent = { ...row, summary: WITHHELD, details };
  return { ...silent, tokens: overlays.weigh(overlayMessage(silent)) };
}

function stampOf({ overlayId, n, createdAt }: OverlayRow): PastView["asOf"] {
  return { overlayId, n, createdAt };
}

function emptyView(): View {
  return { messages: [], tokens: 0, elements: [], leafId: null };
}

/** What parts of an overlay that an edit took back are shown from. */
interface Restoring {
  readonly overlays: Overlays;
  readonly drafts: Drafts;
  readonly countTokens: CountTokens;
}

export function restoreDrafts(restoring: Restoring, gone: readonly OverlayRow[]): void {
  for (const row of gone) {
    const { details } = toRecord(row);
    const { instructions, said } = details.pinned;
    const shown = restoring.countTokens(renderInstructions(instructions)) + restoring.countTokens(renderSaid(said));
    const pinnedTokens = Math.max(DEFAULT_PINNED_TOKENS, shown);
    const { opening, madeOf } = details;
    for (const part of madeOf) if (part.kind === "leaf") showLeaf(restoring, part, { pinnedTokens, opening });
  }
}

/** Gives each part the budget of the whole, so that an edit elsewhere removes none of the user's words from the view. */
function showLeaf(
  { overlays, drafts, countTokens }: Restoring,
  leaf: Leaf,
  { pinnedTokens, opening }: { pinnedTokens: number; opening: Opening | null },
): void {
  const { fromId, fromStep, toId, toStep, digest, draftKey, tokens } = leaf;
  const span = { fromId, fromStep, toId, toStep };
  const range = overlays.spans.locate(span);
  const draft = draftKey === null ? null : drafts.get(overlays.tree.sessionId, draftKey);
  if (range === null || draft === null || overlays.spans.describe(range)?.digest !== digest) return;
  const { text, model, degraded, generation, facts, unfounded } = draft;
  const mostTokens = tokens - countTokens(text) - SUMMARY_FRAME_TOKENS;
  const own = fitOwn(facts, { pinnedTokens: Math.min(pinnedTokens, mostTokens), mostTokens, countTokens });
  const pinned = { ...NOTHING_PINNED, ...own, ended: facts.ended, unfounded };
  overlays.add({
    span,
    summary: text,
    details: {
      model,
      degraded,
      trigger: "edit",
      generation,
      madeOf: [leaf],
      draftKey,
      opening: opening !== null && overlays.spans.isWithin(opening.messageId, range) ? opening : null,
      sourceTokens: tokens,
      pinned,
    },
  });
}
