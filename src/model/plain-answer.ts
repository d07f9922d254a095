/** Answers of models that call no provider: the extractive one, and the scripted one of tests. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import { estimateTokens } from "../steps/tokens/tokens.ts";

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
