/**
 * Promotes notes to the summary of a compaction, which then needs no model call.
 *
 * A run tries it before its workflow is started: the newest version that ends where a compaction may cut becomes the overlay, through the
 * fence of any commit. Where the notes end too early, the run asks for an update first and waits for it. Where they may not be the summary,
 * the run's record says why, and the model is asked.
 *
 * Safe because notes pass the checks of a model's summary, which are the plan's boundaries, the audit and the fence. A version that describes
 * kept messages is passed over for an older one, so an overlay describes only what is under it (C3). A crash before the commit leaves the
 * run pending, and the watchdog starts it again (R1).
 */
import { SUMMARY_FRAME_TOKENS } from "../limits.ts";
import type { Needs } from "../agent/core.ts";
import type { AskedRun } from "../agent/hooks.ts";
import { yielderOf } from "../agent/yielder.ts";
import { redactionOf, type Redaction } from "../agent/redaction.ts";
import { unseenTokens } from "../agent/reports/usage.ts";
import { chooseNow, readBegun, readCarried } from "../agent/runs/read-beside.ts";
import { layOrPropose } from "../agent/runs/commit.ts";
import { readSlices } from "../agent/runs/read-slices.ts";
import { factsOf, resolveEnds } from "../agent/runs/sources.ts";
import { conclude, type Concludes } from "../agent/runs/split.ts";
import { findModelObstacle } from "../agent/runs/trigger.ts";
import { quoteOpening } from "../facts/beside.ts";
import type { Carried, Facts } from "../facts/fact.ts";
import { gatherFacts, mergeFacts } from "../facts/gather.ts";
import { besides, opened } from "../facts/render.ts";
import { addToStep, markStep, type LiveRun, type WhyModel } from "../memory/runs/runs.ts";
import { auditSummary } from "../steps/draft/audit.ts";
import type { UIMessage } from "ai";
import type { CountTokens } from "../steps/message/message.ts";
import type { Outline, Span } from "../steps/plan/outline.ts";
import { judge } from "../steps/decide/decide.ts";
import { sizeOfOutline, type SpanPlan } from "../steps/plan/plan.ts";
import { MAX_NOTES_WAIT_MS } from "./limits.ts";
import { keptNotes, resolveNotes, type NotesSettings } from "./settings.ts";
import { planFromNotes } from "./steps/cut.ts";
import { fitVersion, hasContent, hintsOf, renderNotes } from "./steps/document.ts";
import { startNotes, type Starts } from "./start.ts";
import { notesOf, type NotesNeeds, type NotesVersion } from "./versions.ts";

/** A version that may be the summary. */
export interface ReadyNotes {
  readonly kind: "ready";
  /** With its ends as messages. */
  readonly plan: SpanPlan;
  readonly version: NotesVersion;
  readonly summary: string;
  /** Most tokens of the view afterwards. */
  readonly tokensAfter: number;
}

export type NotesVerdict = ReadyNotes | ({ readonly kind: "declined" } & WhyModel);

/** The newest version that may be the summary of a run, and if there is none, why. Null where no notes are kept. Writes nothing. */
export function findNotes(
  core: Needs<NotesNeeds | "settings" | "usage">,
  run: AskedRun,
  carried: readonly Carried[] = [],
): NotesVerdict | null {
  const kept = core.settings.get(run.sessionId);
  const notes = keptNotes(kept);
  if (notes === null) return null;
  const otherwise = askedOtherwise(run);
  if (otherwise !== null) return decline("asked-otherwise", otherwise);
  const history = core.memory.session(run.sessionId);
  const outline = history.has(run.leafId)
    ? history.outline(run.leafId, { overheadTokens: unseenTokens(core, run.sessionId, history.tokens(run.leafId)) })
    : null;
  if (outline === null) return decline("gone", "The branch is gone.");
  const settings = resolveNotes(notes, run.policy);
  const hints = hintsOf(settings.shape);
  const versions = [...notesOf(core, history).holding(run.leafId)].filter(
    ({ covered, sections }) => covered.kind !== "none" && hasContent(sections, hints),
  );
  const none = decline("no-notes", "There are no notes that hold for this branch.");
  if (versions.length === 0) return none;
  if (!run.manual && run.trigger !== "rent" && judge(sizeOfOutline(outline), run.policy).length === 0) {
    return decline("under-threshold", "The view is not over the threshold any more.");
  }
  const { countTokens } = kept;
  const around = { outline, carried, settings, countTokens, redaction: redactionOf(kept) };
  const verdicts = versions.values().map((version) => weigh(core, run, { version, ...around }));
  let newest: NotesVerdict | null = null;
  for (const verdict of verdicts) {
    if (verdict.kind === "ready") return verdict;
    newest ??= verdict;
    // The newest version may describe kept messages. An older one describes fewer.
    if (verdict.reason !== "too-recent") break;
  }
  return newest ?? none;
}

