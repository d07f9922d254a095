/**
 * One session's conversation: append, edit, delete and read.
 *
 * Combines the tree with its overlays. A write is checked first and then runs in one transaction, so it happens whole
 * or not at all. A read costs rows in proportion to the visible messages. This module starts no run and knows no
 * policy. A caller that needs more in the same transaction opens it around the call (`Db.transaction`).
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../../errors.ts";
import { WHOLE_MESSAGE, type Outline, type Span } from "../../steps/plan/outline.ts";
import { sliceMessage, type CountTokens } from "../../steps/message/message.ts";
import { ownMark, parseSyntheticId, RESERVED_METADATA, RESERVED_PREFIX, storedId } from "../../steps/view/view.ts";
import { findLeafAfter, listTips, type BranchTip, type Tree } from "./tree.ts";
import { checkShape, digestOfSteps, encodeMessage, parseFacts, type Encoded, type Steps, isPruned } from "./content.ts";
import { Overlays, restoreDrafts } from "../overlays/overlays.ts";
import { sessionEnded } from "../sessions/statements.ts";
import { coveredSteps } from "../overlays/overlay.ts";
import type { Spans } from "../overlays/spans.ts";
import type { Db } from "../db.ts";
import type { Drafts } from "../drafts.ts";
import {
  ActiveView,
  type ViewSize,
  elementMessage,
  elementMessages,
  overlayMessage,
  readOutline,
  readRecent,
  readView,
  type OutlineOptions,
  type RecentHistory,
  type View,
  type ViewReading,
  readSurroundings,
  type Surroundings,
  elementBytes,
  elementTokens,
  walkView,
  type Element,
} from "./visible.ts";
import type { ShapeRow, Place } from "../statements.ts";

export type { RecentHistory, View } from "./visible.ts";

/** What became of a message that was to be stored. */
export interface AppendResult {
  /** False when a message with this id was there already. */
  readonly inserted: boolean;
  /** True when the message came out of a view (a summary, or a part of a message). Such a message is never stored. */
  readonly synthetic: boolean;
  /** The stored form: the given message, or the one that was stored before. */
  readonly message: UIMessage;
}

export interface HistoryOptions {
  readonly db: Db;
  readonly now: () => number;
  readonly countTokens: CountTokens;
  readonly drafts: Drafts;
}

export class History {
  readonly tree: Tree;
  /** The session's overlays in every state. */
  readonly overlays: Overlays;
  /** Reads of spans, hidden messages included. */
  readonly spans: Spans;
  readonly active: ActiveView;
  readonly #options: HistoryOptions;
  /** Whether an edit invalidated an overlay since the last {@link takeUncovered}. */
  #uncovered = false;

  /**
   * Another object after each deletion, after each edit of a message that is not the newest, and after each change of the view, such as an
   * overlay or pruned messages. For who keeps what was shown.
   */
  lastEdit: object = {};

  constructor(tree: Tree, options: HistoryOptions) {
    const changed = (): void => this.#viewChanged();
    this.tree = tree;
    this.overlays = new Overlays(tree, { ...options, changed });
    this.spans = this.overlays.spans;
    this.active = new ActiveView(tree);
    this.#options = options;
  }

