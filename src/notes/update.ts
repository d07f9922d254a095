/**
 * The agent's side of one update of the notes: its source, and its fenced commit.
 *
 * Each call is one synchronous transaction of a live run (src/agent/runs/run-port.ts). Safe because an update is pinned to the version
 * that it builds on and to the digest of its source. An edit, a deletion, another branch or a person's own version meanwhile makes it
 * `stale`, and nothing is written.
 */
import { assert } from "../errors.ts";
import { MAX_CHARS_PER_TOKEN, PROMPT_OVERHEAD_TOKENS } from "../limits.ts";
import type { Core, Needs } from "../agent/core.ts";
import type { RoomRun, StepCall } from "../agent/hooks.ts";
import { redactionOf, type Redaction } from "../agent/redaction.ts";
import { reuseDraft, sentPrompt } from "../agent/runs/draft-requests.ts";
import { readSlices } from "../agent/runs/read-slices.ts";
import { mustDraft, resolveEnds } from "../agent/runs/sources.ts";
import { admitCall } from "../agent/runs/trigger.ts";
import { budgetInModelTokens } from "../agent/token-counter.ts";
import type { History } from "../memory/messages/history.ts";
import { earlierSummary, type OverlayRecord } from "../memory/overlays/overlay.ts";
import type { LiveRun, NotesPlan, Outcome } from "../memory/runs/runs.ts";
import type { AuditProblem } from "../steps/draft/audit.ts";
import { PROMPT_VERSION } from "../steps/draft/prompt.ts";
import type { TranscriptElement } from "../steps/draft/render.ts";
import { leanMessage, measureMessage, type CountTokens } from "../steps/message/message.ts";
import { WHOLE_MESSAGE, type OutlineRow, type Span } from "../steps/plan/outline.ts";
import { digest } from "../steps/text/digest.ts";
import type { DraftInput, RunEnded } from "../workflows/port.ts";
import { keptNotes, resolveNotes, type NotesSettings } from "./settings.ts";
import { planFromNotes } from "./steps/cut.ts";
import {
  arrangeSections,
  fitVersion,
  notesTokens,
  renderNotes,
  type NotesSection,
  type NotesShape,
} from "./steps/document.ts";
import { applyEdits, auditEdits, parseEdits } from "./steps/edits.ts";
import { askForNotes } from "./start.ts";
import { notesOf, type NotesEnd, type NotesNeeds, type NotesVersion, type SessionNotes } from "./versions.ts";
import type { NotesAsked, NotesPlanned, NotesQuestion, NotesReading } from "./workflow.ts";

/** Divisor of a model's window for the least share of the new messages. The notes stand in the window twice, as input and as output. */
const LEAST_SHARE_OF_WINDOW = 4;

/** The agent's side of an update, behind the port of its Workflow. */
export function updateOfNotes(core: Core): RoomRun {
  return {
    ask: (sessionId, options) => askForNotes(core, sessionId, options),
    plan: (call, asked) => planNotes(core, call, asked as NotesAsked),
    read: (call, asked) => readNotes(core, call, asked as NotesQuestion),
    audit: (run, answer) => auditNotes(core, run, answer),
    commit: (call, key) => saveNotes(core, call, key),
    giveUp,
  };
}

function planNotes(core: Core, call: StepCall, { models, windowTokens }: NotesAsked): NotesPlanned {
  const { run } = call;
  const history = core.memory.session(run.sessionId);
  const settings = settingsOf(core, run);
  if (!history.has(run.leafId)) return call.end({ kind: "stale", reason: "gone" });
  if (settings === null) return call.end(upToDate("Notes are not kept any more."));
  // A late attempt must not pin the run to anything but the source of its drafts.
  if (run.kind !== "notes" || run.notes === null) {
    const notes = notesOf(core, history);
    const base = notes.current(run.leafId);
    const end = endFor(history, run, { ...settings, base });
    const fresh = end === null ? [] : findNew({ history, notes }, base, end);
    const span = spanOf(history, chooseRows(fresh, budgetFor(run, settings, windowTokens)));
    if (span === null) return call.end(upToDate("The notes cover all that they can serve for."));
    const read = history.spans.sourceDigest(span);
    if (read === null) return call.end({ kind: "stale", reason: "gone" });
    call.note({ notes: { baseN: base?.n ?? 0, lastN: notes.lastNumber(), span, digest: read } });
  }
  call.close();
  const resting = models.filter((model) => admitCall(core, run, model).kind === "no");
  return { kind: "notes", digest: digest(...nameOf(call.run, baseOf(core, call.run))), resting };
}

