/**
 * One session's messages as a tree of rows.
 *
 * Stores, changes, moves and deletes rows, and finds places, parents and children. Knows nothing of overlays or views,
 * and never looks into encoded content.
 *
 * It is safe because a parent's `seq` is always smaller than its child's. Rows are appended under existing rows and
 * never moved under a newer one, and a delete moves children under an older ancestor. So no path has a cycle, a path is
 * walked in descending key order, and the newest row is always a leaf.
 */
import type { UIMessage } from "ai";
import { assert, PalimpsestError } from "../../errors.ts";
import { hashId, titleOf } from "../../steps/message/message.ts";
import { type Encoded, PRUNED, StoredContents, type Contents } from "./content.ts";
import type { ContentRow, NewMessage, ShapeRow, Statements } from "../statements.ts";

/** Rows whose changes are told apart. Beyond that all count as changed at once. */
const MOST_CHANGES = 1_000;

interface Top {
  readonly newest: { readonly seq: number; readonly id: string } | null;
  /** The `seq` of the next message. */
  readonly next: number;
  /** True when the session's row exists. */
  readonly stored: boolean;
  readonly ended: boolean;
}

export class Tree {
  readonly sessionId: string;
  readonly sql: Statements;
  readonly contents: Contents;
  readonly #fingerprints: Fingerprints;
  readonly now: () => number;
  /** Rises with every write that invalidates open cursors and cached totals. */
  #epoch = 0;
  /** The rows from which on something changed, and the epoch since then. Both rise from entry to entry. */
  #changes: { readonly fromSeq: number; readonly epoch: number }[] = [];
  /** The newest row and the next `seq`, once read. */
  #top: Top | null = null;

