/**
 * The common part of all model formats, which turns a conversation into a prompt and a reply into messages.
 *
 * It has the interface and the halves of both directions that do not depend on a format. It makes no request. Messages are repaired before
 * they are sent, so each call has exactly one result for any history (V2).
 */
import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import { z } from "zod";
import { PalimpsestError } from "../../errors.ts";
import type { ImportedTurn, Settled, ToolResult, TurnPiece } from "../../import/turns.ts";
import { repairMessages } from "../../steps/view/repair.ts";
import { inTurns } from "../../steps/view/turns.ts";
import { jsonText, type Part } from "../../steps/message/tool-parts.ts";

/** `Prompt` is a conversation in a request of the format. */
export interface ModelFormatAdapter<Prompt> {
  /** The name of the format. */
  readonly name: string;
  /** Returns the messages as a model receives them, with every tool call paired with its result. */
  toModel(messages: readonly UIMessage[]): Promise<Prompt>;
  /**
   * Reads messages of the format, such as a model's reply or a tool's results, each into messages of its own. A result finds its call when
   * both are read together. Ids come from `newId`. Throws `invalid_input` that names the problem.
   */
  fromModel(prompt: Prompt, newId: () => string): UIMessage[];
}

/** A prompt's messages without the details of one format. Results follow their calls, regardless of who ran the tool. */
export type Exchange =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly content: readonly (Text | File)[] }
  | { readonly role: "assistant"; readonly content: readonly (Text | Reasoning | File | CallPart)[] }
  | { readonly role: "tool"; readonly results: readonly Result[] };

interface Text {
  readonly kind: "text";
  readonly text: string;
}

export interface File {
  readonly kind: "file";
  readonly mediaType: string;
  readonly filename: string | null;
  /** Null when only the provider that holds the file can use its name. */
  readonly url: string | null;
}

/** `options` are keyed by provider, as the AI SDK keeps them. */
interface Reasoning {
  readonly kind: "reasoning";
  readonly text: string;
  readonly options: Record<string, Record<string, unknown>>;
}

interface CallPart {
  readonly kind: "call";
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
}

interface Result {
  readonly callId: string;
  readonly toolName: string;
  readonly text: string;
  readonly failed: boolean;
}

/** Leaves out messages without content for a model (data parts only), because providers refuse empty messages. */
export async function toModelMessages(messages: readonly UIMessage[]): Promise<ModelMessage[]> {
  const converted = await convertToModelMessages(inTurns(repairMessages([...messages]), { keepsSystem: true }));
  return converted.filter((message) => message.content.length > 0);
}

export async function toExchanges(messages: readonly UIMessage[]): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  /** Call ids of the last reply, in order. */
  let calls: string[] = [];
  for (const exchange of (await toModelMessages(messages)).flatMap(exchangesOf)) {
    const last = exchanges.at(-1);
    if (exchange.role === "assistant")
      calls = exchange.content.flatMap((part) => (part.kind === "call" ? [part.callId] : []));
    if (exchange.role !== "tool") exchanges.push(exchange);
    else if (last?.role !== "tool") exchanges.push({ role: "tool", results: inOrder(exchange.results, calls) });
    else exchanges.splice(-1, 1, { role: "tool", results: inOrder([...last.results, ...exchange.results], calls) });
  }
  return exchanges;
}

function inOrder(results: readonly Result[], calls: readonly string[]): Result[] {
  return results.toSorted((a, b) => calls.indexOf(a.callId) - calls.indexOf(b.callId));
}

function exchangesOf(message: ModelMessage): Exchange[] {
  if (message.role === "system") return [{ role: "system", text: message.content }];
  if (typeof message.content === "string") {
    const content = [{ kind: "text" as const, text: message.content }];
    return [message.role === "user" ? { role: "user", content } : { role: "assistant", content }];
  }
  const results = message.content.flatMap((part) => (part.type === "tool-result" ? [resultOf(part)] : []));
  const after: Exchange[] = results.length === 0 ? [] : [{ role: "tool", results }];
  if (message.role === "tool") return after;
  if (message.role === "user") {
    const content = message.content.map(shownContent).filter((part) => part.kind === "file" || part.text !== "");
    return content.length === 0 ? [] : [{ role: "user", content }];
  }
  const content = message.content.flatMap((part): (Text | Reasoning | File | CallPart)[] => {
    if (part.type === "text" || part.type === "file") return [shownContent(part)];
    if (part.type === "reasoning") return [{ kind: "reasoning", text: part.text, options: part.providerOptions ?? {} }];
    if (part.type !== "tool-call") return [];
    return [{ kind: "call", callId: part.toolCallId, toolName: part.toolName, input: part.input }];
  });
  return content.length === 0 ? after : [{ role: "assistant", content }, ...after];
}

