/**
 * Lists of provider messages in any wrapping. Known are a bare list, one message a line, a request body, a page of a list, and records that
 * each hold one conversation (a fine-tuning file, a benchmark's trajectories).
 */
import type { Slices } from "../../steps/text/text.ts";
import { checkCount, Fields, importFailed, isRecord, readEach, type Item } from "../items.ts";
import type { Chat, ImportedTurn } from "../turns.ts";

/** Types of the Responses API's items for calls and for what came of them. */
export const RESPONSE_CALL = /_call$/;
export const RESPONSE_RESULT = /_call_output$/;

const RESPONSE_BLOCKS: ReadonlySet<unknown> = new Set(["input_text", "output_text", "input_image", "input_file"]);

/** True for an item of the Responses API: one that is no message, or a message with blocks of this API. */
export function isResponseItem(value: Readonly<Record<string, unknown>>): boolean {
  const { type, role } = value;
  if (typeof role === "string") return blocksOf(value).some((block) => RESPONSE_BLOCKS.has(block["type"]));
  // Other tools name their calls `tool_call`.
  if (typeof type !== "string" || type === "tool_call") return false;
  return type === "reasoning" || RESPONSE_CALL.test(type) || RESPONSE_RESULT.test(type);
}

/** The blocks of a message, as far as they are objects. */
export function blocksOf({ content }: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

/** True for what a list of messages may begin with. */
export function isMessage(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && (typeof value["role"] === "string" || isResponseItem(value));
}

/** One list of a text. */
export interface ReadList<T> {
  readonly label: string | null;
  readonly values: T[];
  /** True for a page of an API's list, which may begin with the newest. */
  readonly isPage: boolean;
}

/** Returns the conversations of `items`, with each message read by `read`. Throws `import_failed`. */
export function* readChats(
  items: readonly Item[],
  read: (message: Fields) => ImportedTurn,
  format: string,
): Slices<Chat[]> {
  const lists = yield* readLists(items, read, format);
  return lists.map(({ label, values }) => ({ label, turns: values }));
}

/** Returns the lists of `items`, with each element read by `read`. Throws `import_failed`. */
export function* readLists<T>(
  items: readonly Item[],
  read: (element: Fields) => T,
  format: string,
): Slices<ReadList<T>[]> {
  const readOne = (value: unknown): T => read(new Fields(value));
  const lists = items.map((item) => messagesIn(item));
  if (lists.every((list) => list === null)) {
    return [{ label: null, values: yield* readEach(items, readOne, format), isPage: false }];
  }
  checkCount(lists.reduce((sum, list) => sum + (list?.length ?? 0), 0));
  const found = items.map(({ place, value }, index) => {
    const messages = lists[index];
    if (!messages) throw importFailed(`${place}: holds no list of messages, as others here do (format ${format})`);
    const isPage = isRecord(value) && value["object"] === "list";
    return { label: labelOf(value), messages: [...systemPrompt(place, value), ...messages], isPage };
  });
  // Reads all conversations together, so that the error names problems of each.
  const all = yield* readEach(
    found.flatMap(({ messages }) => messages),
    readOne,
    format,
  );
  return found.map(({ label, messages, isPage }) => ({ label, values: all.splice(0, messages.length), isPage }));
}

/** Returns the messages of a value that holds a list of them, or null. */
export function messagesIn({ place, value, size }: Item): Item[] | null {
  const list = chatMessages(value);
  const share = size / (list?.length ?? 1);
  return list?.map((each, at) => ({ place: `${place}, message ${at + 1}`, value: each, size: share })) ?? null;
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