  /** Reads from our own store if `contents` is left out. */
  constructor(
    sql: Statements,
    sessionId: string,
    now: () => number,
    { contents }: { readonly contents?: Contents | undefined } = {},
  ) {
    this.sql = sql;
    this.sessionId = sessionId;
    this.contents = contents ?? new StoredContents(sql, sessionId);
    this.now = now;
    this.#fingerprints = new Fingerprints(sql, sessionId);
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Invalidates open cursors because rows changed, all of them at `fromSeq` or behind it. */
  touch(fromSeq = 0): void {
    this.#epoch++;
    while ((this.#changes.at(-1)?.fromSeq ?? -1) >= fromSeq) this.#changes.pop();
    this.#changes.push({ fromSeq, epoch: this.#epoch });
    if (this.#changes.length > MOST_CHANGES) this.touch();
  }

  /** The epoch of the last change of a row up to `seq`, so that a message which grows behind it counts for nothing. */
  epochUpTo(seq: number): number {
    return this.#changes.findLast(({ fromSeq }) => fromSeq <= seq)?.epoch ?? 0;
  }

  /** Drops everything cached in memory. */
  forget(): void {
    this.#top = null;
    this.#fingerprints.forget();
    this.touch();
  }

  newest(): { readonly seq: number; readonly id: string } | null {
    return this.#loadTop().newest;
  }

  /** True once the session was ended. Its messages can be read, but neither added nor changed. */
  get ended(): boolean {
    return this.#loadTop().ended;
  }

  /** The message's row. Costs one read when it exists, and none (except for a hash collision) when it does not. */
  find(id: string): ShapeRow | null {
    for (const seq of this.#fingerprints.candidates(id)) {
      const row = this.sql.messageShape(this.sessionId, seq);
      if (row?.id === id) return row;
    }
    return null;
  }

  /** The message's `seq`, or null. Reads no row for the newest message. */
  seqOf(id: string): number | null {
    const newest = this.newest();
    return newest?.id === id ? newest.seq : (this.find(id)?.seq ?? null);
  }

  /** Whether a message with this id may exist. False is certain, true may be a hash collision. Reads no message row. */
  mayHave(id: string): boolean {
    return this.#fingerprints.candidates(id).next().done !== true;
  }

  /** The messages whose ids have this hash, more than one only after a collision. Reads a row for each. */
  findByHash(hash: number): ShapeRow[] {
    return [...this.#fingerprints.withHash(hash)].flatMap((seq) => {
      const row = this.sql.messageShape(this.sessionId, seq);
      return row !== undefined && hashId(row.id) === hash ? [row] : [];
    });
  }

  findContent(id: string): ContentRow | null {
    for (const seq of this.#fingerprints.candidates(id)) {
      const row = this.sql.messageContent(this.sessionId, seq);
      if (row?.id === id) return row;
    }
    return null;
  }

  shape(seq: number): ShapeRow {
    const row = this.sql.messageShape(this.sessionId, seq);
    assert(row !== undefined, `Session "${this.sessionId}" has no message at ${seq}, though something hangs on it.`);
    return row;
  }

  /** The row at `seq`, which must exist. */
  contentAt(seq: number): ContentRow {
    const row = this.content(seq);
    assert(row !== undefined, `Session "${this.sessionId}" has no message at ${seq}, though it was there just now.`);
    return row;
  }

  content(seq: number): ContentRow | undefined {
    return this.sql.messageContent(this.sessionId, seq);
  }

  /** The message as it was stored. */
  decode(row: ContentRow): UIMessage {
    return this.contents.read(row);
  }

  /** Stores a message under a row of this session, or as a root. Returns its `seq`. */
  insert(encoded: Encoded, parentSeq: number | null, createdAt = this.now()): number {
    const top = this.#loadTop();
    if (!top.stored) this.sql.insertSession(this.sessionId, this.now());
    const seq = top.next;
    const branch = parentSeq === (top.newest?.seq ?? null) ? 0 : 1;
    this.write(encoded, { seq, parentSeq, branch, createdAt });
    this.#fingerprints.add(seq, encoded.id);
    this.#top = { newest: { seq, id: encoded.id }, next: seq + 1, stored: true, ended: false };
    return seq;
  }

  /** Writes the rows of a message. {@link forget} what is cached afterwards. */
  write(encoded: Encoded, place: Pick<NewMessage, "seq" | "parentSeq" | "branch" | "createdAt">): void {
    const { pieces, ...columns } = encoded;
    const content = pieces[0] ?? "";
    this.sql.insertMessage(this.sessionId, { ...columns, ...place, parts: pieces.length, content });
    this.#insertRest(place.seq, pieces);
  }

  /** Replaces the content of a row. */
  replace(row: ShapeRow, encoded: Encoded): void {
    const { pieces, ...columns } = encoded;
    const content = pieces[0] ?? "";
    this.sql.updateMessage(this.sessionId, { ...columns, seq: row.seq, parts: pieces.length, content });
    if (row.parts > 1) this.sql.deleteMessageParts(this.sessionId, row.seq);
    this.#insertRest(row.seq, pieces);
    this.touch(row.seq);
  }

  /** Deletes rows. Children move under the nearest remaining ancestor. */
  remove(rows: readonly ShapeRow[]): void {
    const top = this.#loadTop();
    const gone = new Map(rows.map((row) => [row.seq, row]));
    for (const row of rows) {
      let ancestor = row.parentSeq;
      for (let above = gone.get(ancestor ?? -1); above !== undefined; above = gone.get(ancestor ?? -1)) {
        ancestor = above.parentSeq;
      }
      for (const child of this.childrenOf(row.seq)) {
        if (!gone.has(child)) this.sql.reparentMessage(this.sessionId, child, ancestor);
      }
    }
    for (const row of rows) {
      if (row.parts > 1) this.sql.deleteMessageParts(this.sessionId, row.seq);
      this.sql.deleteMessage(this.sessionId, row.seq);
      this.#fingerprints.remove(row.seq);
    }
    if (top.newest !== null && gone.has(top.newest.seq)) {
      this.sql.raiseNextSeq(this.sessionId, top.next);
      this.#top = null;
    }
    this.touch(Math.min(...gone.keys()));
  }

  /** Keeps the rows of messages that a host pruned, but removes their content and hides them from views. */
  prune(rows: readonly ShapeRow[]): void {
    for (const row of rows) {
      const { seq, role, tokens, bytes, digest, facts } = row;
      this.sql.updateMessage(this.sessionId, { seq, role, tokens, bytes, digest, facts, parts: PRUNED, content: "" });
    }
    this.touch();
  }

  /** Deletes everything. A `seq` that was used before is never used again. */
  clear(): void {
    const { next, stored } = this.#loadTop();
    if (stored) this.sql.raiseNextSeq(this.sessionId, next);
    this.sql.clearSession(this.sessionId);
    this.forget();
  }

  /** The rows directly under a row, oldest first. For null, the roots. */
  childrenOf(parentSeq: number | null): number[] {
    const branches = this.sql.branchesOf(this.sessionId, parentSeq).map((row) => row.seq);
    const next = this.sql.messageAfter(this.sessionId, parentSeq ?? -1);
    return next === undefined || next.parentSeq !== parentSeq || branches.includes(next.seq)
      ? branches
      : [next.seq, ...branches];
  }

  /** True when the first row is the second or an ancestor of it. */
  isOnPath(seq: number, leafSeq: number): boolean {
    for (const at of this.pathDown(leafSeq, seq)) if (at === seq) return true;
    return false;
  }

  /** Returns a test whether a stored row is on the path that ends at `seq`. Reads a row for each branch of the session. */
  pathTo(seq: number): (seq: number) => boolean {
    const parts = pathParts(this.sql.branchRows(this.sessionId), seq);
    return (each) => parts.some(({ fromSeq, toSeq }) => each >= fromSeq && each <= toSeq);
  }

  /** The path's `seq` numbers from a row downwards, as far as `endSeq`. */
  *pathDown(seq: number, endSeq: number): Generator<number> {
    const reader = new PathReader(this, { content: false });
    let at: number | null = seq;
    while (at !== null && at >= endSeq) {
      yield at;
      if (at === endSeq) return;
      at = reader.read(at).parentSeq;
    }
  }

  /** Persists hashes that the next cold start would otherwise read again. */
  flush(): void {
    this.#fingerprints.flush();
  }

  #insertRest(seq: number, pieces: readonly string[]): void {
    for (const [part, content] of pieces.entries()) {
      if (part > 0) this.sql.insertMessagePart(this.sessionId, seq, { part, content });
    }
  }

  #loadTop(): Top {
    if (this.#top === null) {
      const newest = this.sql.newestMessage(this.sessionId) ?? null;
      const session = this.sql.session(this.sessionId);
      const next = Math.max(newest === null ? 0 : newest.seq + 1, session?.nextSeq ?? 0);
      const ended = (session?.endedAt ?? null) !== null;
      this.#top = { newest, next, stored: session !== undefined, ended };
    }
    return this.#top;
  }
}

/** A part of a path in which each row is the parent of the next. */
interface PathPart {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** The path down from a row, newest part first. `branches` has the session's branch rows, newest first as well. */
export function pathParts(
  branches: readonly { readonly seq: number; readonly parentSeq: number | null }[],
  seq: number,
): PathPart[] {
  const found: PathPart[] = [];
  for (let toSeq: number | null = seq; toSeq !== null;) {
    const end: number = toSeq;
    const branch = branches.find((row) => row.seq <= end);
    found.push({ fromSeq: branch?.seq ?? 0, toSeq: end });
    toSeq = branch?.parentSeq ?? null;
  }
  return found;
}

/**
 * Reads the rows of a path from the leaf down, one table row for each.
 *
 * Where parents follow each other in the table it steps one cursor. Where the path jumps over rows of other branches or
 * over an overlay's span, it seeks. A jump wastes at most the one row that the cursor read ahead.
 */
export class PathReader<Content extends boolean> {
  readonly #tree: Tree;
  readonly #content: Content;
  #cursor: Generator<ShapeRow> | null = null;
  #epoch: number;
  #last: number | null = null;

