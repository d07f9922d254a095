/**
 * A language model that needs no real model. It answers a summariser's prompt with a deterministic extract of the text inside.
 *
 * It implements the AI SDK's language-model interface over a pure function, without a network, an account or a clock. It is safe as the
 * default and as the last resort, because it cannot be down, cannot refuse and cannot invent.
 */
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3GenerateResult } from "@ai-sdk/provider";
import { EXTRACTIVE_NAME, extractSummary, type ExtractInput as Extracted } from "../extractive/extract.ts";
import { REFERENCE_RULE } from "../steps/draft/provenance.ts";
import { parsePrompt, type ParsedPrompt } from "../steps/draft/prompt.ts";
import { DEFAULT_TEMPLATE } from "../steps/draft/template.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { promptOf, generateResultOf, streamOf } from "./plain-answer.ts";

/**
 * The input of this model. It counts its own tokens with the estimate, as a real model counts with its tokenizer, independent of the
 * session.
 */
type ExtractInput = Omit<Extracted, "countTokens">;

/** Most tokens of an answer to a prompt that names no budget. */
const DEFAULT_BUDGET = 1_000;

const [PROVIDER = "", MODEL_ID = ""] = EXTRACTIVE_NAME.split(":");

/**
 * The extractive model, for `generateText` and `streamText`. It reads its task from a prompt that `buildPrompt` made. It summarises any
 * other text as a user's message.
 */
export function extractiveModel(): LanguageModelV3 {
  return {
    // The AI SDK 6 and 7 both accept "v3", but only 7 accepts "v4".
    specificationVersion: "v3",
    provider: PROVIDER,
    modelId: MODEL_ID,
    supportedUrls: {},
    doGenerate: async (options) => answer(options),
    doStream: async (options) => ({ stream: streamOf(answer(options)) }),
  };
}

const OWN_TASKS = new Map<string, (task: Extracted) => string>();

/** Tells every extractive model how to answer the prompt of a room's own task. A second call replaces the first. */
export function answerOwnTask(name: string, answer: (task: Extracted) => string): void {
  OWN_TASKS.set(name, answer);
}

/** Returns the text that the extractive model would answer. */
export function extract(task: ExtractInput): string {
  return extractSummary({ ...task, countTokens: estimateTokens });
}

function answer(options: LanguageModelV3CallOptions): LanguageModelV3GenerateResult {
  const { prompt, maxOutputTokens } = options;
  const asked = promptOf(options);
  const system = prompt.map((message) => (message.role === "system" ? message.content : "")).join("\n");
  const references = `${system}\n${asked}`.includes(REFERENCE_RULE);
  const task = { ...readTask(asked), references };
  const bounded = { ...task, summaryTokens: Math.min(task.summaryTokens, maxOutputTokens ?? Infinity) };
  const own = OWN_TASKS.get(task.kind ?? "");
  const text =
    own !== undefined
      ? own({ ...bounded, countTokens: estimateTokens })
      : extract({ ...bounded, pinsBeside: task.alone === false });
  return generateResultOf(asked, text);
}

function readTask(asked: string): ExtractInput & Partial<Pick<ParsedPrompt, "kind" | "alone">> {
  const task = parsePrompt(asked);
  if (task !== null) return { ...task, template: task.sections.length === 0 ? DEFAULT_TEMPLATE : task };
  const transcript = `[#1 user]\n${asked}`;
  return { transcript, previous: null, drafts: [], template: DEFAULT_TEMPLATE, summaryTokens: DEFAULT_BUDGET };
}
