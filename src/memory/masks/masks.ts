/**
 * The masks of one session. A mask is a line on a path up to which older tool outputs are replaced by stubs.
 *
 * Finds the line of a path, adds a line, and adjusts lines when messages change. agent/masks decides when to mask, and
 * steps/view/mask.ts writes the stubs.
 *
 * A line hangs on a message, as an overlay does. A path with that message has the line, and a branch that left before
 * it does not. Of the lines on a path the furthest counts, and the words of its stubs come from all of them, each
 * chosen once. So the prefix of a view stays the same, byte for byte, between two edits. Words are dropped when a
 * message that they may come from is changed or deleted (S2).
 */
import { isReferenceTo } from "../../steps/message/reference.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import type { StubWords } from "../../steps/view/mask.ts";
import { parseFacts } from "../messages/content.ts";
import type { MaskRow, MaskStatements } from "./statements.ts";
import type { Place, ShapeRow } from "../statements.ts";

/** The line of a path. */
export interface Line {
  readonly n: number;
  readonly place: Place;
  readonly top: Place;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly names: readonly string[];
  readonly namesTokens: number;
  readonly words: StubWords;
}

export interface NewMask {
  readonly place: Place;
  readonly top: Place;
  readonly stubs: StubWords;
  readonly names: readonly string[];
  readonly namesTokens: number;
  /** Epoch ms. */
  readonly at: number;
}

/** A part of a path in which each row is the parent of the next. */
export interface PathPart {
  readonly fromSeq: number;
  readonly toSeq: number;
}

export class Masks {
  readonly #sql: MaskStatements;
  readonly #sessionId: string;
  /** Returns the path down from a row, newest part first. Reads a row for each branch of the session. */
  readonly #pathFrom: (seq: number) => readonly PathPart[];
  #rows: readonly MaskRow[] | null = null;

  constructor(sql: MaskStatements, sessionId: string, pathFrom: (seq: number) => readonly PathPart[]) {
    this.#sql = sql;
    this.#sessionId = sessionId;
    this.#pathFrom = pathFrom;
  }

  /**
   * The line of the path that ends at a place. Null where nothing is masked. Reads no row once the session's masks are
   * cached.
   */
  line(start: Place): Line | null {
    const below = this.#all().filter(
      ({ toSeq, toStep }) => toSeq < start.seq || (toSeq === start.seq && toStep <= start.step),
    );
    if (below.length === 0) return null;
    const path = this.#pathFrom(start.seq);
    const [furthest, ...others] = below.filter(({ toSeq }) =>
      path.some((part) => toSeq >= part.fromSeq && toSeq <= part.toSeq),
    );
    if (furthest === undefined) return null;
    const earlier = [furthest, ...others].toSorted((one, other) => one.n - other.n);
    return {
      n: furthest.n,
      place: { seq: furthest.toSeq, step: furthest.toStep },
      top: { seq: furthest.topSeq, step: furthest.topStep },
      createdAt: furthest.createdAt,
      names: JSON.parse(furthest.names) as string[],
      namesTokens: furthest.tokens,
      words: Object.assign({}, ...earlier.map(({ stubs }) => JSON.parse(stubs) as StubWords)) as StubWords,
    };
  }

  /** Writes one row. Call it inside a transaction. */
  add({ place, top, stubs, names, namesTokens, at }: NewMask): void {
    const n = Math.max(0, ...this.#all().map((row) => row.n)) + 1;
    this.#sql.insert(this.#sessionId, {
      n,
      toSeq: place.seq,
      toStep: place.step,
      topSeq: top.seq,
      topStep: top.step,
      tokens: namesTokens,
      names: JSON.stringify(names),
      stubs: JSON.stringify(stubs),
      createdAt: at,
    });
    this.#rows = null;
  }

  /** Call it before a message changes. Drops the words that may come from it, unless its masked steps stay the same. */
  replaced(message: ShapeRow, keeps: (steps: { readonly fromStep: number; readonly toStep: number }) => boolean): void {
    const end = parseFacts(message.facts).steps.length - 1;
    for (const row of this.#all()) {
      if (row.toSeq < message.seq) continue;
      const toStep = row.toSeq === message.seq ? Math.min(row.toStep, end) : end;
      if (keeps({ fromStep: 0, toStep })) continue;
      const kept = without(row, [message.id]);
      if (kept.names !== row.names || kept.stubs !== row.stubs) this.#sql.change(this.#sessionId, kept);
    }
    this.#rows = null;
  }

  /** Call it before messages are deleted. A line on one of them moves to its nearest remaining ancestor. */
  removed(rows: readonly ShapeRow[]): void {
    const ids = rows.map(({ id }) => id);
    const parents = new Map(rows.map((row) => [row.seq, row.parentSeq]));
    const oldest = Math.min(...parents.keys());
    for (const row of this.#all()) {
      if (row.toSeq < oldest) continue;
      let seq: number | null = row.toSeq;
      while (seq !== null && parents.has(seq)) seq = parents.get(seq) ?? null;
      if (seq === null) this.#sql.remove(this.#sessionId, row.n);
      else
        this.#sql.change(this.#sessionId, {
          ...without(row, ids),
          toSeq: seq,
          toStep: seq === row.toSeq ? row.toStep : WHOLE_MESSAGE,
        });
    }
    this.#rows = null;
  }

  forget(): void {
    this.#rows = null;
  }

  #all(): readonly MaskRow[] {
    this.#rows ??= this.#sql.masks(this.#sessionId);
    return this.#rows;
  }
}

/** The row without the names, and without the words in the stubs of some messages. */
function without(row: MaskRow, messageIds: readonly string[]): MaskRow {
  const stubs = Object.entries(JSON.parse(row.stubs) as StubWords);
  const left = stubs.filter(([reference]) => !messageIds.some((id) => isReferenceTo(id, reference)));
  const kept = left.length === stubs.length ? row.stubs : JSON.stringify(Object.fromEntries(left));
  return { ...row, names: "[]", tokens: 0, stubs: kept };
}
