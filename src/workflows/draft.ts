/**
 * Makes one draft. The functions here are the bodies of the "summarize", "merge", "repair" and "extract" steps.
 *
 * Each reads from the agent, asks a model at most once, stores the answer in the agent and returns a receipt. A failure that another try
 * may cure is thrown plainly, and the step retries. Other failures (auth, quota, refusal, too long) throw a NonRetryableError, and the
 * workflow goes down a rung.
 */
import { NonRetryableError } from "cloudflare:workflows";
import type { UIMessage } from "ai";
import type { ChosenModel, SentPrompt } from "../model/chosen.ts";
import { type CallCost, summarize, type SummarizeResult } from "../model/summarize.ts";
import { extractiveModel } from "../model/extractive.ts";
import type { Failure, ModelFailureCode } from "../model/failures.ts";
import { unfoundedProblem, type AuditProblemKind, sharesWords, tellsSomething } from "../steps/draft/audit.ts";
import {
  LEAST_TRY_MS,
  MAX_CHARS_PER_TOKEN,
  MODEL_CALL_MS,
  PROMPT_AROUND_TOKENS,
  THINKING_TOKENS,
  TOLERATED_SUMMARY_TOKENS,
} from "../limits.ts";
import { NO_FACTS, type Facts, type Instruction } from "../facts/fact.ts";
import { findUnfounded, withoutLooseQuotes } from "../facts/founded.ts";
import { gatherFacts, mergeFacts } from "../facts/gather.ts";
import { checkInstructions, mergeInstructions, readAnswer, type Shown } from "../facts/instructions.ts";
import { renderInstructions } from "../facts/render.ts";
import { elementInOwnWords } from "../facts/said.ts";
import { EXTRACTIVE_NAME, hasWords, STAND_IN_NAME } from "../steps/draft/fallback.ts";
import { buildPrompt, type PromptAround, type PromptInput } from "../steps/draft/prompt.ts";
import { keepReferences, numberMessages, parseReferences, referencesIn } from "../steps/draft/provenance.ts";
import { referenceTo } from "../steps/message/message.ts";
import { elementOf, renderTranscript } from "../steps/draft/render.ts";
import { stripInvisible } from "../steps/text/text.ts";
import type {
  AroundSource,
  Brief,
  CompactionPort,
  DraftInput,
  DraftReceipt,
  PlannedOverlay,
  RunEnded,
  StepMark,
} from "./port.ts";

/** Longest wait (ms) of a step on a provider's request. Beyond it, the step's own backoff applies. */
const MAX_POLITE_WAIT_MS = 60_000;

/**
 * Waits (ms) before an answer is sent to the agent again. The first retry is immediate, for a reset, and the others outlast a deploy.
 * Together with a model's longest call they stay under the step's own timeout.
 */
const SAVE_AGAIN_MS: readonly number[] = [0, 1_000, 4_000];

export type Drafted = DraftReceipt | RunEnded;

/** The calls that a draft takes. */
export type DraftPort = Pick<CompactionPort, "read" | "saveDraft" | "noteFailure">;

/** The model that drafts, and the step for which it does so. */
export interface Drafting<Port extends DraftPort = DraftPort> {
  readonly port: Port;
  readonly mark: StepMark;
  readonly model: ChosenModel;
}

/** Key of the next answer, and the problems for which the earlier answer was refused. */
export interface NextTry {
  readonly repairOf: string;
  readonly problems: readonly string[];
}

export async function summarizeChunk(by: Drafting, index: number, again?: NextTry): Promise<Drafted> {
  const { continues } = by.model;
  const source = await by.port.read(by.mark, {
    kind: "chunk",
    index,
    model: by.model.name,
    repairOf: again?.repairOf,
    continues: again === undefined && continues !== undefined ? { id: continues.id, name: continues.name } : undefined,
  });
  if (source.kind !== "source") return source;
  const { messages, previous, around } = source;
  const isOffline = by.model === EXTRACTIVE || by.model.name === EXTRACTIVE_NAME;
  const maxChars = source.brief.policy.chunkTokens * MAX_CHARS_PER_TOKEN;
  const transcript = renderTranscript(messages.map(isOffline ? elementInOwnWords : elementOf), { maxChars });
  const numbers = numberMessages(messages);
  const named = [...numbers.values()].map(referenceTo);
  const known = [...named, ...[previous ?? "", ...around.earlier].flatMap(referencesIn)];
  const refer = (text: string): string => keepReferences(parseReferences(text, numbers), known);
  const gathered = gatherFacts(messages);
  const facts = mergeFacts([...source.facts, gathered]);
  const held = around.instructions.reduce(mergeInstructions, NO_FACTS).instructions;
  const shown = { messages, numbers, before: [...held, ...facts.instructions] };
  return ask(
    by,
    { ...source, facts, degraded: false, refer, shown },
    { kind: "chunk", transcript, previous, around: tellAround(around, held, gathered), problems: again?.problems },
  );
}

