/**
 * Reads the messages of a span in slices of a bounded size, newest first, so that writers get their turn between two
 * slices.
 *
 * A slice takes messages of {@link SLICE_BYTES} and ends with the row that no longer fits. A message that is stored in
 * several rows is read a row a slice. So no slice reads more than {@link MAX_SLICE_BYTES}, however large a message is.
 *
 * The messages may change between two slices. The sum of the digests that were read tells the caller.
 */
import type { UIMessage } from "ai";
import { ROW_MAX_BYTES } from "../../limits.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import type { ContentRow, Place, ShapeRow } from "../statements.ts";
import { decodeMessage } from "./content.ts";
import { isPruned } from "./contents.ts";
import type { Tree } from "./tree.ts";
import { elementMessages, shownPart } from "./view.ts";
import { walkView, type MessageElement } from "./walk.ts";

/** Bytes of messages that one slice takes, more than a usual chunk has. It is decoded in a few milliseconds. */
export const SLICE_BYTES = 256_000;
/** The most bytes that a slice reads. The last row may not fit any more, and then opens the next slice. */
export const MAX_SLICE_BYTES = SLICE_BYTES + ROW_MAX_BYTES;

type Read = MessageElement<ContentRow>;

export class SpanReader {
  readonly #tree: Tree;
  readonly #from: Place;
  readonly #bytes: number;
  /** The place of the next message. Null when all were read. */
  #at: Place | null;
  /** A message that was read and did not fit into its slice. */
  #waiting: Read | null = null;
  /** A message of several rows, as far as it was read. */
  #long: { readonly element: Read; readonly pieces: string[] } | null = null;
  readonly #elements: MessageElement<ShapeRow>[] = [];
  #epoch: number;
  readonly #began: number;

  /** `bytes` is the size of a slice. */
  constructor(tree: Tree, { from, to }: { readonly from: Place; readonly to: Place }, bytes = SLICE_BYTES) {
    this.#tree = tree;
    this.#from = from;
    this.#at = to;
    this.#bytes = bytes;
    this.#epoch = tree.epoch;
    this.#began = tree.epoch;
  }

  /** Whether nothing but appends came to the session since the first slice. */
  get isUntouched(): boolean {
    return this.#tree.epoch === this.#began;
  }

  /** What was read so far, newest first, pruned messages included. */
  get elements(): readonly MessageElement<ShapeRow>[] {
    return this.#elements;
  }

  /** Whether nothing is left to read. */
  get isDone(): boolean {
    return this.#at === null && this.#waiting === null && this.#long === null;
  }

  /** The messages of the next slice, oldest first. Empty while a message of several rows is read. Null when none is left. */
  next(): UIMessage[] | null {
    if (this.#long !== null) return this.#readPiece(this.#long);
    const begin = { at: this.#waiting === null ? this.#at : placeOf(this.#waiting), read: this.#elements.length };
    if (this.#waiting !== null) begin.read--;
    const slice = this.#readSlice();
    try {
      const messages = elementMessages(this.#tree, slice.toReversed());
      return slice.length === 0 && this.#at === null && this.#long === null ? null : messages;
    } catch (error) {
      // A host must deliver the messages first. The slice is then read again, because its rows may have changed.
      this.#at = begin.at;
      this.#waiting = null;
      this.#long = null;
      this.#elements.length = begin.read;
      throw error;
    }
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
      const { content: _, ...shape } = element.row;
      this.#elements.push({ ...element, row: shape });
      const { parentSeq, bytes, parts } = element.row;
      this.#at = parentSeq === null ? null : { seq: parentSeq, step: WHOLE_MESSAGE };
      if (isPruned(element.row)) continue;
      if (parts > 1) {
        this.#long = { element, pieces: [element.row.content] };
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

  #readPiece({ element, pieces }: { readonly element: Read; readonly pieces: string[] }): UIMessage[] {
    const { sql, sessionId } = this.#tree;
    const { row } = element;
    pieces.push(sql.messagePart(sessionId, row.seq, pieces.length)?.content ?? "");
    if (pieces.length < row.parts) return [];
    this.#long = null;
    return [shownPart(decodeMessage(pieces, row), element)];
  }
}

function placeOf({ row, toStep }: Read): Place {
  return { seq: row.seq, step: toStep };
}
