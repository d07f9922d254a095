/**
 * A language model that needs no real model. It answers a summariser's prompt with a deterministic extract of the text inside.
 *
 * It implements the AI SDK's language-model interface over a pure function, without a network, an account or a clock. It is safe as the
 * default and as the last resort, because it cannot be down, cannot refuse and cannot invent.
 */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import { extractSummary, type ExtractInput as Extracted } from "../steps/extract/extract.ts";
import { REFERENCE_RULE } from "../steps/draft/provenance.ts";
import { extractEdits } from "../steps/notes/extract.ts";
import { parsePrompt, type ParsedPrompt } from "../steps/draft/prompt.ts";
import { DEFAULT_TEMPLATE } from "../steps/draft/template.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";

/**
 * The input of this model. It counts its own tokens with the estimate, as a real model counts with its tokenizer, independent of the
 * session.
 */
type ExtractInput = Omit<Extracted, "countTokens">;

/** Most tokens of an answer to a prompt that names no budget. */
const DEFAULT_BUDGET = 1_000;

/**
 * The extractive model, for `generateText` and `streamText`. It reads its task from a prompt that `buildPrompt` made. It summarises any
 * other text as a user's message.
 */
export function extractiveModel(): LanguageModelV3 {
  return {
    // The AI SDK 6 and 7 both accept "v3", but only 7 accepts "v4".
    specificationVersion: "v3",
    provider: "palimpsest",
    modelId: "palimpsest-extractive-1",
    supportedUrls: {},
    doGenerate: async (options) => answer(options),
    doStream: async (options) => ({ stream: streamOf(answer(options)) }),
  };
}

/** Returns the text that the extractive model would answer. */
export function extract(task: ExtractInput): string {
  return extractSummary({ ...task, countTokens: estimateTokens });
}

type Answer = Pick<LanguageModelV3GenerateResult, "finishReason" | "usage" | "warnings"> & {
  content: [{ type: "text"; text: string }];
};

function answer({ prompt, maxOutputTokens }: LanguageModelV3CallOptions): Answer {
  const asked = textOf(prompt);
  const told = prompt.map((message) => (message.role === "system" ? message.content : "")).join("\n");
  const references = `${told}\n${asked}`.includes(REFERENCE_RULE);
  const task = { ...readTask(asked), references };
  const bounded = { ...task, summaryTokens: Math.min(task.summaryTokens, maxOutputTokens ?? Infinity) };
  const text =
    task.kind === "notes"
      ? extractEdits({ ...bounded, countTokens: estimateTokens })
      : extract({ ...bounded, pinsBeside: task.alone === false });
  const [input, output] = [estimateTokens(asked), estimateTokens(text)];
  return {
    content: [{ type: "text", text }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
    warnings: [],
  };
}

function readTask(asked: string): ExtractInput & Partial<Pick<ParsedPrompt, "kind" | "alone">> {
  const task = parsePrompt(asked);
  if (task !== null) return { ...task, template: task.sections.length === 0 ? DEFAULT_TEMPLATE : task };
  const transcript = `[#1 user]\n${asked}`;
  return { transcript, previous: null, drafts: [], template: DEFAULT_TEMPLATE, summaryTokens: DEFAULT_BUDGET };
}

function streamOf({ content, finishReason, usage, warnings }: Answer): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: "stream-start", warnings });
      controller.enqueue({ type: "text-start", id: "0" });
      controller.enqueue({ type: "text-delta", id: "0", delta: content[0].text });
      controller.enqueue({ type: "text-end", id: "0" });
      controller.enqueue({ type: "finish", finishReason, usage });
      controller.close();
    },
  });
}

function textOf(prompt: LanguageModelV3Prompt): string {
  return prompt
    .flatMap((message) =>
      message.role === "user" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
    )
    .join("\n");
}
