/**
 * The overlays of one session, as callers use them: laid, listed, taken back, laid again, looked under and looked back at.
 *
 * Job: put each change into one transaction, and read what is beneath. Boundary: the fence is in overlays.ts, what was in
 * force when in time-travel.ts; nothing here changes a message (M1).
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { DEFAULT_NAMES_TOKENS, DEFAULT_PINNED_TOKENS } from "../../limits.ts";
import type { CountTokens } from "../../steps/message/measure.ts";
import { gatherFacts } from "../../steps/pinned/gather.ts";
import { pinWithin } from "../../steps/pinned/keep.ts";
import type { OutlineRow, Span } from "../../steps/plan/outline.ts";
import { splitReferences, type BulletSource } from "../../steps/draft/provenance.ts";
import { hashOf } from "../../steps/message/reference.ts";
import { parseSyntheticId } from "../../steps/view/view.ts";
import { parseFacts } from "../messages/content.ts";
import { isPruned } from "../messages/contents.ts";
import { parseDetails } from "./details.ts";
import { Overlays, type CommitResult, type OverlayInput, type OverlayRecord, type SpanDigest } from "./overlays.ts";
import { toRecord } from "./record.ts";
import type { Db } from "../db.ts";
import type { Drafts } from "../drafts.ts";
import { SessionNotes } from "../notes/notes.ts";
import type { NotesStatements } from "../notes/statements.ts";
import type { SearchRows } from "../search/search-rows.ts";
import type { OverlayRow, ShapeRow } from "../statements.ts";
import { discloseOverlay, isUnchanged, listReplaced, readPastView, type PastView } from "./time-travel.ts";
import type { Tree } from "../messages/tree.ts";
import { elementMessages, outlineRow } from "../messages/view.ts";
import { comparePlaces, placeFrom, placeTo, walkSpan, walkView, type Element } from "../messages/walk.ts";

/** Names of tools that an overlay lists: more than any agent has, and far under what a row holds. */
const MAX_BOUNDARY_TOOLS = 1_000;

export interface HistoryOptions {
  readonly db: Db;
  readonly now: () => number;
  readonly countTokens: CountTokens;
  /** What may be kept of a message beside a summary. */
  readonly redactMessage: (message: UIMessage) => UIMessage;
  readonly search: SearchRows;
  readonly drafts: Drafts;
  readonly notes: NotesStatements;
}

export interface ExpandOptions {
  /** How many layers to open: at 1 the narrower overlays just beneath stand as their summaries. Default: all of them. */
  readonly depth?: number | undefined;
  /** Messages of a page. Default: all. */
  readonly limit?: number | undefined;
  /** The id of the last message of the page before. */
  readonly after?: string | undefined;
}

export abstract class SessionOverlays {
  readonly tree: Tree;
  protected readonly laid: Overlays;
  /** What is kept of the conversation in words of its own, as it goes on. */
  readonly notes: SessionNotes;
  protected readonly options: HistoryOptions;

  constructor(tree: Tree, options: HistoryOptions) {
    this.tree = tree;
    this.laid = new Overlays(tree, options);
    this.notes = new SessionNotes(tree, options);
    this.options = options;
  }

  /** Called inside the transaction of every change of what is visible. */
  protected abstract viewChanged(): void;

  /** In every state, oldest first, as {@link discloseOverlay} says. */
  overlays(): OverlayRecord[] {
    return this.#disclose((rows) => rows);
  }