/**
 * Up to where an update reads. One by hand or by a stated growth reads up to the leaf. Any other is for a compaction, and reads up to where
 * one would end now, so that its version is the summary. Null where the notes tell of all that, or where a compaction would have nothing
 * to hide.
 */
function endFor(
  history: History,
  run: LiveRun,
  { forCompactions, range, base }: NotesSettings & { readonly base: NotesVersion | null },
): NotesEnd | null {
  if (run.manual || !forCompactions) return { messageId: run.leafId, step: WHOLE_MESSAGE };
  const outline = history.outline(run.leafId);
  const plan = outline && planFromNotes(outline, { covered: null, policy: run.policy, notes: range });
  if (plan?.kind !== "span") return null;
  // A plan that ends at a summary names it, and the notes name messages.
  const { toId, toStep } = resolveEnds(history, plan);
  const end = { messageId: toId, step: toStep };
  return base?.covered.kind === "to" && !isBefore(history, base.covered, end) ? null : end;
}

/** Whether the first end is no later than the second. Both must be on one branch. */
function isBefore(history: History, a: NotesEnd, b: NotesEnd): boolean {
  return a.messageId === b.messageId ? a.step <= b.step : history.isOnPath(a.messageId, b.messageId);
}

/** Estimated tokens that one update reads, usually and at most. */
interface ReadBudget {
  readonly budget: number;
  readonly most: number;
}

/**
 * Updates by growth read no more of a backlog than the growth that they wait for at most. So versions stay close, and a compaction finds
 * one near its cut.
 */
function budgetFor(run: LiveRun, { shape, pace, forCompactions }: NotesSettings, windowTokens: number): ReadBudget {
  const beside = windowTokens - PROMPT_OVERHEAD_TOKENS - 2 * shape.maxTokens;
  const most = Math.min(run.policy.chunkTokens, Math.max(beside, Math.floor(windowTokens / LEAST_SHARE_OF_WINDOW)));
  return { budget: forCompactions ? most : Math.min(most, pace.mostTokens), most };
}

/**
 * The oldest rows that fit, up to a message. Of a message that does not fit, the steps that fit. Before the first message, summaries may
 * take as much as one reading holds. If they do not all fit, the reading ends with the last whole one, because what is cut off of a summary would be
 * lost. Empty where there is no message.
 */
function chooseRows(rows: readonly OutlineRow[], { budget, most }: ReadBudget): readonly OutlineRow[] {
  let taken = 0;
  let end = 0;
  for (const [at, row] of rows.entries()) {
    const left = (end === 0 && row.kind === "overlay" ? most : budget) - taken;
    if (row.tokens > left && at > 0 && row.kind === "overlay") return rows.slice(0, end === 0 ? at : end);
    if (row.tokens > left && row.kind === "message") {
      const first = end === 0 && (at === 0 || (row.steps[0] ?? 0) <= most - taken) ? 1 : 0;
      const steps = Math.max(first, countSteps(row, left));
      const part = sliceRow(row, row.firstStep, row.firstStep + steps - 1);
      return part === null ? rows.slice(0, end === 0 ? at : end) : [...rows.slice(0, at), part];
    }
    taken += row.tokens;
    if (row.kind === "message") end = at + 1;
  }
  return rows.slice(0, end);
}

/** How many of a message's visible steps fit, from the first on. */
function countSteps({ steps }: OutlineRow, budgetTokens: number): number {
  let tokens = 0;
  const over = steps.findIndex((step) => (tokens += step) > budgetTokens);
  return over === -1 ? steps.length : over;
}

