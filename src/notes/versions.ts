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
import {
  notesTokens,
  pointedVersions,
  pointTo,
  POINTER,
  renderNotes,
  withholdNotes,
  type NotesSection,
} from "./steps/document.ts";
import { normalizeTitle } from "../steps/draft/prompt.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { endWithin } from "../steps/text/text.ts";
import { type ActiveView, PATH_START, walkView } from "../memory/messages/visible.ts";
import type { RecalledVersion } from "../agent/hooks.ts";
import type { Recall } from "../agent/recalled.ts";
import type { NotesGrowth } from "./steps/cut.ts";
import { WHOLE_MESSAGE, type Span } from "../steps/plan/outline.ts";
import { parseFacts } from "../memory/messages/content.ts";
import type { Needs } from "../agent/core.ts";
import type { History } from "../memory/messages/history.ts";
import { type OverlayRow, type ShapeRow, comparePlaces, type Place } from "../memory/statements.ts";
import type { OverlayState } from "../memory/overlays/overlay.ts";
import type { Tree } from "../memory/messages/tree.ts";

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
}

export interface NewNotes extends Pick<NotesVersion, "sections" | "covered" | "by" | "runId" | "model"> {
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
interface NotesDetails extends Pick<NewNotes, "by" | "model"> {
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

  /** Whether the words of a version tell of nothing after the end of a span. Then an overlay over that span says nothing else (C3). */
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
    const { sections, covered, by, runId, model } = notes;
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
      details: JSON.stringify({ by, model, covered: covered.kind, step: end?.step } satisfies NotesDetails),
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

  /** Tokens by which the active view grew after a place, or the whole view for null. Counts no more than `most`, and reads a row at most. */
  grownTokens(after: NotesEnd | null, active: ActiveView, most: number): number {
    const floor = (after === null ? null : this.#placeOf(after)) ?? PATH_START;
    const steps = active.rented()?.steps ?? [];
    let tokens = 0;
    // The message at the floor may have grown by some steps since.
    let grown: number | null = null;
    for (let at = steps.length - 1; at >= 0 && tokens < most; at--) {
      const step = steps[at];
      if (step === undefined || step.message < floor.seq) break;
      if (step.message === floor.seq) {
        grown ??= lastStep(this.#tree.shape(floor.seq)) - floor.step;
        if (grown-- <= 0) break;
      }
      tokens += step.tokens;
    }
    return tokens;
  }

  /** The tool calls with a result after a place, and whether the newest message waits for one. Reads a row for each message. */
  callsSince(after: NotesEnd | null): Omit<NotesGrowth, "tokens"> {
    const leaf = this.#tree.newest();
    if (leaf === null) return { toolCalls: 0, openCall: false };
    const floor = (after === null ? null : this.#placeOf(after)) ?? PATH_START;
    let toolCalls = 0;
    for (const element of walkView(this.#tree, { seq: leaf.seq, step: WHOLE_MESSAGE }, { content: false })) {
      if (element.kind === "overlay") continue;
      const { seq, facts } = element.row;
      if (seq < floor.seq) break;
      const isNew = (step: number): boolean =>
        step >= element.fromStep && step <= element.toStep && (seq > floor.seq || step > floor.step);
      toolCalls += parseFacts(facts).results.filter(([, step]) => isNew(step)).length;
    }
    return { toolCalls, openCall: parseFacts(this.#tree.shape(leaf.seq).facts).calls.length > 0 };
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

function toVersion(row: OverlayRow, count: CountTokens): NotesVersion {
  const { n, state, toSeq, toStep, toId, runId, createdAt } = row;
  const sections = JSON.parse(row.summary) as NotesSection[];
  const { covered, step, by, model } = JSON.parse(row.details) as NotesDetails;
  return {
    n: -n,
    standing: state === "notes",
    sections,
    covered: covered === "to" ? { kind: "to", messageId: toId, step: step ?? WHOLE_MESSAGE } : { kind: covered },
    last: toSeq === NOWHERE ? null : { seq: toSeq, step: toStep },
    tokens: notesTokens(sections, count),
    by,
    runId,
    model,
    createdAt,
  };
}

/**
 * `recall` of a version, or of one section, as it was written, in pieces that fit an answer. Each piece says how to ask for the next. Where
 * messages of the version were edited or deleted since, only a person's own text is read.
 */
export function recallNotes(notes: SessionNotes, asked: RecalledVersion, countTokens: CountTokens): Recall {
  const kept = withholdNotes(notes.kept());
  const version = kept.find(({ n }) => n === asked.version);
  if (version === undefined) return unknown(sayVersions(asked.version, kept));
  const wanted = asked.section === undefined ? null : normalizeTitle(asked.section);
  const section = version.sections.find(({ title }) => normalizeTitle(title) === wanted);
  if (wanted !== null && section === undefined) return unknown(saySections(version));
  const text = section?.text ?? renderNotes(version.sections);
  const from = Math.min(asked.from ?? 0, text.length);
  const end = endWithin(text, {
    from,
    maxTokens: asked.maxTokens,
    fits: (to) => countTokens(answer(version, { section: section?.title, text, from, to })) <= asked.maxTokens,
  });
  return {
    kind: "found",
    text: answer(version, { section: section?.title, text, from, to: end }),
    messages: [],
    leftOut: end === text.length ? 0 : null,
  };
}

interface SectionText {
  readonly section: string | undefined;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

function answer(
  version: NotesVersion & { readonly withheld?: true },
  { section, text, from, to }: SectionText,
): string {
  const { n, createdAt, withheld } = version;
  const day = new Date(createdAt).toISOString().slice(0, 10);
  const what = section === undefined ? "" : `, ${JSON.stringify(section)}`;
  const less = withheld === true ? ", without what described messages that were changed since" : "";
  const header = `[Notes, version ${n}${what}, ${day}${less}]`;
  const body = text === "" ? "None." : text.slice(from, to);
  if (to === text.length) return `${header}\n${body}`;
  const next = pointTo(n, { from: to, ...(section !== undefined && { section }) });
  return `${header}\n${body}\n\n(Characters ${from} to ${to} of ${text.length}. For what follows: ${next})`;
}

function unknown(text: string): Recall {
  return { kind: "nothing", reason: "unknown", text };
}

function sayVersions(n: number, kept: readonly NotesVersion[]): string {
  if (kept.length === 0) return "There are no notes of this conversation.";
  return `Version ${n} of the notes is not kept. These are, newest first: ${kept.map((each) => each.n).join(", ")}.`;
}

function saySections({ n, sections }: NotesVersion): string {
  return `Version ${n} of the notes has no such section. It has: ${sections.map(({ title }) => JSON.stringify(title)).join(", ")}.`;
}
