/** Tells the format of a file by its content. */
import { chatMessages } from "./chats.ts";
import type { JsonFormat } from "./formats.ts";
import { isRecord, type Item } from "./items.ts";
import { isOpenAiRole } from "./openai.ts";
import { importPace } from "./pace.ts";
import { isAnthropic, isMessage, isResponseItem, isThreadMessage } from "./shapes.ts";
import type { Slices } from "../steps/text/slices.ts";

/** Returns the format of a file's values, or null for an unknown one. */
export function* formatOf(items: readonly Item[]): Slices<JsonFormat | null> {
  const pace = importPace();
  for (const { value } of items) {
    const format = isRecord(value) ? formatOfOne(value) : null;
    if (format !== null) return format;
    if (pace.isOverEntry(0)) yield;
  }
  let format: JsonFormat | null = null;
  let isFirst = true;
  for (const { value, size } of items) {
    const messages = (chatMessages(value) ?? [value]).filter(isMessage);
    // Plain text looks alike in these formats, so only the blocks decide.
    if (messages.some(isThreadMessage)) return "openai-thread";
    if (messages.some(isAnthropic)) return "anthropic";
    if (messages.some(isResponseItem)) return isFirst && isHeader(items[0]?.value) ? "codex" : "openai-responses";
    if (isFirst && messages.length > 0) {
      isFirst = false;
      // Messages of other tools look alike too, with other roles, or with parts where these have content.
      const { role, parts } = messages[0] ?? {};
      if (Array.isArray(parts)) return parts.every(isTyped) ? "uimessage-jsonl" : null;
      if (isOpenAiRole(role)) format = "openai";
    }
    if (pace.isOverEntry(size)) yield;
  }
  return format;
}

/** Types of a rollout's lines. */
const ROLLOUT: ReadonlySet<unknown> = new Set([
  "session_meta",
  "response_item",
  "event_msg",
  "turn_context",
  "compacted",
]);

/** Returns the format of which one value of a file is enough to tell. */
function formatOfOne(value: Readonly<Record<string, unknown>>): JsonFormat | null {
  const { type, parts, role, info, message, messages } = value;
  if (Array.isArray(parts) && typeof role === "string") return parts.every(isTyped) ? "uimessage-jsonl" : null;
  if (ROLLOUT.has(type) && isRecord(value["payload"])) return "codex";
  if (isRecord(info) && Array.isArray(messages) && messages.every(isOpenCodeMessage)) return "opencode";
  if (type === "session") return "pi";
  if (isRecord(message)) return type === "message" ? "pi" : "claude-code";
  return isGemini(value) ? "gemini-cli" : null;
}

/** A part that is no object at all is a bad part. One without a type belongs to another tool's message. */
function isTyped(part: unknown): boolean {
  return !isRecord(part) || typeof part["type"] === "string";
}

function isOpenCodeMessage(value: unknown): boolean {
  return isRecord(value) && isRecord(value["info"]) && Array.isArray(value["parts"]);
}

function isGemini({ type, ...event }: Readonly<Record<string, unknown>>): boolean {
  if (type === "init") return typeof event["session_id"] === "string";
  if (type === "message") return event["delta"] === true;
  return type === "tool_use" && typeof event["tool_name"] === "string";
}

/** The first line of the first rollouts, before bare items. */
function isHeader(value: unknown): boolean {
  return isRecord(value) && !isMessage(value) && typeof value["timestamp"] === "string" && "id" in value;
}
