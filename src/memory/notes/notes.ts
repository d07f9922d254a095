/**
 * The notes of one session, version by version: what they say, up to which message, and whether that still holds.
 *
 * Job: keep the last versions, find the one that a branch may use, and withdraw those whose source changed. Boundary: writes
 * no text of its own and knows neither model nor policy.
 *
 * Safe to use as a summary because a version is withdrawn in the transaction in which anything that it tells of changes, as
 * an overlay is (C3), and because it is only used where the last message that it tells of is on the branch: what another
 * branch said is never shown. Of its last message it tells as far as a step, so that one which goes on growing takes it
 * back no more than a message that is appended does. That place may be behind the end of what it covers: what is covered may
 * be claimed again with less, and the words stay.
 */
import { MAX_POINTED_NOTES, NOTES_VERSIONS } from "../../limits-of-notes.ts";
import { notesTokens, type NotesSection } from "../../steps/notes/document.ts";
import type { CountTokens } from "../../steps/message/measure.ts";
import { pointedVersions, POINTER } from "../../steps/notes/pointer.ts";
import type { NotesGrowth } from "../../steps/notes/due.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import type { Facts } from "../../steps/pinned/fact.ts";
import { parseFacts } from "../messages/content.ts";
import type { NotesRow, NotesStatements } from "./statements.ts";
import type { Steps } from "../overlays/record.ts";
import type { OverlayRow, Place, ShapeRow } from "../statements.ts";
import type { Tree } from "../messages/tree.ts";
import { comparePlaces, elementTokens, PATH_START, placeTo, walkView } from "../messages/walk.ts";

/**
 * Up to where notes tell of their branch. `none`: of nothing that was said here. `unknown`: written before the first message,
 * of what is brought in from elsewhere; until the next version they are taken to tell of all that is there.
 */
export type NotesCoverage =
  | { readonly kind: "none" }
  | { readonly kind: "unknown" }
  | ({ readonly kind: "to" } & NotesEnd);

/** A message, and its last step that is told of: behind that it may grow. `WHOLE_MESSAGE` stands for its end. */
export interface NotesEnd {
  readonly messageId: string;
  readonly step: number;
}

export interface NotesVersion {
  /** 1 for the session's first. */
  readonly n: number;
  /** False once a message that it tells of was edited or deleted: it is kept to be read, and no longer used. */
  readonly standing: boolean;
  readonly sections: readonly NotesSection[];
  readonly covered: NotesCoverage;
  /** The last place that it tells anything of; null for none, and where nobody knows. */
  readonly told: Place | null;
  /** Estimated tokens as it is shown. */
  readonly tokens: number;
  /** `hand`: a person wrote it, or a part of it, after the run before. */
  readonly by: "update" | "hand";
  readonly runId: string | null;
  readonly model: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Of everything that it covers. */
  readonly facts: Facts;
}

export interface NewNotes extends Pick<NotesVersion, "sections" | "covered" | "by" | "runId" | "model" | "facts"> {
  /** The last place that its words tell of, where that may be behind what is covered. */
  readonly told?: Place | null | undefined;
}

const MOST_KEPT = NOTES_VERSIONS + MAX_POINTED_NOTES;

export interface NotesOptions {
  readonly notes: NotesStatements;
  readonly now: () => number;
  readonly countTokens: CountTokens;
}

export class SessionNotes {
  readonly #tree: Tree;
  readonly #sql: NotesStatements;
  readonly #now: () => number;
  readonly #count: CountTokens;

  constructor(tree: Tree, { notes, now, countTokens }: NotesOptions) {
    this.#tree = tree;
    this.#count = countTokens;
    this.#sql = notes;
    this.#now = now;
  }

  /** Every version that is kept, newest first: those of {@link list}, and older ones that a text which is shown points to. */
  kept(): NotesVersion[] {
    return this.#sql.notes(this.#tree.sessionId, MOST_KEPT).map((row) => this.#toVersion(row));
  }

