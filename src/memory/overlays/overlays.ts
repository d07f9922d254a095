/**
 * Overlays over spans of a path: commit, rollback, restore and invalidation.
 *
 * Owns the commit fence with its typed results, and invalidates overlays when a covered message changes. It plans
 * nothing, summarises nothing and renders nothing. It never changes a message (M1).
 *
 * C2: two overlays in force on one path are disjoint or nested. {@link Overlays.add} refuses any other. C3: an overlay
 * in force matches its source. It is added only over the digest it was planned on, and every change of a covered
 * message invalidates it in the same transaction ({@link Overlays.invalidate}). V3: an overlay is smaller than the part
 * that it replaces, in any view that shows it.
 */
import { PalimpsestError } from "../../errors.ts";
import { besideEarlier, type Instruction } from "../../facts/fact.ts";
import { isSameOne } from "../../facts/instructions.ts";
import { summaryMessage } from "../../facts/render.ts";
import { findLeafAfter } from "../messages/branch-tips.ts";
import { parseFacts } from "../messages/content.ts";
import { isPruned } from "../messages/contents.ts";
import { comparePlaces, type Place, type Range } from "../messages/place.ts";
import { SLICE_BYTES, SpanReader } from "../messages/span-reader.ts";
import { PathReader, type Tree } from "../messages/tree.ts";
import { elementMessages, outlineRow } from "../messages/view.ts";
import {
  elementDigest,
  elementTokens,
  placeAfterWalking,
  placeBefore,
  placeFrom,
  placeTo,
  rangeOf,
  startOf,
  walkView,
  walkSpan,
  type Element,
  type MessageElement,
} from "../messages/walk.ts";
import {
  addChange,
  fillDetails,
  parseDetails,
  parseOverlay,
  checkSteps,
  earlierSummary,
  summarySource,
  toRecord,
  type OverlayState,
  type OverlayDetails,
  type OverlayInput,
  type OverlayRecord,
} from "./overlay.ts";
import type { ContentRow, OverlayRow, ShapeRow } from "../statements.ts";
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
import { isSameSpan, type Span, type OutlineRow } from "../../steps/plan/outline.ts";
import { digest, sumDigests } from "../../steps/text/digest.ts";
import { stripInvisible } from "../../steps/text/text.ts";
import type { UIMessage } from "ai";

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

/** The current content of a span. */
export interface SpanDigest {
  readonly digest: string;
  readonly tokens: number;
  readonly messages: number;
  /** The number of its visible elements. */
  readonly elements: number;
  /** Overlays visible inside it, oldest first. */
  readonly overlayIds: readonly string[];
  /** Names of the tools called in it, or before the end of an overlay in it. */
  readonly tools: ReadonlySet<string>;
}

/** How often a survey begins anew in a session that changes meanwhile. */
const MOST_SURVEYS = 3;

/** Bytes of a row's columns beside its facts, as a slice counts them. */
const ROW_BYTES = 150;

/** In the facts of a message that calls no tool, which are not parsed for it. */
const NO_TOOLS = '"tools":[]';

/** The most tool names that an overlay lists. Agents have far fewer, and these fit well into a row. */
const MAX_TOOLS = 1_000;

export class Overlays {
  readonly tree: Tree;
  readonly #now: () => number;
  readonly #countTokens: CountTokens;
  /** The last range that was described, and what its content depends on. */
  #described: { readonly stamp: string; readonly found: SpanDigest | null } | null = null;
  /** The last span that was located, because a commit asks for one several times. It counts while no row changes. */
  #located: { readonly epoch: number; readonly span: Span; readonly range: Range } | null = null;

