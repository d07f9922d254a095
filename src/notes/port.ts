/**
 * The agent's side of one update of the notes, with its source and its fenced commit.
 *
 * Each call is one synchronous transaction of a live run (src/agent/runs/port.ts). Safe because an update is pinned to the version
 * that it builds on and to the digest of its source. An edit, a deletion, another branch or a person's own version meanwhile makes it
 * `stale`, and nothing is written.
 */
import { assert } from "../errors.ts";
import { MAX_CHARS_PER_TOKEN, PROMPT_OVERHEAD_TOKENS } from "../limits.ts";
import { NOTES_PATIENCE } from "./limits.ts";
import type { History } from "../memory/messages/history.ts";
import { notesOf, type NotesEnd, type NotesNeeds, type NotesVersion } from "./versions.ts";
import type { LiveRun, NotesPlan, Outcome } from "../memory/runs/runs.ts";
import type { AuditProblem } from "../steps/draft/audit.ts";
import { digest } from "../steps/text/digest.ts";
import { measureMessage, type CountTokens } from "../steps/message/message.ts";
import {
  arrangeSections,
  fitVersion,
  notesTokens,
  renderNotes,
  type NotesSection,
  type NotesShape,
} from "./steps/document.ts";
import { applyEdits, auditEdits, parseEdits } from "./steps/edits.ts";
import { tokensToKeep } from "./steps/due.ts";
import { planFromNotes } from "./steps/range.ts";
import { WHOLE_MESSAGE, type OutlineRow, type Span } from "../steps/plan/outline.ts";
import { lastVisibleStep, sliceRow } from "./steps/rows.ts";
import { NO_FACTS } from "../facts/fact.ts";
import { mergeFacts } from "../facts/gather.ts";
import { PROMPT_VERSION } from "../steps/draft/prompt.ts";
import type { TranscriptElement } from "../steps/draft/render.ts";
import type { DraftInput, RunEnded } from "../workflows/port.ts";
import type { NotesAsked, NotesPlanned, NotesQuestion, NotesReading } from "./workflow-port.ts";
import type { Core, Needs } from "../agent/core.ts";
import type { StepCall } from "../agent/hooks.ts";
import { reuseDraft, sentPrompt } from "../agent/runs/drafts.ts";
import { redactionOf } from "../agent/redaction.ts";
import { keptNotes, resolveNotes, type NotesSettings } from "./settings.ts";
import { findNew, isBefore, readRowSlices } from "./source.ts";
import { mayAsk } from "../agent/runs/trigger.ts";
import { mustDraft, resolveEnds } from "../agent/runs/sources.ts";
import { tellBudget } from "../agent/token-counter.ts";

/** Divisor of a model's window for the least share of the new messages. The notes stand in the window twice, as input and as output. */
const LEAST_SHARE_OF_WINDOW = 4;

export function planNotes(core: Core, call: StepCall, { models, windowTokens }: NotesAsked): NotesPlanned {
  const { run } = call;
  const history = core.memory.session(run.sessionId);
  const settings = settingsOf(core, run);
  if (!history.has(run.leafId)) return call.end({ kind: "stale", reason: "gone" });
  if (settings === null) return call.end(upToDate("Notes are not kept any more."));
  // A late attempt must not pin the run to anything but the source of its drafts.
  if (run.kind !== "notes" || run.notes === null) {
    const notes = notesOf(core, history);
    const base = notes.current(run.leafId);
    const due = endOfDue(history, run, { ...settings, base });
    const fresh = findNew({ history, notes }, base, due ?? { messageId: run.leafId, step: WHOLE_MESSAGE });
    const budget = budgetFor(run, { ...settings, fresh, windowTokens, isWhole: due !== null });
    const rows = budget === null ? [] : chooseRows(fresh, budget);
    const span = spanOf(history, rows);
    if (span === null) return call.end(upToDate("The notes cover all that they can serve for."));
    const read = history.spans.sourceDigest(span);
    if (read === null) return call.end({ kind: "stale", reason: "gone" });
    call.note({ notes: { baseN: base?.n ?? 0, lastN: notes.lastNumber(), span, digest: read } });
  }
  call.close();
  const resting = models.filter((model) => mayAsk(core, run, model).kind === "no");
  return { kind: "notes", digest: digest(...nameOf(call.run, baseOf(core, call.run))), resting };
}

type NotesSource = Extract<NotesReading, { kind: "notes" }>;

