/**
 * The masks of one session. A mask is a position on a path. Older tool outputs up to it are replaced by stubs.
 *
 * Finds the mask of a path, adds one, and adjusts masks when messages change. steps/decide/decide.ts decides when to mask, and
 * steps/view/mask.ts writes the stubs.
 *
 * A mask hangs on a message, as an overlay does. A path with that message has the mask, and a branch that left before
 * it does not. Of the masks on a path the furthest counts. The words of a stub come from the first mask at or behind
 * its output, and are chosen once. So the prefix of a view stays the same, byte for byte, between two edits. Words are
 * dropped when a message that they may come from is changed or deleted (S2). The names beside the last stub are then
 * chosen anew (session-masks.ts).
 *
 * A mask hides only what was there when it was added. When a message shrinks, its mask moves back with it. A step that
 * changes before a mask is shown whole from then on, because its output may be new to the model.
 *
 * A view reads its own mask, and two more for each edit of which it shows stubs. They are kept until a mask changes.
 */
import { messageOf, referenceTo, referenceToCall } from "../../steps/message/reference.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import type { StubWords } from "../../steps/view/mask.ts";
import { parseFacts, type PlanningFacts, type Steps } from "../messages/content.ts";
import { comparePlaces, type Place } from "../messages/place.ts";
import type { MaskRow, MaskStatements } from "./statements.ts";
import type { ShapeRow } from "../statements.ts";

/** The mask of a path. */
export interface Mask {
  readonly place: Place;
  readonly top: Place;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Null where they are to be chosen anew. */
  readonly names: readonly string[] | null;
  readonly namesTokens: number;
  /** The step of the stub beside which they stand. */
  readonly namesAt: Place;
  /** The words of the stubs of a message, and of others. */
  readonly wordsOf: (seq: number) => StubWords;
  /** Whether its stubs say how to recall an output. */
  readonly canRecall: boolean;
}

/** The names beside a stub. */
export interface Names {
  /** Null where they are to be chosen anew. */
  readonly names: readonly string[] | null;
  readonly namesTokens: number;
  readonly namesAt: Place;
}

export interface NewMask extends Names {
  readonly place: Place;
  readonly top: Place;
  readonly stubs: StubWords;
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

/** An edit, which added a mask behind an earlier one. It gave the words of the outputs between them. */
interface Edit {
  readonly after: Place | null;
  readonly place: Place;
  readonly words: StubWords;
}

interface Change {
  readonly message: ShapeRow;
  readonly before: PlanningFacts;
  readonly after: PlanningFacts;
  /** The steps before the mask that change. */
  readonly changed: ReadonlySet<number>;
  /** The last step of the message that the mask hides from now on. */
  readonly last: number;
}

export class Masks {
  readonly #sql: MaskStatements;
  readonly #sessionId: string;
  readonly #reads: PathReads;
  /** The mask that was read last, and the end of its path. */
  #read: { readonly start: Place; readonly mask: Mask | null } | null = null;

  constructor(sql: MaskStatements, sessionId: string, reads: PathReads) {
    this.#sql = sql;
    this.#sessionId = sessionId;
    this.#reads = reads;
  }

  /** The mask of the path that ends at a place. Null where nothing is masked. Reads no row for the same place again. */
  at(start: Place): Mask | null {
    const known = this.#read;
    if (known !== null && isSame(known.start, start)) return known.mask;
    const any = this.#sql.furthest(this.#sessionId, 0, start);
    const path = any === undefined ? [] : this.#reads.pathFrom(start.seq);
    const row = any === undefined || isOn(path, any.toSeq) ? any : this.#furthest(path, start);
    // Masks only change together with {@link forget}.
    const isKnown = known?.mask != null && row !== undefined && isSame(known.mask.place, placeOf(row));
    const mask = isKnown ? known.mask : row === undefined ? null : this.#toMask(row, path);
    this.#read = { start, mask };
    return mask;
  }

