/**
 * A model step as parts of a message.
 *
 * Boundary: the SDK itself turns streams into messages and nothing else, so it is given the step as a stream. Nothing of a
 * step is decided here.
 */
import {
  readUIMessageStream,
  toUIMessageStream,
  type StepResult,
  type TextStreamPart,
  type ToolSet,
  type UIMessage,
} from "ai";

/** Beginning with `step-start`: texts, reasoning, calls with their results, files and sources, in their order. */
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
  const chunks = toUIMessageStream({ stream, sendSources: true, ...(tools === undefined ? {} : { tools }) });
  let message: UIMessage | null = null;
  for await (message of readUIMessageStream({ stream: chunks }));
  return message?.parts ?? [];
}

/** Texts are streamed piece by piece, whatever else a step holds in one. */
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
