/**
 * Where originals are: what the summaries of the active branch hide, and the ways to a message beneath them.
 *
 * Job: from words, names, overlays and neighbours to places, nearest or best first, one at a time. Boundary: decides
 * nothing about how much is read; a reader takes places until it has enough, and each costs a row when it is taken.
 *
 * A branch is a few stretches of the table: inside one, each row is the parent of the next, because only rows that are
 * marked start elsewhere (schema.ts). So whether a message is under an overlay is known without walking there.
 */
import type { UIMessage } from "ai";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { hashOf } from "../../steps/message/reference.ts";
import { parseSyntheticId, RECORD_PREFIX } from "../../steps/view/view.ts";
import { isPruned } from "./contents.ts";
import type { MessageSearch } from "../search/search.ts";
import type { SeqRange } from "../search/search-rows.ts";
import type { Ask, Holding } from "../../steps/recall/asked.ts";
import type { OverlayRow } from "../statements.ts";
import type { Tree } from "./tree.ts";
import { walkView } from "./walk.ts";

/** Messages that are looked through for the user's last one: an agent's turn seldom has more. */
const LOOKED_BACK = 20;

/** A stretch that an overlay of the view hides, wholly or in part. */
export interface HiddenRange extends SeqRange {
  readonly overlayId: string;
}

export interface Original {
  readonly seq: number;
  readonly message: UIMessage;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Made for one question: it remembers what the view is. */
export class HiddenMessages {
  readonly #tree: Tree;
  readonly #search: MessageSearch;
  #branches: { seq: number; parentSeq: number | null }[] | null = null;
  #hidden: readonly HiddenRange[] | null = null;

  constructor(tree: Tree, search: MessageSearch) {
    this.#tree = tree;
    this.#search = search;
  }

  /** What the overlays of the active branch's view hide. Reads the view without content, and a row for each branch. */
  hidden(): readonly HiddenRange[] {
    if (this.#hidden === null) {
      const leaf = this.#tree.newest();
      const start = leaf === null ? null : { seq: leaf.seq, step: WHOLE_MESSAGE };
      const view = start === null ? [] : [...walkView(this.#tree, start, { content: false })];
      this.#hidden = view.flatMap((element) => (element.kind === "overlay" ? this.under(element.overlay) : []));
    }
    return this.#hidden;
  }

  /** The stretches that an overlay covers, newest first, whatever its state. */
  under({ overlayId, fromSeq, toSeq }: Pick<OverlayRow, "overlayId" | "fromSeq" | "toSeq">): HiddenRange[] {
    return this.#stretches(toSeq).flatMap((each) =>
      each.toSeq < fromSeq ? [] : [{ overlayId, fromSeq: Math.max(fromSeq, each.fromSeq), toSeq: each.toSeq }],
    );
  }

  /** The overlay of the view that hides a message; null when none does. */
  overlayOver(seq: number): string | null {
    return this.hidden().find((range) => seq >= range.fromSeq && seq <= range.toSeq)?.overlayId ?? null;
  }

  /** For each thing that is asked for, the messages that have it: in the given stretches, or in the whole session. */
  holding(asks: readonly Ask[], { ranges, rows }: { ranges: readonly SeqRange[] | null; rows: number }): Holding[] {
    return this.#search.holding(asks, { sessionId: this.#tree.sessionId, ranges: this.#all(ranges), rows });
  }

  /** Whether a place is in the stretches, or, for null, anywhere. */
  inside(ranges: readonly SeqRange[] | null): (seq: number) => boolean {
    const all = this.#all(ranges);
    return (seq) => all.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
  }

  /** Places in the stretches: as many as there were messages, deleted ones included. */
  count(ranges: readonly SeqRange[] | null): number {
    return this.#all(ranges).reduce((sum, { fromSeq, toSeq }) => sum + toSeq - fromSeq + 1, 0);
  }

  /** The newest places in the stretches, newest first. */
  newest(ranges: readonly SeqRange[] | null, count: number): number[] {
    const newestFirst = this.#all(ranges).toSorted((a, b) => b.toSeq - a.toSeq);
    const seqs: number[] = [];
    for (const { fromSeq, toSeq } of newestFirst) {
      for (let seq = toSeq; seq >= fromSeq && seqs.length < count; seq--) seqs.push(seq);
    }
    return seqs;
  }

  /** What the user said last on the active branch, of its newest messages; null when there is none among those. */
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

  /** Messages of which {@link holding} sees only a part. */
  countPartial(ranges: readonly SeqRange[] | null): number {
    return this.#search.countPartial(this.#tree.sessionId, ranges);
  }

  /** By a message's id, by the id that a view shows for a part of it, or by a reference. Empty when there is none. */
  named(name: string): number[] {
    const synthetic = parseSyntheticId(name);
    const row = this.#tree.find(synthetic?.kind === "slice" ? synthetic.messageId : name);
    if (row !== null) return [row.seq];
    const hash = hashOf(name.replace(/^\[(.*)\]$/, "$1"));
    return hash === null ? [] : this.#tree.findByHash(hash).map((each) => each.seq);
  }

  overlayNamed(name: string): OverlayRow | null {
    const synthetic = parseSyntheticId(name);
    const id = synthetic?.kind === "overlay" ? synthetic.overlayId : name;
    return this.#tree.sql.overlayById(this.#tree.sessionId, id) ?? null;
  }

  /** Every place in the stretches, in their order, newest first in each. */
  *within(ranges: readonly SeqRange[]): Generator<number> {
    for (const { fromSeq, toSeq } of ranges) {
      for (let next = this.#atOrBelow(toSeq); next !== null && next >= fromSeq; next = this.#atOrBelow(next - 1)) {
        yield next;
      }
    }
  }

  /** The place itself, then by turns the nearest before and after it: on the active branch, or on its own above it. */
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

  /** Null when the message was deleted or pruned, or is a record: what it tells of is in the session before this one. */
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

  /** The path down from a place, newest stretch first. */
  #stretches(seq: number): SeqRange[] {
    this.#branches ??= this.#tree.sql.branchRows(this.#tree.sessionId);
    const found: SeqRange[] = [];
    for (let toSeq: number | null = seq; toSeq !== null;) {
      const end: number = toSeq;
      const branch = this.#branches.find((row) => row.seq <= end);
      found.push({ fromSeq: branch?.seq ?? 0, toSeq: end });
      toSeq = branch?.parentSeq ?? null;
    }
    return found;
  }

  #nextFrom(seq: number): number | null {
    return this.#tree.sql.messageAfter(this.#tree.sessionId, seq - 1)?.seq ?? null;
  }

  #atOrBelow(seq: number): number | null {
    return this.#tree.sql.messageBefore(this.#tree.sessionId, seq)?.seq ?? null;
  }
}
