/**
 * The source of an update of the notes: the part of a branch's view that they do not describe yet, with its facts.
 *
 * Reads and writes nothing. An overlay counts as its summary and its facts, so messages under it are not read again.
 */
import type { History } from "../memory/messages/history.ts";
import { earlierSummary, type OverlayRecord } from "../memory/overlays/overlay.ts";
import { notesOf, type NotesEnd, type NotesNeeds, type NotesVersion, type SessionNotes } from "./versions.ts";
import { WHOLE_MESSAGE, type OutlineRow, type Span } from "../steps/plan/outline.ts";
import { leanMessage } from "../steps/message/message.ts";
import { lastVisibleStep, sliceRow } from "./steps/rows.ts";
import { NO_FACTS, type Facts } from "../facts/fact.ts";
import { mergeFacts } from "../facts/gather.ts";
import type { TranscriptElement } from "../steps/draft/render.ts";
import type { Needs } from "../agent/core.ts";
import { redactionOf, type Redaction } from "../agent/redaction.ts";
import { factsOf } from "../agent/runs/sources.ts";
import { openSpan, readSlices, type Gathered } from "../agent/runs/read-slices.ts";

/** A session's messages and its notes. */
export interface Noted {
  readonly history: History;
  readonly notes: SessionNotes;
}

/**
 * The rows of the branch's view up to `end` behind the notes' coverage, oldest first. An overlay that holds the last covered message and
 * more tells a part of it again, which does no harm. An overlay that ends with it tells nothing new.
 */
export function findNew({ history, notes }: Noted, base: NotesVersion | null, end: NotesEnd): readonly OutlineRow[] {
  const rows = history.outline(end.messageId, { toStep: end.step })?.rows ?? [];
  if (base?.covered.kind !== "to") return rows;
  const { covered } = base;
  const at = rows.findLastIndex((row) => reachesInto({ history, notes }, row, covered));
  const last = rows[at];
  if (last === undefined) {
    const under = rows.findIndex(({ kind, id }) => kind === "overlay" && holds(history, id, covered.messageId));
    return under === -1 ? rows : rows.slice(under);
  }
  const grown = last.kind === "message" ? sliceRow(last, covered.step + 1, WHOLE_MESSAGE) : null;
  return [...(grown === null ? [] : [grown]), ...rows.slice(at + 1)];
}

/**
 * Whether a row shows a part of the last covered message, and no more of it than is covered, except for a part that is cut off afterwards.
 */
function reachesInto({ history, notes }: Noted, { kind, id, firstStep }: OutlineRow, covered: NotesEnd): boolean {
  if (kind === "message") return id === covered.messageId && firstStep <= covered.step;
  const span = history.overlays.get(id)?.span;
  return span?.toId === covered.messageId && notes.endsBy(span, covered);
}

/** Whether an overlay of the message's branch covers it, given that no earlier overlay does. */
function holds(history: History, overlayId: string, messageId: string): boolean {
  const overlay = history.overlays.get(overlayId);
  return overlay !== null && history.isOnPath(messageId, overlay.span.toId);
}

/** The span of neighbouring messages. Null for overlays. */
function spanOfMessages(group: readonly OutlineRow[]): Span | null {
  const [first, last] = [group[0], group.at(-1)];
  if (first?.kind !== "message" || last === undefined) return null;
  return { fromId: first.id, fromStep: first.firstStep, toId: last.id, toStep: lastVisibleStep(last) };
}

/** What an update reads: the elements as a model sees them, and the facts of the overlays among them, in order. */
export interface ReadRows {
  readonly elements: readonly TranscriptElement[];
  readonly overlayFacts: readonly Facts[];
}

/** Rows that were read while others wrote. */
export interface ReadSource {
  readonly read: ReadRows;
  /** Whether the conversation still says what was read. */
  isCurrent(): boolean;
}

/** Reads rows in slices of a bounded size, with room for appends and other calls after each. What changes meanwhile may be read either way. */
export async function readRowSlices(
  core: Needs<"memory" | "read" | "uses">,
  sessionId: string,
  { rows, redaction }: { readonly rows: readonly OutlineRow[]; readonly redaction: Redaction },
): Promise<ReadSource> {
  const history = core.memory.session(sessionId);
  const parts: ReadRows[] = [];
  const compares: (() => boolean)[] = [];
  for (const group of groupRows(rows)) {
    const span = spanOfMessages(group);
    if (span === null) {
      parts.push(readOverlays(core, history, { group, rows, redaction }));
      continue;
    }
    const reader = history.spans.reader(span);
    compares.push(() => reader !== null && history.spans.isAsRead(reader, span));
    if (reader === null) continue;
    const slices = await readSlices(core, { sessionId, reader }, (each) =>
      // Files may exceed what RPC takes.
      each.map((message) => leanMessage(redaction.message(message))),
    );
    parts.push({ elements: slices.flat().map((message) => ({ kind: "message", message })), overlayFacts: [] });
  }
  const read = {
    elements: parts.flatMap(({ elements }) => elements),
    overlayFacts: parts.flatMap(({ overlayFacts }) => overlayFacts),
  };
  return { read, isCurrent: () => compares.every((isCurrent) => isCurrent()) };
}