  #disclose(choose: (rows: readonly OverlayRow[]) => readonly OverlayRow[]): OverlayRecord[] {
    const rows = this.tree.sql.overlays(this.tree.sessionId);
    const past = { tree: this.tree, overlays: this.laid, rows };
    return choose(rows).map((row) => discloseOverlay(past, row));
  }

  overlay(id: string): OverlayRecord | null {
    return this.laid.get(id);
  }

  /** True when one was ever added. Reads one row. */
  hasOverlays(): boolean {
    return this.tree.sql.lastOverlayNumber(this.tree.sessionId) > 0;
  }

  /** The commit fence (C1, C2, C3, V3): see {@link CommitResult}. */
  addOverlay(input: OverlayInput): CommitResult {
    return this.#change(() => this.laid.add(this.#withFacts(input)));
  }

  /** A summary that comes without what its span holds, a caller's own, is given it here: no way in loses a rule. */
  #withFacts(input: OverlayInput): OverlayInput {
    const { details = {}, span, summary } = input;
    const { pinnedTokens = DEFAULT_PINNED_TOKENS, namesTokens = DEFAULT_NAMES_TOKENS } = input;
    const known = details.facts != null || details.draftKey != null || details.pinned !== undefined;
    if (known || typeof summary !== "string") return input;
    const spanTokens = this.spanDigest(span)?.tokens;
    if (spanTokens === undefined) return input;
    const facts = gatherFacts((this.spanMessages(span) ?? []).map(this.options.redactMessage));
    const budget = { spanTokens, pinnedTokens, namesTokens, countTokens: this.options.countTokens };
    return { ...input, details: { ...details, facts, ...pinWithin(summary, facts, budget) } };
  }

  /** Takes an overlay out of force; narrower ones under it show again. Throws `unknown_overlay`. */
  rollback(overlayId: string): OverlayRecord {
    return this.options.db.transaction(() => {
      this.viewChanged();
      return this.laid.rollback(overlayId);
    });
  }

  /**
   * Shows a text behind an overlay's summary. False, and nothing changed, where it is not in force any more or would not be
   * smaller than what it replaced (V3).
   */
  addContext(overlayId: string, context: string): boolean {
    return this.options.db.transaction(() => {
      const added = this.laid.addContext(overlayId, context);
      if (added) this.viewChanged();
      return added;
    });
  }

  /**
   * Puts an overlay that left force back, through the same fence as a new one: `stale` when its messages are `changed` or
   * `gone`, when another lies across it (`overlap`), or when what shows now is smaller (`larger`). `already` when it is in
   * force. Throws `unknown_overlay`.
   */
  restore(overlayId: string): CommitResult {
    const row = this.laid.mustGetRow(overlayId);
    if (row.state === "active") return { kind: "already", overlay: toRecord(row) };
    const { tree, laid } = this;
    return this.#change(() => {
      const rows = tree.sql.overlays(tree.sessionId);
      if (isUnchanged({ tree, overlays: laid, rows }, row)) return laid.restore(row);
      const gone = [row.fromId, row.toId].some((id) => tree.find(id) === null);
      return { kind: "stale", reason: gone ? "gone" : "changed" };
    });
  }

  /** The view right after an overlay came into force. Throws `unknown_overlay`. */
  viewAsOf(overlayId: string): PastView {
    return readPastView(this.tree, this.laid, overlayId);
  }

  /** Overlays whose place this one took when it was added, oldest first; null when its messages are gone. Throws `unknown_overlay`. */
  replacedBy(overlayId: string): OverlayRecord[] | null {
    const replaced = listReplaced(this.tree, this.laid, this.laid.mustGetRow(overlayId));
    return replaced === null ? null : this.#disclose(() => replaced);
  }

  /**
   * What lies under an overlay, oldest first: the originals, or with `depth` also the summaries of narrower overlays in
   * force. None when its messages were deleted. A page is over when it is shorter than its limit. Reads a row for each
   * element and another for each one on the page. Throws `unknown_overlay`, `unknown_message` for `after`,
   * `invalid_options`.
   */
  expand(overlayId: string, options: ExpandOptions = {}): UIMessage[] {
    const { depth = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY, after } = options;
    for (const [name, value] of Object.entries({ depth, limit })) {
      if (value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= 1)) continue;
      throw new PalimpsestError("invalid_options", `${name} is ${value}: give a whole number from 1.`);
    }
    const overlay = this.laid.mustGetRow(overlayId);
    if (this.tree.find(overlay.toId)?.seq !== overlay.toSeq) return [];
    const elements = this.#beneath(overlay, depth).toReversed();
    const start = after === undefined ? 0 : elements.findIndex((each) => stands(each, after)) + 1;
    if (after !== undefined && start === 0) {
      throw new PalimpsestError(
        "unknown_message",
        `There is no "${after}" under overlay "${overlayId}" at this depth. Give the id of the last message of the page before.`,
      );
    }
    return this.#read(elements.slice(start, start + limit));
  }

  /**
   * Which messages each bullet of an overlay's summary comes from, by lines from 0; lines that name none are left out. Only
   * messages under the overlay count, whatever the text says. Reads a row for each. Throws `unknown_overlay`.
   */
  provenance(overlayId: string): BulletSource[] {
    const { fromSeq, toSeq, summary } = this.laid.mustGetRow(overlayId);
    return summary.split("\n").flatMap((text, line) => {
      const found = splitReferences(text).references.flatMap((reference) => this.#named(reference));
      const messageIds = found.flatMap(({ seq, id }) => (seq >= fromSeq && seq <= toSeq ? [id] : []));
      return messageIds.length === 0 ? [] : [{ line, messageIds }];
    });
  }

  #named(reference: string): readonly ShapeRow[] {
    const hash = hashOf(reference);
    return hash === null ? [] : this.tree.findByHash(hash);
  }

  /** What a span holds now; null when its ends are gone or not on one path. Throws `invalid_range` for bad steps. */
  spanDigest(span: Span): SpanDigest | null {
    const range = this.laid.locate(span);
    return range === null ? null : this.laid.describe(range);
  }

  /** The digest of a span's messages, hidden ones too; null as for {@link spanDigest}. */
  sourceDigest(span: Span): string | null {
    const range = this.laid.locate(span);
    return range === null ? null : (this.laid.describe(range, [])?.digest ?? null);
  }

  /** A span's messages, hidden ones too, oldest first; null as for {@link spanDigest}. */
  spanMessages(span: Span): UIMessage[] | null {
    const elements = this.#sources(span, true);
    return elements === null ? null : elementMessages(this.tree, elements.filter(isThere));
  }

  /** As {@link spanMessages}; null also when they are not those that `expected` is the digest of. */
  sourceMessages(span: Span, expected: string): UIMessage[] | null {
    const elements = this.#sources(span, true);
    if (elements === null || this.laid.sum(elements).digest !== expected) return null;
    return elementMessages(this.tree, elements.filter(isThere));
  }

  /** A span's messages without content, as an outline has them; null as for {@link spanDigest}. */
  spanRows(span: Span): OutlineRow[] | null {
    return this.#sources(span, false)?.filter(isThere).map(outlineRow) ?? null;
  }

  /**
   * The tools that were called on the path up to a span's end, whatever became of the calls, by name and sorted. What an
   * earlier overlay hides is not read again: its own list is taken. Reads a row for each message in view, without content.
   */
  toolsUpTo(span: Span): string[] {
    const range = this.laid.locate(span);
    if (range === null) return [];
    const names = new Set<string>();
    for (const element of walkView(this.tree, range.to, { content: false })) {
      if (element.kind === "message") addTools(names, element);
      else if (addToolsBefore(names, element.overlay)) break;
      else for (const hidden of this.#beneath(element.overlay, Number.POSITIVE_INFINITY)) addTools(names, hidden);
    }
    return [...names].toSorted().slice(0, MAX_BOUNDARY_TOOLS);
  }

  #sources<Content extends boolean>(span: Span, content: Content) {
    const range = this.laid.locate(span);
    return range === null ? null : (walkSpan(this.tree, range, { content, overlays: [] })?.toReversed() ?? null);
  }

  #change(work: () => CommitResult): CommitResult {
    return this.options.db.transaction(() => {
      const result = work();
      if (result.kind === "applied" || result.kind === "rebased") this.viewChanged();
      return result;
    });
  }

  /** Newest first. */
  #beneath(overlay: OverlayRow, depth: number): Element[] {
    const narrower =
      depth === Number.POSITIVE_INFINITY
        ? []
        : this.tree.sql
            .activeOverlaysEndingFrom(this.tree.sessionId, overlay.fromSeq)
            .filter((each) => isBeneath(each, overlay));
    const options = { content: false, floor: placeFrom(overlay), overlays: narrower } as const;
    return [...walkView(this.tree, placeTo(overlay), options)].flatMap((element) =>
      element.kind === "overlay" && depth > 1 ? this.#beneath(element.overlay, depth - 1) : [element],
    );
  }

  #read(elements: readonly Element[]): UIMessage[] {
    const read = elements.map((element) =>
      element.kind === "overlay" ? element : { ...element, row: this.tree.contentAt(element.row.seq) },
    );
    return elementMessages(this.tree, read);
  }
}

