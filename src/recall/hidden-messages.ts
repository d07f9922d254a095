/**
 * Locates original messages that the overlays of the active branch hide.
 *
 * Turns words, names, overlays and neighbours into places, nearest or best first, one at a time. Does not decide how
 * much is read. A reader takes places until it has enough, and each place costs a row when it is taken.
 *
 * A branch consists of a few ranges of the table. Within a range each row is the parent of the next, because only
 * marked rows start elsewhere (src/memory/schema.ts). So it can tell whether an overlay covers a message without walking there.
 */
import type { UIMessage } from "ai";
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import { hashOf } from "../steps/message/message.ts";
import { parseSyntheticId, storedId, RECORD_PREFIX } from "../steps/view/view.ts";
import { isPruned } from "../memory/messages/contents.ts";
import type { MessageSearch } from "./search/search.ts";
import type { SeqRange } from "../memory/search/search-rows.ts";
import type { Ask, Holding } from "./steps/asked.ts";
import type { OverlayRow } from "../memory/statements.ts";
import { pathParts, type Tree } from "../memory/messages/tree.ts";
import { walkView } from "../memory/messages/walk.ts";

/** The most messages searched for the user's last one. An agent's turn seldom has more. */
const LOOKED_BACK = 20;

/** A range that an overlay of the view hides, wholly or in part. */
export interface HiddenRange extends SeqRange {
  readonly overlayId: string;
}

export interface Original {
  readonly seq: number;
  readonly message: UIMessage;
  /** Epoch ms. */
  readonly createdAt: number;
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

  /** For each ask, finds the messages that hold it, in the given ranges or in the whole session. */
  holding(asks: readonly Ask[], { ranges, rows }: { ranges: readonly SeqRange[] | null; rows: number }): Holding[] {
    return this.#search.holding(asks, { sessionId: this.#tree.sessionId, ranges: this.#all(ranges), rows });
  }

  /** Returns a test whether a place is in the ranges. For null every place is. */
  inside(ranges: readonly SeqRange[] | null): (seq: number) => boolean {
    const all = this.#all(ranges);
    return (seq) => all.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
  }

  /** The number of places in the ranges. It counts deleted messages too. */
  count(ranges: readonly SeqRange[] | null): number {
    return this.#all(ranges).reduce((sum, { fromSeq, toSeq }) => sum + toSeq - fromSeq + 1, 0);
  }

  /** The newest places in the ranges, newest first. */
  newest(ranges: readonly SeqRange[] | null, count: number): number[] {
    const newestFirst = this.#all(ranges).toSorted((a, b) => b.toSeq - a.toSeq);
    const seqs: number[] = [];
    for (const { fromSeq, toSeq } of newestFirst) {
      for (let seq = toSeq; seq >= fromSeq && seqs.length < count; seq--) seqs.push(seq);
    }
    return seqs;
  }

  /** The text of the user's last message among the newest of the active branch. Null when there is none among them. */
  lastUserText(): string | null {
    const leaf = this.#tree.newest();
    let left = LOOKED_BACK;
    for (const seq of leaf === null ? [] : this.#tree.pathDown(leaf.seq, 0)) {
      const { message } = this.read(seq) ?? {};
      const text = message?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n") ?? "";
      if (message?.role === "user" && text !== "") return text;
      if (--left === 0) break;
    }
    return null;
  }

  #all(ranges: readonly SeqRange[] | null): readonly SeqRange[] {
    return ranges ?? [{ fromSeq: 0, toSeq: this.#tree.newest()?.seq ?? 0 }];
  }

  /** The number of messages that {@link holding} sees only in part. */
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

  /** Every place in the ranges. The ranges keep their order, and each is read newest first. */
  *within(ranges: readonly SeqRange[]): Generator<number> {
    for (const { fromSeq, toSeq } of ranges) {
      for (let next = this.#atOrBelow(toSeq); next !== null && next >= fromSeq; next = this.#atOrBelow(next - 1)) {
        yield next;
      }
    }
  }

  /**
   * The place itself, then its nearest neighbours before and after, taken in turns. Follows the active branch if the
   * place is on it. Otherwise it only follows the ancestors.
   */
  *around(seq: number): Generator<number> {
    yield seq;
    let ways = [this.#before(seq), this.#after(seq)];
    while (ways.length > 0) {
      const open: typeof ways = [];
      for (const way of ways) {
        const next = way.next();
        if (next.done === true) continue;
        yield next.value;
        open.push(way);
      }
      ways = open;
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

  *#before(seq: number): Generator<number> {
    for (const at of this.#tree.pathDown(seq, 0)) if (at !== seq) yield at;
  }

  *#after(seq: number): Generator<number> {
    const leaf = this.#tree.newest();
    const stretches = leaf === null ? [] : this.#stretches(leaf.seq);
    const own = stretches.findIndex((each) => seq >= each.fromSeq && seq <= each.toSeq);
    for (const { fromSeq, toSeq } of stretches.slice(0, own + 1).toReversed()) {
      let next = this.#nextFrom(Math.max(fromSeq, seq + 1));
      for (; next !== null && next <= toSeq; next = this.#nextFrom(next + 1)) yield next;
    }
  }

  /** The path down from a place, newest range first. */
  #stretches(seq: number): SeqRange[] {
    this.#branches ??= this.#tree.sql.branchRows(this.#tree.sessionId);
    return pathParts(this.#branches, seq);
  }

  #nextFrom(seq: number): number | null {
    return this.#tree.sql.messageAfter(this.#tree.sessionId, seq - 1)?.seq ?? null;
  }

  #atOrBelow(seq: number): number | null {
    return this.#tree.sql.messageBefore(this.#tree.sessionId, seq)?.seq ?? null;
  }
}