  /** The furthest mask on a path up to a place. Reads a row for each part of the path, until it is found. */
  #furthest(path: readonly PathPart[], to: Place): MaskRow | undefined {
    for (const { fromSeq, toSeq } of path) {
      if (fromSeq > to.seq) continue;
      const end = toSeq < to.seq ? { seq: toSeq, step: WHOLE_MESSAGE } : to;
      const row = this.#sql.furthest(this.#sessionId, fromSeq, end);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  #toMask(row: MaskRow, path: readonly PathPart[]): Mask {
    const known: Edit[] = [];
    const editAt = (at: Place): Edit | null => {
      let edit = known.find(({ after, place }) => isBefore(after, at) && !isBefore(place, at)) ?? null;
      if (edit === null) edit = this.#editAt(at, path);
      if (edit !== null && !known.includes(edit)) known.push(edit);
      return edit;
    };
    const place = placeOf(row);
    return {
      place,
      top: { seq: row.topSeq, step: row.topStep },
      createdAt: row.createdAt,
      names: row.names === null ? null : (JSON.parse(row.names) as string[]),
      namesTokens: row.tokens,
      namesAt: { seq: row.namesSeq, step: row.namesStep },
      wordsOf: (seq) => {
        const found: StubWords[] = [];
        for (let at = { seq, step: 0 }; at.seq === seq && !isBefore(place, at);) {
          const edit = editAt(at);
          if (edit === null) break;
          found.push(edit.words);
          at = { seq: edit.place.seq, step: edit.place.step + 1 };
        }
        const [first = {}, ...rest] = found;
        return rest.length === 0 ? first : (Object.assign({}, first, ...rest) as StubWords);
      },
      canRecall: this.#reads.canRecall,
    };
  }

  #editAt(at: Place, path: readonly PathPart[]): Edit | null {
    for (const row of this.#sql.from(this.#sessionId, at)) {
      if (!isOn(path, row.toSeq)) continue;
      const before = this.#furthest(path, { seq: row.toSeq, step: row.toStep - 1 });
      const after = before === undefined ? null : placeOf(before);
      return { after, place: placeOf(row), words: JSON.parse(row.stubs) as StubWords };
    }
    return null;
  }

  /** Writes one row. Call it inside a transaction. */
  add({ place, top, stubs, at, ...names }: NewMask): void {
    this.#sql.insert(this.#sessionId, {
      toSeq: place.seq,
      toStep: place.step,
      topSeq: top.seq,
      topStep: top.step,
      ...namesColumns(names),
      stubs: JSON.stringify(stubs),
      createdAt: at,
    });
    this.forget();
  }

  /** Gives a mask other names. The mask stays where it is. Call it inside a transaction. */
  rename({ place }: Mask, names: Names): void {
    const row = this.#sql.furthest(this.#sessionId, place.seq, place);
    if (row !== undefined) this.#write(row, { ...row, ...namesColumns(names) });
    this.forget();
  }

  /**
   * Call it before a message changes. Drops the words that may come from it, and shows its changed steps whole. `keeps`
   * tells whether some steps stay the same. Returns whether a mask changed. Reads one row where the masked steps stay the
   * same.
   */
  replaced(message: ShapeRow, facts: string, keeps: (steps: Steps) => boolean): boolean {
    const [before, after] = [parseFacts(message.facts), parseFacts(facts)];
    const end = Math.max(before.steps.length, after.steps.length) - 1;
    const maskedTo = (row: MaskRow): number => (row.toSeq === message.seq ? Math.min(row.toStep, end) : end);
    const furthest = this.#sql.furthest(this.#sessionId, message.seq, END);
    if (furthest === undefined || keeps({ fromStep: 0, toStep: maskedTo(furthest) })) return false;
    let isChanged = false;
    const rows = this.#rows({ seq: message.seq, step: 0 }, (holds) => holds(message.seq));
    for (const row of rows) {
      const toStep = maskedTo(row);
      if (keeps({ fromStep: 0, toStep })) continue;
      const steps = Array.from({ length: toStep + 1 }, (_, step) => step);
      const changed = new Set(steps.filter((step) => !keeps({ fromStep: step, toStep: step })));
      const isEnd = row.toSeq === message.seq;
      const last = isEnd ? (steps.findLast((step) => !changed.has(step)) ?? -1) : end;
      const next = adjusted(row, { message, before, after, changed, last });
      if (next === row) continue;
      isChanged = true;
      if (last === -1) this.#move(row, next, message.parentSeq);
      else this.#write(row, next);
    }
    if (isChanged) this.forget();
    return isChanged;
  }

  /** Call it before messages are deleted. A mask on one of them moves to its nearest remaining ancestor. */
  removed(rows: readonly ShapeRow[]): void {
    const ids = rows.flatMap(({ id, facts }) => (parseFacts(facts).results.length > 0 ? [id] : []));
    const parents = new Map(rows.map((row) => [row.seq, row.parentSeq]));
    const gone = [...parents.keys()];
    for (const row of this.#rows({ seq: Math.min(...gone), step: 0 }, (holds) => gone.some(holds))) {
      let seq: number | null = row.toSeq;
      while (seq !== null && parents.has(seq)) seq = parents.get(seq) ?? null;
      const next = ids.length === 0 ? row : without(row, ids);
      if (seq !== row.toSeq) this.#move(row, without(next, []), seq);
      else if (next !== row) this.#write(row, next);
    }
    this.forget();
  }

  /**
   * Moves a mask to the present end of a message before it. Removes it where there is none, and where the mask of another branch stands
   * behind that place. That branch would be shown other words in stubs that it has.
   */
  #move(row: MaskRow, next: MaskRow, seq: number | null): void {
    const place = seq === null ? null : { seq, step: this.#reads.lastStepOf(seq) };
    if (place === null || this.#rows(place, (holds) => holds(place.seq) && !holds(row.toSeq)).length > 0)
      this.#sql.remove(this.#sessionId, placeOf(row));
    else this.#write(row, { ...next, toSeq: place.seq, toStep: place.step });
  }

  /**
   * The rows at and behind a place that a test accepts, nearest first. The test is told which messages are on the path up to the row's
   * mask. Reads a row each, and one for each branch of the session where there are any.
   */
  #rows(from: Place, isOurs: (holds: (seq: number) => boolean) => boolean): MaskRow[] {
    const paths: (readonly PathPart[])[] = [];
    const isAccepted = ({ toSeq }: MaskRow): boolean => {
      // A mask on a path that was read already has the same path up to its place.
      const known = paths.find((each) => isOn(each, toSeq));
      const path = known ?? this.#reads.pathFrom(toSeq);
      if (known === undefined) paths.push(path);
      return isOurs((seq) => seq <= toSeq && isOn(path, seq));
    };
    return [...this.#sql.from(this.#sessionId, from)].toReversed().filter(isAccepted).toReversed();
  }

  /**
   * Writes a changed row. Where it moves to a place at which another mask stands, that mask stays in its stead, because all outputs between
   * the two are gone.
   */
  #write(row: MaskRow, next: MaskRow): void {
    this.#sql.change(this.#sessionId, placeOf(row), next);
    if (!isSame(placeOf(row), placeOf(next))) this.#sql.remove(this.#sessionId, placeOf(row));
  }

  forget(): void {
    this.#read = null;
  }
}

