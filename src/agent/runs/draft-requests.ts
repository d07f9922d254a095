/**
 * What a model is asked about, under which key its answer is stored, and how an answer is audited.
 *
 * The key is found first, and the content is read only where no draft stands under it. So nothing is rendered for an answer that was already
 * paid for. A refused answer is named in the record of the step that asked. A step that runs again, because its result was lost, gets it and
 * does not ask for another (R3).
 *
 * The audit runs here and not in the workflow that asked, because a session's counter is a function of the agent's code. Everything with a
 * budget uses that one counter.
 */
import { MAX_REFERENCED_RATIO, TOLERATED_SUMMARY_TOKENS, PROMPT_OVERHEAD_TOKENS } from "../../limits.ts";
import { planOf, type RunRecord, isCompaction, type Verdict } from "../../memory/runs/runs.ts";
import { digest } from "../../steps/text/digest.ts";
import type { ChunkPlan } from "../../steps/plan/cut.ts";
import { PROMPT_VERSION, type Template } from "../../steps/draft/prompt.ts";
import type {
  Brief,
  DraftReceipt,
  DraftInput,
  ChunkRequest,
  ChunkReading,
  DraftsReading,
  DraftsRequest,
} from "../../workflows/port.ts";
import { carriedBy } from "../../steps/plan/plan.ts";
import type { Needs } from "../core.ts";
import type { StepCall } from "../hooks.ts";
import type { Draft } from "../../memory/drafts.ts";
import { auditSummary, type AuditProblemKind } from "../../steps/draft/audit.ts";
import { type CountTokens, measureMessage, leanMessage } from "../../steps/message/message.ts";
import { STAND_IN_NAME } from "../../steps/draft/fallback.ts";
import { mustDraft, readAround, readBefore, factsOf, readSource, type Folded } from "./sources.ts";
import { assert } from "../../errors.ts";
import type { SentPrompt } from "../../model/chosen.ts";
import type { UIMessage } from "ai";
import { storedId } from "../../steps/view/view.ts";
import { NO_FACTS, type Facts, type Instruction } from "../../facts/fact.ts";
import { redactionOf } from "../redaction.ts";
import { readSlices } from "./read-slices.ts";
import { budgetInModelTokens } from "../token-counter.ts";

/** Largest size of a rebuilt summary, as a share of the summaries that it replaces. The rest is for its frame. */
const REBUILT_SUMMARY_RATIO = 0.9;

/** An earlier summary of a caller may be far larger than ours. Where it is folded in, its tokens keep at least this share of the budget. */
const KEPT_OF_EARLIER = 3 / 5;

/** Source tokens for each token of a summary of one of several chunks. */
export const SOURCE_PER_SUMMARY_TOKEN = 5;

/** The summary of a chunk may take so many tokens, however small the chunk is. They hold a heading and a sentence. */
const LEAST_CHUNK_SUMMARY_TOKENS = 60;

/** A summary into which several are folded takes so many times the tokens of one, and at most half of all summaries' budget. */
const FOLDED_SUMMARIES = 1.5;

/** For the summary of the whole span. It must shrink the view, whatever its budget says. By default with the session's template. */
export function briefOf(core: Needs<"settings">, run: RunRecord, template?: Template): Brief {
  const asked = briefOfModel(run, template ?? core.settings.get(run.sessionId).template);
  // Headings and the token budget belong to our own prompts, and a caller's function does not know them.
  if (run.path !== "function") return asked;
  return { ...asked, template: { sections: [] }, policy: { ...asked.policy, summaryTokens: Number.MAX_SAFE_INTEGER } };
}

