/**
 * Lists of provider messages in any wrapping. Known are a bare list, one message a line, a request body, a page of a list, and records that
 * each hold one conversation (a fine-tuning file, a benchmark's trajectories).
 */
import type { z } from "zod";
import { checkCount, importFailed, isRecord, parseItems, type Item } from "./items.ts";
import { isMessage } from "./shapes.ts";
import type { Slices } from "../steps/text/slices.ts";
import type { Chat, ImportedTurn } from "./turns.ts";

/** One list of a text. */
export interface ReadList<T> {
  readonly label: string | null;
  readonly values: T[];
  /** True for a page of an API's list, which may begin with the newest. */
  readonly isPage: boolean;
}

/** Returns the conversations of `items`, with each message parsed by `message`. Throws `import_failed`. */
export function* readChats(items: readonly Item[], message: z.ZodType<ImportedTurn>, format: string): Slices<Chat[]> {
  const lists = yield* readLists(items, message, format);
  return lists.map(({ label, values }) => ({ label, turns: values }));
}

/** Returns the lists of `items`, with each element parsed by `element`. Throws `import_failed`. */
export function* readLists<T>(items: readonly Item[], element: z.ZodType<T>, format: string): Slices<ReadList<T>[]> {
  const lists = items.map((item) => chatMessages(item.value));
  if (lists.every((list) => list === null)) {
    return [{ label: null, values: yield* parseItems(items, element, format), isPage: false }];
  }
  checkCount(lists.reduce((sum, list) => sum + (list?.length ?? 0), 0));
  const found = items.map(({ place, value, size }, index) => {
    const list = lists[index];
    if (!list) throw importFailed(`${place}: holds no list of messages, as others here do (format ${format})`);
    const share = size / list.length;
    const messages = list.map((each, at): Item => {
      return { place: `${place}, message ${at + 1}`, value: each, size: share };
    });
    const isPage = isRecord(value) && value["object"] === "list";
    return { label: labelOf(value), messages: [...systemPrompt(place, value), ...messages], isPage };
  });
  // Parses all conversations together, so that the error names problems of each.
  const all = found.flatMap((chat) => chat.messages);
  const parsed = yield* parseItems(all, element, format);
  return found.map(({ label, messages, isPage }) => ({ label, values: parsed.splice(0, messages.length), isPage }));
}

/** Returns the list of messages in a value, under any name. Null when the value is a message itself or holds no list. */
export function chatMessages(value: unknown): unknown[] | null {
  if (isChat(value)) return value;
  if (!isRecord(value) || "role" in value) return null;
  return Object.values(value).find(isChat) ?? null;
}

/** Elements of a list of which one is a message, because a list may begin with what its API keeps beside messages. */
const LOOKED_AT = 20;

function isChat(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.slice(0, LOOKED_AT).some(isMessage);
}

/** A request body keeps the system prompt beside its messages. */
function systemPrompt(place: string, record: unknown): Item[] {
  const system = isRecord(record) ? (record["system"] ?? record["instructions"]) : undefined;
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
