/** Tells formats apart by the shape of one value. */
import { isRecord } from "./items.ts";

/** Types of the Responses API's items for calls and for what came of them. */
export const RESPONSE_CALL = /_call$/;
export const RESPONSE_RESULT = /_call_output$/;

const RESPONSE_BLOCKS: ReadonlySet<unknown> = new Set(["input_text", "output_text", "input_image", "input_file"]);

/** True for an item of the Responses API: one that is no message, or a message with blocks of this API. */
export function isResponseItem(value: Readonly<Record<string, unknown>>): boolean {
  const { type, role } = value;
  if (typeof role === "string") return blocksOf(value).some((block) => RESPONSE_BLOCKS.has(block["type"]));
  if (typeof type !== "string") return false;
  // Other tools name their calls so.
  if (type === "tool_call") return false;
  return type === "reasoning" || RESPONSE_CALL.test(type) || RESPONSE_RESULT.test(type);
}

/** True for a message with blocks of the Anthropic Messages API. */
export function isAnthropic(message: Readonly<Record<string, unknown>>): boolean {
  return blocksOf(message).some(
    (block) => "source" in block || /^(thinking|redacted_thinking|.*tool_(use|result))$/.test(String(block["type"])),
  );
}

/** True for a message of a thread of the Assistants API. */
export function isThreadMessage(value: Readonly<Record<string, unknown>>): boolean {
  return value["object"] === "thread.message";
}

/** True for what a list of messages may begin with. */
export function isMessage(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && (typeof value["role"] === "string" || isResponseItem(value));
}

function blocksOf(message: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  const { content } = message;
  return Array.isArray(content) ? content.filter(isRecord) : [];
}
