/**
 * A language model that needs no real model. It answers a summariser's prompt with quotations of the text inside.
 *
 * It is safe as the default and as the last resort, because it cannot be down, cannot refuse and cannot invent.
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3,
} from "@ai-sdk/provider";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { EXTRACTIVE_NAME, fallbackSummary, type OfflineTask } from "../steps/draft/fallback.ts";
import { REFERENCE_RULE } from "../steps/draft/provenance.ts";
import { parsePrompt, DEFAULT_TEMPLATE } from "../steps/draft/prompt.ts";

/** An answer of one text, with estimated tokens. */
export function generateResultOf(prompt: string, text: string): LanguageModelV3GenerateResult {
  const [input, output] = [estimateTokens(prompt), estimateTokens(text)];
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

/** The same answer as a stream. */
export function streamOf(result: LanguageModelV3GenerateResult): ReadableStream<LanguageModelV3StreamPart> {
  const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const parts: LanguageModelV3StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: text },
    { type: "text-end", id: "0" },
    { type: "finish", finishReason: result.finishReason, usage: result.usage },
  ];
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** The text of a prompt's user messages. */
export function promptOf({ prompt }: LanguageModelV3CallOptions): string {
  return prompt
    .flatMap((message) =>
      message.role === "user" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
    )
    .join("\n");
}

/** Most tokens of an answer to a prompt that names no budget. */
const DEFAULT_BUDGET = 1_000;

const [PROVIDER = "", MODEL_ID = ""] = EXTRACTIVE_NAME.split(":");

/**
 * The model without a model, for `generateText` and `streamText`. It reads its task from a prompt that `buildPrompt` made. It summarises any
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

const OWN_TASKS = new Map<string, (task: OfflineTask) => string>();

/** Tells every such model how to answer the prompt of a room's own task. A second call replaces the first. */
export function answerRoomTask(name: string, answer: (task: OfflineTask) => string): void {
  OWN_TASKS.set(name, answer);
}

function answer(options: LanguageModelV3CallOptions): LanguageModelV3GenerateResult {
  const { prompt, maxOutputTokens = Infinity } = options;
  const asked = promptOf(options);
  const system = prompt.map((message) => (message.role === "system" ? message.content : "")).join("\n");
  const references = `${system}\n${asked}`.includes(REFERENCE_RULE);
  const parsed = parsePrompt(asked);
  const { kind, sections, ...task } = parsed ?? {
    kind: "chunk",
    summaryTokens: DEFAULT_BUDGET,
    sections: DEFAULT_TEMPLATE.sections,
    transcript: `[#1 user]\n${asked}`,
    previous: null,
    drafts: [],
  };
  const titles = (sections.length === 0 ? DEFAULT_TEMPLATE.sections : sections).map(({ title }) => title);
  const summaryTokens = Math.min(task.summaryTokens, maxOutputTokens);
  const given = { ...task, sections, titles, summaryTokens, countTokens: estimateTokens, references };
  const own = OWN_TASKS.get(kind);
  return generateResultOf(asked, own === undefined ? fallbackSummary(given) : own(given));
}