/** Steps `fromStep` to `toStep` of a message's visible part. Null when none of them is visible. */
function sliceRow(row: OutlineRow, fromStep: number, toStep: number): OutlineRow | null {
  const firstStep = Math.max(row.firstStep, fromStep);
  const steps = row.steps.slice(firstStep - row.firstStep, Math.max(0, toStep - row.firstStep + 1));
  if (steps.length === 0) return null;
  return { ...row, tokens: steps.reduce((sum, tokens) => sum + tokens, 0), firstStep, steps };
}

function lastVisibleStep({ firstStep, steps }: OutlineRow): number {
  return firstStep + steps.length - 1;
}

function spanOf(history: History, rows: readonly OutlineRow[]): Span | null {
  const [first, last] = [rows[0], rows.at(-1)];
  const [from, to] = [first && spanOfRow(history, first), last && spanOfRow(history, last)];
  return from == null || to == null
    ? null
    : { fromId: from.fromId, fromStep: from.fromStep, toId: to.toId, toStep: to.toStep };
}

function spanOfRow(history: History, row: OutlineRow): Span | null {
  const { kind, id, firstStep } = row;
  if (kind === "overlay") return history.overlays.get(id)?.span ?? null;
  return { fromId: id, fromStep: firstStep, toId: id, toStep: lastVisibleStep(row) };
}