interface Around {
  readonly version: NotesVersion;
  readonly outline: Outline;
  readonly carried: readonly Carried[];
  readonly settings: NotesSettings;
  readonly redaction: Redaction;
  readonly countTokens: CountTokens;
}

function weigh(core: Needs<NotesNeeds | "settings">, run: AskedRun, around: Around): NotesVerdict {
  const { version, outline, carried, settings, redaction, countTokens } = around;
  const history = core.memory.session(run.sessionId);
  const planned = planFromNotes(outline, {
    covered: version.covered.kind === "to" ? version.covered : null,
    policy: run.manual ? { ...run.policy, minSpanTokens: 1 } : run.policy,
    notes: settings.range,
  });
  if (planned.kind === "nothing") return decline(planned.reason, planned.detail);
  const plan = { ...planned, span: resolveEnds(history, planned) };
  if (!notesOf(core, history).endsWithin(version, plan.span)) {
    return decline("too-recent", "The notes tell of messages that are to be kept as they are behind a summary.");
  }
  // A person's notes stay as written. The summary made of them is redacted.
  const summary = redaction.text(renderNotes(fitVersion(version, settings.shape, countTokens)));
  const audit = auditSummary({
    text: summary,
    finishReason: "stop",
    spanTokens: plan.spanTokens,
    policy: { ...run.policy, summaryTokens: settings.shape.maxTokens },
    template: { sections: version.sections.map(({ title }) => ({ title, hint: "" })) },
    countTokens,
  });
  if (!audit.ok) {
    const kinds = audit.problems.map(({ kind }) => kind).join(", ");
    return decline("unsound", `The notes do not pass as a summary: ${kinds}.`);
  }
  const { pinnedTokens, loadedTokens, openingTokens, thresholdTokens, maxMessages = Infinity } = run.policy;
  const opening = quoteOpening(readBegun(core, run.sessionId, plan), openingTokens, countTokens);
  const texts = opened({ opening: opening?.text ?? null }) + besides({ carried });
  const shown = countTokens(summary) + SUMMARY_FRAME_TOKENS + countTokens(texts);
  const rest = outline.tokens - plan.spanTokens;
  const { tailTokens, keptId } = plan;
  const messages = keptId === null ? 1 : outline.rows.length - outline.rows.findIndex(({ id }) => id === keptId) + 1;
  if (rest + shown > thresholdTokens || messages > maxMessages) {
    const size = messages > maxMessages ? `${messages} messages` : `${rest + shown} tokens`;
    return decline(
      "over-threshold",
      `The view would still be ${size}: ${tailTokens} tokens are kept behind the notes.`,
    );
  }
  // A commit that would not make the view smaller is refused (V3).
  const most = Math.min(shown + pinnedTokens + loadedTokens, plan.spanTokens - 1);
  return { kind: "ready", plan, version, summary, tokensAfter: rest + most };
}

/** A request that notes cannot fulfil. */
function askedOtherwise({ focus, fresh, only }: AskedRun): string | null {
  if (focus !== null) return "The summary was to attend to something.";
  if (fresh) return "The model was to be asked anew.";
  return only === undefined ? null : "An earlier summary was to be mended or rebuilt.";
}

function decline(reason: WhyModel["reason"], detail: string): NotesVerdict {
  return { kind: "declined", reason, detail };
}

/** The one step of such a run in the ledger. */
const STEP = "use the notes";