  /** The last versions, newest first. */
  list(): NotesVersion[] {
    return this.#sql.notes(this.#tree.sessionId, NOTES_VERSIONS).map((row) => this.#toVersion(row));
  }

  /** The number of the newest version, 0 before the first: it changes with every write. */
  lastNumber(): number {
    return this.#sql.lastNumber(this.#tree.sessionId);
  }

  /** The newest version that holds for the branch of a leaf, the active one by default; null when none does. */
  current(leafId?: string): NotesVersion | null {
    const [newest = null] = this.holding(leafId).take(1);
    return newest;
  }

  /** Every version that holds for the branch of a leaf, the active one by default, newest first. */
  *holding(leafId?: string): Generator<NotesVersion> {
    const leaf = leafId === undefined ? this.#tree.newest() : this.#tree.find(leafId);
    for (const row of this.#sql.notes(this.#tree.sessionId, NOTES_VERSIONS)) {
      if (row.standing === 1 && this.#isOn(row, leaf?.seq ?? null)) yield this.#toVersion(row);
    }
  }

  /** Whether a version tells of nothing behind the end of a span: an overlay over that span then says nothing else (C3). */
  endsWithin({ told }: NotesVersion, { toId, toStep }: Pick<Span, "toId" | "toStep">): boolean {
    const end = this.#placeOf({ messageId: toId, step: toStep });
    return told === null || (end !== null && comparePlaces(told, end) <= 0);
  }

  /** Whether a span ends no later than what was told of: an overlay over it then tells nothing new. */
  isTold({ toId, toStep }: Pick<Span, "toId" | "toStep">, told: NotesEnd): boolean {
    const end = toStep === WHOLE_MESSAGE ? this.endOf(toId) : { messageId: toId, step: toStep };
    const [last, known] = [end === null ? null : this.#placeOf(end), this.#placeOf(told)];
    return last !== null && known !== null && comparePlaces(last, known) <= 0;
  }

  /** The version of a number while it is in force; null when there is none, or no more. */
  standing(n: number): NotesVersion | null {
    return this.list().find((version) => version.n === n && version.standing) ?? null;
  }

  /** The end of a message as it is now: what it grows by later is not told of. Null when there is none with this id. */
  endOf(messageId: string): NotesEnd | null {
    const row = this.#tree.find(messageId);
    return row === null ? null : { messageId, step: lastStep(row) };
  }

  /**
   * Gives the newest version that holds to a session that begins with what this one shows. `stoodFor`: for each message there,
   * by its number, the last one here that it stands for. What it covers there ends before the first message that stands for
   * anything that it does not cover here; and it goes out of use with any that stands for anything that it tells of.
   */
  passOn(to: SessionNotes, stoodFor: readonly number[]): void {
    const current = this.current();
    if (current === null) return;
    const { covered, told } = current;
    const there = {
      ...current,
      covered: covered.kind === "to" ? this.#coverageIn(to, { covered, stoodFor }) : covered,
      told: told === null ? null : this.#toldIn(to, { told, stoodFor }),
    };
    // Under its number: what is shown there may point to it, and to earlier ones here.
    to.add(there, current.n);
  }

  #coverageIn(
    to: SessionNotes,
    { covered, stoodFor }: { covered: NotesEnd; stoodFor: readonly number[] },
  ): NotesCoverage {
    const place = this.#placeOf(covered) ?? PATH_START;
    const cut = place.seq >= 0 && place.step < lastStep(this.#tree.shape(place.seq));
    const at = stoodFor.findLastIndex((last) => last <= place.seq);
    if (at === -1) return { kind: "none" };
    const { id } = to.#tree.shape(at);
    if (stoodFor[at] !== place.seq) return { kind: "to", messageId: id, step: WHOLE_MESSAGE };
    if (id === covered.messageId) return { kind: "to", ...covered };
    if (!cut) return { kind: "to", messageId: id, step: WHOLE_MESSAGE };
    // A summary that tells of that message's end as well.
    return at === 0 ? { kind: "none" } : { kind: "to", messageId: to.#tree.shape(at - 1).id, step: WHOLE_MESSAGE };
  }

  #toldIn(to: SessionNotes, { told, stoodFor }: { told: Place; stoodFor: readonly number[] }): Place {
    const itself = stoodFor.lastIndexOf(told.seq);
    const seq = itself === -1 ? stoodFor.findIndex((last) => last > told.seq) : itself;
    const same = to.#tree.shape(seq).id === this.#tree.shape(told.seq).id;
    return { seq, step: same ? told.step : WHOLE_MESSAGE };
  }

  /**
   * A new version, in force. The oldest one gives way where as many are kept as may be, unless a text that is shown points to it.
   */
  add(notes: NewNotes, n = this.lastNumber() + 1): NotesVersion {
    const { sessionId } = this.#tree;
    const { sections, covered, by, runId, model, facts } = notes;
    const end = covered.kind === "to" ? covered : null;
    const told = later(end === null ? null : this.#placeOf(end), notes.told ?? null);
    const row: NotesRow = {
      n,
      standing: 1,
      covers: covered.kind,
      toldSeq: told?.seq ?? null,
      toldStep: told?.step ?? null,
      coveredId: end?.messageId ?? null,
      coveredStep: end?.step ?? null,
      details: JSON.stringify({ by, runId, model, facts }),
      createdAt: this.#now(),
      sections: JSON.stringify(sections),
    };
    this.#sql.insert(sessionId, row);
    if (n > NOTES_VERSIONS) this.#dropUpTo(n - NOTES_VERSIONS);
    return this.#toVersion(row);
  }

  #dropUpTo(last: number): void {
    const { sessionId } = this.#tree;
    const pointed = new Set(this.#sql.summariesWith(sessionId, POINTER).flatMap(pointedVersions));
    let older = 0;
    // The newest first: a version points to none that is newer.
    for (const { n, sections } of this.#sql.notes(sessionId, MOST_KEPT + 1)) {
      const stays = n > last || (pointed.has(n) && older++ < MAX_POINTED_NOTES);
      if (!stays) this.#sql.delete(sessionId, n);
      else for (const each of pointedVersions(sections)) pointed.add(each);
    }
  }

  /**
   * Takes out of use every version that tells of one of the rows, before they change. `keeps`: whether these steps of a row
   * stay as they are; asked only of the last one that a version tells of.
   */
  withdraw(rows: readonly ShapeRow[], keeps: (steps: Steps) => boolean = () => false): void {
    const { sessionId } = this.#tree;
    const oldest = rows.reduce((least, row) => Math.min(least, row.seq), Number.POSITIVE_INFINITY);
    for (const { n, toldSeq, toldStep } of this.#sql.standingFrom(sessionId, oldest)) {
      const path = new Set(this.#tree.pathDown(toldSeq, oldest));
      const holds = rows
        .filter(({ seq }) => path.has(seq))
        .every(({ seq }) => seq === toldSeq && keeps({ fromStep: 0, toStep: toldStep ?? WHOLE_MESSAGE }));
      if (!holds) this.#sql.withdraw(sessionId, n);
    }
  }

  /**
   * What the active branch's view grew by behind a place, or all of it for null. Reads a row for each message, and stops at
   * `enoughTokens`; `known` is what an earlier look behind that place came to, of which only the newest message is read again.
   */
  growth({ after, enoughTokens, known }: GrowthQuery): Growth | null {
    const leaf = this.#tree.newest();
    if (leaf === null) return null;
    const floor = (after === null ? null : this.#placeOf(after)) ?? PATH_START;
    const sums = { tokens: 0, toolCalls: 0 };
    const before: { seq: number; tokens: number; toolCalls: number }[] = [];
    let openCall = false;
    let below: Growth["below"] | null = null;
    for (const element of walkView(this.#tree, { seq: leaf.seq, step: WHOLE_MESSAGE }, { content: false })) {
      const end =
        element.kind === "overlay" ? this.#endAt(element.overlay, floor) : { ...element.row, step: element.toStep };
      if (comparePlaces(end, floor) <= 0 || sums.tokens >= enoughTokens) break;
      const { seq } = end;
      // Never of the newest, which may have grown.
      if (known?.below?.seq === seq && before.length > 0) {
        sums.tokens += known.below.tokens;
        sums.toolCalls += known.below.toolCalls;
        below = known.below;
        break;
      }
      before.push({ seq, ...sums });
      if (element.kind === "overlay") {
        sums.tokens += elementTokens(element);
        continue;
      }
      const fromStep = seq === floor.seq ? Math.max(element.fromStep, floor.step + 1) : element.fromStep;
      sums.tokens += elementTokens({ ...element, fromStep });
      const facts = parseFacts(element.row.facts);
      sums.toolCalls += facts.results.filter(([, step]) => step >= fromStep && step <= element.toStep).length;
      if (seq === leaf.seq) openCall = facts.calls.length > 0;
    }
    // Never a part of the newest: the next look would take it for all of that message.
    const second = before.find(({ seq }) => seq !== leaf.seq);
    if (second !== undefined) {
      const { seq, tokens, toolCalls } = second;
      below = { seq, tokens: sums.tokens - tokens, toolCalls: sums.toolCalls - toolCalls };
    }
    return { ...sums, openCall, below };
  }

  /** Where an overlay ends: one that hides the whole of the message that `floor` is in, at the last step that it has. */
  #endAt(overlay: OverlayRow, floor: Place): Place {
    const { seq, step } = placeTo(overlay);
    // In any other message, its number alone tells which place comes first: no row is read.
    return step === WHOLE_MESSAGE && seq === floor.seq ? { seq, step: lastStep(this.#tree.shape(seq)) } : { seq, step };
  }

  #placeOf({ messageId, step }: NotesEnd): Place | null {
    const row = this.#tree.find(messageId);
    return row === null ? null : { seq: row.seq, step };
  }

  #toVersion(row: NotesRow): NotesVersion {
    return toVersion(row, this.#count);
  }

  #isOn({ covers, toldSeq }: NotesRow, leafSeq: number | null): boolean {
    if (toldSeq === null) return covers !== "to";
    return leafSeq !== null && this.#tree.isOnPath(toldSeq, leafSeq);
  }
}

function lastStep({ facts }: ShapeRow): number {
  return parseFacts(facts).steps.length - 1;
}

function later(a: Place | null, b: Place | null): Place | null {
  if (a === null || b === null) return a ?? b;
  return comparePlaces(a, b) > 0 ? a : b;
}

export interface GrowthQuery {
  readonly after: NotesEnd | null;
  readonly enoughTokens: number;
  readonly known: Growth | null;
}

/** `below`: the sums from the message before the newest on, which only an edit changes; null where only that one is new. */
export interface Growth extends NotesGrowth {
  readonly below: { readonly seq: number; readonly tokens: number; readonly toolCalls: number } | null;
}

function toVersion(row: NotesRow, count: CountTokens): NotesVersion {
  const { n, standing, covers, toldSeq, toldStep, coveredId, coveredStep, createdAt } = row;
  const sections = JSON.parse(row.sections) as NotesSection[];
  const details = JSON.parse(row.details) as Pick<NewNotes, "by" | "runId" | "model" | "facts">;
  return {
    n,
    standing: standing === 1,
    sections,
    covered:
      coveredId === null
        ? { kind: covers === "unknown" ? covers : "none" }
        : { kind: "to", messageId: coveredId, step: coveredStep ?? WHOLE_MESSAGE },
    told: toldSeq === null ? null : { seq: toldSeq, step: toldStep ?? WHOLE_MESSAGE },
    tokens: notesTokens(sections, count),
    createdAt,
    ...details,
  };
}
