/**
 * Decides whether the notes can replace a summary now, and if not, why.
 *
 * Reads and writes nothing. The trigger, which asks whether a model is needed at all, and the run get the same answer.
 *
 * Safe because notes pass the checks of a model's summary, which are the plan's boundaries and the audit. A version that describes kept messages is passed over for an older one, so an overlay describes only what is under it (C3). A "no"
 * only means that the model is asked.
 */
import { SUMMARY_FRAME_TOKENS } from "../limits.ts";
import type { History } from "../memory/messages/history.ts";
import type { Carried, Opening } from "../memory/overlays/overlay.ts";
import { notesOf, type NotesNeeds, type NotesVersion, type SessionNotes } from "./versions.ts";
import type { LiveRun, WhyModel } from "../memory/runs/record.ts";
import { auditSummary } from "../steps/draft/audit.ts";
import { fitVersion, hasContent, renderNotes, type NotesShape } from "./steps/document.ts";
import { hintsOf } from "./steps/prompt.ts";
import type { CountTokens } from "../steps/message/message.ts";
import { planFromNotes } from "./steps/range.ts";
import type { Outline } from "../steps/plan/outline.ts";
import type { Facts } from "../facts/fact.ts";
import { gatherFacts, keepFacts } from "../facts/gather.ts";
import { isOver, type SpanPlan } from "../steps/plan/plan.ts";
import { summaryMessage } from "../facts/render.ts";
import { openingOf, withoutOpening } from "../agent/runs/commit.ts";
import { unseenTokens } from "../agent/reports/usage.ts";
import type { Needs } from "../agent/core.ts";
import type { AskedRun } from "../agent/hooks.ts";
import { keptNotes, resolveNotes, type NotesSettings } from "./settings.ts";
import { redactionOf, type Redaction } from "../agent/redaction.ts";
import { resolveEnds } from "../agent/runs/sources.ts";

export interface ReadyNotes {
  readonly kind: "ready";
  /** With its ends as messages. */
  readonly plan: SpanPlan;
  readonly version: NotesVersion;
  readonly summary: string;
  readonly facts: Facts;
  /** Estimated tokens of the view afterwards. */
  readonly tokensAfter: number;
}

export type NotesVerdict = ReadyNotes | ({ readonly kind: "declined" } & WhyModel);

/** Null where no notes are kept. */
export function findNotes(
  core: Needs<NotesNeeds | "settings" | "usage">,
  run: AskedRun,
  carried: readonly Carried[] = [],
): NotesVerdict | null {
  const kept = core.settings.get(run.sessionId);
  const { secretRules, countTokens } = kept;
  const notes = keptNotes(kept);
  if (notes === null) return null;
  const otherwise = askedOtherwise(run);
  if (otherwise !== null) return decline("asked-otherwise", otherwise);
  const history = core.memory.session(run.sessionId);
  if (!history.has(run.leafId)) return decline("gone", "The branch is gone.");
  const settings = resolveNotes(notes, run.policy);
  const hints = hintsOf(settings.shape);
  const stored = notesOf(core, history);
  const versions = [...stored.holding(run.leafId)].filter(
    ({ covered, sections }) => covered.kind !== "none" && hasContent(sections, hints),
  );
  if (versions.length === 0) return decline("no-notes", NONE_HOLD);
  const outline = history.outline(run.leafId, {
    overheadTokens: unseenTokens(core, run.sessionId, history.tokens(run.leafId)),
  });
  if (outline === null) return decline("gone", "The branch is gone.");
  if (!run.manual && run.trigger !== "rent" && !isOver(outline, run.policy)) {
    return decline("under-threshold", "The view is not over the threshold any more.");
  }
  const redaction = redactionOf({ secretRules });
  const begun = (plan: SpanPlan): Opening | null => openingOf(core, run, plan);
  const circumstances = { notes: stored, outline, carried, settings, redaction, countTokens, openingOf: begun };
  let newest: NotesVerdict | null = null;
  for (const version of versions) {
    const verdict = weigh(history, run, { version, ...circumstances });
    if (verdict.kind === "ready") return verdict;
    newest ??= verdict;
    // The newest version may describe kept messages. An older one describes fewer.
    if (verdict.reason !== "too-recent") break;
  }
  return newest ?? decline("no-notes", NONE_HOLD);
}

const NONE_HOLD = "There are no notes that hold for this branch.";

interface Circumstances {
  readonly notes: SessionNotes;
  readonly version: NotesVersion;
  readonly outline: Outline;
  readonly carried: readonly Carried[];
  readonly settings: NotesSettings;
  readonly redaction: Redaction;
  readonly countTokens: CountTokens;
  /** The opening of the conversation, as it would stand beside the notes. */
  readonly openingOf: (plan: SpanPlan) => Opening | null;
}