  constructor(tree: Tree, options: { content: Content }) {
    this.#tree = tree;
    this.#content = options.content;
    this.#epoch = tree.epoch;
  }

  /**
   * The row at `seq`, which must exist, with its content if the reader was made with `content`. Throws `invalid_state`
   * when the row was deleted during the walk.
   */
  read(seq: number): Content extends true ? ContentRow : ShapeRow {
    const { sql, sessionId, epoch } = this.#tree;
    if (epoch !== this.#epoch) this.#cursor = null;
    this.#epoch = epoch;
    let row: ShapeRow | undefined;
    if (this.#last === null || this.#last === seq + 1) {
      this.#cursor ??= this.#content ? sql.contentsDown(sessionId, seq) : sql.shapesDown(sessionId, seq);
      row = this.#cursor.next().value as ShapeRow | undefined;
    } else {
      this.#cursor = null;
      row = this.#content ? sql.messageContent(sessionId, seq) : sql.messageShape(sessionId, seq);
    }
    if (row?.seq !== seq) {
      throw new PalimpsestError(
        "invalid_state",
        `Session "${sessionId}" lost a message while its path was being read. Read it again.`,
      );
    }
    this.#last = seq;
    return row as Content extends true ? ContentRow : ShapeRow;
  }

  /** The parent of a row that an overlay hides. Does not read its content. */
  parentOf(seq: number): number | null {
    this.#cursor = null;
    this.#last = seq;
    return this.#tree.shape(seq).parentSeq;
  }
}

/** Hashes in one row, a blob of 512 KiB. */
export const PAGE_SIZE = 131_072;

/** Appends between two writes of the last page, and so the most rows that a cold start reads again. */
export const FLUSH_EVERY = 64;

/** Marks a place without a message. No id hashes to it. */
const NONE = 0;

/**
 * Finds a message by its id without an index on ids.
 *
 * Keeps one 32-bit hash per message in memory, in the order of `seq`, and says where an id may be. The caller reads the row of a candidate and
 * compares the id, so a collision or a stale hash costs one read and never gives a wrong answer. The persisted pages are a copy of the rows,
 * written once for many appends. The first look-up after a cold start reads newer rows again.
 */
export class Fingerprints {
  readonly #sql: Statements;
  readonly #sessionId: string;
  /** The index is `seq`. `NONE` marks a place without a message. Null until first needed. */
  #hashes: Uint32Array | null = null;
  /** The first `seq` after the hashes in memory, and the first after the persisted ones. */
  #end = 0;
  #flushedEnd = 0;