  #viewChanged(): void {
    this.tree.touch();
    this.lastEdit = {};
    this.active.changed();
  }

  get sessionId(): string {
    return this.tree.sessionId;
  }

  // Writing

  /**
   * Stores a message under `parentId`. Undefined means the active leaf, null a new root. A repeated id changes nothing
   * and returns the stored message. `known` is an earlier result of {@link encode}, and `createdAt` an earlier time than now. Throws `invalid_message`,
   * `not_serializable`, `message_too_large`, `unknown_parent`, `cyclic_parent`, `reserved_id`, `reserved_metadata`,
   * `session_ended`, `storage_full`.
   */
  append(message: UIMessage, parentId?: string | null, known?: Encoded, createdAt?: number): AppendResult {
    this.assertOwnsMessages();
    checkShape(message);
    const existing = this.tree.findContent(message.id);
    if (existing !== null) return { inserted: false, synthetic: false, message: this.tree.decode(existing) };
    const echoed = this.#recognise(message);
    if (echoed !== null) return { inserted: false, synthetic: true, message: echoed };
    assertNoReservedMarks(message);
    this.assertNotEnded();
    this.#options.db.assertStorageLeft();
    const encoded = known ?? this.encode(message);
    this.insertRow(encoded, this.#parentSeq(message.id, parentId), createdAt);
    return { inserted: true, synthetic: false, message };
  }

  /**
   * Measures and digests a message for storage. Reads nothing. Throws as {@link append} does for a message that cannot
   * be stored.
   */
  encode(message: UIMessage): Encoded {
    return encodeMessage(message, this.#options.countTokens);
  }

  /** Appends a new message, or updates the one with this id in place. A message never moves. */
  upsert(message: UIMessage, parentId?: string | null): AppendResult {
    checkShape(message);
    const existing = this.tree.find(message.id);
    if (existing === null) return this.append(message, parentId);
    const parent = typeof parentId === "string" ? this.tree.find(parentId) : null;
    if (parent !== null && this.tree.isOnPath(existing.seq, parent.seq)) throw cyclic(message.id, parent.id);
    return { inserted: false, synthetic: false, message: this.update(message) ?? message };
  }

  /**
   * Replaces the content of a stored message. Returns null when no message has this id. An overlay that covers it is
   * invalidated in the same transaction. Equal content writes nothing. Throws as {@link append}.
   */
  update(message: UIMessage): UIMessage | null {
    this.assertOwnsMessages();
    checkShape(message);
    const row = this.tree.find(message.id);
    if (row === null) return null;
    const encoded = this.encode(message);
    if (encoded.digest === row.digest) return message;
    assertNoReservedMarks(message);
    this.assertNotEnded();
    this.#options.db.assertStorageLeft();
    this.replaceRow(row, encoded);
    return message;
  }

  /** Deletes messages and moves their children under the nearest remaining ancestor. Returns how many were deleted. */
  delete(ids: readonly string[]): number {
    this.assertOwnsMessages();
    return this.removeRows([...new Set(ids)].flatMap((id) => this.tree.find(id) ?? []));
  }

  /** Deletes every message, overlay and draft of the session (S2). */
  clear(): void {
    this.assertOwnsMessages();
    this.empty();
  }

  // Rows, without the checks of a caller's own writes

  /** Adds a row under another one, or as a root. */
  insertRow(encoded: Encoded, parentSeq: number | null, createdAt?: number): void {
    this.#options.db.transaction(() => {
      const leafSeq = this.tree.newest()?.seq ?? null;
      const seq = this.tree.insert(encoded, parentSeq, createdAt);
      this.active.appended({ seq, grown: parentSeq === leafSeq, encoded });
    });
  }

  /** Gives a row a new content. Overlays and notes that describe another content leave force. */
  replaceRow(row: ShapeRow, encoded: Encoded): void {
    this.#options.db.transaction(() => {
      const keeps = unchangedPart(row, encoded);
      const isLeaf = this.tree.newest()?.seq === row.seq;
      const reached = this.#forget("edited", [row], keeps, () => this.tree.replace(row, encoded));
      if (reached || !isLeaf) {
        this.active.changed();
        this.lastEdit = {};
      } else this.active.grown(row.seq, encoded);
    });
  }

  /** Gives a row another form of its message with the same meaning. Overlays and notes over it stay valid. */
  rewriteRow(row: ShapeRow, encoded: Encoded): void {
    this.#options.db.transaction(() => {
      this.tree.replace(row, encoded);
      this.#options.db.tellForgotten(this.sessionId, "edited", [row.seq]);
      this.active.changed();
    });
  }

  /** Deletes rows with all that describes them. Returns how many. */
  removeRows(rows: readonly ShapeRow[]): number {
    if (rows.length === 0) return 0;
    return this.#options.db.transaction(() => {
      this.#forget(
        "deleted",
        rows,
        () => false,
        (reached) => {
          this.active.removed(rows, reached);
          this.tree.remove(rows);
          this.lastEdit = {};
        },
      );
      return rows.length;
    });
  }

  /**
   * Changes rows, and takes back all that was made of them: layers, versions of the notes, and what rooms keep in tables of their own. `keeps`
   * says which steps of a row stay as they are. Chunks of a summary that the change did not touch show their own drafts. Returns whether a
   * layer may show at or above one of the rows.
   */
  #forget(
    what: "edited" | "deleted",
    rows: readonly ShapeRow[],
    keeps: (steps: Steps) => boolean,
    change: (reached: boolean) => void,
  ): boolean {
    const { db, drafts, countTokens } = this.#options;
    const [{ sessionId }, [only]] = [this, rows];
    const { reached, gone } = this.overlays.invalidate(
      rows,
      (layer) => only !== undefined && keeps(coveredSteps(layer, only.seq)),
    );
    db.tellForgotten(
      sessionId,
      what,
      rows.map(({ seq }) => seq),
    );
    change(reached);
    this.#uncovered ||= gone.length > 0;
    restoreDrafts({ overlays: this.overlays, drafts, countTokens }, gone);
    return reached;
  }

  /** Hides rows whose content the host dropped. Their places stay, and overlays above them stay valid. */
  pruneRows(rows: readonly ShapeRow[]): void {
    this.#options.db.transaction(() => {
      this.#options.db.tellForgotten(
        this.sessionId,
        "deleted",
        rows.map(({ seq }) => seq),
      );
      this.tree.prune(rows);
      this.#viewChanged();
    });
  }

  /** See {@link clear}. */
  empty(): void {
    this.#options.db.transaction(() => {
      this.#options.db.tellForgotten(this.sessionId, "cleared");
      this.tree.clear();
      this.#options.db.forget(this.sessionId);
    });
  }

  /** The digest of a stored message. Empty for a pruned message, null for an unknown one. */
  digestOf(id: string): string | null {
    const row = this.tree.find(id);
    return row === null ? null : isPruned(row) ? "" : row.digest;
  }

  /** Throws `host_owns_messages` where a host keeps the messages, because only the host may change them. */
  assertOwnsMessages(): void {
    const { host } = this.tree.contents;
    if (host === null) return;
    throw new PalimpsestError(
      "host_owns_messages",
      `${host} keeps the messages of session "${this.sessionId}". Add, change and delete them through ${host}.`,
    );
  }

  /** True when an edit invalidated an overlay since the last call. */
  takeUncovered(): boolean {
    const uncovered = this.#uncovered;
    this.#uncovered = false;
    return uncovered;
  }

  /** Throws `session_ended` when another session takes the messages now. Reads no row beyond those that an append reads. */
  assertNotEnded(): void {
    if (this.tree.ended) throw sessionEnded(this.tree.sql, this.sessionId);
  }

  get hasEnded(): boolean {
    return this.tree.ended;
  }

  // Reading messages

  get(id: string): UIMessage | null {
    const row = this.tree.findContent(id);
    return row === null || isPruned(row) ? null : this.tree.decode(row);
  }

  /** The active leaf: the newest message that still exists, on any branch. */
  latestLeaf(): UIMessage | null {
    const id = this.leafId();
    return id === null ? null : this.get(id);
  }

  leafId(): string | null {
    return this.tree.newest()?.id ?? null;
  }

  /** The messages directly under one, oldest first. For null, the roots. */
  branches(id: string | null): UIMessage[] {
    const row = id === null ? null : this.tree.find(id);
    if (id !== null && row === null) return [];
    return this.tree.childrenOf(row?.seq ?? null).flatMap((seq) => this.#decodeAt(seq) ?? []);
  }

  /** The tip of each branch, newest first. Reads a row for each branch and two for each tip. */
  branchTips(): BranchTip[] {
    return listTips(this.tree);
  }

  /**
   * The newest leaf among a message and its descendants. The message itself when nothing follows it. Null for an
   * unknown one. Reads a row for each branch.
   */
  leafAfter(id: string): string | null {
    const seq = this.tree.seqOf(id);
    return seq === null ? null : findLeafAfter(this.tree, seq);
  }

  /** True when a message with this id is stored. Reads no content. */
  has(id: string): boolean {
    return this.tree.seqOf(id) !== null;
  }

  /**
   * The parent's id, for a message's id or for the view's id of a part of it. Null for a root. Throws
   * `unknown_message`. Reads no content.
   */
  parentOf(id: string): string | null {
    const row = this.tree.find(storedId(id));
    if (row !== null) return row.parentSeq === null ? null : this.tree.shape(row.parentSeq).id;
    throw new PalimpsestError(
      "unknown_message",
      `There is no message "${id}" in session "${this.sessionId}". A summary has no parent: ask for that of a message under it.`,
    );
  }

  /**
   * The `seq` of a message. It is never reused, so it tells a message from a later one with the same id. Null when
   * unknown.
   */
  numberOf(id: string): number | null {
    return this.tree.seqOf(id);
  }

  /**
   * When the message was first stored (epoch ms), and its number in the session, which grows along every branch. Null when no message has
   * this id. Reads no content.
   */
  storedAs(id: string): { readonly createdAt: number; readonly seq: number } | null {
    return this.tree.find(id);
  }

  /** True when both exist and the first is the second or an ancestor of it. */
  isOnPath(id: string, leafId: string): boolean {
    const seq = this.tree.seqOf(id);
    const leafSeq = this.tree.seqOf(leafId);
    return seq !== null && leafSeq !== null && this.tree.isOnPath(seq, leafSeq);
  }

  /** The number of messages from root to leaf, hidden ones included. Reads a row for each. Throws `unknown_leaf`. */
  pathLength(leafId?: string | null): number {
    const leaf = this.#leafSeq(leafId);
    return leaf === null ? 0 : [...this.tree.pathDown(leaf, 0)].length;
  }

  /** The path's messages as stored, without overlays, oldest first. Throws `unknown_leaf`. */
  *originals(leafId?: string | null): Generator<UIMessage> {
    for (const seq of this.pathNumbers(leafId)) {
      const message = this.#decodeAt(seq);
      if (message !== null) yield message;
    }
  }

  /** The `seq` of each message on the path, oldest first. Throws `unknown_leaf`. */
  pathNumbers(leafId?: string | null): number[] {
    const leaf = this.#leafSeq(leafId);
    return leaf === null ? [] : [...this.tree.pathDown(leaf, 0)].toReversed();
  }

  /** The stored messages at these numbers, without those deleted meanwhile. */
  originalsAt(numbers: readonly number[]): UIMessage[] {
    const rows = numbers.flatMap((seq) => this.tree.content(seq) ?? []).filter((row) => !isPruned(row));
    this.tree.contents.need(rows);
    return rows.map((row) => this.tree.decode(row));
  }

  // Reading the view

  /** The view's messages as stored, root to leaf. Tool calls are not paired with results. Throws `unknown_leaf`. */
  getHistory(leafId?: string | null): UIMessage[] {
    const start = this.#start(leafId);
    return start === null
      ? []
      : elementMessages(this.tree, [...walkView(this.tree, start, { content: true })].toReversed());
  }

  /**
   * The view's messages one by one. From root to leaf it first lists the visible elements without content, then reads
   * each content in turn and skips messages deleted meanwhile. Newest first it reads nothing ahead, and throws
   * `invalid_state` when the message at its cursor is deleted. Throws `unknown_leaf`.
   */
  *history(options: { leafId?: string | null; newestFirst?: boolean } = {}): Generator<UIMessage> {
    const start = this.#start(options.leafId);
    if (start === null) return;
    if (options.newestFirst === true) {
      for (const element of walkView(this.tree, start, { content: true })) yield elementMessage(this.tree, element);
      return;
    }
    for (const element of [...walkView(this.tree, start, { content: false })].toReversed()) {
      if (element.kind === "overlay") {
        yield overlayMessage(element.overlay, element);
        continue;
      }
      const row = this.tree.content(element.row.seq);
      if (row !== undefined) yield elementMessage(this.tree, { ...element, row });
    }
  }

  /** The newest messages of the view whose JSON fits into `maxBytes`. Always includes the leaf. Throws `unknown_leaf`. */
  recent(maxBytes: number, options: { leafId?: string | null } = {}): RecentHistory {
    return readRecent(this.tree, this.#start(options.leafId), maxBytes);
  }

  /** The view that a model is sent for a leaf, by default the active one. Throws `unknown_leaf`. */
  view(leafId?: string | null, reading: Omit<ViewReading, "overlays"> = {}): View {
    return { ...readView(this.tree, this.#start(leafId), reading), leafId: leafId ?? this.leafId() };
  }

  /** The view without content. Null when the session is empty. Throws `unknown_leaf`. */
  outline(leafId?: string | null, options: OutlineOptions = {}): Outline | null {
    const start = this.#start(leafId, options.toStep);
    const id = leafId ?? this.leafId();
    return start === null || id === null ? null : { ...readOutline(this.tree, start, options), leafId: id };
  }

  /**
   * The parts of a leaf's view before and behind a span, up to `maxBytes` of messages. Null where the view does not
   * show the span's end.
   */
  surroundings(
    span: Span,
    { leafId, toStep, maxBytes }: { leafId: string | null; toStep?: number | undefined; maxBytes: number },
  ): Surroundings | null {
    const range = this.spans.locate(span);
    const leaf = this.#start(leafId, toStep);
    return range === null || leaf === null ? null : readSurroundings(this.tree, { ...range, leaf }, maxBytes);
  }

  /** The view's elements without content, oldest first. Reads a row for each. Throws `unknown_leaf`. */
  elements(leafId?: string | null): Element[] {
    const start = this.#start(leafId);
    return start === null ? [] : [...walkView(this.tree, start, { content: false })].toReversed();
  }

  /** Estimated tokens of the view, as {@link size} counts them. Throws `unknown_leaf`. */
  tokens(leafId?: string | null): number {
    return this.size(leafId).tokens;
  }

  /** The size of the view. That of the active leaf is cached from append to append. Throws `unknown_leaf`. */
  size(leafId?: string | null): ViewSize {
    const start = this.#start(leafId);
    if (start === null || start.seq === this.tree.newest()?.seq) return this.active.size();
    const elements = [...walkView(this.tree, start, { content: false })];
    const sum = (of: (element: Element) => number): number => elements.reduce((all, each) => all + of(each), 0);
    return { tokens: sum(elementTokens), messages: elements.length, bytes: sum(elementBytes) };
  }

  /** Drops all cached values. After a rollback only the rows are right. */
  forget(): void {
    this.#viewChanged();
    this.#uncovered = false;
    this.tree.forget();
  }

  #decodeAt(seq: number): UIMessage | null {
    const row = this.tree.content(seq);
    return row === undefined || isPruned(row) ? null : this.tree.decode(row);
  }

  /** The message that the view shows under a reserved id. Null where it shows none, and for a caller's own id. */
  #recognise(message: UIMessage): UIMessage | null {
    const synthetic = parseSyntheticId(message.id);
    // A fitted view is made for one prompt and not stored, so its own text is the only one.
    if (synthetic?.kind === "fitted") return this.#shows(synthetic.messageId) === null ? null : message;
    return synthetic === null ? null : this.#shows(message.id);
  }

  /** The stored message or the summary under an id of a view. Null for an unknown one. */
  #shows(id: string): UIMessage | null {
    const synthetic = parseSyntheticId(id);
    if (synthetic === null) return this.get(id);
    if (synthetic.kind === "overlay") {
      const overlay = this.tree.sql.overlayById(this.sessionId, synthetic.overlayId);
      return overlay === undefined ? null : overlayMessage(overlay);
    }
    const stored = synthetic.kind === "slice" ? this.get(synthetic.messageId) : null;
    return stored === null || synthetic.kind !== "slice"
      ? null
      : sliceMessage(stored, synthetic.fromStep, synthetic.toStep);
  }

  #parentSeq(id: string, parentId: string | null | undefined): number | null {
    if (parentId === null) return null;
    if (parentId === undefined) return this.tree.newest()?.seq ?? null;
    if (parentId === id) throw cyclic(id, parentId);
    const parent = this.tree.find(parentId);
    if (parent !== null) return parent.seq;
    throw new PalimpsestError(
      "unknown_parent",
      `There is no message "${parentId}" in session "${this.sessionId}" to append to. Leave the parent out for the active leaf, or pass null for a new root.`,
    );
  }

  /** Throws `unknown_leaf`. */
  mustHaveLeaf(leafId: string): void {
    this.#leafSeq(leafId);
  }

  #leafSeq(leafId: string | null | undefined): number | null {
    if (leafId === undefined || leafId === null) return this.tree.newest()?.seq ?? null;
    const seq = this.tree.seqOf(leafId);
    if (seq !== null) return seq;
    throw new PalimpsestError(
      "unknown_leaf",
      `There is no message "${leafId}" in session "${this.sessionId}". Leave leafId out for the active branch.`,
    );
  }

  #start(leafId: string | null | undefined, step = WHOLE_MESSAGE): Place | null {
    const seq = this.#leafSeq(leafId);
    return seq === null ? null : { seq, step };
  }
}

