/**
 * Reads the view before and behind a span, as a model is shown it, without reading the span.
 *
 * Reads one row for each element shown beside the span. Content is read newest first until a byte bound is reached.
 * After the bound it only collects summaries and reads no content.
 */
import type { UIMessage } from "ai";
import type { ContentRow, OverlayRow } from "../statements.ts";
import { isPruned } from "./contents.ts";
import { PathReader, type Tree } from "./tree.ts";
import { elementMessages } from "./view.ts";
import { placeBefore, placeTo, startOf, walkView, type Element } from "./walk.ts";
import { comparePlaces, type Place } from "./place.ts";

/** Oldest first. */
export interface Side {
  readonly messages: readonly UIMessage[];
  readonly overlays: readonly OverlayRow[];
}

export interface Surroundings {
  readonly before: Side;
  readonly behind: Side;
}

/** Null where the view from this leaf does not show the span's end. Then it is on another branch or under a wider overlay. */
export function readSurroundings(
  tree: Tree,
  { from, to, leaf }: { readonly from: Place; readonly to: Place; readonly leaf: Place },
  maxBytes: number,
): Surroundings | null {
  const budget = { bytes: maxBytes };
  const behind = new SideReader(tree, budget);
  if (!behind.readDownTo(leaf, to)) return null;
  const before = new SideReader(tree, budget);
  before.readDown(placeBefore(from, new PathReader(tree, { content: false })));
  return { before: before.side(), behind: behind.side() };
}

class SideReader {
  readonly #tree: Tree;
  /** Bytes left to read, shared by both sides. */
  readonly #budget: { bytes: number };
  readonly #read: Element<ContentRow>[] = [];
  readonly #overlays: OverlayRow[] = [];

  constructor(tree: Tree, budget: { bytes: number }) {
    this.#tree = tree;
    this.#budget = budget;
  }

  readDown(start: Place | null): void {
    if (start !== null) for (const element of this.#walk(start)) this.#take(element);
  }

  /** Reads the elements behind a place. Returns false where an element ends elsewhere or runs over the place. */
  readDownTo(start: Place, to: Place): boolean {
    for (const element of this.#walk(start)) {
      if (comparePlaces(startOf(element), to) > 0) {
        this.#take(element);
        continue;
      }
      if (element.kind === "overlay") return comparePlaces(placeTo(element.overlay), to) === 0;
      if (element.row.seq !== to.seq) return false;
      // The rest of a message that the span cuts is behind the span.
      if (element.toStep > to.step) this.#take({ ...element, fromStep: to.step + 1 });
      return true;
    }
    return false;
  }

  side(): Side {
    return {
      messages: elementMessages(this.#tree, this.#read.toReversed()),
      overlays: this.#overlays.toReversed(),
    };
  }

  *#walk(start: Place): Generator<Element> {
    let at: Place = start;
    if (this.#budget.bytes > 0) {
      let full: Place | null = null;
      for (const element of walkView(this.#tree, start, { content: true, pruned: true })) {
        if (element.kind === "message" && element.row.bytes > this.#budget.bytes) {
          this.#budget.bytes = 0;
          full = { seq: element.row.seq, step: element.toStep };
          break;
        }
        yield element;
      }
      if (full === null) return;
      at = full;
    }
    yield* walkView(this.#tree, at, { content: false, pruned: true });
  }

  #take(element: Element<ContentRow> | Element): void {
    if (element.kind === "overlay") this.#overlays.push(element.overlay);
    else if (hasContent(element.row) && !isPruned(element.row)) {
      this.#budget.bytes -= element.row.bytes;
      this.#read.push({ ...element, row: element.row });
    }
  }
}

function hasContent(row: object): row is ContentRow {
  return "content" in row;
}