  constructor(tree: Tree, options: { now: () => number; countTokens: CountTokens }) {
    this.tree = tree;
    this.#now = options.now;
    this.#countTokens = options.countTokens;
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

  /** The span's ends as places. Null when one of its messages is gone or has fewer steps than the span says. */
  locate(span: Span): Range | null {
    checkSteps(span);
    const { epoch } = this.tree;
    if (this.#located?.epoch === epoch && isSameSpan(this.#located.span, span)) return this.#located.range;
    const from = this.tree.find(span.fromId);
    const to = this.tree.find(span.toId);
    if (from === null || to === null || span.fromStep >= parseFacts(from.facts).steps.length) return null;
    const range = { from: { seq: from.seq, step: span.fromStep }, to: { seq: to.seq, step: span.toStep } };
    this.#located = { epoch, span, range };
    return range;
  }

  /** Whether a whole message lies in a range, from its first step on. */
  isWithin(messageId: string, { from, to }: Range): boolean {
    const row = this.tree.find(messageId);
    if (row === null || row.seq > to.seq || !this.tree.isOnPath(row.seq, to.seq)) return false;
    return comparePlaces({ seq: row.seq, step: 0 }, from) >= 0;
  }

  /** Digest and size of a span's current content. Reads no content. Null when the ends are not on one path. */
  describe(range: Range): SpanDigest | null {
    const survey = this.survey(range);
    while (survey.next().done !== true);
    return this.#described?.found ?? null;
  }

  /**
   * Describes a range in slices, one a step, so that {@link describe} answers without a read while nothing changes but what lies behind the
   * range. Begins anew where the range changed between two steps, and gives up where it keeps changing.
   */
  *survey(range: Range): Generator<undefined, void> {
    for (let tries = 0; tries < MOST_SURVEYS; tries++) {
      const stamp = this.stamp(range);
      if (this.#described?.stamp === stamp) return;
      const found = yield* this.#sumInSlices(range);
      if (this.stamp(range) === stamp) this.#described = { stamp, found };
    }
  }

  *#sumInSlices(range: Range): Generator<undefined, SpanDigest | null> {
    const tree = this.tree;
    const epoch = tree.epochUpTo(range.to.seq);
    const parts: SpanDigest[] = [];
    const later: (readonly string[])[] = [];
    let start: Place | null = null;
    for (let at: Place | null = range.to; at !== null && comparePlaces(at, range.from) >= 0;) {
      if (parts.length > 0) yield;
      if (tree.epochUpTo(range.to.seq) !== epoch) return null;
      const slice = takeSlice(walkView(tree, at, { content: false, floor: range.from, pruned: true, later }));
      const oldest = slice.at(-1);
      if (oldest === undefined) return null;
      parts.push(sum(slice));
      start = startOf(oldest);
      at = placeAfterWalking(tree, oldest);
    }
    return start === null || comparePlaces(start, range.from) !== 0 ? null : joined(parts.toReversed());
  }

  /**
   * The sorted names of the tools called on the path up to a range's end, including calls that failed. Every overlay lists those before its
   * own end, so beyond {@link describe} it reads the rows between the range and the overlay before it.
   */
  toolsUpTo(range: Range): string[] {
    const names = new Set(this.describe(range)?.tools);
    const before = placeBefore(range.from, new PathReader(this.tree, { content: false }));
    for (const element of before === null ? [] : walkView(this.tree, before, { content: false })) {
      addTools(names, element);
      if (element.kind === "overlay") break;
    }
    return [...names].toSorted().slice(0, MAX_TOOLS);
  }

  /** All that a description depends on. What lies behind a range adds nothing to it. */
  stamp({ from, to }: Range): string {
    return [this.tree.epochUpTo(to.seq), from.seq, from.step, to.seq, to.step].join(" ");
  }

  /**
   * The commit fence. Throws `invalid_input`. When no digest was given, it also throws `unknown_message` and
   * `invalid_range`.
   */
  add(given: OverlayInput): CommitResult {
    const input = parseOverlay(given);
    const known = input.overlayId ?? (input.runId === undefined ? undefined : overlayOfRun(input.runId));
    const earlier = known === undefined ? undefined : this.#row(known);
    if (earlier !== undefined) return { kind: "already", overlay: toRecord(earlier) };
    const range = this.locate(input.span);
    const found = range === null ? null : this.describe(range);
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
    const row = this.mustGetRow(overlayId);
    if (row.state !== "active") return toRecord(row);
    this.#setState(row, "rolled-back");
    // An edit under it will no longer invalidate it, so later overlays drop names that may come from its span.
    for (const other of this.tree.sql.activeOverlaysEndingFrom(this.tree.sessionId, row.toSeq)) {
      if (comparePlaces(placeFrom(other), placeTo(row)) > 0) this.#forgetNames(other);
    }
    return this.mustGet(overlayId);
  }

  /** See {@link SessionOverlays.addContext}. */
  addContext(overlayId: string, context: string): boolean {
    const row = this.#row(overlayId);
    if (row?.state !== "active") return false;
    const weighed = this.#weighed(row, { ...parseDetails(row.details), context: stripInvisible(context) });
    if (weighed.tokens >= row.spanTokens) return false;
    this.tree.sql.changeOverlay(this.tree.sessionId, { ...row, ...weighed });
    this.tree.touch();
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
      const weighed = this.#weighed(row, { ...details, pinned });
      if (weighed.tokens >= row.spanTokens) return false;
      this.tree.sql.changeOverlay(this.tree.sessionId, { ...row, ...weighed });
      this.tree.touch();
      return true;
    }
    return false;
  }

  /**
   * Puts an overlay back into force, through the fence of a new one. The caller has checked that its messages are
   * unchanged (C3). `rebased` means that other overlays cover it now and are shown instead.
   */
  restore(row: OverlayRow): CommitResult {
    const range = rangeOf(row);
    const others = this.tree.sql.activeOverlaysEndingFrom(this.tree.sessionId, range.from.seq);
    if (others.some((other) => this.#crosses(other, range))) return { kind: "stale", reason: "overlap" };
    const found = this.describe(range);
    if (found === null) return { kind: "stale", reason: "gone" };
    if (this.#isLarger(row, found)) return { kind: "stale", reason: "larger" };
    this.#setState(this.#withTrueNames(row), "active");
    const hidden = others.some((other) => this.#holds(other, range) || (other.n > row.n && isOverSame(other, row)));
    return inForce(this.mustGet(row.overlayId), hidden);
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
    const change = { state, afterN: sql.lastOverlayNumber(sessionId), at: this.#now() };
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
    const tools = input.details?.boundary == null ? this.toolsUpTo(range) : null;
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
      createdAt: this.#now(),
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
    const earlier = (tellsOpen: boolean): number =>
      measure({ ...details, pinned: besideEarlier(details.pinned, tellsOpen) }, earlierSummary({ summary, details }));
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
    return measureMessage(message, this.#countTokens).tokens;
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

/** The first elements of a walk. Their rows without content take {@link SLICE_BYTES}, the last one included in full. */
function takeSlice(walk: Iterable<Element>): Element[] {
  const slice: Element[] = [];
  let left = SLICE_BYTES;
  for (const element of walk) {
    slice.push(element);
    left -= ROW_BYTES + (element.kind === "overlay" ? element.overlay.details : element.row.facts).length;
    if (left <= 0) break;
  }
  return slice;
}

/** The description of elements, newest first. */
function sum(elements: readonly Element[]): SpanDigest {
  return {
    digest: sumDigests(elements.map(elementDigest)),
    tokens: elements.reduce((sum, element) => sum + elementTokens(element), 0),
    messages: elements.reduce((sum, each) => sum + (each.kind === "overlay" ? each.overlay.spanMessages : 1), 0),
    elements: elements.length,
    overlayIds: elements.flatMap((each) => (each.kind === "overlay" ? [each.overlay.overlayId] : [])).toReversed(),
    tools: elements.reduce(addTools, new Set<string>()),
  };
}

function addTools(names: Set<string>, element: Element): Set<string> {
  if (element.kind === "overlay") {
    const { boundary, tools } = parseDetails(element.overlay.details);
    for (const name of boundary?.tools ?? tools ?? []) names.add(name);
  } else if (!element.row.facts.includes(NO_TOOLS)) {
    for (const [name, step] of parseFacts(element.row.facts).tools) if (step <= element.toStep) names.add(name);
  }
  return names;
}

/** The description of neighbours, oldest first. */
function joined(parts: readonly SpanDigest[]): SpanDigest {
  const sum = (of: (part: SpanDigest) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    digest: sumDigests(parts.map((part) => part.digest)),
    tokens: sum((part) => part.tokens),
    messages: sum((part) => part.messages),
    elements: sum((part) => part.elements),
    overlayIds: parts.flatMap((part) => part.overlayIds),
    tools: new Set(parts.flatMap((part) => [...part.tools])),
  };
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

export class Spans {
  readonly #tree: Tree;
  readonly #laid: Overlays;

  constructor(laid: Overlays) {
    this.#tree = laid.tree;
    this.#laid = laid;
  }

  /**
   * Digest and size of a span's current content. Null when its ends are gone or not on one path. Throws `invalid_range`
   * for bad steps.
   */
  digest(span: Span): SpanDigest | null {
    const range = this.#laid.locate(span);
    return range === null ? null : this.#laid.describe(range);
  }

  /** The digest of a span's messages, including hidden ones. Null as for {@link digest}. */
  sourceDigest(span: Span): string | null {
    const elements = this.#sources(span, false);
    return elements === null ? null : sumDigests(elements.map(elementDigest));
  }

  /** A span's messages, including hidden ones, oldest first. Null as for {@link digest}. */
  messages(span: Span): UIMessage[] | null {
    const elements = this.#sources(span, true);
    return elements === null ? null : elementMessages(this.#tree, elements.filter(isThere));
  }

  /** The user's messages that a span shows, oldest first, the newest ones up to a bound. Empty where {@link digest} is null. */
  userMessages(span: Span, most: { readonly messages: number; readonly bytes: number }): UIMessage[] {
    const range = this.#laid.locate(span);
    const shown = range === null ? [] : walkView(this.#tree, range.to, { content: false, floor: range.from });
    const newestFirst: MessageElement<ContentRow>[] = [];
    let { bytes } = most;
    for (const element of shown) {
      if (element.kind === "overlay" || element.row.role !== "user") continue;
      if (newestFirst.length === most.messages) break;
      if (element.row.bytes > bytes) continue;
      bytes -= element.row.bytes;
      newestFirst.push({ ...element, row: this.#tree.contentAt(element.row.seq) });
    }
    return elementMessages(this.#tree, newestFirst.toReversed());
  }

  /** Reads a span's messages in slices, including hidden ones. Null when its ends are gone. */
  reader(span: Span, bytes?: number): SpanReader | null {
    const range = this.#laid.locate(span);
    return range === null ? null : new SpanReader(this.#tree, range, bytes);
  }

  /**
   * Describes a span in slices, one a step, so that a commit over it need not read it once more. Ends at once where its ends are gone. Throws
   * `invalid_range` for bad steps.
   */
  *survey(span: Span): Generator<undefined, void> {
    const range = this.#laid.locate(span);
    if (range !== null) yield* this.#laid.survey(range);
  }

  /** Another text after any change on the span's path but behind it. Empty where its ends are gone. */
  stamp(span: Span): string {
    const range = this.#laid.locate(span);
    return range === null ? "" : this.#laid.stamp(range);
  }

  /** Whether a span still has the messages that its reader read. Reads them again only where the session changed since. */
  isAsRead(reader: SpanReader, span: Span): boolean {
    return reader.digest !== null && (reader.isUntouched || reader.digest === this.sourceDigest(span));
  }

  /** A span's messages without content, as outline rows. Null as for {@link digest}. */
  rows(span: Span): OutlineRow[] | null {
    return this.#sources(span, false)?.filter(isThere).map(outlineRow) ?? null;
  }

  #sources<Content extends boolean>(span: Span, content: Content) {
    const range = this.#laid.locate(span);
    return range === null ? null : (walkSpan(this.#tree, range, { content, overlays: [] })?.toReversed() ?? null);
  }

  /** See {@link Overlays.toolsUpTo}. Empty where its ends are gone. */
  toolsUpTo(span: Span): string[] {
    const range = this.#laid.locate(span);
    return range === null ? [] : this.#laid.toolsUpTo(range);
  }
}

/** The elements beneath an overlay, newest first. */
export function beneath(tree: Tree, overlay: OverlayRow, depth: number): Element[] {
  const narrower =
    depth === Number.POSITIVE_INFINITY
      ? []
      : tree.sql.activeOverlaysEndingFrom(tree.sessionId, overlay.fromSeq).filter((each) => isBeneath(each, overlay));
  const options = { content: false, floor: placeFrom(overlay), overlays: narrower } as const;
  return [...walkView(tree, placeTo(overlay), options)].flatMap((element) =>
    element.kind === "overlay" && depth > 1 ? beneath(tree, element.overlay, depth - 1) : [element],
  );
}

/** False for a message that the host pruned, because none of it can be read. */
function isThere(element: Element): boolean {
  return element.kind === "overlay" || !isPruned(element.row);
}

/** Whether `inner` lies inside `outer`, or is older and covers the very same span. */
function isBeneath(inner: OverlayRow, outer: OverlayRow): boolean {
  const from = comparePlaces(placeFrom(inner), placeFrom(outer));
  const to = comparePlaces(placeTo(inner), placeTo(outer));
  return from >= 0 && to <= 0 && (from > 0 || to < 0 || inner.n < outer.n);
}
