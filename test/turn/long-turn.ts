/** A turn of hundreds of steps: no prompt over its limit, the whole request in each, and a beginning that seldom changes. */
import type { LanguageModelV4Message, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { tool } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { expect } from "vitest";
import { z } from "zod";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { TOOL_OVERHEAD_TOKENS } from "../../src/steps/message/message.ts";
import { everything } from "../tries.ts";

export const STEPS = everything ? 500 : 150;
export const LIMIT = 8_000;
export const REQUEST = `Answer in German. ${"Look at every berth of the harbour. ".repeat(20)}And end with a list.`;

type Prompt = readonly LanguageModelV4Message[];

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** Tokens as a provider counts them, some of them around each message. */
function count(prompt: Prompt): number {
  return prompt.reduce((sum, { content }) => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    return sum + 4 + parts.reduce((all, part) => all + estimateTokens(wordsOf(part)), 0);
  }, 0);
}

/** What a provider wraps around a call and a result: half of what a view counts for both. */
const FRAME = "{ } ".repeat(TOOL_OVERHEAD_TOKENS / 2);

function wordsOf(part: object): string {
  const { text, toolName, input, output } = part as Record<string, unknown>;
  if (typeof text === "string") return text;
  return `${FRAME}${String(toolName)}${JSON.stringify(input ?? (output as { value?: unknown } | undefined)?.value)}`;
}

function finish(isDone: boolean) {
  return { unified: isDone ? ("stop" as const) : ("tool-calls" as const), raw: undefined };
}

/** Looks once in each of so many steps, and then says "Done.". Notes what is wrong with its prompts. */
export function longTurn(steps = STEPS) {
  const seen = { prompts: 0, most: 0, breaks: [] as number[], lost: [] as number[], brought: 0, summaries: 0 };
  let before: string[] = [];
  const answer = (prompt: Prompt) => {
    const n = seen.prompts++;
    const messages = prompt.filter(({ role }) => role !== "system");
    const told = messages.map((message) => JSON.stringify(message));
    const whole = told.join("");
    seen.most = Math.max(seen.most, count(prompt));
    if (!whole.includes(JSON.stringify(REQUEST).slice(1, -1)) || (n > 0 && !whole.includes(`Entry ${n - 1}: `)))
      seen.lost.push(n);
    if (before.some((message, at) => message !== told[at])) seen.breaks.push(n);
    seen.brought += count(messages.slice(-2));
    if (whole.includes("[Summary of ")) seen.summaries++;
    before = told;
    const isDone = n >= steps;
    const call = {
      type: "tool-call",
      toolCallId: `look-${n}`,
      toolName: "look",
      input: JSON.stringify({ n }),
    } as const;
    return { isDone, call };
  };
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const { isDone, call } = answer(prompt);
      return {
        content: [isDone ? { type: "text", text: "Done." } : call],
        finishReason: finish(isDone),
        usage,
        warnings: [],
      };
    },
    doStream: async ({ prompt }) => {
      const { isDone, call } = answer(prompt);
      const said: LanguageModelV4StreamPart[] = isDone
        ? [
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: "Done." },
            { type: "text-end", id: "t" },
          ]
        : [call];
      const end: LanguageModelV4StreamPart = { type: "finish", finishReason: finish(isDone), usage };
      return { stream: convertArrayToReadableStream([{ type: "stream-start", warnings: [] }, ...said, end]) };
    },
  });
  return {
    model,
    seen,
    tools: {
      look: tool({
        inputSchema: z.object({ n: z.number() }),
        execute: async ({ n }) => `Entry ${n}: ${"the ledger keeps its promise. ".repeat(20)}`,
      }),
    },
    /** Every step was within the limit, with the request and the newest result whole, and few began anew, but for a summary. */
    expectHeld: (limit = LIMIT, summaries = 0): void => {
      expect(seen.prompts).toBe(steps + 1);
      expect(seen.lost).toEqual([]);
      expect(seen.most).toBeLessThanOrEqual(limit);
      expect(seen.breaks.length).toBeLessThanOrEqual(seen.brought / (limit * 0.3) + 1 + summaries);
    },
  };
}