/** Characters of all that is shown of one side of the source. */
const AROUND_CHARS = (PROMPT_AROUND_TOKENS * MAX_CHARS_PER_TOKEN) / 3;

function render(messages: readonly UIMessage[], maxChars: number): string {
  return renderTranscript(messages.map(elementOf), { maxChars });
}

/** A number names a message of the transcript, and no other. */
function withoutNumbers(transcript: string): string {
  return transcript.replaceAll(/^\[#\d+ (\w+)\]$/gm, "[$1]");
}

function tellAround(
  { head, earlier, following, kept }: AroundSource,
  held: readonly Instruction[],
  { loaded }: Facts,
): PromptAround {
  const names = new Set([...kept, ...loaded.flatMap(({ name, text }) => (text === "" ? [] : [name]))]);
  for (const { name, doubted } of loaded) if (doubted === true) names.delete(name);
  return {
    before: withoutNumbers(render(head, AROUND_CHARS * 2)),
    earlier: earlier.join("\n\n"),
    after: withoutNumbers(render(following, AROUND_CHARS)),
    instructions: renderInstructions(held),
    kept: [...names].map((name) => `- ${name}`).join("\n"),
  };
}

/** A summary or a draft that a merged draft is made of. */
export type MergeSource = PlannedOverlay | DraftReceipt;

/** Folds drafts and earlier summaries, oldest first, into one. */
export async function mergeDrafts(by: Drafting, merged: readonly MergeSource[], again?: NextTry): Promise<Drafted> {
  const sources = merged.map((source) =>
    source.kind === "overlay" ? { kind: source.kind, id: source.id } : { kind: source.kind, key: source.key },
  );
  const repairOf = again?.repairOf;
  const source = await by.port.read(by.mark, { kind: "drafts", sources, model: by.model.name, repairOf });
  if (source.kind !== "drafts") return source;
  const { drafts, previous } = source;
  const facts = mergeFacts(source.facts);
  return ask(
    by,
    { ...source, facts, refer: referTo(source) },
    { kind: "merge", drafts, previous, problems: again?.problems },
  );
}

/** Problems that a repair of the draft itself can fix. A draft with any other problem is no summary, so there is nothing to repair. */
const MENDABLE: ReadonlySet<string> = new Set<AuditProblemKind>(["too-large", "unfounded"]);

/**
 * Asks once more for a draft that failed its audit, and names its problems. A draft that is no summary (a refusal, an
 * echo, an answer to what the transcript asks for) is not shown again. The model reads its source instead.
 */
export async function repairDraft(
  by: Drafting,
  rejected: DraftReceipt,
  source: (again: NextTry) => Promise<Drafted>,
): Promise<Drafted> {
  // A model that continued the agent's prompt may have gone on with the conversation. Such an answer holds nothing to mend.
  const holdsMatter = by.model.continues === undefined || rejected.problems.every(({ kind }) => kind === "too-large");
  if (holdsMatter && rejected.problems.every(({ kind }) => MENDABLE.has(kind))) return mendDraft(by, rejected);
  return source({ repairOf: rejected.soundKey, problems: rejected.problems.map(({ detail }) => detail) });
}

async function mendDraft(by: Drafting, rejected: DraftReceipt): Promise<Drafted> {
  const source = await by.port.read(by.mark, {
    kind: "drafts",
    sources: [{ kind: "draft", key: rejected.key }],
    repairOf: rejected.soundKey,
    model: by.model.name,
  });
  if (source.kind !== "drafts") return source;
  const problems = rejected.problems.map(({ kind, detail }) =>
    kind === "unfounded" ? unfoundedProblem(source.unfounded) : detail,
  );
  // A repair keeps the generation of the draft, because it does not write the source's text anew.
  const generation = Math.max(1, source.generation - 1);
  return ask(
    by,
    { ...source, facts: mergeFacts(source.facts), generation, refer: referTo(source) },
    { kind: "repair", drafts: source.drafts, problems },
  );
}

/**
 * The model of the rung that cannot fail. It reads the same prompt as any other, cannot be down, and quotes the source. Its drafts are
 * marked as degraded.
 */
export const EXTRACTIVE: ChosenModel = { model: extractiveModel(), name: STAND_IN_NAME, windowTokens: 1_000_000 };

/** Prefix of a failure that concerns one source, so the model may be asked about another one. The breaker decides when a model rests. */
export const SOURCE_FAULT = "this source: ";
const OF_SOURCE: ReadonlySet<string> = new Set<ModelFailureCode>([
  "content-filter",
  "too-long",
  "bad-request",
  "answer-too-long",
]);

/** A fold or a repaired draft can only use references that its sources use. */
function referTo({ drafts, previous }: { drafts: readonly string[]; previous: string | null }) {
  const known = [previous ?? "", ...drafts].flatMap(referencesIn);
  return (text: string): string => keepReferences(text, known);
}

interface DraftSource {
  readonly key: string;
  readonly brief: Brief;
  readonly facts: Facts;
  readonly generation: number;
  readonly degraded: boolean;
  readonly askTokens: number;
  readonly unfounded: readonly string[];
  readonly leftMs: number;
  /** A chunk's messages, and the prompt that the agent last sent. */
  readonly messages?: readonly UIMessage[];
  readonly sent?: SentPrompt;
  /** What instructions are checked against. Absent where the source has no messages, and then the answer names none. */
  readonly shown?: Shown;
  /** Removes from an answer the references to messages that cannot be true. */
  refer(text: string): string;
}

async function ask(
  by: Drafting,
  source: DraftSource,
  input: Pick<PromptInput, "kind" | "transcript" | "previous" | "drafts" | "around" | "problems">,
): Promise<Drafted> {
  const { model } = by;
  const { brief, key, generation, askTokens } = source;
  const promptInput: PromptInput = {
    ...input,
    focus: brief.focus,
    template: brief.template,
    summaryTokens: askTokens,
    // Fresh for each call. A transcript cannot guess it, so nothing inside can end the block that holds it.
    boundary: newBoundary(),
  };
  const asked = chooseCall(model, source, promptInput);
  const answer = await askOnce({ ...by, ...asked }, { ...asked, answerTokens: askTokens, leftMs: source.leftMs });
  const { finishReason, cost } = answer;
  const extracted = model === EXTRACTIVE;
  const shown = extracted ? undefined : source.shown;
  const titles = brief.template.sections.map(({ title }) => title);
  const answered = readAnswer(stripInvisible(answer.text), titles, shown);
  const { transcript = null, previous = null, drafts = [] } = input;
  const found = shown === undefined ? [] : [checkInstructions(answered, shown)];
  const facts = mergeFacts([source.facts, ...found.map((each) => ({ ...each, said: [], loaded: [] }))]);
  // A repair sees the draft alone, so what it names beside that is made up, and what was listed stands there.
  const seen = `${asked.before ?? ""}${asked.system}\n${asked.prompt}`;
  const summary = extracted ? answered.summary : withoutLooseQuotes(answered.summary, seen);
  const unfounded = extracted ? { all: [], asked: [] } : findUnfounded(summary, seen);
  const still = source.unfounded.filter((each) => summary.includes(each));
  const hints = brief.template.sections.map(({ hint }) => hint);
  const told = [transcript ?? "", previous ?? "", ...drafts].join("\n");
  const hasMatter = tellsSomething(summary, hints) ? !sharesWords(summary, told) : hasWords(told);
  return saveAnswer(by, {
    key,
    text: source.refer(summary),
    model: asked.model.name,
    finishReason,
    cost: extracted ? null : cost,
    degraded: extracted || source.degraded,
    generation,
    facts,
    unfounded: [...new Set([...still, ...unfounded.all])],
    again: input.problems !== undefined,
    answers: { kind: "summary", spanTokens: brief.spanTokens, hasMatter, unfounded: unfounded.asked },
  });
}

/** A model with the prompt that it is sent. `before` is the prompt that this one continues. */
interface ChosenCall extends Pick<ModelCall, "system" | "prompt"> {
  readonly model: ChosenModel;
  readonly before: string | null;
}

/** The call to make: the plain one, or one that continues the agent's own prompt where that costs less. */
export function chooseCall(
  model: ChosenModel,
  { sent, messages = [], askTokens }: Pick<DraftSource, "sent" | "messages" | "askTokens">,
  input: PromptInput,
): ChosenCall {
  const plain = buildPrompt(input);
  const question = { messages, input, plain, answerTokens: askTokens };
  const continued = sent === undefined ? null : model.continues?.ask({ ...question, sent });
  return continued ?? { model, ...plain, before: null };
}

/** Stores an answer under a new answer id. */
export function saveAnswer(
  { port, mark }: Drafting,
  answer: Omit<DraftInput, "answerId">,
): Promise<DraftReceipt | RunEnded> {
  const named = { ...answer, answerId: crypto.randomUUID() };
  return tell(
    () => port.saveDraft(mark, named),
    async (receipt) => receipt,
  );
}

/** No try brought an answer to the agent. The step's next try goes on with `resume`, so the answer is neither paid for again nor left off the bill. */
export class Unsent extends Error {
  readonly resume: () => Promise<Drafted>;

  constructor(cause: unknown, resume: () => Promise<Drafted>) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.resume = resume;
  }
}

/**
 * Sends an answer to the agent, with a fresh stub for each try, and goes on with the receipt. All tries carry the same answer id, so the
 * ledger bills an answer once even when its receipt was lost. Throws {@link Unsent}.
 */
async function tell<Receipt, Result extends Drafted>(
  send: () => Promise<Receipt>,
  goOn: (receipt: Receipt) => Promise<Result>,
  [waitMs, ...later] = SAVE_AGAIN_MS,
): Promise<Result> {
  let receipt: Receipt;
  try {
    receipt = await send();
  } catch (error) {
    // The agent itself is gone.
    if (error instanceof NonRetryableError) throw error;
    if (waitMs === undefined) throw new Unsent(error, () => tell(send, goOn));
    await scheduler.wait(waitMs);
    return tell(send, goOn, later);
  }
  return goOn(receipt);
}

/** Returns twelve random hex digits, drawn anew for each prompt. They are few, because each block that they close costs their tokens. */
export function newBoundary(): string {
  return crypto.randomUUID().slice(-12);
}

interface ModelCall {
  readonly system: string;
  readonly prompt: string;
  /** The prompt that this one continues. */
  readonly before?: string | null;
  readonly answerTokens: number;
  /** Time (ms) that is left in this step for a model's answer. */
  readonly leftMs: number;
}

/** Calls the model once. Without a text it throws an error that either allows or forbids a retry of the step. */
export async function askOnce(
  by: Drafting,
  { system, prompt, before = null, answerTokens, leftMs }: ModelCall,
): Promise<SummarizeResult & { readonly kind: "text" }> {
  const began = Date.now();
  const answer = await summarize({
    model: by.model.model,
    system,
    prompt,
    before,
    maxOutputTokens: Math.max(answerTokens, TOLERATED_SUMMARY_TOKENS) * 3,
    // A try that thought too long ended without an answer.
    thinkingTokens: Math.min(THINKING_TOKENS * 2 ** (by.mark.attempt - 1), Math.floor(by.model.windowTokens / 8)),
    // The body of a timed-out step keeps running. Without this limit its request would go on, and be paid for, beside its retry.
    limitMs: Math.max(LEAST_TRY_MS, Math.min(MODEL_CALL_MS, leftMs)),
  });
  if (answer.kind === "text") return answer;
  return giveUp(by, { ...answer, isContinued: before !== null }, Date.now() - began);
}

type Failed = Failure & { readonly cost: CallCost | null; readonly isContinued: boolean };

async function giveUp(
  { port, mark, model }: Drafting,
  { code, reason, retryable, retryAfterMs, cost, isContinued }: Failed,
  tookMs: number,
): Promise<never> {
  const waitMs = Math.min(retryAfterMs ?? 0, MAX_POLITE_WAIT_MS);
  const failed = { model: model.name, code, reason, cost, tookMs, waitMs, answerId: crypto.randomUUID() };
  return tell(
    () => port.noteFailure(mark, failed),
    async (noted): Promise<never> => {
      // The next try of a continued prompt makes the plain call.
      if (!isContinued) {
        const again = retryable && noted.kind === "noted" && noted.again;
        if (!again) throw new NonRetryableError(OF_SOURCE.has(code) ? SOURCE_FAULT + code : code);
        // The provider named this wait. The step's own backoff is added to it.
        await scheduler.wait(waitMs);
      }
      // The engine keeps what is thrown, and the reason may quote the prompt. The run's record has it (S2).
      throw new Error(code);
    },
  );
}
