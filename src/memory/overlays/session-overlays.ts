/**
 * The overlays of one session as callers use them: add, list, roll back, restore, expand and read the past.
 *
 * Runs each change in one transaction and reads the messages beneath overlays. overlays.ts owns the commit fence, and
 * time-travel.ts knows which overlays were in force when. Nothing here changes a message (M1).
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { checkWhole } from "../../known-fields.ts";
import { DEFAULT_LOADED_TOKENS, DEFAULT_PINNED_TOKENS, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import type { Instruction } from "../../facts/fact.ts";
import { gatherFacts, keepFacts } from "../../facts/gather.ts";
import { overlayMessageId, storedId } from "../../steps/view/view.ts";
import type { CommitResult, OverlayInput, OverlayRecord, Overlays } from "./overlays.ts";
import { toRecord } from "./record.ts";
import type { Db } from "../db.ts";
import { discloseOverlay, isUnchanged, readPastView, type PastView } from "./time-travel.ts";
import { beneath, type Spans } from "./spans.ts";
import type { Tree } from "../messages/tree.ts";
import { elementMessages, type ViewReading } from "../messages/view.ts";
import type { Element } from "../messages/walk.ts";

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
  readonly countTokens: CountTokens;
  /** Removes the parts of a message that must not be kept beside a summary. */
  readonly redactMessage: (message: UIMessage) => UIMessage;
  /** Called inside the transaction of every change of the visible view. */
  readonly changed: () => void;
}

export class SessionOverlays {
  readonly #tree: Tree;
  /** For what only a room reads. */
  readonly laid: Overlays;
  readonly #spans: Spans;
  readonly #options: OverlaysOptions;

  constructor(laid: Overlays, spans: Spans, options: OverlaysOptions) {
    this.#tree = laid.tree;
    this.laid = laid;
    this.#spans = spans;
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
    return this.#change(() => this.laid.add(this.#withFacts(input)));
  }

  /** Adds to a summary that comes without them, such as a caller's own, what stands beside it word for word. */
  #withFacts(input: OverlayInput): OverlayInput {
    const { details = {}, span, summary, beside } = input;
    const { pinnedTokens = DEFAULT_PINNED_TOKENS, loadedTokens = DEFAULT_LOADED_TOKENS } = input;
    const known = details.facts != null || details.draftKey != null || details.pinned !== undefined;
    if (known || typeof summary !== "string") return input;
    const spanTokens = this.#spans.digest(span)?.tokens;
    if (spanTokens === undefined) return input;
    const { countTokens, redactMessage } = this.#options;
    const facts = input.facts ?? gatherFacts((this.#spans.messages(span) ?? []).map(redactMessage));
    const freedTokens = beside?.freedTokens ?? 0;
    const mostTokens = spanTokens + freedTokens - countTokens(summary) - SUMMARY_FRAME_TOKENS;
    const pinned = keepFacts(
      facts,
      { mostTokens, freedTokens, pinnedTokens, loadedTokens, countTokens },
      beside?.before,
    );
    return { ...input, details: { ...details, facts, pinned } };
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
  viewAsOf(overlayId: string, reading: Pick<ViewReading, "leavesOut"> = {}): PastView {
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