/** Returns a test whether a part of a message is the same in its new content. */
function unchangedPart(row: ShapeRow, encoded: Encoded): (steps: Steps) => boolean {
  const [before, after] = [parseFacts(row.facts), parseFacts(encoded.facts)];
  return (steps) =>
    (steps.fromStep > 0 || steps.toStep < WHOLE_MESSAGE) &&
    digestOfSteps(before, steps) === digestOfSteps(after, steps);
}

/** Throws `reserved_id` and `reserved_metadata` for marks that only our own messages may carry. */
function assertNoReservedMarks(message: UIMessage): void {
  const mark = ownMark(message);
  if (mark === "id") {
    throw new PalimpsestError(
      "reserved_id",
      `"${message.id}" begins with "${RESERVED_PREFIX}", which marks summaries and parts of messages in a view. Give the message an id of its own.`,
    );
  }
  if (mark === "metadata") {
    throw new PalimpsestError(
      "reserved_metadata",
      `Message "${message.id}" has metadata under "${RESERVED_METADATA}", which marks summaries and what a view changed. Change the message as getMessage() returns it, or use another key.`,
    );
  }
}

function cyclic(id: string, parentId: string): PalimpsestError {
  return new PalimpsestError(
    "cyclic_parent",
    `Message "${id}" cannot hang under "${parentId}", which is itself or hangs under it.`,
  );
}
