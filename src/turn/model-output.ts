/**
 * What a model is sent of an output with bytes, where its tool does not say so itself (`toModelOutput`).
 *
 * The SDK would send the bytes as text, a token for each two or three characters. A list of contents, as MCP has it, becomes the SDK's own, so
 * the model sees the picture. Elsewhere no model could read the bytes, and a line says what was there.
 */
import type { Tool, ToolSet, UIMessage } from "ai";
import {
  bytesOf,
  holdsBytes,
  withoutBytes,
  contentOf,
  fieldText,
  toolName,
  toolPart,
} from "../steps/message/message.ts";
import { convertsSteps } from "./step-parts.ts";

type ToModelOutput = NonNullable<Tool["toModelOutput"]>;
type Sent = Awaited<ReturnType<ToModelOutput>>;

/** The tools, with a function of ours for each output that holds bytes and has none. */
export function showingBytes(tools: ToolSet | undefined, messages: readonly UIMessage[]): ToolSet | undefined {
  const names = new Set<string>();
  for (const part of messages.flatMap(({ parts }) => parts)) {
    const tool = toolPart(part);
    if (tool?.state !== "output-available" || tool.providerExecuted === true) continue;
    const name = toolName(tool);
    if (tools?.[name]?.toModelOutput === undefined && holdsBytes(tool.output)) names.add(name);
  }
  if (names.size === 0) return tools;
  const shown: ToolSet = { ...tools };
  for (const name of names) shown[name] = { ...tools?.[name], toModelOutput: ({ output }) => sentOf(output) } as Tool;
  return shown;
}

export function sentOf(output: unknown): Sent {
  const content = typeof output === "object" && output !== null ? contentOf(output) : null;
  if (content !== null && holdsBytes(output)) {
    return { type: "content", value: content.list.map(itemOf) } as Sent;
  }
  const plain = withoutBytes(output);
  return typeof plain === "string" ? { type: "text", value: plain } : ({ type: "json", value: plain ?? null } as Sent);
}

function itemOf(item: { readonly type: string; readonly text?: unknown }): object {
  if (item.type === "text") return { type: "text", text: fieldText(withoutBytes(item.text)) || "(empty)" };
  const bytes = bytesOf(item);
  if (bytes === null) return { type: "text", text: JSON.stringify(item) };
  const { mediaType, data } = bytes;
  if (convertsSteps()) return { type: "file", mediaType, data: { type: "data", data } };
  return { type: mediaType.startsWith("image/") ? "image-data" : "file-data", mediaType, data };
}