/** True when the run has its outcome. False when a model is needed, and the run's record says why. */
export async function promoteNotes(
  core: Starts & Concludes & Needs<"ended" | "read" | "uses">,
  pending: LiveRun,
): Promise<boolean> {
  const { sessionId } = pending;
  if (pending.kind === "notes" || keptNotes(core.settings.get(sessionId)) === null) return false;
  const wait = core.db.transaction(() => findWait(core, pending));
  if (wait !== null) await waitFor(core, wait);
  const carried = await readCarried(core, sessionId);
  const found = await core.read(sessionId, () => {
    const verdict = findNotes(core, pending, carried);
    return verdict?.kind === "ready"
      ? { ready: verdict, gather: openPlan(core, sessionId, verdict.plan) }
      : { verdict };
  });
  const gathered = found.gather === undefined ? null : await found.gather();
  return core.read(sessionId, () =>
    core.db.transaction<boolean>(() => {
      const run = core.runs.get(pending.id);
      if (run?.outcome !== null || run.state === "proposed") return true;
      const verdict = found.ready ?? found.verdict;
      if (verdict === null || verdict === undefined) return false;
      const why = verdict.kind === "declined" ? verdict : promote(core, run, { ready: verdict, carried, gathered });
      if (why === null) return true;
      core.runs.change(run.id, { path: "model", whyModel: { reason: why.reason, detail: why.detail } });
      return false;
    }),
  );
}

/** Null when the overlay is in force, or proposed. Otherwise nothing was written. */
function promote(
  core: Concludes & Needs<NotesNeeds | "platform">,
  found: LiveRun,
  { ready, carried, gathered }: { ready: ReadyNotes; carried: readonly Carried[]; gathered: Gathered | null },
): WhyModel | null {
  const { plan, summary, version } = ready;
  const notes = notesOf(core, core.memory.session(found.sessionId));
  if (gathered?.isCurrent() !== true || notes.standing(version.n) === null) {
    return { reason: "changed", detail: "The messages or the notes changed meanwhile." };
  }
  const at = core.platform.now();
  const steps = addToStep(markStep(found.steps, { name: STEP, attempt: 1, at }), STEP, { endedAt: at });
  const startedAt = found.startedAt ?? at;
  const run: LiveRun = { ...found, path: "notes", plan, planDigest: null, steps, startedAt, heardAt: at };
  const lineage = { model: "notes", degraded: false, level: plan.level, generation: 1, notesVersion: version.n };
  const { facts } = gathered;
  const beside = chooseNow(core, run, { plan, text: summary, facts, carried });
  const made = { span: plan.span, text: summary, facts, lineage, beside };
  const outcome = layOrPropose(core, run, made);
  if (outcome.kind === "stale") {
    return { reason: outcome.reason, detail: "The notes' summary did not pass the fence of the commit." };
  }
  if (outcome.kind !== "proposed") conclude(core, run, outcome);
  return null;
}

/** Opens what a plan hides, as it is now. The returned function gathers its facts: of its messages, and of the summaries that it folds in. */
function openPlan(
  core: Needs<"memory" | "read" | "settings" | "uses">,
  sessionId: string,
  { parts, chunks }: SpanPlan,
): () => Promise<Gathered | null> {
  const redaction = redactionOf(core.settings.get(sessionId));
  const history = core.memory.session(sessionId);
  const opened = parts.map((part) => {
    if (part.kind === "overlay") {
      const overlay = history.overlays.get(part.id);
      const facts = overlay === null ? null : redaction.facts(factsOf(core, overlay, sessionId));
      const isCurrent = (): boolean => history.overlays.get(part.id)?.state === "active";
      return async (): Promise<Gathered | null> => (facts === null ? null : { facts, isCurrent });
    }
    const span = chunks[part.index];
    return span === undefined ? async () => null : gatherSpan(core, { sessionId, span });
  });
  return async () => {
    const facts: Facts[] = [];
    const checks: (() => boolean)[] = [];
    for (const read of opened) {
      const gathered = await read();
      if (gathered === null) return null;
      facts.push(gathered.facts);
      checks.push(() => gathered.isCurrent());
    }
    return { facts: mergeFacts(facts), isCurrent: () => checks.every((isCurrent) => isCurrent()) };
  };
}