function briefOfModel(run: RunRecord, template: Template): Brief {
  const { focus, only } = run;
  const { spanTokens, parts, overlayIds, summaryTokens = run.policy.summaryTokens } = planOf(run);
  const isFold = overlayIds.length > 1;
  const folded = Math.max(
    summaryTokens,
    Math.min(Math.ceil(summaryTokens * FOLDED_SUMMARIES), Math.floor(run.policy.stackTokens / 2)),
  );
  const largestOwn = Math.max(run.policy.summaryTokens, TOLERATED_SUMMARY_TOKENS) * MAX_REFERENCED_RATIO;
  const callers = parts.flatMap((part) =>
    part.kind === "overlay" && part.summaryTokens > largestOwn
      ? [Math.floor(part.summaryTokens * KEPT_OF_EARLIER)]
      : [],
  );
  const policy = {
    ...run.policy,
    summaryTokens: Math.max(isFold ? folded : summaryTokens, ...callers),
    // A rebuild replaces summaries, so it is enough to be smaller at all.
    ...(only === "rebuild" && { maxSummaryRatio: REBUILT_SUMMARY_RATIO }),
  };
  const budget = Math.floor(spanTokens * policy.maxSummaryRatio);
  return { template, policy, focus, spanTokens, summaryTokens: Math.max(1, Math.min(policy.summaryTokens, budget)) };
}

/** For one chunk. Only the whole summary must shrink. A draft has all headings, so that of a very short chunk is longer than the chunk. */
export function briefOfChunk(
  core: Needs<"settings">,
  run: RunRecord,
  { index, tokens }: ChunkPlan,
  template?: Template,
): Brief {
  const whole = briefOf(core, run, template);
  const plan = planOf(run);
  // A chunk that carries on summaries makes the whole one, in place of theirs.
  if (carriedBy(plan, index).length > 0) return whole;
  const isOnly = plan.chunks.length === 1;
  const share = isOnly ? Infinity : Math.max(LEAST_CHUNK_SUMMARY_TOKENS, Math.ceil(tokens / SOURCE_PER_SUMMARY_TOKEN));
  const least = Math.ceil(TOLERATED_SUMMARY_TOKENS / whole.policy.maxSummaryRatio);
  return {
    ...whole,
    spanTokens: Math.max(tokens, least),
    summaryTokens: Math.max(1, Math.min(whole.policy.summaryTokens, share)),
  };
}

export function draftKey(run: RunRecord, of: { model: string; brief: Brief; source: readonly string[] }): string {
  const { template, focus, summaryTokens } = of.brief;
  const fresh = run.fresh ? run.id : "";
  return digest(
    PROMPT_VERSION,
    of.model,
    JSON.stringify(template),
    focus ?? "",
    fresh,
    `${summaryTokens}`,
    ...of.source,
  );
}

/** `brief` is of the whole span. */
export function receiptOf(core: Needs<"settings">, run: RunRecord, draft: Draft, brief?: Brief): DraftReceipt {
  const { key, tokens, model } = draft;
  const isSummary = isCompaction(run);
  // The engine keeps the receipt. What a model made up may be half of what was said, and a room's problems may quote its text (S2). A repair
  // reads them here.
  const problems = draft.problems.map((each) =>
    each.kind === "unfounded" || !isSummary ? { ...each, detail: "" } : each,
  );
  const unfit = isSummary ? findUnfit(core.settings.counterOf(run.sessionId), brief ?? briefOf(core, run), draft) : [];
  return { kind: "draft", model, key, soundKey: key, tokens, reused: true, problems, unfit };
}

/** The same for the ledger. */
export function verdictOf({ tokens, problems, unfit }: DraftReceipt): Verdict {
  return { tokens, problems: problems.map(({ kind }) => kind), unfit };
}

/** Skips the check whether the source had content, because the source is at hand only where an answer is stored. */
function findUnfit(countTokens: CountTokens, brief: Brief, { text, finishReason }: Draft): readonly AuditProblemKind[] {
  const audit = auditSummary({ text, finishReason, ...brief, hasMatter: () => false, countTokens });
  return audit.ok ? [] : audit.problems.map(({ kind }) => kind);
}