/** Not the place of a message that the host pruned: nothing of it can be read. */
function isThere(element: Element): boolean {
  return element.kind === "overlay" || !isPruned(element.row);
}

function addTools(names: Set<string>, element: Element): void {
  if (element.kind === "overlay") return;
  for (const [name, step] of parseFacts(element.row.facts).tools) if (step <= element.toStep) names.add(name);
}

/** False for an overlay that does not say which tools were called before its end. */
function addToolsBefore(names: Set<string>, { details }: OverlayRow): boolean {
  const { boundary } = parseDetails(details);
  for (const name of boundary?.tools ?? []) names.add(name);
  return boundary !== null;
}

/** Whether the element is what was shown under the id: a message, a part of one, a summary. */
function stands(element: Element, id: string): boolean {
  const shown = parseSyntheticId(id);
  if (element.kind === "overlay") return shown?.kind === "overlay" && shown.overlayId === element.overlay.overlayId;
  return element.row.id === (shown?.kind === "slice" ? shown.messageId : id);
}

/** Inside the other, or over the very same span but older. */
function isBeneath(inner: OverlayRow, outer: OverlayRow): boolean {
  const from = comparePlaces(placeFrom(inner), placeFrom(outer));
  const to = comparePlaces(placeTo(inner), placeTo(outer));
  return from >= 0 && to <= 0 && (from > 0 || to < 0 || inner.n < outer.n);
}
