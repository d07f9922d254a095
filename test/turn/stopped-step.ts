/** A model that a person stops: while it thinks, in its text, or while the second of two calls runs. It hangs until then. */
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { tool, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect } from "vitest";
import { z } from "zod";

export const STOPS = ["while the model thinks", "in a text", "between two calls"] as const;
export type Stop = (typeof STOPS)[number];

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

const thinking: LanguageModelV4StreamPart[] = [
  { type: "stream-start", warnings: [] },
  { type: "reasoning-start", id: "r" },
  { type: "reasoning-delta", id: "r", delta: "First I look at the led" },
];
const speaking: LanguageModelV4StreamPart[] = [
  ...thinking,
  { type: "reasoning-end", id: "r" },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "I pay the invoice" },
];
const calling: LanguageModelV4StreamPart[] = [
  ...speaking,
  { type: "text-end", id: "t" },
  { type: "tool-call", toolCallId: "c1", toolName: "pay", input: '{"n":7}' },
  { type: "tool-call", toolCallId: "c2", toolName: "read", input: "{}" },
  { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
];
const answering: LanguageModelV4StreamPart[] = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "As you say." },
  { type: "text-end", id: "t" },
  { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
];

/** The first turn hangs at its stop, and the next answers. `reached` resolves once the model is there. */
export function stoppable(stop: Stop) {
  const at = { isThere: false };
  const resolve = (): void => void (at.isThere = true);
  const prompts: string[] = [];
  const said = { "while the model thinks": thinking, "in a text": speaking, "between two calls": calling }[stop];
  const model = new MockLanguageModelV4({
    doStream: async ({ prompt, abortSignal }) => {
      const isFirst = prompts.push(JSON.stringify(prompt)) === 1;
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          start(controller) {
            for (const part of isFirst ? said : answering) controller.enqueue(part);
            if (!isFirst || stop === "between two calls") return controller.close();
            abortSignal?.addEventListener("abort", () => controller.error(new DOMException("Stopped.", "AbortError")));
            setTimeout(resolve, 50);
          },
        }),
      };
    },
  });
  const tools: ToolSet = {
    pay: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => `Paid ${n}.` }),
    read: tool({
      inputSchema: z.object({}),
      execute: (_input, { abortSignal }) =>
        new Promise<string>((_resolve, reject) => {
          abortSignal?.addEventListener("abort", () => reject(new Error("stopped")));
          setTimeout(resolve, 50);
        }),
    }),
  };
  return {
    model,
    tools,
    /** Resolves in the object that asks, which may be another one than the model's. */
    reached: async (): Promise<void> => {
      while (!at.isThere) await scheduler.wait(5);
    },
    /** The prompt of the next turn knows what was said and done, and nothing that providers refuse. */
    expectKnown: (): void => {
      const next = prompts.at(-1) ?? "";
      expect(prompts).toHaveLength(2);
      expect(next).toContain("What now?");
      if (stop === "while the model thinks") expect(next).not.toContain("First I look");
      else expect(next).toContain("I pay the invoice");
      if (stop === "between two calls") expect(next).toContain("Paid 7.");
    },
  };
}
