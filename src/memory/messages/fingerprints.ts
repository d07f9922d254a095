/**
 * Finds a message by its id without an index on ids.
 *
 * Keeps one 32-bit hash per message in memory, in the order of `seq`, and says where an id may be. The caller reads the
 * row of a candidate and compares the id, so a collision or a stale hash costs one read and never gives a wrong answer.
 * The persisted pages are a copy of the rows, written once for many appends. The first look-up after a cold start reads
 * newer rows again.
 */
import { hashId } from "../../steps/message/message.ts";
import type { Statements } from "../statements.ts";

/** Hashes in one row, a blob of 512 KiB. */
export const PAGE_SIZE = 131_072;

/** Appends between two writes of the last page, and so the most rows that a cold start reads again. */
export const FLUSH_EVERY = 64;

/** Marks a place without a message. No id hashes to it. */
const NONE = 0;

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
