/**
 * Listed messages in slices of a bounded size. Their content is read later, as it is then.
 */
import type { UIMessage } from "ai";
import type { ShapeRow } from "../statements.ts";
import { isPruned } from "./contents.ts";
import { SLICE_BYTES, SpanReader } from "./span-reader.ts";
import type { Tree } from "./tree.ts";
import { elementMessages } from "./view.ts";
import type { MessageElement } from "./walk.ts";

/** Messages of at most {@link SLICE_BYTES} without their content, oldest first. */
export type Slice = readonly MessageElement<ShapeRow>[];

/** A message that is larger than a slice is one of its own. */
export function slicesOf(elements: Slice): Slice[] {
  const slices: MessageElement<ShapeRow>[][] = [];
  let left = 0;
  for (const element of elements) {
    left -= element.row.bytes;
    if (left < 0 || slices.length === 0) {
      slices.push([]);
      left = SLICE_BYTES - element.row.bytes;
    }
    slices.at(-1)?.push(element);
  }
  return slices;
}

/** The messages of a slice, as they are now. Leaves out those that were deleted since. */
export function readSlice(tree: Tree, slice: Slice): UIMessage[] {
  const found = slice.flatMap((element) => {
    const row = tree.content(element.row.seq);
    return row === undefined || isPruned(row) ? [] : [{ ...element, row }];
  });
  return elementMessages(tree, found);
}

/** Reads the only message of a slice row by row. Null where it is stored in one row, or gone. */
export function longReader(tree: Tree, [element, ...others]: Slice): SpanReader | null {
  if (element === undefined || others.length > 0) return null;
  const { seq } = element.row;
  const parts = tree.sql.messageShape(tree.sessionId, seq)?.parts ?? 0;
  if (parts <= 1) return null;
  return new SpanReader(tree, { from: { seq, step: element.fromStep }, to: { seq, step: element.toStep } });
}