type Content<Role> = Exclude<Extract<ModelMessage, { role: Role }>["content"], string>[number];
type ResultPart = Extract<Content<"tool">, { type: "tool-result" }>;

function shownContent(part: Content<"user"> | Extract<Content<"assistant">, { type: "text" | "file" }>): Text | File {
  if (part.type === "text") return { kind: "text", text: part.text };
  const data = part.type === "file" ? part.data : null;
  const url =
    typeof data === "object" && data !== null && "url" in data && data.url instanceof URL ? data.url.href : null;
  return {
    kind: "file",
    mediaType: part.mediaType ?? "image",
    filename: (part.type === "file" && part.filename) || null,
    url,
  };
}

function resultOf({ toolCallId: callId, toolName, output }: ResultPart): Result {
  const failed = output.type === "error-text" || output.type === "error-json" || output.type === "execution-denied";
  return { callId, toolName, text: outputText(output), failed };
}

function outputText(output: ResultPart["output"]): string {
  if (output.type === "execution-denied") return output.reason ?? "The call was refused.";
  if (output.type !== "content") return jsonText(output.value);
  return output.value.map((part) => (part.type === "text" ? part.text : jsonText(part))).join("\n");
}

/** A note for a file in a format that cannot carry it. */
export function fileNote({ filename, mediaType, url }: File): string {
  const address = url === null || url.startsWith("data:") ? "" : ` at ${url}`;
  return `[File ${filename ?? "without a name"} (${mediaType})${address}: not sent, this model does not take it]`;
}

/** A note for reasoning in a format that cannot carry it. Empty reasoning (a provider's encrypted reasoning) needs no note. */
export function reasoningNote(text: string): string | null {
  return text.trim() === "" ? null : `[Reasoning of ${text.length} characters: not sent, this model does not take it]`;
}

/** Returns the media type and base64 of a data URL, or null for any other URL. */
export function base64Of(url: string): { mediaType: string; data: string } | null {
  const [, mediaType, data] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
  return mediaType === undefined || data === undefined ? null : { mediaType, data };
}

/** Returns each value as parsed by the schema. Throws `invalid_input`. */
export function parseTurns(
  schema: z.ZodType<ImportedTurn>,
  values: readonly unknown[],
  format: string,
): ImportedTurn[] {
  const parsed = z.array(schema).safeParse(values);
  if (parsed.success) return parsed.data;
  throw new PalimpsestError("invalid_input", `These are no messages of ${format}:\n${z.prettifyError(parsed.error)}`);
}

/** Makes one message for a turn's own content and one for its results. A tool's name comes from earlier calls. */
export function turnsToMessages(turns: readonly ImportedTurn[], newId: () => string): UIMessage[] {
  const names = new Map<string, string>();
  const messages: UIMessage[] = [];
  for (const { role, pieces } of turns) {
    const results = pieces.filter((piece) => piece.kind === "result");
    const parts = pieces.flatMap((piece) => saidPart(piece, names));
    if (results.length > 0) {
      const answers = results.map((result) => resultPart(result, names.get(result.callId)));
      messages.push({ id: newId(), role: "assistant", parts: answers });
    }
    if (role !== null && (parts.length > 0 || results.length === 0)) messages.push({ id: newId(), role, parts });
  }
  return messages;
}

function saidPart(piece: TurnPiece, names: Map<string, string>): Part[] {
  if (piece.kind === "part") return [piece.part];
  if (piece.kind === "result") return [];
  const { callId, toolName, input, providerExecuted, settled } = piece;
  const toolCallId = callId ?? `call-${names.size + 1}`;
  names.set(toolCallId, toolName);
  const base = { type: "dynamic-tool" as const, toolName, toolCallId, ...(providerExecuted && { providerExecuted }) };
  return [
    settled === undefined ? { ...base, state: "input-available", input } : { ...base, input, ...cameOf(settled) },
  ];
}

/** A result apart from its call is a part without input (see steps/message/tool-parts.ts). */
export function resultPart(
  { callId: toolCallId, toolName, output, failed }: Omit<ToolResult, "kind">,
  called?: string,
): Part {
  const part = { type: "dynamic-tool" as const, toolName: toolName ?? called ?? "tool", toolCallId, input: undefined };
  return { ...part, ...cameOf({ output, failed }) };
}

function cameOf({ output, failed }: Settled) {
  if (failed) return { state: "output-error" as const, errorText: jsonText(output) };
  return { state: "output-available" as const, output };
}
