/**
 * Lists of provider messages in any wrapping. Known are a bare list, one message a line, a request body, and records that each hold one
 * conversation (a fine-tuning file, a benchmark's trajectories).
 */
import type { z } from "zod";
import { checkCount, importFailed, isRecord, parseItems, type Item } from "./items.ts";
import type { Slices } from "../steps/text/slices.ts";
import type { Chat, ImportedTurn } from "./turns.ts";

/** Returns the conversations of `items`, with each message parsed by `message`. Throws `import_failed`. */
export function* readChats(items: readonly Item[], message: z.ZodType<ImportedTurn>, format: string): Slices<Chat[]> {
  const lists = items.map((item) => chatMessages(item.value));
  if (lists.every((list) => list === null)) return [{ label: null, turns: yield* parseItems(items, message, format) }];
  checkCount(lists.reduce((sum, list) => sum + (list?.length ?? 0), 0));
  const chats = items.map(({ place, value, size }, index): { label: string | null; messages: Item[] } => {
    const list = lists[index];
    if (!list) throw importFailed(`${place}: holds no list of messages, as others here do (format ${format})`);
    const share = size / list.length;
    const messages = list.map((each, at) => ({ place: `${place}, message ${at + 1}`, value: each, size: share }));
    return { label: labelOf(value), messages: [...systemPrompt(place, value), ...messages] };
  });
  // Parses all conversations together, so that the error names problems of each.
  const all = chats.flatMap((chat) => chat.messages);
  const turns = yield* parseItems(all, message, format);
  return chats.map(({ label, messages }) => ({ label, turns: turns.splice(0, messages.length) }));
}

/** Returns the list of messages in a value, under any name. Null when the value is a message itself or holds no list. */
export function chatMessages(value: unknown): unknown[] | null {
  if (isChat(value)) return value;
  if (!isRecord(value) || "role" in value) return null;
  return Object.values(value).find(isChat) ?? null;
}

function isChat(value: unknown): value is unknown[] {
  return Array.isArray(value) && isRecord(value[0]) && typeof value[0]["role"] === "string";
}

/** A request body keeps the system prompt beside its messages. */
function systemPrompt(place: string, record: unknown): Item[] {
  const system = isRecord(record) ? record["system"] : undefined;
  if (typeof system !== "string" && !Array.isArray(system)) return [];
  return [{ place: `${place}, system`, value: { role: "system", content: system }, size: system.length }];
}

function labelOf(record: unknown): string | null {
  if (!isRecord(record)) return null;
  for (const key of ["name", "title", "id", "task_id"]) {
    const label = record[key];
    if (typeof label === "number" || (typeof label === "string" && label !== "")) return String(label);
  }
  return null;
}
