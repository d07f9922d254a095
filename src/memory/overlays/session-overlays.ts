/**
 * The overlays of one session as callers use them: add, list, roll back, restore, expand and read the past. Runs each change in one
 * transaction. overlays.ts owns the commit fence. Nothing here changes a message (M1).
 *
 * Edited text does not come back through the past. A summary whose messages were edited or deleted since is never shown again, and a marker
 * with its id takes its place. Where an edit invalidated an overlay, each of its chunks that the edit did not touch gets an overlay of its own,
 * with the chunk's stored draft, through the same fence (C2, C3, V3).
 */
import { PalimpsestError } from "../../errors.ts";
import { NOTHING_PINNED, type Instruction, type Opening } from "../../facts/fact.ts";
import { fitSaid } from "../../facts/beside.ts";
import { renderInstructions, renderSaid } from "../../facts/render.ts";
import { checkWhole } from "../../known-fields.ts";
import { DEFAULT_PINNED_TOKENS, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import type { Db } from "../db.ts";
import type { Drafts } from "../drafts.ts";
import { comparePlaces } from "../messages/place.ts";
import type { Tree } from "../messages/tree.ts";
import { elementMessages, overlayMessage, readView, type ViewReading, type View } from "../messages/view.ts";
import { placeFrom, placeTo, rangeOf, walkSpan, walkView, type Element } from "../messages/walk.ts";
import {
  toRecord,
  wasInForce,
  parseDetails,
  type OverlayDetails,
  type OverlayRecord,
  type Leaf,
  type OverlayInput,
} from "./overlay.ts";
import { beneath, type CommitResult, type Overlays } from "./overlays.ts";
import type { OverlayRow } from "../statements.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { overlayMessageId, storedId } from "../../steps/view/view.ts";
import type { UIMessage } from "ai";

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
  /** Called inside the transaction of every change of the visible view. */
  readonly changed: () => void;
}

export class SessionOverlays {
  readonly #tree: Tree;
  /** For what only a room reads. */
  readonly laid: Overlays;
  readonly #options: OverlaysOptions;

  constructor(laid: Overlays, options: OverlaysOptions) {
    this.#tree = laid.tree;
    this.laid = laid;
    this.#options = options;
  }

  /** See {@link Overlays.proposalOf}. */
  proposalOf(runId: string): OverlayRecord | null {
    return this.laid.proposalOf(runId);
  }

  /** See {@link Overlays.takeProposal}. */
  takeProposal(runId: string): OverlayRecord | null {
    return this.laid.takeProposal(runId);
  }

  /** Overlays that are or were in force, oldest first, disclosed by {@link discloseOverlay}. */
  list(): OverlayRecord[] {
    const rows = this.#tree.sql.overlays(this.#tree.sessionId);
    return rows.map((row) => discloseOverlay(this.laid, row));
  }

  get(id: string): OverlayRecord | null {
    return this.laid.get(id);
  }

  /** The commit fence (C1, C2, C3, V3). See {@link CommitResult}. */
  add(input: OverlayInput): CommitResult {
    return this.#change(() => this.laid.add(input));
  }

