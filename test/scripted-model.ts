/**
 * A summariser that does what a test says, agent by agent, so that no test hears of another's runs. Without a script it
 * is the real offline model.
 *
 * Kept on globalThis, because a test and the Worker under test share an isolate but not every module.
 */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { extractiveModel } from "../src/model/extractive.ts";
import { parsePrompt, type ParsedPrompt } from "../src/steps/draft/prompt.ts";
import { estimateTokens } from "../src/steps/tokens/tokens.ts";

/** What the model says: a text that ends by itself, or one of the ways in which a real one goes wrong. */
export type Answer =
  | string
  | (Counted & { readonly text: string; readonly finishReason: LanguageModelV4FinishReason["unified"] })
  | (Counted & { readonly toolName: string });

/** The tokens that its provider reports: 100 in and 10 out, unless told; null is no report. */
interface Counted {
  readonly usage?: readonly [input: number, output: number] | null;
}

/** Given the prompt, read back, how many calls came before, and whose run asks: the answer, or what it throws. */
export type Script = (prompt: ParsedPrompt, call: number, runId: string) => Answer | Promise<Answer>;

interface Part {
  script: Script | null;
  readonly calls: ParsedPrompt[];
  /** Of each call's prompt as the model is sent it, instructions included: estimated tokens. */
  readonly sizes: number[];
  windowTokens: number;
}

const parts = ((globalThis as { palimpsestParts?: Map<string, Part> }).palimpsestParts ??= new Map<string, Part>());

/** Gives the agent's summariser a script; null is the offline model. The returned calls grow as they are made. */
export function scriptModel(agentName: string, script: Script | null): readonly ParsedPrompt[] {
  const part = partOf(agentName);
  part.script = script;
  return part.calls;
}

/** Gives the agent's summariser a window; the returned sizes of its prompts (estimated tokens) grow as it is called. */
export function narrowModel(agentName: string, windowTokens: number): readonly number[] {
  const part = partOf(agentName);
  part.windowTokens = windowTokens;
  return part.sizes;
}

export function windowOf(agentName: string): number {
  return partOf(agentName).windowTokens;
}

/** Whether a test gave this one a script. */
export function isScripted(name: string): boolean {
  return parts.get(name)?.script != null;
}

/** A summary that passes every audit: each section that was asked for, with the words under it. */
export function summaryOf(prompt: ParsedPrompt, words: string): string {
  return prompt.sections.map(({ title }) => `## ${title}\n${words}`).join("\n\n");
}

const gates: { open: boolean }[] = [];

/** For the end of a test, however it ended: no call is left waiting. */
export function openGates(): void {
  for (const gate of gates.splice(0)) gate.open = true;
}

/** Where a script waits until the test has done what it wants done meanwhile. */
export interface Gate {
  /** For the script. */
  pass(): Promise<void>;
  /** For the test: until a call waits at the gate. */
  reached(): Promise<void>;
  open(): void;
}

/**
 * Both sides look instead of awaiting one promise: they are different requests, and whoever goes on after a promise of
 * another request goes on in that one's context, where none of its own stubs work.
 */
export function makeGate(): Gate {
  const is = { reached: false, open: false };
  gates.push(is);
  const until = async (what: keyof typeof is): Promise<void> => {
    while (!is[what]) await scheduler.wait(1);
  };
  return {
    pass: () => {
      is.reached = true;
      return until("open");
    },
    reached: () => until("reached"),
    open: () => {
      is.open = true;
    },
  };
}

export function scriptedModel(agentName: string, runId: string): LanguageModelV4 {
  const offline = extractiveModel();
  return new MockLanguageModelV4({
    modelId: "scripted",
    doStream: async (options: LanguageModelV4CallOptions) => {
      const part = partOf(agentName);
      const prompt = parsePrompt(textOf(options));
      if (prompt === null) throw new Error("The summariser was asked something that is no prompt of ours.");
      const call = part.calls.push(prompt) - 1;
      part.sizes.push(estimateTokens(JSON.stringify(options.prompt)));
      if (part.script === null)
        return {
          stream: (await offline.doStream(options as LanguageModelV3CallOptions))
            .stream as ReadableStream<LanguageModelV4StreamPart>,
        };
      return { stream: convertArrayToReadableStream(streamed(await part.script(prompt, call, runId))) };
    },
  });
}

/** Characters of one piece of a streamed text. */
const PIECE_CHARS = 4_000;

function streamed(answer: Answer): LanguageModelV4StreamPart[] {
  const spoken = typeof answer === "string" ? { text: answer, finishReason: "stop" as const } : answer;
  const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
  const usage = usageOf(typeof answer === "string" || answer.usage === undefined ? [100, 10] : answer.usage);
  if ("toolName" in spoken) {
    parts.push({ type: "tool-call", toolCallId: "t1", toolName: spoken.toolName, input: "{}" });
    return [...parts, { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage }];
  }
  parts.push({ type: "text-start", id: "t" });
  for (let at = 0; at < spoken.text.length; at += PIECE_CHARS) {
    parts.push({ type: "text-delta", id: "t", delta: spoken.text.slice(at, at + PIECE_CHARS) });
  }
  parts.push({ type: "text-end", id: "t" });
  return [...parts, { type: "finish", finishReason: { unified: spoken.finishReason, raw: undefined }, usage }];
}

function usageOf(counted: readonly [input: number, output: number] | null): LanguageModelV4Usage {
  const [input, output] = counted ?? [undefined, undefined];
  return {
    inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: output, reasoning: undefined },
  };
}

function partOf(agentName: string): Part {
  const known = parts.get(agentName);
  if (known !== undefined) return known;
  const fresh: Part = { script: null, calls: [], sizes: [], windowTokens: 32_000 };
  parts.set(agentName, fresh);
  return fresh;
}

function textOf({ prompt }: LanguageModelV4CallOptions): string {
  return prompt
    .flatMap((message) => (message.role === "user" ? message.content : []))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n");
}
