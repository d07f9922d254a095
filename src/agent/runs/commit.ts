/**
 * The one commit of a summary, from a model of the workflow, a caller's function, or notes, and the state of the session at that moment.
 *
 * The caller has audited the text, because each path handles a refusal in its own way. A block's provider is called outside of any
 * transaction. One that fails only means that nothing is carried.
 */
import type { UIMessage } from "ai";
import { CARRIED_TOKENS, SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import type { Facts, Saying, Pinned } from "../../facts/fact.ts";
import type { Boundary, Carried, Deadline, Opening, OverlayDetails } from "../../memory/overlays/overlay.ts";
import { type LiveRun, planOf, type Finished, type Outcome, type RunRecord } from "../../memory/runs/runs.ts";
import { cutSection, withoutEmptySections } from "../../steps/draft/audit.ts";
import { renderTranscript, wholeCharacters } from "../../steps/draft/render.ts";
import { type CountTokens, textsOf } from "../../steps/message/message.ts";
import type { SpanPlan } from "../../steps/plan/plan.ts";
import type { Needs } from "../core.ts";
import { redactionOf } from "../redaction.ts";
import { assert } from "../../errors.ts";
import type { Draft } from "../../memory/drafts.ts";
import type { Span } from "../../steps/plan/outline.ts";
import { keepFacts, type Before, type KeepBudget } from "../../facts/gather.ts";
import { besides, opened } from "../../facts/render.ts";
import { readBefore, factsOf } from "./sources.ts";
import { promptTokens } from "../reports/usage.ts";
import { conclude, type Concludes } from "./split.ts";

/** For an overlay's details. Call inside the transaction that lays it. */
export function describeBoundary(
  core: Needs<"memory" | "settings">,
  run: LiveRun,
  { plan, carried }: { plan: SpanPlan; carried: readonly Carried[] },
): { boundary: Boundary; carried: readonly Carried[]; opening: Opening | null } {
  const { sessionId, trigger, tokensBefore, leafId } = run;
  const { headTokens, tailTokens, keptId } = plan;
  const tools = core.memory.session(sessionId).spans.toolsUpTo(plan.span);
  const kept = { headTokens, tailTokens, fromId: keptId };
  const opening = openingOf(core, run, plan);
  return { boundary: { trigger, tokensBefore, lastMessageId: leafId, tools, kept }, carried, opening };
}

/**
 * The opening of the conversation, for a summary that hides it. It comes from the messages that this summary is the first to hide, or from
 * the summaries that it folds in.
 */
export function openingOf(
  core: Needs<"memory" | "settings">,
  { sessionId, policy }: Pick<LiveRun, "sessionId" | "policy">,
  { head, overlayIds }: Pick<SpanPlan, "head" | "overlayIds">,
): Opening | null {
  const { countTokens, secretRules } = core.settings.get(sessionId);
  const redaction = redactionOf({ secretRules });
  const history = core.memory.session(sessionId);
  const read = (id: string): UIMessage[] => {
    const message = history.get(id);
    return message === null ? [] : [redaction.message(message)];
  };
  const whole = head.inWords.flatMap(read);
  const begun = head.beginningOf === null ? [] : read(head.beginningOf);
  const texts = [
    ...(whole.length === 0 ? [] : [wholeWords(whole)]),
    ...begun.map((message) => beginningWords(message, policy.openingTokens, countTokens)),
  ].filter((text) => text.trim() !== "");
  const messageId = begun[0]?.id ?? whole.at(-1)?.id;
  if (messageId !== undefined && texts.length > 0) return { messageId, text: texts.join("\n\n") };
  const earlier = overlayIds
    .map((id) => history.overlays.get(id)?.details.opening ?? null)
    .find((each) => each !== null);
  return earlier === undefined || earlier === null ? null : { ...earlier, text: redaction.text(earlier.text) };
}

/** The facts without what the user said in a message that the opening quotes whole. It would stand there twice. */
export function withoutOpening(facts: Facts, opening: Opening | null, { head }: Pick<SpanPlan, "head">): Facts {
  if (opening === null) return facts;
  const quoted = new Set([opening.messageId, ...head.inWords]);
  const isThere = ({ messageId, text, left }: Saying): boolean =>
    quoted.has(messageId) && left === 0 && opening.text.includes(text);
  return { ...facts, said: facts.said.filter((each) => !isThere(each)) };
}

/** The full text of messages. A single user message is quoted as it is. */
function wholeWords(messages: readonly UIMessage[]): string {
  const [first] = messages;
  if (messages.length === 1 && first?.role === "user") return textsOf(first.parts).join("\n");
  return renderTranscript(
    messages.map((message) => ({ kind: "message" as const, message })),
    { reasoningChars: 0 },
  );
}

/** The beginning of a message within so many tokens. */
function beginningWords({ parts }: UIMessage, tokens: number, countTokens: CountTokens): string {
  const text = textsOf(parts).join("\n");
  let cut = wholeCharacters(text, 0, tokens * 8);
  while (cut !== "" && countTokens(cut) > tokens) cut = wholeCharacters(cut, 0, Math.floor(cut.length * 0.9));
  return cut === text ? text : `${cut} […]`;
}

/** The present texts of the blocks that a session's summaries carry along. */
export async function readCarried(core: Needs<"rooms" | "settings">, sessionId: string): Promise<readonly Carried[]> {
  const settings = core.settings.get(sessionId);
  const { countTokens } = settings;
  const read = (await core.rooms.carriedTexts?.(sessionId)) ?? [];
  return redactionOf(settings).carried(
    read.map(({ label, text }) => ({
      label,
      text: cutSection(text, CARRIED_TOKENS, { pointer: "[…]", countTokens }),
    })),
  );
}

export interface Summary {
  readonly span: Span;
  readonly text: string;
  /** Facts of everything under the span. */
  readonly facts: Facts;
  readonly lineage: Lineage;
  /** Texts of context blocks at the time of the summary. */
  readonly carried: readonly Carried[];
  /** What the text names although it stands nowhere in what its author was shown. Default: nothing. */
  readonly unfounded?: readonly string[];
}

/** The author of a summary, and its parts. */
export type Lineage = Pick<OverlayDetails, "model" | "degraded" | "level" | "generation"> &
  Partial<Pick<OverlayDetails, "madeOf" | "draftKey" | "notesVersion">>;

/**
 * Commits a run's summary and ends the run. Where the session asks a person, the summary is proposed, and a person's decision ends the run.
 * Call inside a transaction. Throws `invalid_range` for an invalid span.
 */
export function addSummary(core: Concludes & Needs<"platform">, run: LiveRun, summary: Summary): Finished {
  const laid = layOrPropose(core, run, summary);
  return laid.kind === "proposed" ? laid : conclude(core, run, laid);
}

/** As {@link addSummary}, and leaves it to the caller to end the run. */
export function layOrPropose(
  core: Needs<"memory" | "platform" | "runs" | "settings" | "usage">,
  run: LiveRun,
  summary: Summary,
): Finished {
  const { approval } = core.settings.get(run.sessionId);
  const deadline =
    approval === null ? null : { expiresAt: core.platform.now() + approval.timeoutMs, onTimeout: approval.onTimeout };
  const laid = laySummary(core, run, { ...summary, deadline });
  if (laid.kind === "proposed") core.runs.propose(run);
  return laid;
}

/**
 * Commits what a run proposed, or a person's own text in its place, through the fence of any commit, and ends the run. Call inside a
 * transaction.
 */
export function addProposed(core: Concludes, run: LiveRun, own: Pick<Draft, "key" | "text" | "model"> | null): Outcome {
  const { overlays } = core.memory.session(run.sessionId);
  const proposal = overlays.takeProposal(run.id);
  if (proposal === null) return conclude(core, run, { kind: "stale", reason: "changed" });
  const { model, degraded, level, generation, madeOf, draftKey, notesVersion, carried, pinned } = proposal.details;
  const made = { level, generation, madeOf, notesVersion };
  const lineage =
    own === null
      ? { ...made, model, degraded, draftKey }
      : { ...made, model: own.model, degraded: false, draftKey: own.key };
  const text = own?.text ?? proposal.summary;
  const unfounded = pinned.unfounded.filter((each) => text.includes(each));
  const facts = factsOf(core, proposal, run.sessionId);
  const laid = laySummary(core, run, { span: proposal.span, text, facts, lineage, carried, unfounded, deadline: null });
  assert(laid.kind !== "proposed", "A summary without a deadline is not proposed.");
  return conclude(core, run, laid);
}

/**
 * Ends a run whose proposal nobody decided in time, or whose messages were changed. Does nothing before. Call inside a transaction.
 */
export function endProposal(core: Concludes & Needs<"platform">, run: LiveRun): void {
  const proposal = core.memory.session(run.sessionId).overlays.proposalOf(run.id);
  const deadline = proposal?.details.deadline;
  if (deadline == null) core.endRun(run, { kind: "stale", reason: "changed" });
  else if (core.platform.now() < deadline.expiresAt) return;
  else if (deadline.onTimeout === "apply") addProposed(core, run, null);
  else core.endRun(run, { kind: "nothing", reason: "declined", detail: "Nobody approved the summary in time." });
}

/** Returns the outcome with the view's size before and after. With a deadline the summary is proposed. */
function laySummary(
  core: Needs<"memory" | "settings" | "usage">,
  run: LiveRun,
  summary: Summary & { readonly deadline: Deadline | null },
): Finished {
  const plan = planOf(run);
  const { span, text, facts, lineage, carried } = summary;
  const history = core.memory.session(run.sessionId);
  // The run's leaf may have been deleted. Then the active branch stays in view.
  const seen = { sessionId: run.sessionId, leafId: history.leafAfter(run.leafId) };
  const { before, knows, freedTokens } = readBefore(core, seen, plan);
  const shown = describeBoundary(core, run, { plan, carried });
  const texts = opened({ opening: shown.opening?.text ?? null }) + besides(shown);
  const spanTokens = plan.spanTokens + freedTokens - core.settings.counterOf(run.sessionId)(texts);
  const own = withoutOpening(facts, shown.opening, plan);
  const beside = pinBeside(core, run, { text, facts: own, spanTokens, freedTokens }, before);
  const pinned = { ...beside, unfounded: summary.unfounded ?? [] };
  const result = history.overlays.add({
    span,
    summary: text,
    runId: run.id,
    leafId: run.leafId,
    overlayIds: plan.overlayIds,
    ...(run.planDigest === null ? {} : { digest: run.planDigest }),
    details: {
      ...lineage,
      trigger: run.trigger,
      focus: run.focus,
      // A draft already holds the facts of its source.
      facts: lineage.draftKey == null ? facts : null,
      pinned,
      knows,
      sourceTokens: sourceTokensOf(core, run),
      ...shown,
      deadline: summary.deadline,
    },
  });
  if (result.kind === "stale") return { kind: "stale", reason: result.reason };
  if (result.kind === "proposed") return { kind: "proposed", overlayId: result.overlay.id };
  return {
    kind: "applied",
    overlayId: result.overlay.id,
    tokensBefore: run.tokensBefore,
    tokensAfter: promptTokens(core, run.sessionId, history.has(run.leafId) ? run.leafId : null),
    degraded: lineage.degraded,
    ...(result.kind === "applied" && result.rebased && { rebased: true }),
  };
}

/** Tokens of the messages under a plan's span, also of those under the overlays that it folds in. Null where one does not tell. */
function sourceTokensOf(core: Needs<"memory">, run: RunRecord): number | null {
  const { chunks, parts } = planOf(run);
  const { overlays } = core.memory.session(run.sessionId);
  const own = parts.map((part) =>
    part.kind === "chunk" ? (chunks[part.index]?.tokens ?? 0) : (overlays.get(part.id)?.details.sourceTokens ?? null),
  );
  return own.reduce<number | null>((sum, tokens) => (sum === null || tokens === null ? null : sum + tokens), 0);
}

/** What stands beside a summary of a run's span, within the budgets of the run's policy. */
export function pinBeside(
  core: Needs<"settings">,
  run: RunRecord,
  {
    text,
    facts,
    spanTokens = planOf(run).spanTokens,
    freedTokens,
  }: Pick<Summary, "text" | "facts"> & Pick<KeepBudget, "freedTokens"> & { readonly spanTokens?: number },
  before: Before,
): Pinned {
  const countTokens = core.settings.counterOf(run.sessionId);
  const { pinnedTokens, loadedTokens } = run.policy;
  const mostTokens = spanTokens - countTokens(withoutEmptySections(text)) - SUMMARY_FRAME_TOKENS;
  return keepFacts(facts, { mostTokens, freedTokens, pinnedTokens, loadedTokens, countTokens }, before);
}