  constructor(sql: Statements, sessionId: string) {
    this.#sql = sql;
    this.#sessionId = sessionId;
  }

  /** The places where a message with this id may be, newest first. */
  *candidates(id: string): Generator<number> {
    yield* this.withHash(hashId(id));
  }

  /** The places of messages whose ids have this hash, newest first. May include one deleted since the last write. */
  *withHash(wanted: number): Generator<number> {
    const hashes = this.#load();
    let at = this.#end;
    while (at > 0) {
      at = hashes.lastIndexOf(wanted, at - 1);
      if (at >= 0) yield at;
    }
  }

  /** Records a stored message. Every {@link FLUSH_EVERY}-th call writes one row. */
  add(seq: number, id: string): void {
    this.#put(seq, hashId(id));
    if ((seq + 1) % FLUSH_EVERY === 0) this.flush();
  }

  remove(seq: number): void {
    if (seq < this.#load().length) this.#load()[seq] = NONE;
  }

  /**
   * Persists the pending hashes. Writes one row, or one more for each page that filled up since. A session of few messages has none, because
   * a cold start reads those rows for less than a table and its row cost.
   */
  flush(): void {
    const hashes = this.#load();
    if (this.#flushedEnd === this.#end || this.#end < FLUSH_EVERY) return;
    for (let page = Math.floor(this.#flushedEnd / PAGE_SIZE); page * PAGE_SIZE < this.#end; page++) {
      const slice = hashes.subarray(page * PAGE_SIZE, Math.min(this.#end, (page + 1) * PAGE_SIZE));
      this.#sql.putFingerprintPage(
        this.#sessionId,
        page,
        new Uint8Array(slice.buffer, slice.byteOffset, slice.byteLength),
      );
    }
    this.#flushedEnd = this.#end;
  }

  /** Drops the hashes in memory. The next look-up loads them again. */
  forget(): void {
    this.#hashes = null;
    this.#end = 0;
    this.#flushedEnd = 0;
  }

  #load(): Uint32Array {
    if (this.#hashes !== null) return this.#hashes;
    const pages = this.#sql.fingerprintPages(this.#sessionId);
    const last = pages.at(-1);
    this.#end = last === undefined ? 0 : last.page * PAGE_SIZE + last.hashes.byteLength / 4;
    this.#flushedEnd = this.#end;
    const hashes = new Uint32Array(capacityFor(this.#end));
    for (const { page, hashes: stored } of pages) hashes.set(new Uint32Array(stored), page * PAGE_SIZE);
    this.#hashes = hashes;
    for (const { seq, id } of this.#sql.idsFrom(this.#sessionId, this.#end)) this.#put(seq, hashId(id));
    return this.#hashes;
  }

  #put(seq: number, hash: number): void {
    let hashes = this.#load();
    if (seq >= hashes.length) {
      hashes = new Uint32Array(capacityFor(seq + 1));
      hashes.set(this.#load());
      this.#hashes = hashes;
    }
    hashes[seq] = hash;
    this.#end = Math.max(this.#end, seq + 1);
  }
}

function capacityFor(length: number): number {
  return Math.max(FLUSH_EVERY, 2 ** Math.ceil(Math.log2(length + 1)));
}

/** The most branches that a page shows, newest first. Each costs a read of its last message. */
const MAX_BRANCH_TIPS = 100;

/** The last message of a branch. */
export interface BranchTip {
  /** The id of that message. */
  readonly leafId: string;
  /** The role of that message. */
  readonly role: string;
  /** The beginning of the leaf's text. Null when the leaf has no text. */
  readonly title: string | null;
  /** When the leaf was stored, epoch ms. */
  readonly createdAt: number;
  /** The message after which the branch parts from its parent. Null for a branch that begins the session. */
  readonly partsAfterId: string | null;
}

const END = Number.MAX_SAFE_INTEGER;

/** Rows that follow each other, from a branch start to the row before the next start. */
interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The newest leaf among the message at `seq` and its descendants. */
export function findLeafAfter(tree: Tree, seq: number): string {
  const newest = tree.newest();
  if (newest?.seq === seq) return newest.id;
  const starts = tree.sql.branchRows(tree.sessionId);
  if (starts.length === 0 && newest !== null) return newest.id;
  const after: Stretch[] = [{ from: seq, to: (starts.findLast((start) => start.seq > seq)?.seq ?? END) - 1 }];
  // Oldest first, because a branch hangs on an older row. The row that it hangs on was then visited before.
  for (const [at, start] of [...starts.entries()].toReversed()) {
    const hangsOn = start.parentSeq ?? -1;
    if (start.seq <= seq || !after.some(({ from, to }) => from <= hangsOn && hangsOn <= to)) continue;
    after.push({ from: start.seq, to: (starts[at - 1]?.seq ?? END) - 1 });
  }
  // The newest of those rows is a leaf, because a child of it would be newer and also in the list.
  for (const { from, to } of after.toReversed()) {
    const last = tree.sql.messageBefore(tree.sessionId, to);
    if (last !== undefined && last.seq >= from) return tree.shape(last.seq).id;
  }
  return tree.shape(seq).id;
}

/** The newest {@link MAX_BRANCH_TIPS} tips, newest first. Empty for a session without messages. */
export function listTips(tree: Tree): BranchTip[] {
  const starts = tree.sql.branchRows(tree.sessionId);
  const hangsOn = new Set(starts.map((start) => start.parentSeq));
  const tips: BranchTip[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (const start of [...starts, { seq: 0, parentSeq: null }]) {
    const last = tree.sql.messageBefore(tree.sessionId, before);
    before = start.seq - 1;
    if (last === undefined || last.seq < start.seq || hangsOn.has(last.seq)) continue;
    tips.push(describeTip(tree, last.seq, start.parentSeq));
    if (tips.length === MAX_BRANCH_TIPS) break;
  }
  return tips;
}

function describeTip(tree: Tree, seq: number, parentSeq: number | null): BranchTip {
  const row = tree.contentAt(seq);
  const { id: leafId, role, createdAt } = row;
  const partsAfterId = parentSeq === null ? null : tree.shape(parentSeq).id;
  return { leafId, role, title: titleOf(tree.decode(row)), createdAt, partsAfterId };
}