export function isOn(path: readonly PathPart[], seq: number): boolean {
  return path.some(({ fromSeq, toSeq }) => seq >= fromSeq && seq <= toSeq);
}

function namesColumns({
  names,
  namesTokens,
  namesAt,
}: Names): Pick<MaskRow, "names" | "tokens" | "namesSeq" | "namesStep"> {
  return {
    names: names === null ? null : JSON.stringify(names),
    tokens: namesTokens,
    namesSeq: namesAt.seq,
    namesStep: namesAt.step,
  };
}

/** Behind every place. */
const END: Place = { seq: Number.MAX_SAFE_INTEGER, step: 0 };

function placeOf({ toSeq, toStep }: MaskRow): Place {
  return { seq: toSeq, step: toStep };
}

function isSame(one: Place, other: Place): boolean {
  return comparePlaces(one, other) === 0;
}

/** Whether a place comes before another on their path. Null comes before each. */
function isBefore(one: Place | null, other: Place): boolean {
  return one === null || comparePlaces(one, other) < 0;
}

/** The row without the names, and without the words in the stubs of some messages. */
function without(row: MaskRow, messageIds: readonly string[]): MaskRow {
  return { ...withoutStubs(row, messageIds), names: null, tokens: 0 };
}

function withoutStubs(row: MaskRow, messageIds: readonly string[]): MaskRow {
  const stubs = Object.entries(JSON.parse(row.stubs) as StubWords);
  const gone = new Set(messageIds.map(referenceTo));
  const left = stubs.filter(([reference]) => !gone.has(messageOf(reference)));
  return left.length === stubs.length ? row : { ...row, stubs: JSON.stringify(Object.fromEntries(left)) };
}

/** The row for the new content of a message before its mask. Returns the same row where nothing changes for it. */
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

/** Whether a step before the mask is shown whole, because it changed since the edit. */
export function isShownWhole(
  { id, facts }: { readonly id: string; readonly facts: PlanningFacts },
  step: number,
  words: StubWords,
): boolean {
  return words[referenceToCall(id, callsBefore(facts, step) + 1)] === null;
}

/** The words that show a step whole. */
export function wholeStep({ id, facts }: ShapeRow, step: number): StubWords {
  return wholeCalls(id, parseFacts(facts), step);
}

function wholeCalls(id: string, facts: PlanningFacts, step: number): StubWords {
  const [from, to] = [callsBefore(facts, step), callsBefore(facts, step + 1)];
  return Object.fromEntries(Array.from({ length: to - from }, (_, at) => [referenceToCall(id, from + at + 1), null]));
}

/** The number of tool parts before a step. */
function callsBefore({ calls, results }: PlanningFacts, step: number): number {
  return [...calls, ...results].filter(([, at]) => at < step).length;
}
