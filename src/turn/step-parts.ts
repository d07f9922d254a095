/**
 * Converts a model step to parts of a message, a whole one or what came of it before it was stopped.
 *
 * The SDK only converts streams into messages, so it gets the step as a stream. This module decides nothing about a step.
 */
import * as sdk from "ai";
import { readUIMessageStream, type StepResult, type TextStreamPart, type ToolSet, type UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { jsonText } from "../steps/message/message.ts";
import { plain } from "./plain.ts";
import { unusedId } from "../steps/view/accepted.ts";

/** Version 6 of the AI SDK lacks it, and a named import would keep a Worker from being bundled that never converts a step. */
type MayConvert = Partial<Pick<typeof sdk, "toUIMessageStream">>;

type Content = StepResult<ToolSet>["content"];
type Streamed = TextStreamPart<ToolSet>;

/**
 * Starts with `step-start`. Texts, reasoning, calls with their results, files and sources follow in their order. Calls under one id are told
 * apart. Throws `not_configured` with version 6 of the AI SDK.
 */
export async function stepParts(step: StepResult<ToolSet>, tools: ToolSet | undefined): Promise<UIMessage["parts"]> {
  return converted(
    withOwnIds(step.content).flatMap((part, index) => streamed(part, `${index}`)),
    tools,
  );
}

/** The parts of a step that was stopped, by the chunks of its stream. Empty where nothing came of it. */
export async function stoppedParts(
  chunks: readonly Streamed[],
  tools: ToolSet | undefined,
): Promise<UIMessage["parts"]> {
  if (chunks.length === 0) return [];
  return converted(withOwnIds(chunks as Content) as Streamed[], tools);
}

async function converted(chunks: readonly Streamed[], tools: ToolSet | undefined): Promise<UIMessage["parts"]> {
  const parts: Streamed[] = [{ type: "start-step", request: {}, warnings: [] }, ...chunks.map(withPlainOutput)];
  const stream = new ReadableStream<Streamed>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  const toUIMessageStream = streamConverter();
  if (toUIMessageStream === undefined) {
    throw new PalimpsestError(
      "not_configured",
      "A step is converted to a message by version 7 of the AI SDK. Install ai@7.",
    );
  }
  const shown = toUIMessageStream({ stream, sendSources: true, ...(tools === undefined ? {} : { tools }) });
  let message: UIMessage | null = null;
  for await (message of readUIMessageStream({ stream: shown }));
  return message?.parts ?? [];
}

/** One property, because a bundler keeps the whole SDK for a namespace that is taken apart or asked for its names. */
function streamConverter(): MayConvert["toUIMessageStream"] {
  return (sdk as MayConvert).toUIMessageStream;
}

/** Whether the AI SDK is of version 7 at least. */
export function convertsSteps(): boolean {
  return streamConverter() !== undefined;
}

/** The SDK drops an output that it cannot clone. */
function withPlainOutput(part: Streamed): Streamed {
  return part.type === "tool-result" ? { ...part, output: plain(part.output) ?? null } : part;
}

/** Texts are streamed as start, delta and end. Every other part is one chunk. */
function streamed(part: Content[number], id: string): Streamed[] {
  if (part.type !== "text" && part.type !== "reasoning") return [part];
  const { type, text, providerMetadata } = part;
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, text },
    { type: `${type}-end`, id, ...metadata },
  ];
}

/** A call of a step under an id of its own. */
interface Told {
  readonly id: string;
  input: unknown;
  isDone: boolean;
}

/**
 * The content with an id of its own for each call. Some backends name a call by its tool, and the SDK takes calls with one id for one. A
 * result is that of the call with its input, or else of the first without a result. Its input is the one that the tool ran with.
 */
export function withOwnIds(content: Content): Content {
  const used = new Set<string>();
  const calls = new Map<string, Told[]>();
  const told = content.map((part): Told | null => {
    if (part.type !== "tool-call") return toldOf(part, calls);
    const earlier = calls.get(part.toolCallId) ?? [];
    const id = earlier.length === 0 ? part.toolCallId : unusedId(part.toolCallId, used);
    used.add(id);
    const call = { id, input: part.input as unknown, isDone: false };
    calls.set(part.toolCallId, [...earlier, call]);
    return call;
  });
  return content.map((part, at) => {
    const call = told[at] ?? null;
    if (call === null) return part;
    if ("toolCall" in part) return { ...part, toolCall: { ...part.toolCall, toolCallId: call.id } };
    return { ...part, toolCallId: call.id, ...(part.type === "tool-call" && { input: call.input }) };
  }) as Content;
}

/** The call that a part of the content belongs to, where several have one id. */
function toldOf(part: Content[number], calls: ReadonlyMap<string, Told[]>): Told | null {
  const asked = "toolCall" in part ? part.toolCall : "toolCallId" in part ? part : null;
  const told = asked === null ? [] : (calls.get(asked.toolCallId) ?? []);
  if (asked === null || told.length < 2) return null;
  const input = "input" in asked ? (asked.input as unknown) : undefined;
  const waiting = told.filter(({ isDone }) => !isDone);
  const same = waiting.find((call) => jsonText(call.input) === jsonText(input));
  const call = same ?? waiting[0] ?? told[0];
  if (call === undefined || (part.type !== "tool-result" && part.type !== "tool-error")) return call ?? null;
  call.isDone = true;
  if (same === undefined && input !== undefined) call.input = input;
  return call;
}
