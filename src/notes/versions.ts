/**
 * The versions of one session's notes: their text, their coverage, and whether they are still valid. Each is a row beside the overlays, in
 * the state `notes`, over the messages that it describes.
 *
 * Keeps the last versions, finds the one that a branch may use, and withdraws those whose source changed. It writes no
 * text of its own and knows neither model nor policy.
 *
 * A version is safe to use as a summary. It is withdrawn in the transaction that changes any message that it describes,
 * by the code that withdraws an overlay (C3). It is used only where its last message is on the branch, so it never shows text of another
 * branch. It describes its last message up to a step, so growth of that message behind the step does not withdraw it.
 * That step may be after the covered end. A later version may claim less coverage and keep the words.
 */
import { MAX_POINTED_NOTES, NOTES_VERSIONS } from "./limits.ts";
import { notesTokens, type NotesSection } from "./steps/document.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { pointedVersions, POINTER } from "./steps/pointer.ts";
import type { NotesGrowth } from "./steps/due.ts";
import { WHOLE_MESSAGE, type Span } from "../steps/plan/outline.ts";
import type { Facts } from "../facts/fact.ts";
import { parseFacts } from "../memory/messages/content.ts";
import type { Needs } from "../agent/core.ts";
import type { History } from "../memory/messages/history.ts";
import type { OverlayRow, ShapeRow } from "../memory/statements.ts";
import type { OverlayState } from "../memory/overlays/overlay.ts";
import type { Tree } from "../memory/messages/tree.ts";
import { elementTokens, PATH_START, placeTo, walkView } from "../memory/messages/walk.ts";
import { comparePlaces, type Place } from "../memory/messages/place.ts";

/**
 * The place up to which notes cover their branch. `none` means no message of this session. `unknown` means notes
 * written before the first message from text brought in from elsewhere. Until the next version they count as covering
 * everything.
 */
export type NotesCoverage =
  | { readonly kind: "none" }
  | { readonly kind: "unknown" }
  | ({ readonly kind: "to" } & NotesEnd);

/** A message and its last covered step. The message may grow after that step. `WHOLE_MESSAGE` stands for its end. */
export interface NotesEnd {
  readonly messageId: string;
  readonly step: number;
}

export interface NotesVersion {
  /** The session's first version is 1. */
  readonly n: number;
  /** False once a message that the version describes was edited or deleted. It can still be read, but is no longer used. */
  readonly standing: boolean;
  readonly sections: readonly NotesSection[];
  readonly covered: NotesCoverage;
  /** The last place that the version describes. Null when there is none or when it is unknown. */
  readonly last: Place | null;
  /** Estimated tokens of the version as it is shown. */
  readonly tokens: number;
  /** `hand` means that a person wrote or changed it after the previous run. */
  readonly by: "update" | "hand";
  readonly runId: string | null;
  readonly model: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The facts of everything that it covers. @internal */
  readonly facts: Facts;
}

export interface NewNotes extends Pick<NotesVersion, "sections" | "covered" | "by" | "runId" | "model" | "facts"> {
  /** The last place that its words describe, where that may be after the covered end. */
  readonly last?: Place | null | undefined;
}

/** The notes of a session. */
export function notesOf(
  core: Needs<"db" | "platform" | "settings">,
  { sessionId, tree }: Pick<History, "sessionId" | "tree">,
): SessionNotes {
  return new SessionNotes(tree, {
    now: () => core.platform.now(),
    countTokens: core.settings.counterOf(sessionId),
  });
}

/** What {@link notesOf} needs, beside a session's messages. */
export type NotesNeeds = "db" | "memory" | "platform" | "settings";

/** What a version's row keeps beside its place and its sections. `step` is the last covered one. */
interface NotesDetails extends Pick<NewNotes, "by" | "model" | "facts"> {
  readonly covered: NotesCoverage["kind"];
  readonly step: number | undefined;
}

/** The last message of a version that describes none. */
const NOWHERE = -1;

const MOST_KEPT = NOTES_VERSIONS + MAX_POINTED_NOTES;

export interface NotesOptions {
  readonly now: () => number;
  readonly countTokens: CountTokens;
}

export class SessionNotes {
  readonly #tree: Tree;
  readonly #now: () => number;
  readonly #count: CountTokens;

  /** @internal */
  constructor(tree: Tree, { now, countTokens }: NotesOptions) {
    this.#tree = tree;
    this.#count = countTokens;
    this.#now = now;
  }

