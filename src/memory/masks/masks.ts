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
 *
 * A line masks only what was there when it was drawn. When a message shrinks, its line moves back with it. A step that
 * changes before a line is shown whole from then on, because its output may be new to the model.
 */
import { isCallOf, referenceToCall } from "../../steps/message/reference.ts";
import type { StubWords } from "../../steps/view/mask.ts";
import { parseFacts, type Facts } from "../messages/content.ts";
import type { Steps } from "../overlays/record.ts";
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
  /** Whether its stubs say how to recall an output. */
  readonly canRecall: boolean;
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

interface PathReads {
  /** Returns the path down from a row, newest part first. Reads a row for each branch of the session. */
  readonly pathFrom: (seq: number) => readonly PathPart[];
  readonly lastStepOf: (seq: number) => number;
  /** Whether the agent has the room by which a model reads originals. */
  readonly canRecall: boolean;
}

interface Change {
  readonly message: ShapeRow;
  readonly before: Facts;
  readonly after: Facts;
  /** The steps before the line that change. */
  readonly changed: ReadonlySet<number>;
  /** The last step of the message that the line masks from now on. */
  readonly last: number;
}

export class Masks {
  readonly #sql: MaskStatements;
  readonly #sessionId: string;
  readonly #reads: PathReads;
  #rows: readonly MaskRow[] | null = null;

  constructor(sql: MaskStatements, sessionId: string, reads: PathReads) {
    this.#sql = sql;
    this.#sessionId = sessionId;
    this.#reads = reads;
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
    const path = this.#reads.pathFrom(start.seq);
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
      canRecall: this.#reads.canRecall,
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

  /**
   * Call it before a message changes. Drops the words that may come from it, and shows its changed steps whole. `keeps`
   * tells whether some steps stay the same. Returns whether a mask changed.
   */
  replaced(message: ShapeRow, facts: string, keeps: (steps: Steps) => boolean): boolean {
    const [before, after] = [parseFacts(message.facts), parseFacts(facts)];
    const end = Math.max(before.steps.length, after.steps.length) - 1;
    let isChanged = false;
    for (const row of this.#all()) {
      if (row.toSeq < message.seq) continue;
      const isEnd = row.toSeq === message.seq;
      const toStep = isEnd ? Math.min(row.toStep, end) : end;
      if (keeps({ fromStep: 0, toStep })) continue;
      const steps = Array.from({ length: toStep + 1 }, (_, step) => step);
      const changed = new Set(steps.filter((step) => !keeps({ fromStep: step, toStep: step })));
      const last = isEnd ? (steps.findLast((step) => !changed.has(step)) ?? -1) : end;
      const next = adjusted(row, { message, before, after, changed, last });
      if (next === row) continue;
      isChanged = true;
      if (last === -1) this.#move(next, message.parentSeq);
      else this.#sql.change(this.#sessionId, next);
    }
    this.#rows = null;
    return isChanged;
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
      if (seq === row.toSeq) this.#sql.change(this.#sessionId, without(row, ids));
      else this.#move(without(row, ids), seq);
    }
    this.#rows = null;
  }

  /** Moves a line to the present end of a message before it. Removes it where there is none. */
  #move(row: MaskRow, seq: number | null): void {
    if (seq === null) this.#sql.remove(this.#sessionId, row.n);
    else this.#sql.change(this.#sessionId, { ...row, toSeq: seq, toStep: this.#reads.lastStepOf(seq) });
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
  return { ...withoutStubs(row, messageIds), names: "[]", tokens: 0 };
}

function withoutStubs(row: MaskRow, messageIds: readonly string[]): MaskRow {
  const stubs = Object.entries(JSON.parse(row.stubs) as StubWords);
  const left = stubs.filter(([reference]) => !messageIds.some((id) => isCallOf(id, reference)));
  return left.length === stubs.length ? row : { ...row, stubs: JSON.stringify(Object.fromEntries(left)) };
}

/** The row for the new content of a message before its line. Returns the same row where nothing changes for it. */
function adjusted(row: MaskRow, { message, before, after, changed, last }: Change): MaskRow {
  const { id, seq } = message;
  const words = JSON.parse(row.stubs) as StubWords;
  const wasWhole = (step: number): boolean => isShownWhole({ id, facts: before }, step, words);
  const isMoved = row.toSeq === seq && last < row.toStep;
  const gaveWords = before.results.some(([, step]) => changed.has(step) && !wasWhole(step));
  const kept = before.steps.slice(0, last + 1);
  const isRenumbered = kept.some((_, step) => callsBefore(before, step) !== callsBefore(after, step));
  const next = isMoved || gaveWords ? without(row, [id]) : isRenumbered ? withoutStubs(row, [id]) : row;
  const whole = after.steps.flatMap((_, step) =>
    step <= last && (changed.has(step) || wasWhole(step)) ? Object.entries(wholeCalls(id, after, step)) : [],
  );
  const moved = isMoved
    ? { ...next, toStep: last, topStep: row.topSeq === seq ? Math.min(row.topStep, last) : row.topStep }
    : next;
  if (whole.length === 0) return moved;
  return {
    ...moved,
    stubs: JSON.stringify({ ...(JSON.parse(next.stubs) as StubWords), ...Object.fromEntries(whole) }),
  };
}

/** Whether a step before the line is shown whole, because it changed since the edit. */
export function isShownWhole(
  { id, facts }: { readonly id: string; readonly facts: Facts },
  step: number,
  words: StubWords,
): boolean {
  return words[referenceToCall(id, callsBefore(facts, step) + 1)] === null;
}

/** The words that show a step whole. */
export function wholeStep({ id, facts }: ShapeRow, step: number): StubWords {
  return wholeCalls(id, parseFacts(facts), step);
}

function wholeCalls(id: string, facts: Facts, step: number): StubWords {
  const [from, to] = [callsBefore(facts, step), callsBefore(facts, step + 1)];
  return Object.fromEntries(Array.from({ length: to - from }, (_, at) => [referenceToCall(id, from + at + 1), null]));
}

/** The number of tool parts before a step. */
function callsBefore({ calls, results }: Facts, step: number): number {
  return [...calls, ...results].filter(([, at]) => at < step).length;
}