  /** Takes an overlay out of force, so narrower ones under it show again. Throws `unknown_overlay`. */
  rollback(overlayId: string): OverlayRecord {
    return this.#options.db.transaction(() => {
      this.#options.changed();
      return this.laid.rollback(overlayId);
    });
  }

  /**
   * Shows a text behind an overlay's summary. Returns false and changes nothing when the overlay is out of force or
   * would no longer be smaller than the part that it replaced (V3).
   */
  addContext(overlayId: string, context: string): boolean {
    return this.#options.db.transaction(() => {
      const added = this.laid.addContext(overlayId, context);
      if (added) this.#options.changed();
      return added;
    });
  }

  /** See {@link Overlays.restoreInstruction}. */
  restoreInstruction(instruction: Instruction, shown: readonly string[]): boolean {
    return this.#options.db.transaction(() => {
      const restored = this.laid.restoreInstruction(instruction, shown);
      if (restored) this.#options.changed();
      return restored;
    });
  }

  /**
   * Puts an overlay that left force back, through the same fence as a new one. The result is `stale` when its messages
   * are `changed` or `gone`, when another overlay crosses it (`overlap`), or when the current view of the span is
   * smaller (`larger`). It is `already` when the overlay is in force. Throws `unknown_overlay`.
   */
  restore(overlayId: string): CommitResult {
    const row = this.laid.mustGetRow(overlayId);
    if (row.state === "active") return { kind: "already", overlay: toRecord(row) };
    const [tree, laid] = [this.#tree, this.laid];
    return this.#change(() => {
      if (isUnchanged(laid, row)) return laid.restore(row);
      const gone = [row.fromId, row.toId].some((id) => tree.find(id) === null);
      return { kind: "stale", reason: gone ? "gone" : "changed" };
    });
  }

  /** The view right after an overlay was added. Throws `unknown_overlay`. */
  viewAsOf(overlayId: string, reading: Omit<ViewReading, "overlays"> = {}): PastView {
    return readPastView(this.#tree, this.laid, { ...reading, overlayId });
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
    const overlay = this.laid.mustGetRow(overlayId);
    if (this.#tree.find(overlay.toId)?.seq !== overlay.toSeq) return [];
    return beneath(this.#tree, overlay, depth).toReversed();
  }

  #change(work: () => CommitResult): CommitResult {
    return this.#options.db.transaction(() => {
      const result = work();
      if (result.kind === "applied") this.#options.changed();
      return result;
    });
  }

  #read(elements: readonly Element[]): UIMessage[] {
    const read = elements.map((element) =>
      element.kind === "overlay" ? element : { ...element, row: this.#tree.contentAt(element.row.seq) },
    );
    return elementMessages(this.#tree, read);
  }
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
export function readPastView(
  tree: Tree,
  overlays: Overlays,
  { overlayId, ...reading }: Omit<ViewReading, "overlays"> & { readonly overlayId: string },
): PastView {
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
export function isUnchanged(overlays: Overlays, overlay: OverlayRow): boolean {
  if (overlay.state === "active") return true;
  if (!isPlaced(overlays, overlay)) return false;
  return overlays.describe(rangeOf(overlay))?.digest === overlay.spanDigest;
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
export function listReplaced(tree: Tree, overlays: Overlays, overlay: OverlayRow): OverlayRow[] | null {
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
  const range = overlays.locate(toRecord(row).span);
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

export interface Standing {
  readonly sessionId: string;
  readonly laid: Overlays;
  readonly drafts: Drafts;
  readonly countTokens: CountTokens;
}

export function showDraftsOf(standing: Standing, gone: readonly OverlayRow[]): void {
  for (const row of gone) {
    const { details } = toRecord(row);
    const { instructions, said } = details.pinned;
    const shown = standing.countTokens(renderInstructions(instructions)) + standing.countTokens(renderSaid(said));
    const pinnedTokens = Math.max(DEFAULT_PINNED_TOKENS, shown);
    const { opening, madeOf } = details;
    for (const part of madeOf) if (part.kind === "leaf") showLeaf(standing, part, { pinnedTokens, opening });
  }
}

/** Gives each part the budget of the whole, so that an edit elsewhere removes none of the user's words from the view. */
function showLeaf(
  { laid, drafts, sessionId, countTokens }: Standing,
  leaf: Leaf,
  { pinnedTokens, opening }: { pinnedTokens: number; opening: Opening | null },
): void {
  const { fromId, fromStep, toId, toStep, digest, draftKey, tokens } = leaf;
  const span = { fromId, fromStep, toId, toStep };
  const range = laid.locate(span);
  const draft = draftKey === null ? null : drafts.get(sessionId, draftKey);
  if (range === null || draft === null || laid.describe(range)?.digest !== digest) return;
  const { text, model, degraded, generation, facts, unfounded } = draft;
  const { instructions, ended } = facts;
  const left = Math.min(pinnedTokens, tokens - countTokens(text) - SUMMARY_FRAME_TOKENS);
  const said = fitSaid(facts.said, left - countTokens(renderInstructions(instructions)), countTokens);
  const pinned = { ...NOTHING_PINNED, instructions, ended, said, unfounded };
  laid.add({
    span,
    summary: text,
    details: {
      model,
      degraded,
      trigger: "edit",
      generation,
      madeOf: [leaf],
      draftKey,
      opening: opening !== null && laid.isWithin(opening.messageId, range) ? opening : null,
      sourceTokens: tokens,
      pinned,
    },
  });
}