/** A session's messages and its notes. */
interface Noted {
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

type NotesSource = Extract<NotesReading, { kind: "notes" }>;

/** Reads no message in its transaction. Returns how they are read outside of it. */
function readNotes(
  core: Core,
  call: StepCall,
  { model, again, continues }: NotesQuestion,
): Exclude<NotesReading, NotesSource> | (() => ReturnType<typeof readMessages>) {
  const { run } = call;
  const settings = settingsOf(core, run);
  if (settings === null) return call.end(upToDate("Notes are not kept any more."));
  const { shape } = settings;
  // Checks the plan again, so that no model is paid for an answer that the commit would refuse.
  const stale = findStale(core, run);
  if (stale !== null) return call.end(stale);
  const history = core.memory.session(run.sessionId);
  const base = baseOf(core, run);
  const redaction = redactionOf(core.settings.get(run.sessionId));
  const countTokens = core.settings.counterOf(run.sessionId);
  const how = JSON.stringify({ ...shape, redaction: redaction.names });
  const key = again?.key ?? digest(PROMPT_VERSION, "notes", model, how, ...nameOf(run, base));
  const rows = findNew({ history, notes: notesOf(core, history) }, base, endOf(run));
  const tokens = rows.reduce(
    (sum, row) => sum + row.tokens,
    base === null ? 0 : notesTokens(base.sections, countTokens),
  );
  const known = reuseDraft(core, call, { key, tokens, model });
  if (known !== null) return known;
  const rejected = again === undefined ? null : mustDraft(core, run, again.rejected);
  const source = {
    kind: "notes" as const,
    key,
    sections: wordSections(core, run, { base, shape }),
    shape,
    maxChars: run.policy.chunkTokens * MAX_CHARS_PER_TOKEN,
    problems: rejected?.problems.map(({ detail }) => detail) ?? [],
    rejected: rejected?.text ?? null,
    leftMs: call.leftMs,
  };
  const may = { continues, attempt: call.mark.attempt };
  return async () => readMessages(core, run, { rows, source, may });
}

interface UnreadNotes {
  readonly rows: readonly OutlineRow[];
  readonly source: Omit<NotesSource, "elements" | "sent">;
  readonly may: Parameters<typeof sentPrompt>[2];
}

/** Reads the messages of a source. Where they changed meanwhile, returns the outcome with which the run ends. */
async function readMessages(
  core: Needs<"db" | "health" | "memory" | "platform" | "read" | "rooms" | "settings" | "uses">,
  run: LiveRun,
  { rows, source, may }: UnreadNotes,
): Promise<NotesSource | { readonly outcome: Outcome }> {
  const { sessionId } = run;
  const redaction = redactionOf(core.settings.get(sessionId));
  const found = await readRows(core, sessionId, { rows, redaction });
  const { elements } = found;
  const outcome = await core.read(
    sessionId,
    (): Outcome | null => findStale(core, run) ?? (found.isCurrent() ? null : { kind: "stale", reason: "changed" }),
  );
  if (outcome !== null) return { outcome };
  const { sections, shape } = source;
  const sent = sentPrompt(core, sessionId, may);
  return {
    ...source,
    elements,
    ...(sent !== null && { sent }),
    shape: tellShape(core.settings.counterOf(sessionId), shape, { sections, elements }),
  };
}

/** Rows as a model sees them, read while others wrote. */
interface ReadRows {
  readonly elements: readonly TranscriptElement[];
  /** Whether the conversation still says what was read. */
  isCurrent(): boolean;
}

/** Reads rows in slices of a bounded size, with room for appends and other calls after each. What changes meanwhile may be read either way. */
export async function readRows(
  core: Needs<"memory" | "read" | "uses">,
  sessionId: string,
  { rows, redaction }: { readonly rows: readonly OutlineRow[]; readonly redaction: Redaction },
): Promise<ReadRows> {
  const history = core.memory.session(sessionId);
  const elements: TranscriptElement[] = [];
  const compares: (() => boolean)[] = [];
  // Only the last overlay shows the state of things.
  const lastOverlay = rows.findLast(({ kind }) => kind === "overlay")?.id;
  const shown = (each: OverlayRecord): string => (each.id === lastOverlay ? each.summary : earlierSummary(each));
  for (const group of groupRows(rows)) {
    const [first, last] = [group[0], group.at(-1)];
    if (first?.kind !== "message" || last === undefined) {
      const overlays = group.flatMap(({ id }) => history.overlays.get(id) ?? []);
      // A person may have written a summary, or notes that it was made of.
      elements.push(...overlays.map((each) => ({ kind: "overlay" as const, summary: redaction.text(shown(each)) })));
      continue;
    }
    const span = { fromId: first.id, fromStep: first.firstStep, toId: last.id, toStep: lastVisibleStep(last) };
    const reader = history.spans.reader(span);
    compares.push(() => reader !== null && history.spans.isAsRead(reader, span));
    if (reader === null) continue;
    const slices = await readSlices(core, { sessionId, reader }, (each) =>
      // Files may exceed what RPC takes.
      each.map((message) => leanMessage(redaction.message(message))),
    );
    elements.push(...slices.flat().map((message) => ({ kind: "message" as const, message })));
  }
  return { elements, isCurrent: () => compares.every((isCurrent) => isCurrent()) };
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

/** The notes as a model sees them. A section that it leaves unchanged stays as stored, whole and unredacted. */
function wordSections(
  core: Needs<"settings">,
  { sessionId }: LiveRun,
  { base, shape }: { base: NotesVersion | null; shape: NotesShape },
): NotesSection[] {
  const settings = core.settings.get(sessionId);
  const redaction = redactionOf(settings);
  const sections = base === null ? [] : fitVersion(base, shape, settings.countTokens);
  return arrangeSections(
    shape,
    sections.map(({ title, text }) => ({ title, text: redaction.text(text) })),
  );
}

/** The shape with its budgets as a prompt names them. */
function tellShape(
  counter: CountTokens,
  shape: NotesShape,
  { sections, elements }: { sections: readonly NotesSection[]; elements: readonly TranscriptElement[] },
): NotesShape {
  const weigh = (count: CountTokens): number =>
    elements.reduce(
      (sum, each) => sum + (each.kind === "overlay" ? count(each.summary) : measureMessage(each.message, count).tokens),
      count(renderNotes(sections)),
    );
  const { sectionTokens, maxTokens } = shape;
  return {
    ...shape,
    sectionTokens: budgetInModelTokens(counter, sectionTokens, weigh),
    maxTokens: budgetInModelTokens(counter, maxTokens, weigh),
  };
}

/** The problems of applying an answer to the notes. */
function auditNotes(
  core: Needs<NotesNeeds | "settings">,
  run: LiveRun,
  { text, finishReason }: Pick<DraftInput, "text" | "finishReason">,
): readonly AuditProblem[] {
  const settings = core.settings.get(run.sessionId);
  const { countTokens } = settings;
  const { shape } = resolveNotes(keptNotes(settings) ?? {}, run.policy);
  const before = wordSections(core, run, { base: baseOf(core, run), shape });
  const audit = auditEdits({ answer: text, finishReason, before, shape, countTokens });
  return audit.ok ? [] : audit.problems;
}

function saveNotes(core: Core, call: StepCall, key: string): RunEnded {
  const { run } = call;
  const settings = settingsOf(core, run);
  if (settings === null) return call.end(upToDate("Notes are not kept any more."));
  const stale = findStale(core, run);
  if (stale !== null) return call.end(stale);
  const base = baseOf(core, run);
  const draft = mustDraft(core, run, key);
  // Changes were made to the text that the model saw, which may be cut or redacted. Other sections stay as stored.
  const { edits, problems } = parseEdits(draft.text, wordSections(core, run, { base, shape: settings.shape }));
  // The sections were reconfigured while the model was asked.
  if (problems.length > 0) return call.end({ kind: "stale", reason: "changed" });
  const sections = applyEdits(arrangeSections(settings.shape, base?.sections ?? []), edits);
  const end = endOf(run);
  const version = notesOf(core, core.memory.session(run.sessionId)).add({
    sections,
    covered: { kind: "to", ...end },
    last: base?.last,
    by: "update",
    runId: run.id,
    model: draft.model,
  });
  const tokens = notesTokens(sections, core.settings.counterOf(run.sessionId));
  return call.end({ kind: "noted", version: version.n, coveredId: end.messageId, tokens });
}

function giveUp(call: StepCall): RunEnded {
  const reason = call.run.steps.findLast(({ failure }) => failure !== undefined)?.failure?.reason;
  const why = reason === undefined ? "no answer could be used" : `the model gave none (${reason})`;
  return call.end({
    kind: "failed",
    reason: `The notes were not brought up to date: ${why}. The version before stays.`,
  });
}

function settingsOf(core: Needs<"settings">, run: LiveRun): NotesSettings | null {
  const settings = core.settings.get(run.sessionId);
  const notes = keptNotes(settings);
  return notes === null ? null : resolveNotes(notes, run.policy, settings.when?.rule);
}

function pinOf(run: LiveRun): NotesPlan {
  assert(run.kind === "notes" && run.notes !== null, "An update is planned before any step that needs its plan.");
  return run.notes;
}

/** The inputs of an update, for its key. They are the earlier sections and the digest of the messages. */
function nameOf(run: LiveRun, base: NotesVersion | null): string[] {
  return [JSON.stringify(base?.sections ?? []), pinOf(run).digest];
}

/** The stale outcome when the plan no longer holds, otherwise null. */
function findStale(core: Needs<NotesNeeds>, run: LiveRun): Outcome | null {
  const { baseN, lastN, span, digest: planned } = pinOf(run);
  const history = core.memory.session(run.sessionId);
  const leafId = history.leafId();
  if (leafId === null || !history.isOnPath(span.toId, leafId)) return { kind: "stale", reason: "gone" };
  const read = history.spans.sourceDigest(span);
  if (read === null) return { kind: "stale", reason: "gone" };
  const notes = notesOf(core, history);
  const same = notes.lastNumber() === lastN && (baseN === 0 || notes.standing(baseN) !== null);
  return same && read === planned ? null : { kind: "stale", reason: "changed" };
}

function baseOf(core: Needs<NotesNeeds>, run: LiveRun): NotesVersion | null {
  return notesOf(core, core.memory.session(run.sessionId)).standing(pinOf(run).baseN);
}

/** Where the update ends. It ends at a step, because the message may go on growing. */
function endOf(run: LiveRun): NotesEnd {
  const { toId, toStep } = pinOf(run).span;
  return { messageId: toId, step: toStep };
}

function upToDate(detail: string): Outcome {
  return { kind: "nothing", reason: "up-to-date", detail };
}
