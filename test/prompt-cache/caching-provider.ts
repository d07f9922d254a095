/**
 * A provider with a prompt cache. It reads a request from the cache as far as it begins like an earlier one of the same model, in whole
 * messages, and reports the tokens that it read there and those that it did not.
 *
 * Kept on globalThis, because a test and the Worker under test share an isolate but not every module.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { parsePrompt, type ParsedPrompt } from "../../src/steps/draft/prompt.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

/** A request as the provider saw it. `summary` is null for a turn of the agent. */
export interface Asked {
  readonly model: string;
  readonly summary: ParsedPrompt | null;
  readonly tokens: number;
  readonly cachedTokens: number;
  readonly options: LanguageModelV4CallOptions;
}

/** What the provider answers. `tool` calls one, and an error is thrown. */
export type Answered = string | { readonly tool: string; readonly input?: unknown };

interface Part {
  readonly asked: Asked[];
  /** The units of each request so far, by model. */
  readonly cache: Map<string, string[][]>;
  answer: (asked: Asked) => Answered;
}

const parts = ((globalThis as { palimpsestCaches?: Map<string, Part> }).palimpsestCaches ??= new Map<string, Part>());

export function providerOf(agentName: string): Part {
  const known = parts.get(agentName);
  if (known !== undefined) return known;
  const part: Part = {
    asked: [],
    cache: new Map(),
    answer: ({ summary }) => (summary === null ? "It is done, and src/parser.ts keeps its promise." : told(summary)),
  };
  parts.set(agentName, part);
  return part;
}

/** A summary that passes every audit. */
export function told({ sections }: ParsedPrompt): string {
  return sections.map(({ title }) => `## ${title}\n- The promises are kept.\n- So says ${title}.`).join("\n\n");
}

export function cachingModel(agentName: string, modelId: string): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    provider: "cached",
    modelId,
    doStream: async (options: LanguageModelV4CallOptions) => {
      const part = providerOf(agentName);
      const units = [JSON.stringify(options.tools ?? []), ...options.prompt.map((each) => JSON.stringify(each))];
      const earlier = part.cache.get(modelId) ?? [];
      const cached = Math.max(0, ...earlier.map((each) => commonPart(each, units)));
      part.cache.set(modelId, [...earlier, units]);
      const asked = {
        model: modelId,
        summary: summaryAskedBy(options),
        tokens: weigh(units),
        cachedTokens: weigh(units.slice(0, cached)),
        options,
      };
      part.asked.push(asked);
      return { stream: convertArrayToReadableStream(streamed(part.answer(asked), asked)) };
    },
  });
}

function commonPart(one: readonly string[], other: readonly string[]): number {
  const differs = one.findIndex((unit, at) => unit !== other[at]);
  return differs === -1 ? one.length : differs;
}

function weigh(units: readonly string[]): number {
  return units.reduce((sum, unit) => sum + estimateTokens(unit), 0);
}

/** The summary that the last message asks for. */
function summaryAskedBy({ prompt }: LanguageModelV4CallOptions): ParsedPrompt | null {
  const last = prompt.at(-1);
  const text = last?.role === "user" ? last.content.findLast((part) => part.type === "text") : undefined;
  return text?.type === "text" ? parsePrompt(text.text) : null;
}

function streamed(answer: Answered, { tokens, cachedTokens }: Asked): LanguageModelV4StreamPart[] {
  const usage = {
    inputTokens: { total: tokens, noCache: tokens - cachedTokens, cacheRead: cachedTokens, cacheWrite: undefined },
    outputTokens: { total: 40, text: 40, reasoning: undefined },
  };
  const start: LanguageModelV4StreamPart = { type: "stream-start", warnings: [] };
  if (typeof answer !== "string") {
    const input = JSON.stringify(answer.input ?? {});
    const call = { type: "tool-call", toolCallId: `call-${tokens}`, toolName: answer.tool, input } as const;
    return [start, call, { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage }];
  }
  return [
    start,
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: answer },
    { type: "text-end", id: "t" },
    { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
  ];
}