/** Neighbours of one kind. Messages with no overlay between them are a span of the branch. */
function groupRows(rows: readonly OutlineRow[]): OutlineRow[][] {
  const groups: OutlineRow[][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    if (group?.[0]?.kind === row.kind) group.push(row);
    else groups.push([row]);
  }
  return groups;
}

/** Facts of what notes claim to cover. */
export interface ClaimedFacts {
  readonly facts: Facts;
  /** Whether the conversation says what it said at the call. */
  isCurrent(): boolean;
}

/**
 * The facts of everything up to `end`, for notes that a person claims to cover it. Facts of an earlier version are reused, and messages are
 * read in slices.
 */
export async function gatherClaim(
  core: Needs<NotesNeeds | "memory" | "read" | "settings" | "uses">,
  sessionId: string,
  end: NotesEnd,
): Promise<ClaimedFacts> {
  const history = core.memory.session(sessionId);
  const notes = notesOf(core, history);
  const base = notes.current();
  const earlier = base?.facts ?? NO_FACTS;
  const isBase = (): boolean => notes.current()?.n === base?.n;
  if (base?.covered.kind === "to" && isBefore(history, end, base.covered)) return { facts: earlier, isCurrent: isBase };
  const listRows = (): readonly OutlineRow[] => findNew({ history, notes }, base, end);
  const { rows, groups } = await core.read(sessionId, () => {
    const listed = listRows();
    const opened = groupRows(listed).map((group) => {
      const span = spanOfMessages(group);
      return { group, gather: span === null ? null : openSpan(core, { sessionId, span }) };
    });
    return { rows: listed, groups: opened };
  });
  const redaction = redactionOf(core.settings.get(sessionId));
  const parts: Facts[] = [];
  const gathered: (Gathered | null)[] = [];
  for (const { group, gather } of groups) {
    if (gather === null) {
      parts.push(...readOverlays(core, history, { group, rows, redaction }).overlayFacts);
      continue;
    }
    const read = await gather();
    gathered.push(read);
    if (read !== null) parts.push(read.facts);
  }
  const named = nameRows(rows);
  return {
    facts: redaction.facts(mergeFacts([earlier, ...parts])),
    isCurrent: () =>
      isBase() &&
      notes.endOf(end.messageId) !== null &&
      nameRows(listRows()) === named &&
      gathered.every((each) => each?.isCurrent() === true),
  };
}

/** Names what rows show, without its size. */
function nameRows(rows: readonly OutlineRow[]): string {
  return JSON.stringify(rows.map((row) => [row.kind, row.id, row.firstStep, lastVisibleStep(row)]));
}

/** Whether the first end is no later than the second. Both must be on one branch. */
export function isBefore(history: History, a: NotesEnd, b: NotesEnd): boolean {
  return a.messageId === b.messageId ? a.step <= b.step : history.isOnPath(a.messageId, b.messageId);
}

interface OverlayGroup {
  readonly group: readonly OutlineRow[];
  /** All rows, because only the last overlay shows the state of things, and only its row is as large as that. */
  readonly rows: readonly OutlineRow[];
  readonly redaction: Redaction;
}

/** The overlays of a group as a view shows them, and their facts, in order. */
function readOverlays(core: Needs<"memory">, history: History, { group, rows, redaction }: OverlayGroup): ReadRows {
  const overlays = group.flatMap(({ id }) => history.overlays.get(id) ?? []);
  const last = rows.findLast(({ kind }) => kind === "overlay")?.id;
  const shown = (each: OverlayRecord): string => (each.id === last ? each.summary : earlierSummary(each));
  return {
    // A person may have written a summary, or notes that it was made of.
    elements: overlays.map((each) => ({ kind: "overlay", summary: redaction.text(shown(each)) })),
    overlayFacts: overlays.map((overlay) => redaction.facts(factsOf(core, overlay, history.sessionId))),
  };
}