/** Closes the step with the draft that was paid for. Where there is none, notes what the call that follows will cost, and returns null. */
export function reuseDraft(
  core: Needs<"memory" | "settings">,
  call: StepCall,
  { key: soundKey, tokens, model }: Pick<Found<unknown>, "key" | "tokens" | "model">,
): DraftReceipt | null {
  const { run, step } = call;
  const refused = step?.refused;
  const sound = core.memory.drafts.get(run.sessionId, soundKey);
  const draft = sound ?? (refused?.soundKey === soundKey ? mustDraft(core, run, refused.key) : null);
  if (draft === null) {
    const cost = { inputTokens: tokens + PROMPT_OVERHEAD_TOKENS, outputTokens: run.policy.summaryTokens };
    const summariser = { ...cost, estimatedTokens: cost.inputTokens + cost.outputTokens };
    if (model !== STAND_IN_NAME) call.ask({ model, summariser });
    return null;
  }
  // A draft that this very step paid for counts as its own, and not as reused in place of a call.
  const receipt = { ...receiptOf(core, run, draft), soundKey };
  call.close({
    reused: !step?.calls,
    verdict: verdictOf(receipt),
  });
  return receipt;
}

export type Audited = Pick<Draft, "tokens" | "problems">;

/** `whole` is the brief of the whole span, by default the session's own. */
export function auditAnswer(
  core: Needs<"memory" | "rooms" | "settings">,
  run: RunRecord,
  answer: DraftInput,
  whole?: Brief,
): Audited {
  const { text, finishReason, answers, again } = answer;
  const countTokens = core.settings.counterOf(run.sessionId);
  const tokens = countTokens(text);
  if (answers.kind === "room") {
    const room = core.rooms.runs?.[run.kind];
    assert(room !== undefined && run.outcome === null, "Only a room's own step of a live run asks for its audit.");
    return { tokens, problems: room.audit(run, answer) };
  }
  // A summary without a model is accepted, because nothing below it could replace it. The commit still refuses one that would not
  // shrink the view.
  if (answer.cost === null) return { tokens, problems: [] };
  const { spanTokens, hasMatter } = answers;
  const brief = { ...(whole ?? briefOf(core, run)), spanTokens };
  // It is repaired once. What is left then is marked.
  const unfounded = again ? [] : answers.unfounded;
  const audit = auditSummary({
    ...brief,
    text,
    finishReason,
    unfounded,
    byModel: true,
    hasMatter: () => hasMatter,
    countTokens,
  });
  return { tokens, problems: audit.ok ? [] : audit.problems };
}

/** Null on every try but the first, because a later one makes the plain call. */
export function sentPrompt(
  core: Needs<"health" | "platform" | "rooms">,
  sessionId: string,
  { continues, attempt }: { readonly continues: ChunkRequest["continues"] | undefined; readonly attempt: number },
): SentPrompt | null {
  if (continues === undefined || attempt > 1 || core.health.isOpen(continues.name, core.platform.now())) return null;
  return core.rooms.sent?.(sessionId, continues.id) ?? null;
}

/** What a model is asked about, with the key of its answer. `read` returns what it is shown. */
export interface Found<Shown> {
  readonly key: string;
  /** Tokens of the source. */
  readonly tokens: number;
  readonly model: string;
  read(): Shown;
}

type ChunkSource = Omit<Extract<ChunkReading, { kind: "source" }>, "leftMs">;
type DraftsSource = Omit<Extract<DraftsReading, { kind: "drafts" }>, "leftMs">;