/** Reads no message in its transaction. Returns how they are read outside of it. */
export function readNotes(
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
  readonly source: Omit<NotesSource, "elements" | "overlayFacts" | "sent">;
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
  const found = await readRowSlices(core, sessionId, { rows, redaction });
  const outcome = await core.read(
    sessionId,
    (): Outcome | null => findStale(core, run) ?? (found.isCurrent() ? null : { kind: "stale", reason: "changed" }),
  );
  if (outcome !== null) return { outcome };
  const { sections, shape } = source;
  const sent = sentPrompt(core, sessionId, may);
  return {
    ...source,
    ...found.read,
    ...(sent !== null && { sent }),
    shape: tellShape(core.settings.counterOf(sessionId), shape, { sections, elements: found.read.elements }),
  };
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
    sectionTokens: tellBudget(counter, sectionTokens, weigh),
    maxTokens: tellBudget(counter, maxTokens, weigh),
  };
}

/** The problems of applying an answer to the notes. */
export function auditNotes(
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

export function saveNotes(core: Core, call: StepCall, key: string): RunEnded {
  const { run } = call;
  const settings = settingsOf(core, run);
  if (settings === null) return call.end(upToDate("Notes are not kept any more."));
  const stale = findStale(core, run);
  if (stale !== null) return call.end(stale);
  const history = core.memory.session(run.sessionId);
  const base = baseOf(core, run);
  const draft = mustDraft(core, run, key);
  // Changes were made to the text that the model saw, which may be cut or redacted. Other sections stay as stored.
  const { edits, problems } = parseEdits(draft.text, wordSections(core, run, { base, shape: settings.shape }));
  // The sections were reconfigured while the model was asked.
  if (problems.length > 0) return call.end({ kind: "stale", reason: "changed" });
  const sections = applyEdits(arrangeSections(settings.shape, base?.sections ?? []), edits);
  const end = endOf(run);
  const version = notesOf(core, history).add({
    sections,
    covered: { kind: "to", ...end },
    last: base?.last,
    by: "update",
    runId: run.id,
    model: draft.model,
    facts: redactionOf(core.settings.get(run.sessionId)).facts(mergeFacts([base?.facts ?? NO_FACTS, draft.facts])),
  });
  const tokens = notesTokens(sections, core.settings.counterOf(run.sessionId));
  return call.end({ kind: "noted", version: version.n, coveredId: end.messageId, tokens });
}

export function keepNotes(call: StepCall): RunEnded {
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

/**
 * The end of a compaction that is due now, if the notes describe all that it hides. An update for it reads up to there, so that its
 * version is the summary. Null where none is due, or where the notes already describe more.
 */
function endOfDue(
  history: History,
  run: LiveRun,
  { pace: { compaction }, range, base }: NotesSettings & { readonly base: NotesVersion | null },
): NotesEnd | null {
  if (compaction === null || run.manual || run.tokensBefore <= compaction.thresholdTokens) return null;
  const outline = history.outline(run.leafId);
  const plan = outline && planFromNotes(outline, { covered: null, policy: run.policy, notes: range });
  if (plan?.kind !== "span") return null;
  // A plan that ends at a summary names it, and the notes name messages.
  const { toId, toStep } = resolveEnds(history, plan);
  const end = { messageId: toId, step: toStep };
  return base?.covered.kind === "to" && !isBefore(history, base.covered, end) ? null : end;
}

/** Estimated tokens that one update reads, usually and at most. */
interface ReadBudget {
  readonly budget: number;
  readonly most: number;
}

/**
 * Updates by growth read no more of a backlog than the growth that they wait for at most. So versions stay close, and a compaction finds
 * one near its cut. An update for a compaction leaves what that will keep. Null where that leaves too little to pay for.
 */
function budgetFor(
  run: LiveRun,
  {
    shape,
    pace,
    range,
    fresh,
    windowTokens,
    isWhole,
  }: NotesSettings & {
    readonly fresh: readonly OutlineRow[];
    readonly windowTokens: number;
    readonly isWhole: boolean;
  },
): ReadBudget | null {
  const beside = windowTokens - PROMPT_OVERHEAD_TOKENS - 2 * shape.maxTokens;
  const most = Math.min(run.policy.chunkTokens, Math.max(beside, Math.floor(windowTokens / LEAST_SHARE_OF_WINDOW)));
  const { growthTokens, compaction } = pace;
  if (compaction === null) return { budget: Math.min(most, growthTokens * NOTES_PATIENCE), most };
  if (run.manual || isWhole) return { budget: most, most };
  const coming = Math.max(0, compaction.thresholdTokens - run.tokensBefore);
  const all = fresh.reduce((sum, { tokens }) => sum + tokens, 0);
  const hidden = all - tokensToKeep(fresh, { range, minTailMessages: run.policy.minTailMessages }, coming);
  return hidden * NOTES_PATIENCE < growthTokens ? null : { budget: Math.min(most, hidden), most };
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

function upToDate(detail: string): Outcome {
  return { kind: "nothing", reason: "up-to-date", detail };
}
