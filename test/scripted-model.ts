/**
 * A summariser with a script per agent, so that no test sees another's runs. Without a script it is the real offline model.
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

/** The model's answer. It is a text that ends by itself, or one of the failures of real models. */
export type Answer =
  | string
  | (Counted & { readonly text: string; readonly finishReason: LanguageModelV4FinishReason["unified"] })
  | (Counted & { readonly toolName: string });

/** The usage that its provider reports. The default is 100 tokens in and 10 out, and null is no report. */
interface Counted {
  readonly usage?: readonly [input: number, output: number] | null;
}

/** A parsed prompt with what stands around its source. Each is null where the prompt has none. */
export interface AskedPrompt extends ParsedPrompt {
  readonly around: Readonly<Record<"beginning" | "earlier" | "standing" | "following" | "kept", string | null>>;
}

/** Receives the parsed prompt, the number of earlier calls, the run's id, and the most tokens that it may write. Returns the answer or throws. */
export type Script = (
  prompt: AskedPrompt,
  call: number,
  runId: string,
  mostTokens?: number,
) => Answer | Promise<Answer>;

interface Part {
  script: Script | null;
  readonly calls: AskedPrompt[];
  /** Estimated tokens of each call's prompt as sent, with instructions. */
  readonly sizes: number[];
  windowTokens: number;
}

const parts = ((globalThis as { palimpsestParts?: Map<string, Part> }).palimpsestParts ??= new Map<string, Part>());

/** Gives the agent's summariser a script. Null is the offline model. The returned calls grow as they are made. */
export function scriptModel(agentName: string, script: Script | null): readonly AskedPrompt[] {
  const part = partOf(agentName);
  part.script = script;
  return part.calls;
}

/** Gives the agent's summariser a window. The returned sizes of its prompts (estimated tokens) grow with each call. */
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

/** A summary that passes every audit. It has each requested section with the words under it, and no two sections say the same. */
export function summaryOf(prompt: Pick<ParsedPrompt, "sections">, words: string): string {
  return prompt.sections.map(({ title }) => `## ${title}\n${words}\n- as ${title.toLowerCase()}`).join("\n\n");
}

/** Numbers of all messages of a transcript, for a model that names each. */
const ALL = Array.from({ length: 200 }, (_, n) => `#${n + 1}`).join(", ");

/** The answer of a model that names instructions behind its summary. `ended` has pairs of an instruction and the words that end it. */
export function withInstructions(
  summary: string,
  {
    standing = [],
    ended = [],
  }: { standing?: readonly string[]; ended?: readonly (readonly [old: string, by: string])[] },
): string {
  const lists: (readonly [string, readonly string[]])[] = [
    ["Standing", standing.map((words) => `- "${words}"`)],
    ["Ended", ended.map(([old, by]) => `- "${old}" ended by "${by}" [${ALL}]`)],
  ];
  const told = lists.flatMap(([name, lines]) =>
    lines.length === 0 ? [] : [[`## ${name} instructions`, ...lines].join("\n")],
  );
  return [summary, ...told].join("\n\n");
}

const gates: { open: boolean }[] = [];

/** Opens every gate at the end of a test, also after a failure, so that no call is left waiting. */
export function openGates(): void {
  for (const gate of gates.splice(0)) gate.open = true;
}

/** A place where a script waits until the test has done something else. */
export interface Gate {
  /** For the script. */
  pass(): Promise<void>;
  /** For the test. Resolves when a call waits at the gate. */
  reached(): Promise<void>;
  open(): void;
}

/**
 * Both sides poll instead of awaiting one promise, because they are different requests. Code that continues after a promise of another
 * request runs in that request's context, where none of its own stubs work.
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
      const asked = textOf(options);
      const parsed = parsePrompt(asked);
      if (parsed === null) throw new Error("The summariser was asked something that is no prompt of ours.");
      const prompt = { ...parsed, around: aroundIn(asked) };
      const call = part.calls.push(prompt) - 1;
      part.sizes.push(estimateTokens(JSON.stringify(options.prompt)));
      if (part.script === null)
        return {
          stream: (await offline.doStream(options as LanguageModelV3CallOptions))
            .stream as ReadableStream<LanguageModelV4StreamPart>,
        };
      const answer = await part.script(prompt, call, runId, options.maxOutputTokens ?? Number.POSITIVE_INFINITY);
      return { stream: convertArrayToReadableStream(streamed(answer)) };
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

function aroundIn(prompt: string): AskedPrompt["around"] {
  const block = (tag: string): string | null =>
    new RegExp(`<(${tag} \\S+)>\\n([^]*?)\\n</\\1>`).exec(prompt)?.[2] ?? null;
  return {
    beginning: block("beginning"),
    earlier: block("earlier-summary"),
    standing: block("standing"),
    following: block("following"),
    kept: block("kept"),
  };
}

function textOf({ prompt }: LanguageModelV4CallOptions): string {
  return prompt
    .flatMap((message) => (message.role === "user" ? message.content : []))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n");
}
