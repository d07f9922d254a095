/**
 * Locates original messages that the overlays of the active branch hide: turns words, names, overlays and neighbours into places. A place
 * costs a row when it is taken, so a reader takes them until it has enough.
 *
 * A branch consists of a few ranges of the table. Within a range each row is the parent of the next, because only
 * marked rows start elsewhere (src/memory/schema.ts). So it can tell whether an overlay covers a message without walking there.
 */
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import { hashOf } from "../steps/message/message.ts";
import { parseSyntheticId, storedId, RECORD_PREFIX } from "../steps/view/view.ts";
import { isPruned } from "../memory/messages/contents.ts";
import type { MessageSearch } from "./search.ts";
import type { SeqRange } from "./index-rows.ts";
import type { Original } from "./passages.ts";
import { weightOf, type Ask, type Match } from "./question.ts";
import type { OverlayRow } from "../memory/statements.ts";
import { pathParts, type Tree } from "../memory/messages/tree.ts";
import { walkView } from "../memory/messages/walk.ts";

/** A range that an overlay of the view hides, wholly or in part. */
export interface HiddenRange extends SeqRange {
  readonly overlayId: string;
}

/** Made for one question, because it caches the shape of the view. */
export class HiddenMessages {
  readonly #tree: Tree;
  readonly #search: MessageSearch;
  #branches: { seq: number; parentSeq: number | null }[] | null = null;
  #hidden: readonly HiddenRange[] | null = null;

  constructor(tree: Tree, search: MessageSearch) {
    this.#tree = tree;
    this.#search = search;
  }

  /** The ranges that overlays of the active view hide. Reads the view without content, and a row for each branch. */
  hidden(): readonly HiddenRange[] {
    if (this.#hidden === null) {
      const leaf = this.#tree.newest();
      const start = leaf === null ? null : { seq: leaf.seq, step: WHOLE_MESSAGE };
      const view = start === null ? [] : [...walkView(this.#tree, start, { content: false })];
      this.#hidden = view.flatMap((element) => (element.kind === "overlay" ? this.under(element.overlay) : []));
    }
    return this.#hidden;
  }

  /** The ranges that an overlay covers, newest first, in any state of the overlay. */
  under({ overlayId, fromSeq, toSeq }: Pick<OverlayRow, "overlayId" | "fromSeq" | "toSeq">): HiddenRange[] {
    return this.#stretches(toSeq).flatMap((each) =>
      each.toSeq < fromSeq ? [] : [{ overlayId, fromSeq: Math.max(fromSeq, each.fromSeq), toSeq: each.toSeq }],
    );
  }

  /** The overlay of the view that hides a message. Null when none does. */
  overlayOver(seq: number): string | null {
    return this.hidden().find((range) => seq >= range.fromSeq && seq <= range.toSeq)?.overlayId ?? null;
  }

  /** For each ask, finds the messages that have it, in the given ranges or in the whole session. */
  matches(asks: readonly Ask[], { ranges, rows }: { ranges: readonly SeqRange[] | null; rows: number }): Match[] {
    if (asks.length === 0) return [];
    const { sessionId } = this.#tree;
    const all = this.#all(ranges);
    // Deleted messages count too.
    const messages = all.reduce((sum, { fromSeq, toSeq }) => sum + toSeq - fromSeq + 1, 0);
    const found = this.#search.placesOf(asks, { sessionId, ranges: all, rows });
    return found.map(({ ask, ...places }) => ({ ...ask, ...places, weight: weightOf(places, messages) }));
  }

  /** Returns a test whether a place is in the ranges. For null every place is. */
  inside(ranges: readonly SeqRange[] | null): (seq: number) => boolean {
    const all = this.#all(ranges);
    return (seq) => isIn(all, seq);
  }

  /** Every place in the ranges, newest first. */
  *newest(ranges: readonly SeqRange[]): Generator<number> {
    for (const { fromSeq, toSeq } of ranges.toSorted((a, b) => b.toSeq - a.toSeq)) {
      for (let seq = toSeq; seq >= fromSeq; seq--) yield seq;
    }
  }

  #all(ranges: readonly SeqRange[] | null): readonly SeqRange[] {
    return ranges ?? [{ fromSeq: 0, toSeq: this.#tree.newest()?.seq ?? 0 }];
  }

  /** The number of messages that a search sees only in part. */
  countPartial(ranges: readonly SeqRange[] | null): number {
    return this.#search.countPartial(this.#tree.sessionId, ranges);
  }

  /** Finds places by a message's id, by the view's id for a part of it, or by a reference. Empty when there is none. */
  named(name: string): number[] {
    const row = this.#tree.find(storedId(name));
    if (row !== null) return [row.seq];
    const hash = hashOf(name.replace(/^\[(.*)\]$/, "$1"));
    return hash === null ? [] : this.#tree.findByHash(hash).map(({ seq }) => seq);
  }

  overlayNamed(name: string): OverlayRow | null {
    const synthetic = parseSyntheticId(name);
    const id = synthetic?.kind === "overlay" ? synthetic.overlayId : name;
    return this.#tree.sql.overlayById(this.#tree.sessionId, id) ?? null;
  }

  /**
   * The place itself, then its nearest neighbours before and after, taken in turns. Follows the active branch if the
   * place is on it. Otherwise it only follows the ancestors.
   */
  *around(seq: number): Generator<number> {
    const leaf = this.#tree.newest();
    const active = leaf === null ? [] : this.#stretches(leaf.seq);
    const path = isIn(active, seq) ? active : this.#stretches(seq);
    const last = path[0]?.toSeq ?? seq;
    yield seq;
    for (let far = 1; seq - far >= 0 || seq + far <= last; far++) {
      for (const at of [seq - far, seq + far]) if (isIn(path, at)) yield at;
    }
  }

  /** Where a host keeps the messages, asks for several at once before they are read. */
  need(seqs: readonly number[]): void {
    const { contents } = this.#tree;
    if (contents.host !== null) contents.need(seqs.flatMap((seq) => this.#tree.content(seq) ?? []));
  }

  /** Returns null for a message that was deleted or pruned, and for a record, whose messages are in the previous session. */
  read(seq: number): Original | null {
    const row = this.#tree.content(seq);
    return row === undefined || row.id.startsWith(RECORD_PREFIX) || isPruned(row)
      ? null
      : { seq, message: this.#tree.decode(row), createdAt: row.createdAt };
  }

  /** The path down from a place, newest range first. */
  #stretches(seq: number): SeqRange[] {
    this.#branches ??= this.#tree.sql.branchRows(this.#tree.sessionId);
    return pathParts(this.#branches, seq);
  }
}

function isIn(ranges: readonly SeqRange[], seq: number): boolean {
  return ranges.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
}