function weigh(history: History, run: AskedRun, circumstances: Circumstances): NotesVerdict {
  const { notes, version, outline, settings, redaction, countTokens } = circumstances;
  const planned = planFromNotes(outline, {
    covered: version.covered.kind === "to" ? version.covered : null,
    policy: run.manual ? { ...run.policy, minSpanTokens: 1 } : run.policy,
    notes: settings.range,
  });
  if (planned.kind === "nothing") return decline(planned.reason, planned.detail);
  const plan = { ...planned, span: resolveEnds(history, planned) };
  if (!notes.endsWithin(version, plan.span)) {
    return decline("too-recent", "The notes tell of messages that are to be kept as they are behind a summary.");
  }
  const known = version.covered.kind === "to" ? redaction.facts(version.facts) : null;
  const facts = known ?? gatherFacts((history.spans.messages(plan.span) ?? []).map(redaction.message));
  return judge(
    run,
    { kind: "ready", plan, version, facts, ...wordNotes(version, settings.shape, { redaction, countTokens }) },
    circumstances,
  );
}

/** Reasons that a newer version of the notes may remove. */
const MAY_PASS: ReadonlySet<WhyModel["reason"]> = new Set<WhyModel["reason"]>([
  "no-notes",
  "not-covered",
  "too-small",
  "unsound",
  "over-threshold",
]);

/** Reasons that an update removes which reads up to the end of the compaction. */
export const IS_BEHIND: ReadonlySet<WhyModel["reason"]> = new Set<WhyModel["reason"]>([
  "no-notes",
  "not-covered",
  "too-small",
  "over-threshold",
]);

/** The live update whose version may help a run that the present notes do not serve. Null when none could help. */
export function findHelp(
  core: Needs<NotesNeeds | "runs">,
  run: AskedRun,
  verdict: NotesVerdict | null,
): LiveRun | null {
  if (verdict?.kind !== "declined" || !MAY_PASS.has(verdict.reason)) return null;
  const update = core.runs.live(run.sessionId).find(({ kind, state }) => kind === "notes" && state !== "paused");
  if (update?.kind !== "notes") return null;
  const history = core.memory.session(run.sessionId);
  const { notes, leafId } = update;
  // A version by hand meanwhile makes the update stale, and one of another branch does not serve this one.
  const inTime = notes === null || notes.lastN === notesOf(core, history).lastNumber();
  return inTime && history.isOnPath(notes?.span.toId ?? leafId, run.leafId) ? update : null;
}

/** A person's notes stay as written. The summary made of them is redacted. */
function wordNotes(
  version: NotesVersion,
  shape: NotesShape,
  { redaction, countTokens }: Pick<Circumstances, "redaction" | "countTokens">,
) {
  return { summary: redaction.text(renderNotes(fitVersion(version, shape, countTokens))), shape };
}

function judge(
  run: AskedRun,
  draft: Omit<ReadyNotes, "tokensAfter"> & { readonly shape: NotesShape },
  { outline, carried, countTokens, openingOf }: Circumstances,
): NotesVerdict {
  const { shape, ...ready } = draft;
  const { plan, summary, facts } = ready;
  const audit = auditSummary({
    text: summary,
    finishReason: "stop",
    spanTokens: plan.spanTokens,
    policy: { ...run.policy, summaryTokens: shape.maxTokens },
    template: { sections: ready.version.sections.map(({ title }) => ({ title, hint: "" })) },
    countTokens,
  });
  if (!audit.ok) {
    const kinds = audit.problems.map(({ kind }) => kind).join(", ");
    return decline("unsound", `The notes do not pass as a summary: ${kinds}.`);
  }
  const { pinnedTokens, loadedTokens } = run.policy;
  const mostTokens = plan.spanTokens - countTokens(summary) - SUMMARY_FRAME_TOKENS;
  const opening = openingOf(plan);
  const own = withoutOpening(facts, opening, plan);
  const pinned = keepFacts(own, { mostTokens, pinnedTokens, loadedTokens, countTokens });
  const summarised = summaryMessage({ overlayId: "", summary, pinned, carried, opening: opening?.text ?? null });
  const text = summarised.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  const tokensAfter = outline.tokens - plan.spanTokens + countTokens(text);
  if (tokensAfter > run.policy.thresholdTokens) {
    return decline(
      "over-threshold",
      `The view would still be ${tokensAfter} tokens: ${plan.tailTokens} are kept behind the notes.`,
    );
  }
  const { maxMessages } = run.policy;
  const messagesAfter = messagesBehind(outline, plan);
  if (maxMessages !== undefined && messagesAfter > maxMessages) {
    return decline(
      "over-threshold",
      `The view would still have more than ${maxMessages} messages: ${messagesAfter} are kept beside the notes.`,
    );
  }
  return { ...ready, tokensAfter };
}

/** Messages and summaries that stay in view with the notes. */
function messagesBehind({ rows }: Outline, { keptId }: SpanPlan): number {
  return keptId === null ? 1 : rows.length - rows.findIndex(({ id }) => id === keptId) + 1;
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