/** Bytes of messages whose facts are gathered at once, in some 50 ms. A larger message is gathered alone. */
const GATHERED_BYTES = 40_000;

/** Uses let in between two of these pieces, so that fewer than one in a hundred calls without a gap waits for one. */
const USES_WHILE_GATHERING = 250;

interface Gathered {
  readonly facts: Facts;
  /** True while the span is still as it was when it was opened. A summary of a span that changed is stale. */
  isCurrent(): boolean;
}

/** Opens a span as it is now, in order to summarise it. The returned function reads it. Null where its ends are gone. */
function gatherSpan(
  core: Needs<"memory" | "read" | "settings" | "uses">,
  { sessionId, span }: { readonly sessionId: string; readonly span: Span },
): () => Promise<Gathered | null> {
  const history = core.memory.session(sessionId);
  const redaction = redactionOf(core.settings.get(sessionId));
  const reader = history.spans.reader(span, GATHERED_BYTES);
  const gather = (messages: readonly UIMessage[]): Facts => gatherFacts(messages.map(redaction.message));
  const pause = yielderOf(core, USES_WHILE_GATHERING);
  const digestNow = (): string | undefined => history.spans.digest(span)?.digest;
  return async () => {
    if (reader === null) return null;
    for (const _ of history.spans.survey(span)) await pause();
    const opened = reader.isUntouched ? digestNow() : null;
    const parts = await readSlices(core, { sessionId, reader }, gather, pause);
    // So that the commit compares a span of any length without reading it again.
    for (const _ of history.spans.survey(span)) await pause();
    return {
      facts: mergeFacts(parts),
      isCurrent: () => digestNow() === opened && history.spans.isAsRead(reader, span),
    };
  };
}

interface Wait {
  readonly update: LiveRun;
  /** Longest time (ms). */
  readonly waitMs: number;
}

/** Reasons that an update may remove. */
const MAY_PASS: ReadonlySet<WhyModel["reason"]> = new Set<WhyModel["reason"]>([
  "no-notes",
  "not-covered",
  "too-small",
  "unsound",
  "over-threshold",
]);

/**
 * The update whose version the run waits for: one that is at work and may help, or else one that it asks for here. Null where none may help,
 * where updates come by a stated growth, and where one call cannot read all that the compaction hides.
 *
 * An update up to the end of the compaction takes the one model call that a summary would take, and the next update has less to read.
 */
function findWait(core: Starts, run: LiveRun): Wait | null {
  const { sessionId, leafId, policy } = run;
  const settings = core.settings.get(sessionId);
  const notes = keptNotes(settings);
  // A run that was sent to the model may be dispatched again. It asks for no other update.
  if (notes === null || run.path === "model") return null;
  const verdict = findNotes(core, run);
  if (verdict?.kind !== "declined" || !MAY_PASS.has(verdict.reason)) return null;
  const { waitMs, forCompactions } = resolveNotes(notes, policy, settings.when?.rule);
  const update = core.runs.live(sessionId).find(({ kind }) => kind === "notes");
  if (update !== undefined) return mayHelp(core, run, update) ? { update, waitMs } : null;
  const isAsked = forCompactions && !run.manual && verdict.reason !== "unsound";
  if (!isAsked || run.tokensBefore > policy.thresholdTokens + policy.chunkTokens) return null;
  if (findModelObstacle(core, sessionId) !== null) return null;
  return { update: startNotes(core, sessionId, { trigger: "compaction", leafId }), waitMs: MAX_NOTES_WAIT_MS };
}

/** False for a paused update, for one that a version by hand made stale, and for one of another branch. */
function mayHelp(core: Needs<NotesNeeds>, run: LiveRun, update: LiveRun): boolean {
  if (update.kind !== "notes" || update.state === "paused") return false;
  const history = core.memory.session(run.sessionId);
  const { notes, leafId } = update;
  const inTime = notes === null || notes.lastN === notesOf(core, history).lastNumber();
  return inTime && history.isOnPath(notes?.span.toId ?? leafId, run.leafId);
}

async function waitFor(core: Needs<"ended">, { update, waitMs }: Wait): Promise<void> {
  const { promise: timedOut, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  await Promise.race([core.ended(update.id), timedOut]).finally(() => clearTimeout(timer));
}
