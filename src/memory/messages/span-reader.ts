/**
 * Reads the messages of a span in slices of a bounded size, newest first, so that writers get their turn between two
 * slices.
 *
 * A slice takes messages of {@link SLICE_BYTES} and ends with the row that no longer fits. A message that is stored in
 * several rows is read a row a slice. So no slice reads more than {@link MAX_SLICE_BYTES}, however large a message is.
 *
 * The messages may change between two slices. Each is digested as it was read, and the sum of these digests tells the
 * caller. The rows as they are later would not, because a change may have been taken back by then.
 */
import type { UIMessage } from "ai";
import { ROW_MAX_BYTES } from "../../limits.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { sumDigests } from "../../steps/text/digest.ts";
import type { ContentRow, Place, Range } from "../statements.ts";
import { decodeMessage, isPruned } from "./content.ts";
import type { Tree } from "./tree.ts";
import { elementMessages, shownPart, elementDigest, walkView, type MessageElement } from "./visible.ts";

/** Bytes of messages that one slice takes, more than a usual chunk has. It is decoded in a few milliseconds. */
export const SLICE_BYTES = 256_000;
/** The most bytes that a slice reads. The last row may not fit any more, and then opens the next slice. */
export const MAX_SLICE_BYTES = SLICE_BYTES + ROW_MAX_BYTES;

type Read = MessageElement<ContentRow>;

/** A message of several rows, with those that were read, and the tree's epoch then. */
interface Long {
  readonly element: Read;
  readonly pieces: string[];
  epoch: number;
}

export class SpanReader {
  readonly #tree: Tree;
  readonly #from: Place;
  readonly #bytes: number;
  /** The place of the next message. Null when all were read. */
  #at: Place | null;
  /** A message that was read and did not fit into its slice. */
  #waiting: Read | null = null;
  /** A message that is read a row a slice. */
  #long: Long | null = null;
  /** The sum of the digests of what was read. Null once a message of several rows changed between two of them. */
  #digest: string | null = sumDigests([]);
  #epoch: number;
  readonly #end: number;
  readonly #began: number;

  /** `bytes` is the size of a slice. */
  constructor(tree: Tree, { from, to }: Range, bytes = SLICE_BYTES) {
    this.#tree = tree;
    this.#from = from;
    this.#at = to;
    this.#bytes = bytes;
    this.#epoch = tree.epoch;
    this.#end = to.seq;
    this.#began = tree.epochUpTo(to.seq);
  }

  /** Whether nothing came to the path since the first slice but what lies behind the span. */
  get isUntouched(): boolean {
    return this.#tree.epochUpTo(this.#end) === this.#began;
  }

  /** The digest of the messages as they were read, pruned ones included. Null for one that was never stored as it was read. */
  get digest(): string | null {
    return this.#digest;
  }

  /** Whether nothing is left to read. */
  get isDone(): boolean {
    return this.#at === null && this.#waiting === null && this.#long === null;
  }

  /** The messages of the next slice, oldest first. Empty while a message of several rows is read. Null when none is left. */
  next(): UIMessage[] | null {
    if (this.#long !== null) return this.#readPiece(this.#long);
    const begin = this.#waiting === null ? this.#at : placeOf(this.#waiting);
    const read = this.#digest;
    const slice = this.#readSlice();
    try {
      const messages = elementMessages(this.#tree, slice.toReversed());
      for (const element of slice) this.#add(element);
      return slice.length === 0 && this.#at === null && this.#long === null ? null : messages;
    } catch (error) {
      // A host must deliver the messages first. The slice is then read again, because its rows may have changed.
      this.#at = begin;
      this.#waiting = null;
      this.#long = null;
      this.#digest = read;
      throw error;
    }
  }

  /** Adds a message to the digest as it was read. */
  #add(element: Read): void {
    if (this.#digest === null) return;
    this.#digest = sumDigests([this.#digest, elementDigest(element)]);
  }

  #readSlice(): Read[] {
    const slice = this.#waiting === null ? [] : [this.#waiting];
    let left = this.#bytes - (this.#waiting?.row.bytes ?? 0);
    this.#waiting = null;
    if (this.#at !== null && this.#isGone(this.#at)) this.#at = null;
    if (this.#at === null || left <= 0) return slice;
    const options = { content: true, overlays: [], floor: this.#from, pruned: true } as const;
    for (const element of walkView(this.#tree, this.#at, options)) {
      if (element.kind === "overlay") continue;
      const { parentSeq, bytes, parts } = element.row;
      this.#at = parentSeq === null ? null : { seq: parentSeq, step: WHOLE_MESSAGE };
      if (isPruned(element.row)) {
        this.#add(element);
        continue;
      }
      if (parts > 1) {
        this.#long = { element, pieces: [element.row.content], epoch: this.#tree.epoch };
        return slice;
      }
      left -= bytes;
      if (left < 0 && slice.length > 0) {
        this.#waiting = element;
        return slice;
      }
      slice.push(element);
      if (left <= 0) return slice;
    }
    this.#at = null;
    return slice;
  }

  /** Whether the message was deleted since the last slice. */
  #isGone({ seq }: Place): boolean {
    const { sql, sessionId, epoch } = this.#tree;
    if (epoch === this.#epoch) return false;
    this.#epoch = epoch;
    return sql.messageShape(sessionId, seq) === undefined;
  }

  #readPiece(long: Long): UIMessage[] {
    const { sql, sessionId, epoch } = this.#tree;
    const { element, pieces } = long;
    const { row } = element;
    if (epoch !== long.epoch && sql.messageShape(sessionId, row.seq)?.digest !== row.digest) this.#digest = null;
    long.epoch = epoch;
    pieces.push(sql.messagePart(sessionId, row.seq, pieces.length)?.content ?? "");
    if (pieces.length < row.parts) return [];
    this.#long = null;
    this.#add(element);
    return [shownPart(decodeMessage(pieces, row), element)];
  }
}

function placeOf({ row, toStep }: Read): Place {
  return { seq: row.seq, step: toStep };
}
