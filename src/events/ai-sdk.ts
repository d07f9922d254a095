/** The AI SDK's own `ModelMessage[]`, which `generateText` and `streamText` take and return. */
import { modelMessageSchema, type ModelMessage, type UIMessage } from "ai";
import { z } from "zod";
import { PalimpsestError, unreachable } from "../errors.ts";
import { toolPart, type Part, type ToolPart } from "../steps/message/message.ts";
import { resultPart, toModelMessages, type ModelFormatAdapter } from "./formats.ts";

/**
 * Results come back as values where they are text or JSON. An approval belongs to its call's part, regardless of the message that asks for
 * it or gives it.
 */
export const aiSdkAdapter: ModelFormatAdapter<ModelMessage[]> = {
  name: "ai-sdk",
  toModel: toModelMessages,
  fromModel(messages, newId) {
    const parsed = z.array(modelMessageSchema).safeParse(messages);
    if (!parsed.success) {
      throw new PalimpsestError(
        "invalid_input",
        `These are no messages of the AI SDK:\n${z.prettifyError(parsed.error)}`,
      );
    }
    const known: UIMessage[] = [];
    // The messages are checked and then used unchanged. zod's result lacks provider keys that zod considers unsafe.
    for (const message of messages) {
      const read = messageOf(message, { id: newId(), known });
      if (read !== null) known.push(read);
    }
    return known;
  },
};

type Content = Exclude<ModelMessage["content"], string>[number];
type ContentOf<Type> = Extract<Content, { type: Type }>;
interface WithOptions {
  readonly providerOptions?: ContentOf<"text">["providerOptions"];
}

/** Returns null for a message without content of its own. Its statements about a call go into that call. */
function messageOf(
  { role, content }: ModelMessage,
  { id, known }: { id: string; known: readonly UIMessage[] },
): UIMessage | null {
  const parts: Part[] = [];
  const lists = [...known.map((message) => message.parts), parts];
  const contents: readonly Content[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  for (const each of contents) {
    if (each.type === "tool-approval-request") askApproval(lists, each);
    else if (each.type === "tool-approval-response") answerApproval(lists, each);
    else if (each.type !== "tool-result") parts.push(...partOf(each));
    else if (!isDenied(lists, each)) addResult(parts, each);
  }
  const isOnlyOfCalls = role === "tool" && contents.length > 0 && parts.length === 0;
  return isOnlyOfCalls ? null : { id, role: role === "tool" ? "assistant" : role, parts };
}

/** Changes the newest matching tool part in any message. */
function changeCall(lists: readonly Part[][], which: (part: ToolPart) => boolean, change: (part: ToolPart) => object) {
  for (const parts of lists.toReversed()) {
    const at = parts.findLastIndex((part) => {
      const tool = toolPart(part);
      return tool !== null && which(tool);
    });
    if (at < 0) continue;
    const part = parts[at] as ToolPart;
    parts[at] = { ...part, ...change(part) } as Part;
    return;
  }
}

function askApproval(lists: readonly Part[][], request: ContentOf<"tool-approval-request">): void {
  const { type: _type, approvalId: id, toolCallId, reason: requestReason, ...more } = request;
  const said = Object.fromEntries(
    Object.entries({ ...more, requestReason }).filter(([, value]) => value !== undefined),
  );
  changeCall(
    lists,
    (part) => part.toolCallId === toolCallId,
    () => ({ state: "approval-requested", approval: { ...said, id } }),
  );
}

function answerApproval(lists: readonly Part[][], response: ContentOf<"tool-approval-response">): void {
  const { approvalId, approved, reason } = response;
  changeCall(
    lists,
    (part) => part.state === "approval-requested" && part.approval.id === approvalId,
    ({ approval }) => {
      const answered = { ...approval, approved, ...(reason !== undefined && { reason }) };
      return { state: "approval-responded", approval: answered };
    },
  );
}

/** True when a result only repeats that its call was refused. */
function isDenied(lists: readonly Part[][], { toolCallId, output }: ContentOf<"tool-result">): boolean {
  if (output.type !== "execution-denied") return false;
  return lists.flat().some((part) => {
    const tool = toolPart(part);
    return tool?.toolCallId === toolCallId && tool.state === "approval-responded" && !tool.approval.approved;
  });
}

function partOf(
  part: Exclude<Content, { type: `tool-${"result" | "approval-request" | "approval-response"}` }>,
): Part[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: part.text, ...metadataOf(part) }];
    case "reasoning":
      return [{ type: "reasoning", text: part.text, ...metadataOf(part) }];
    case "custom":
      return [{ type: "custom", kind: part.kind, ...metadataOf(part) }];
    case "image":
      return [filePart({ ...part, mediaType: part.mediaType ?? "image", data: part.image })];
    case "file":
      return [filePart(part)];
    case "reasoning-file": {
      const { type, mediaType, data } = part;
      return [{ type, mediaType, url: urlOf(data, mediaType) ?? "", ...metadataOf(part) }];
    }
    case "tool-call": {
      const { toolCallId, toolName, input, providerExecuted, providerOptions } = part;
      const call = { type: "dynamic-tool" as const, toolName, toolCallId, state: "input-available" as const, input };
      const ran = providerExecuted === undefined ? {} : { providerExecuted };
      return [{ ...call, ...ran, ...(providerOptions && { callProviderMetadata: providerOptions }) }];
    }
    default:
      return unreachable(part);
  }
}

