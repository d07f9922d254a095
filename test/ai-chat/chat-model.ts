/** The model of a chat under test. Each agent has a script, and every prompt is recorded. */
import type { LanguageModelV4Message, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { tool, type LanguageModel, type ModelMessage, type ToolSet } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import type { Agent } from "agents";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export type Prompt = readonly LanguageModelV4Message[];

/** A text, or a call of a tool. */
export type Said = string | { readonly tool: string; readonly id: string; readonly input?: unknown };

interface Part<Of> {
  /** Answers a prompt. `call` counts from 0. It may change the agent first. */
  script: (prompt: Prompt, call: number, agent: Of) => Said | Promise<Said>;
  readonly prompts: Prompt[];
  /** The messages at the start of each turn. */
  readonly turns: ModelMessage[][];
}

const parts = ((globalThis as { palimpsestChats?: Map<string, Part<never>> }).palimpsestChats ??= new Map<
  string,
  Part<never>
>());

export function partOf<Of extends Agent>(name: string): Part<Of> {
  const known = parts.get(name);
  // The caller knows the class of the agent with this name.
  if (known !== undefined) return known as unknown as Part<Of>;
  const fresh: Part<never> = { script: (_prompt, call) => `Answer ${call}.`, prompts: [], turns: [] };
  parts.set(name, fresh);
  return fresh as unknown as Part<Of>;
}

export const tools = {
  look: tool({
    description: "Looks something up. Entries from 1,000 on are long.",
    inputSchema: z.object({ n: z.number() }),
    execute: async ({ n }) => `Entry ${n}: ${"the ledger keeps its promise. ".repeat(n < 1_000 ? 12 : 100)}`,
  }),
  pay: tool({
    description: "Pays. A person is asked first.",
    inputSchema: z.object({ n: z.number() }),
    needsApproval: true,
    execute: async ({ n }) => `Paid ${n}.`,
  }),
  place: tool({ description: "Answered by the client.", inputSchema: z.object({ n: z.number() }) }),
} satisfies ToolSet;

/** By the name of an agent, a model and tools of its test alone. */
export const given = ((globalThis as { palimpsestGiven?: Map<string, Given> }).palimpsestGiven ??= new Map<
  string,
  Given
>());
type Given = { readonly model: LanguageModel; readonly tools: ToolSet };

export function chatModel(agent: Agent) {
  const part = partOf<Agent>(agent.name);
  return new MockLanguageModelV4({
    modelId: "chat",
    doStream: async ({ prompt }) => {
      const call = part.prompts.push(prompt) - 1;
      return {
        stream: convertArrayToReadableStream(
          streamed(await part.script(prompt, call, agent), estimateTokens(textOf(prompt))),
        ),
      };
    },
  });
}

function textOf(prompt: Prompt): string {
  return JSON.stringify(prompt.map(({ content }) => content));
}

function streamed(said: Said, inputTokens: number): LanguageModelV4StreamPart[] {
  const usage = {
    inputTokens: { total: inputTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 10, text: undefined, reasoning: undefined },
  };
  const begin: LanguageModelV4StreamPart = { type: "stream-start", warnings: [] };
  if (typeof said === "string") {
    return [
      begin,
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: said },
      { type: "text-end", id: "t" },
      { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
    ];
  }
  return [
    begin,
    { type: "tool-call", toolCallId: said.id, toolName: said.tool, input: JSON.stringify(said.input ?? { n: 1 }) },
    { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
  ];
}

/** The ids of calls and of results in a prompt, in their order. */
export function toolsIn(prompt: Prompt | undefined): { readonly calls: string[]; readonly results: string[] } {
  const parts = (prompt ?? []).flatMap(({ content }): readonly { type: string; toolCallId?: string }[] =>
    typeof content === "string" ? [] : content,
  );
  const ids = (wanted: string): string[] =>
    parts.flatMap(({ type, toolCallId }) => (type === wanted ? (toolCallId ?? []) : []));
  return { calls: ids("tool-call"), results: ids("tool-result") };
}