  /** Every kept version, newest first. Includes the versions of {@link list} and older ones that a shown text points to. */
  kept(): NotesVersion[] {
    return this.#tree.sql.notes(this.#tree.sessionId, MOST_KEPT).map((row) => this.#toVersion(row));
  }

  /** The last versions, newest first. */
  list(): NotesVersion[] {
    return this.#tree.sql.notes(this.#tree.sessionId, NOTES_VERSIONS).map((row) => this.#toVersion(row));
  }

  /** The number of the newest version, or 0 before the first. It changes with every write. */
  lastNumber(): number {
    return -(this.#tree.sql.notes(this.#tree.sessionId, 1)[0]?.n ?? 0);
  }

  /** The newest version that is valid for the branch of a leaf, by default the active one. Null when there is none. */
  current(leafId?: string): NotesVersion | null {
    const [newest = null] = this.holding(leafId).take(1);
    return newest;
  }

  /** Every version that is valid for the branch of a leaf, by default the active one, newest first. */
  *holding(leafId?: string): Generator<NotesVersion> {
    const leaf = leafId === undefined ? this.#tree.newest() : this.#tree.find(leafId);
    for (const row of this.#tree.sql.notes(this.#tree.sessionId, NOTES_VERSIONS)) {
      if (row.state === "notes" && this.#isOn(row, leaf?.seq ?? null)) yield this.#toVersion(row);
    }
  }

  /** Whether a version describes nothing after the end of a span. Then an overlay over that span says nothing else (C3). */
  endsWithin({ last }: NotesVersion, { toId, toStep }: Pick<Span, "toId" | "toStep">): boolean {
    const end = this.#placeOf({ messageId: toId, step: toStep });
    return last === null || (end !== null && comparePlaces(last, end) <= 0);
  }

  /** Whether a span ends no later than `limit`. Notes that are complete up to there describe all of an overlay over it. */
  endsBy({ toId, toStep }: Pick<Span, "toId" | "toStep">, limit: NotesEnd): boolean {
    const end = toStep === WHOLE_MESSAGE ? this.endOf(toId) : { messageId: toId, step: toStep };
    const [place, most] = [end === null ? null : this.#placeOf(end), this.#placeOf(limit)];
    return place !== null && most !== null && comparePlaces(place, most) <= 0;
  }

  /** The version with this number while it is in force. Null when there is none or it was withdrawn. */
  standing(n: number): NotesVersion | null {
    return this.list().find((version) => version.n === n && version.standing) ?? null;
  }

  /** The current end of a message. Steps added later are not covered. Null when no message has this id. */
  endOf(messageId: string): NotesEnd | null {
    const row = this.#tree.find(messageId);
    return row === null ? null : { messageId, step: lastStep(row) };
  }

  /**
   * Copies the newest valid version into a session that continues this one. `stoodFor` holds, for each message of the
   * new session by its number, the last message here that it stands for. The coverage there ends before the first
   * message that stands for anything not covered here. The copy is withdrawn with any message there that stands for
   * something that it describes.
   */
  passOn(to: SessionNotes, stoodFor: readonly number[]): void {
    const current = this.current();
    if (current === null) return;
    const { covered, last } = current;
    const there = {
      ...current,
      covered: covered.kind === "to" ? this.#coverageIn(to, { covered, stoodFor }) : covered,
      last: last === null ? null : this.#lastIn(to, { last, stoodFor }),
    };
    // The copy keeps its number, because texts shown there may point to it and to earlier versions here.
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
    // That message is a record whose summary also describes the end of the cut message.
    return at === 0 ? { kind: "none" } : { kind: "to", messageId: to.#tree.shape(at - 1).id, step: WHOLE_MESSAGE };
  }

  #lastIn(to: SessionNotes, { last, stoodFor }: { last: Place; stoodFor: readonly number[] }): Place {
    const itself = stoodFor.lastIndexOf(last.seq);
    const seq = itself === -1 ? stoodFor.findIndex((seq) => seq > last.seq) : itself;
    const same = to.#tree.shape(seq).id === this.#tree.shape(last.seq).id;
    return { seq, step: same ? last.step : WHOLE_MESSAGE };
  }

  /** Adds a new version in force. Over the limit the oldest version is deleted, unless a shown text points to it. */
  add(notes: NewNotes, n = this.lastNumber() + 1): NotesVersion {
    const { sessionId } = this.#tree;
    const { sections, covered, by, runId, model, facts } = notes;
    const end = covered.kind === "to" ? covered : null;
    const last = later(end === null ? null : this.#placeOf(end), notes.last ?? null);
    const row: OverlayRow = {
      n: -n,
      overlayId: `notes_${n}`,
      state: "notes" satisfies OverlayState,
      fromSeq: 0,
      fromStep: 0,
      fromId: "",
      toSeq: last?.seq ?? NOWHERE,
      toStep: last?.step ?? WHOLE_MESSAGE,
      toId: end?.messageId ?? "",
      tokens: 0,
      spanTokens: 0,
      spanMessages: 0,
      spanDigest: "",
      topSeq: 0,
      changes: "[]",
      runId,
      details: JSON.stringify({ by, model, facts, covered: covered.kind, step: end?.step } satisfies NotesDetails),
      createdAt: this.#now(),
      summary: JSON.stringify(sections),
    };
    this.#tree.sql.insertOverlay(sessionId, row);
    if (n > NOTES_VERSIONS) this.#dropUpTo(n - NOTES_VERSIONS);
    return this.#toVersion(row);
  }

  #dropUpTo(last: number): void {
    const { sessionId } = this.#tree;
    const { sql } = this.#tree;
    const pointed = new Set(sql.summariesWith(sessionId, POINTER).flatMap(pointedVersions));
    let older = 0;
    // Newest first, because a version only points to older ones.
    for (const { n, summary } of sql.notes(sessionId, MOST_KEPT + 1)) {
      const stays = -n > last || (pointed.has(-n) && older++ < MAX_POINTED_NOTES);
      if (!stays) sql.deleteOverlay(sessionId, n);
      else for (const each of pointedVersions(summary)) pointed.add(each);
    }
  }

  /**
   * Measures how much the active view grew after a place, or the whole view for null. Reads a row for each message and
   * stops at `enoughTokens`. `known` is the result of an earlier call for that place. With it only newer messages and
   * the newest message are read again.
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
      // Never use the known sums for the newest message, which may have grown.
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
    // Never remember a part of the newest message, because the next call would take it for the whole message.
    const second = before.find(({ seq }) => seq !== leaf.seq);
    if (second !== undefined) {
      const { seq, tokens, toolCalls } = second;
      below = { seq, tokens: sums.tokens - tokens, toolCalls: sums.toolCalls - toolCalls };
    }
    return { ...sums, openCall, below };
  }

  /** The end of an overlay. If it hides the whole message that `floor` is in, the end is that message's last step. */
  #endAt(overlay: OverlayRow, floor: Place): Place {
    const { seq, step } = placeTo(overlay);
    // In any other message the `seq` alone orders the two places, so no row is read.
    return step === WHOLE_MESSAGE && seq === floor.seq ? { seq, step: lastStep(this.#tree.shape(seq)) } : { seq, step };
  }

  #placeOf({ messageId, step }: NotesEnd): Place | null {
    const row = this.#tree.find(messageId);
    return row === null ? null : { seq: row.seq, step };
  }

  #toVersion(row: OverlayRow): NotesVersion {
    return toVersion(row, this.#count);
  }

  #isOn({ toSeq, toId }: OverlayRow, leafSeq: number | null): boolean {
    if (toSeq === NOWHERE) return toId === "";
    return leafSeq !== null && this.#tree.isOnPath(toSeq, leafSeq);
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

/**
 * `below` holds the sums from the message before the newest on. Only an edit changes them. Null when only the newest
 * message is new.
 */
export interface Growth extends NotesGrowth {
  readonly below: { readonly seq: number; readonly tokens: number; readonly toolCalls: number } | null;
}

function toVersion(row: OverlayRow, count: CountTokens): NotesVersion {
  const { n, state, toSeq, toStep, toId, runId, createdAt } = row;
  const sections = JSON.parse(row.summary) as NotesSection[];
  const { covered, step, ...details } = JSON.parse(row.details) as NotesDetails;
  return {
    n: -n,
    standing: state === "notes",
    sections,
    covered: covered === "to" ? { kind: "to", messageId: toId, step: step ?? WHOLE_MESSAGE } : { kind: covered },
    last: toSeq === NOWHERE ? null : { seq: toSeq, step: toStep },
    tokens: notesTokens(sections, count),
    runId,
    createdAt,
    ...details,
  };
}
