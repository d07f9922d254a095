/**
 * A language model without a model: it answers a summariser's prompt with the deterministic extract of what is in it.
 *
 * Boundary: the AI SDK's language-model interface over a pure function; no network, no account, no clock. Safe as the
 * default and as the last resort because it cannot be down, cannot refuse and cannot invent.
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

/** A task of this model. Its own tokens are the estimate's, as any model's are its tokenizer's, whatever a session counts with. */
type ExtractInput = Omit<Extracted, "countTokens">;

/** Most tokens of an answer to a prompt that names no budget. */
const DEFAULT_BUDGET = 1_000;

/**
 * The extractive model, for `generateText` and `streamText`. It reads its task from a prompt that `buildPrompt` made;
 * any other text is summarised as if a user had said it.
 */
export function extractiveModel(): LanguageModelV3 {
  return {
    // The AI SDK 6 and 7 take it; "v4" is taken by 7 alone.
    specificationVersion: "v3",
    provider: "palimpsest",
    modelId: "palimpsest-extractive-1",
    supportedUrls: {},
    doGenerate: async (options) => answer(options),
    doStream: async (options) => ({ stream: streamOf(answer(options)) }),
  };
}

/** What it would answer. */
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
