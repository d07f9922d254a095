/**
 * How one draft comes about: the verbs behind the "summarize", "merge", "repair" and "digest" steps.
 *
 * Each is one step's body: read from the agent, ask a model at most once, store in the agent, return a receipt. A
 * failure that another try may cure is thrown plainly and the step retries; one that it cannot cure (auth, quota,
 * refusal, too long) is a NonRetryableError, and the workflow goes down a rung.
 */
import { NonRetryableError } from "cloudflare:workflows";
import type { ChosenModel } from "../model/choose.ts";
import { extractiveModel } from "../model/extractive.ts";
import { summarize } from "../model/summarize.ts";
import { auditSummary } from "../steps/audit.ts";
import { MAX_CHARS_PER_TOKEN, MAX_POLITE_WAIT_MS, MODEL_CALL_MS } from "../limits.ts";
import { buildPrompt, type PromptInput } from "../steps/prompt.ts";
import { renderTranscript } from "../steps/render.ts";
import type { Brief, ChunkRequest, CompactionPort, DraftReceipt, DraftsRequest, RunEnded, StepMark } from "./port.ts";

type Drafted = DraftReceipt | RunEnded;

/** Who drafts, for which step. */
export interface Drafting {
  readonly port: CompactionPort;
  readonly mark: StepMark;
  readonly model: ChosenModel;
}

export async function summarizeChunk(by: Drafting, request: Omit<ChunkRequest, "model">): Promise<Drafted> {
  const source = await by.port.readChunk(by.mark, { ...request, model: by.model.name });
  if (source.kind !== "source") return source;
  const transcript = renderTranscript(source.elements, {
    maxChars: source.brief.policy.chunkTokens * MAX_CHARS_PER_TOKEN,
  });
  return ask(by, source, { kind: source.previous === null ? "chunk" : "update", transcript });
}

export async function mergeDrafts(by: Drafting, request: Omit<DraftsRequest, "model">): Promise<Drafted> {
  const source = await by.port.readDrafts(by.mark, { ...request, model: by.model.name });
  if (source.kind !== "drafts") return source;
  return ask(by, source, { kind: "merge", drafts: source.drafts });
}

/** One more try at a draft that an audit refused, naming what is wrong with it. */
export async function repairDraft(by: Drafting, rejected: DraftReceipt): Promise<Drafted> {
  const request = { keys: [rejected.key], withPrevious: false, repairOf: rejected.soundKey, model: by.model.name };
  const source = await by.port.readDrafts(by.mark, request);
  if (source.kind !== "drafts") return source;
  const problems = rejected.problems.map((problem) => problem.detail);
  return ask(by, source, { kind: "repair", drafts: source.drafts, problems });
}

/** The rung that cannot fail: a deterministic digest of a chunk, made of its own sentences. */
export function digestChunk(by: Omit<Drafting, "model">, request: Omit<ChunkRequest, "model">): Promise<Drafted> {
  return summarizeChunk({ ...by, model: DIGEST }, request);
}

/** As {@link digestChunk}, for drafts that no model could fold into one. */
export function digestDrafts(by: Omit<Drafting, "model">, request: Omit<DraftsRequest, "model">): Promise<Drafted> {
  return mergeDrafts({ ...by, model: DIGEST }, request);
}

/** Reads the same prompt as any model and cannot be down; what it makes is marked as degraded. */
const DIGEST: ChosenModel = { model: extractiveModel(), name: "deterministic-digest", windowTokens: 1_000_000 };

/** Begins the message of a failure that says something about one source, and nothing about the model's health. */
export const SOURCE_FAULT = "this source: ";
const OF_SOURCE: ReadonlySet<string> = new Set(["content-filter", "too-long", "bad-request"]);

interface Source {
  readonly key: string;
  readonly previous: string | null;
  readonly brief: Brief;
  readonly degraded?: boolean;
}

async function ask(
  { port, mark, model }: Drafting,
  source: Source,
  input: Pick<PromptInput, "kind" | "transcript" | "drafts" | "problems">,
): Promise<Drafted> {
  const { brief, previous } = source;
  const summaryTokens = budget(brief);
  const { system, prompt } = buildPrompt({
    ...input,
    previous,
    focus: brief.focus,
    template: brief.template,
    summaryTokens,
    // Fresh for each call: a transcript cannot guess it, so nothing inside can end the block that holds it.
    boundary: crypto.randomUUID(),
  });
  const answer = await summarize({
    model: model.model,
    system,
    prompt,
    maxOutputTokens: summaryTokens * 2,
    // A timed-out step leaves its body running: without this the request would go on, and be paid for, beside its retry.
    abortSignal: AbortSignal.timeout(MODEL_CALL_MS),
  });
  if (answer.kind !== "text") {
    if (!answer.retryable)
      throw new NonRetryableError(`${OF_SOURCE.has(answer.code) ? SOURCE_FAULT : ""}${answer.reason}`);
    // The provider said how long; the step's own backoff comes on top.
    await scheduler.wait(Math.min(answer.retryAfterMs ?? 0, MAX_POLITE_WAIT_MS));
    throw new Error(answer.reason);
  }
  const { text, finishReason, inputTokens, outputTokens } = answer;
  const digested = model === DIGEST;
  const audit = auditSummary({ text, finishReason, ...brief });
  // The last rung is taken as it is: there is nothing below it, and the commit still refuses what would not shrink.
  const problems = audit.ok || digested ? [] : audit.problems;
  return port.saveDraft(mark, {
    key: source.key,
    text,
    model: model.name,
    finishReason,
    inputTokens,
    outputTokens,
    calls: digested ? 0 : 1,
    degraded: digested || source.degraded === true,
    problems,
  });
}

/** What a draft may weigh: the policy's budget, and never so much that the view would not shrink. */
function budget({ policy, spanTokens }: Brief): number {
  return Math.max(1, Math.min(policy.summaryTokens, Math.floor(spanTokens * policy.maxSummaryRatio)));
}