/** The result of a tool that the provider ran goes into the message of its call, with options of its own. */
function addResult(parts: Part[], part: ContentOf<"tool-result">): void {
  const { toolCallId, toolName, output, providerOptions } = part;
  const denied = output.type === "execution-denied";
  const value = denied ? (output.reason ?? "The call was refused.") : output.value;
  const failed = denied || output.type === "error-text" || output.type === "error-json";
  const result = resultPart({ callId: toolCallId, toolName, output: value, failed });
  const at = parts.findLastIndex((each) => toolPart(each)?.toolCallId === toolCallId);
  if (at < 0) {
    parts.push(result);
    return;
  }
  const { input: _none, ...answer } = result as Extract<Part, { type: "dynamic-tool" }>;
  const options = providerOptions && { resultProviderMetadata: providerOptions };
  parts[at] = { ...parts[at], ...answer, ...options } as Part;
}

/** Options of a part are returned unchanged, because the provider wants them back. */
function metadataOf({ providerOptions }: WithOptions) {
  return providerOptions === undefined ? {} : { providerMetadata: providerOptions };
}

interface FileContent extends WithOptions {
  readonly mediaType: string;
  readonly filename?: string | undefined;
  readonly data: unknown;
}

function filePart({ mediaType, filename, data, ...rest }: FileContent): Part {
  const url = urlOf(data, mediaType);
  const named = filename === undefined ? {} : { filename };
  const reference = url === null ? { providerReference: referenceOf(data) } : {};
  return { type: "file", mediaType, url: url ?? "", ...named, ...reference, ...metadataOf(rest) };
}

/** Returns the address of a file in any form that the SDK accepts, or null for a provider's own reference. */
function urlOf(data: unknown, mediaType: string): string | null {
  if (data instanceof URL) return data.href;
  if (typeof data === "string") return /^(?:https?|data):/.test(data) ? data : `data:${mediaType};base64,${data}`;
  if (data instanceof ArrayBuffer) return urlOf(new Uint8Array(data), mediaType);
  if (data instanceof Uint8Array) return `data:${mediaType};base64,${base64(data)}`;
  const tagged = data as { type?: string; url?: URL; data?: unknown; text?: string };
  if (tagged.type === "url") return tagged.url?.href ?? null;
  if (tagged.type === "text") return `data:${mediaType},${encodeURIComponent(tagged.text ?? "")}`;
  return tagged.type === "data" ? urlOf(tagged.data, mediaType) : null;
}

function referenceOf(data: unknown): Record<string, string> {
  const { reference } = data as { reference?: Record<string, string> };
  return reference ?? (data as Record<string, string>);
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
