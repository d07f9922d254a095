/** A model that looks things up with a tool, one call a step, and then says "Done.". */
import type {
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { tool, type ToolSet } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

type Content = LanguageModelV4GenerateResult["content"];
export type Prompt = readonly LanguageModelV4Message[];

export const tools = {
  look: tool({
    description: "Looks something up.",
    inputSchema: z.object({ n: z.number() }),
    execute: async ({ n }) => {
      if (n === 3) throw new Error("The shelf is empty.");
      return `Entry ${n}: ${"the ledger keeps its promise. ".repeat(12)}`;
    },
  }),
} satisfies ToolSet;

/** Calls `look` once in each of `steps` steps, then says "Done.". `before` runs before each answer. */
export function looker(
  steps: number,
  before: (step: number, prompt: Prompt) => Promise<void> = async () => undefined,
  count: (step: number, prompt: Prompt) => number = (step) => 1_000 + 100 * step,
) {
  let step = 0;
  const answer = async (prompt: Prompt) => {
    const n = step++;
    await before(n, prompt);
    const done: Content = [{ type: "text", text: "Done." }];
    const look: Content = [
      { type: "reasoning", text: `Number ${n} is next.`, providerMetadata: { mock: { signature: `s${n}` } } },
      { type: "tool-call", toolCallId: `call-${n}`, toolName: "look", input: JSON.stringify({ n }) },
    ];
    const usage = {
      inputTokens: { total: count(n, prompt), noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 10, text: undefined, reasoning: undefined },
    };
    const unified = n < steps ? ("tool-calls" as const) : ("stop" as const);
    return { content: n < steps ? look : done, finishReason: { unified, raw: undefined }, usage, warnings: [] };
  };
  return new MockLanguageModelV4({
    modelId: "looker",
    doGenerate: ({ prompt }) => answer(prompt),
    doStream: async ({ prompt }) => {
      const { content, finishReason, usage } = await answer(prompt);
      const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
      for (const part of content) {
        if (part.type === "tool-call") parts.push(part);
        if (part.type === "text") {
          parts.push(
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: part.text },
            { type: "text-end", id: "t" },
          );
        }
      }
      return { stream: convertArrayToReadableStream([...parts, { type: "finish", finishReason, usage }]) };
    },
  });
}
