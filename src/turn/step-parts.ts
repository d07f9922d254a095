/**
 * Converts a model step to parts of a message.
 *
 * The SDK only converts streams into messages, so it gets the step as a stream. This module decides nothing about a step.
 */
import * as sdk from "ai";
import { readUIMessageStream, type StepResult, type TextStreamPart, type ToolSet, type UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";

/** Version 6 of the AI SDK lacks it, and a named import would keep a Worker from being bundled that never converts a step. */
type MayConvert = Partial<Pick<typeof sdk, "toUIMessageStream">>;

/**
 * Starts with `step-start`. Texts, reasoning, calls with their results, files and sources follow in their order. Throws `not_configured`
 * with version 6 of the AI SDK.
 */
export async function stepParts(step: StepResult<ToolSet>, tools: ToolSet | undefined): Promise<UIMessage["parts"]> {
  const parts: TextStreamPart<ToolSet>[] = [
    { type: "start-step", request: step.request, warnings: step.warnings ?? [] },
    ...step.content.flatMap((part, index) => streamed(part, `${index}`)),
  ];
  const stream = new ReadableStream<TextStreamPart<ToolSet>>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  // One property, because a bundler keeps the whole SDK for a namespace that is taken apart.
  const toUIMessageStream = (sdk as MayConvert).toUIMessageStream;
  if (toUIMessageStream === undefined) {
    throw new PalimpsestError(
      "not_configured",
      "A step is converted to a message by version 7 of the AI SDK. Install ai@7.",
    );
  }
  const chunks = toUIMessageStream({ stream, sendSources: true, ...(tools === undefined ? {} : { tools }) });
  let message: UIMessage | null = null;
  for await (message of readUIMessageStream({ stream: chunks }));
  return message?.parts ?? [];
}

/** Texts are streamed as start, delta and end. Every other part is one chunk. */
function streamed(part: StepResult<ToolSet>["content"][number], id: string): TextStreamPart<ToolSet>[] {
  if (part.type !== "text" && part.type !== "reasoning") return [part];
  const { type, text, providerMetadata } = part;
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id },
    { type: `${type}-delta`, id, text },
    { type: `${type}-end`, id, ...metadata },
  ];
}