/** Reads no message yet. What the chunk shows is read in slices, and is null where its messages changed since the plan. */
export function chunkRequest(
  core: Needs<"memory" | "read" | "settings" | "uses">,
  run: RunRecord,
  request: ChunkRequest,
  template?: Template,
): Found<Promise<ChunkSource | null>> {
  const { sessionId } = run;
  const chunk = planOf(run).chunks[request.index];
  const planned = run.chunkDigests[request.index];
  assert(chunk !== undefined && planned !== undefined, `Chunk ${request.index} is not in the plan.`);
  const plan = planOf(run);
  const brief = briefOfChunk(core, run, chunk, template);
  const redaction = redactionOf(core.settings.get(sessionId));
  const carried = carriedBy(plan, request.index).map((id) => readSource(core, run, { kind: "overlay", id }));
  const history = core.memory.session(sessionId);
  const seen = { sessionId, leafId: history.leafAfter(run.leafId) };
  const { names } = readBefore(core, seen, plan);
  const isLast = chunk.toId === plan.span.toId && chunk.toStep === plan.span.toStep;
  const source = ["chunk", planned, ...redaction.names, ...carried.map(({ name }) => name), "beside", ...names];
  const key = request.repairOf ?? draftKey(run, { model: request.model, brief, source });
  const read = async (): Promise<ChunkSource | null> => {
    const reader = history.spans.reader(chunk);
    if (reader === null) return null;
    const slices = await readSlices(core, { sessionId, reader }, (each) => each.map(redaction.message));
    if (reader.digest !== planned) return null;
    const messages = slices.flat();
    // Files may exceed what RPC takes.
    const lean = messages.map(leanMessage);
    const weigh = (count: CountTokens): number =>
      messages.reduce((sum, message) => sum + measureMessage(message, count).tokens, 0);
    const askTokens = budgetInModelTokens(core.settings.counterOf(sessionId), brief.summaryTokens, weigh);
    const around = await core.read(sessionId, () => readAround(core, seen, plan));
    return {
      kind: "source",
      key,
      messages: lean,
      brief,
      askTokens,
      unfounded: carried.flatMap(({ unfounded }) => unfounded),
      previous: carried.length === 0 ? null : carried.map(({ text }) => redaction.text(text)).join("\n\n"),
      facts: [...carried.map(({ facts }) => facts), ...rereadFacts(core, run, messages)].map(redaction.facts),
      generation: 1 + Math.max(0, ...carried.map(({ generation }) => generation)),
      around: { ...around, following: isLast ? around.following : [] },
    };
  };
  return { key, tokens: chunk.tokens, model: request.model, read };
}

/**
 * The instructions that earlier summaries of these messages name, where the messages are read again instead of the summaries. The model is
 * asked not to list them, so the draft has them from here.
 */
function rereadFacts(core: Needs<"memory">, run: RunRecord, messages: readonly UIMessage[]): Facts[] {
  const { overlayIds, parts } = planOf(run);
  const folded = new Set(parts.flatMap((part) => (part.kind === "overlay" ? [part.id] : [])));
  const { overlays } = core.memory.session(run.sessionId);
  const again = overlayIds.filter((id) => !folded.has(id)).flatMap((id) => overlays.get(id) ?? []);
  const shown = new Set(messages.map(({ id }) => storedId(id)));
  const isShown = ({ messageId }: Instruction): boolean => shown.has(messageId);
  return again.map((overlay) => {
    const { instructions, ended } = factsOf(core, overlay, run.sessionId);
    return { ...NO_FACTS, instructions: instructions.filter(isShown), ended: ended.filter(isShown) };
  });
}

/** `sources` are what the request names, oldest first. */
export function mergeRequest(
  core: Needs<"settings">,
  run: RunRecord,
  { request, sources }: { readonly request: DraftsRequest; readonly sources: readonly Folded[] },
  template?: Template,
): Found<DraftsSource> {
  // A person may have written an earlier summary, or the notes that it was made of, and it may be older than the rules.
  const redaction = redactionOf(core.settings.get(run.sessionId));
  const brief = briefOf(core, run, template);
  const named = ["fold", ...redaction.names, ...sources.map(({ name }) => name)];
  const key = request.repairOf ?? draftKey(run, { model: request.model, brief, source: named });
  const weigh = (count: CountTokens): number => sources.reduce((sum, { text }) => sum + count(text), 0);
  const countTokens = core.settings.counterOf(run.sessionId);
  return {
    key,
    tokens: weigh(countTokens),
    model: request.model,
    read: () => {
      const firstDraft = sources.findIndex(({ kind }) => kind === "draft");
      const earlier = firstDraft === -1 ? [] : sources.slice(0, firstDraft);
      return {
        kind: "drafts",
        key,
        drafts: sources.slice(earlier.length).map(({ text }) => redaction.text(text)),
        previous: earlier.length === 0 ? null : earlier.map(({ text }) => redaction.text(text)).join("\n\n"),
        degraded: sources.some((source) => source.degraded),
        generation: 1 + Math.max(...sources.map(({ generation }) => generation)),
        facts: sources.map(({ facts }) => redaction.facts(facts)),
        brief,
        askTokens: budgetInModelTokens(countTokens, brief.summaryTokens, weigh),
        unfounded: sources.flatMap(({ unfounded }) => unfounded),
      };
    },
  };
}
