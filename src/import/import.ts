/**
 * Other tools' transcripts to UIMessages that Palimpsest can append.
 *
 * Job: tell the format, read the whole text, hand back conversations. Boundary: text in, values out; storing them is the
 * caller's. Safe because the result exists only when every line was understood: nothing is ever half imported.
 */
import type { UIMessage } from "ai";
import { anthropicMessage } from "./anthropic.ts";
import { chatMessages, readChats } from "./chats.ts";
import { readClaudeCode } from "./claude-code.ts";
import { importFailed, isRecord, readItems, type Item } from "./items.ts";
import { openAiMessage } from "./openai.ts";
import { readPi } from "./pi.ts";
import { assemble, UniqueIds, type Assembled, type Chat } from "./turns.ts";
import { readUIMessages } from "./uimessage.ts";

export const FORMATS = ["uimessage-jsonl", "openai", "anthropic", "pi", "claude-code"] as const;
export type Format = (typeof FORMATS)[number];

export interface ImportOptions {
  /** Skips the detection. */
  readonly format?: Format;
  /** Name of the conversation; with several, the first part of each name. Default: the format. */
  readonly name?: string;
  /** Takes only the conversation at this place, counted from 0. */
  readonly index?: number;
}

export interface Conversation {
  readonly name: string;
  /** In the order of the source, every parent before its children. Ids are unique. */
  readonly messages: UIMessage[];
  /**
   * Parents of the messages that do not follow the one before them; null starts a new root. Usually empty.
   * `append(message, branches.get(message.id))`, in order, builds the tree of the source.
   */
  readonly branches: ReadonlyMap<string, string | null>;
}

export interface ImportResult {
  readonly format: Format;
  readonly conversations: Conversation[];
  /** What a reader should know: entries that were no messages, calls without a result, ids that had to change. */
  readonly notes: string[];
}

/**
 * The conversations in `text`. Throws `import_failed` that names up to five places and reasons when any line cannot be
 * read, when the format is unknown, or when there are no messages.
 */
export function importTranscript(text: string, options: ImportOptions = {}): ImportResult {
  const items = readItems(text);
  const format = options.format ?? formatOf(items);
  if (format === null) throw importFailed([`The format is not known. Known are ${FORMATS.join(", ")}`]);
  const { conversations, notes } = read(items, format, options.name ?? format);
  if (conversations.every((conversation) => conversation.messages.length === 0)) {
    throw importFailed([`The text holds no messages (format ${format})`]);
  }
  if (options.index === undefined) return { format, conversations, notes };
  const chosen = conversations[options.index];
  if (chosen === undefined) {
    throw importFailed([
      `There is no conversation ${options.index}: the text holds ${conversations.length}, from 0 on`,
    ]);
  }
  return { format, conversations: [chosen], notes };
}

/** The format of `text`, null when it is none that is known. Throws `import_failed` when it is not JSON at all. */
export function detectFormat(text: string): Format | null {
  return formatOf(readItems(text));
}

function read(items: readonly Item[], format: Format, name: string): Omit<ImportResult, "format"> {
  if (format === "uimessage-jsonl") {
    const { messages, renamedIds } = readUIMessages(items);
    const conversation: Conversation = { name, messages, branches: new Map() };
    return { conversations: [conversation], notes: notesOf({ renamedIds }) };
  }
  const chats = READERS[format](items);
  const assembled = chats.map((chat) => assemble(chat.turns, format));
  const names = new UniqueIds();
  const conversations = assembled.map(({ messages, branches }, index): Conversation => {
    const label = chats[index]?.label ?? (chats.length > 1 ? String(index + 1) : null);
    return { name: names.take(label === null ? name : `${name}/${label}`, name), messages, branches };
  });
  const sum = (pick: (one: Assembled) => number) => assembled.reduce((total, one) => total + pick(one), 0);
  const notes = notesOf({
    skipped: chats.flatMap((chat) => chat.turns).filter((turn) => turn.role === null).length,
    branches: sum((one) => one.branches.size),
    danglingCalls: sum((one) => one.danglingCalls),
    strayResults: sum((one) => one.strayResults),
    renamedIds: sum((one) => one.renamedIds),
  });
  return { conversations, notes };
}

const READERS: Readonly<Record<Exclude<Format, "uimessage-jsonl">, (items: readonly Item[]) => Chat[]>> = {
  openai: (items) => readChats(items, openAiMessage, "openai"),
  anthropic: (items) => readChats(items, anthropicMessage, "anthropic"),
  pi: readPi,
  "claude-code": readClaudeCode,
};

const NOTES = {
  skipped: "entries without a message (settings, compactions by other tools) left out",
  branches: "messages that do not follow the one before them",
  danglingCalls: "tool calls without a result",
  strayResults: "tool results without a call, kept as text",
  renamedIds: "repeated ids made unique",
};

function notesOf(counts: Partial<Record<keyof typeof NOTES, number>>): string[] {
  const kinds = Object.keys(NOTES) as (keyof typeof NOTES)[];
  return kinds.filter((kind) => (counts[kind] ?? 0) > 0).map((kind) => `${NOTES[kind]}: ${counts[kind]}`);
}

function formatOf(items: readonly Item[]): Format | null {
  const values = items.map((item) => item.value).filter(isRecord);
  for (const value of values) {
    if (Array.isArray(value["parts"]) && typeof value["role"] === "string") return "uimessage-jsonl";
    if (value["type"] === "session") return "pi";
    if (isRecord(value["message"])) return value["type"] === "message" ? "pi" : "claude-code";
  }
  const messages = items.flatMap((item) => chatMessages(item.value) ?? [item.value]).filter(isRecord);
  const chat = messages.filter((message) => typeof message["role"] === "string");
  if (chat.length === 0) return null;
  // Plain text reads alike in both; only the blocks tell.
  return chat.some(isAnthropic) ? "anthropic" : "openai";
}

function isAnthropic(message: Record<string, unknown>): boolean {
  const blocks = Array.isArray(message["content"]) ? message["content"].filter(isRecord) : [];
  return blocks.some(
    (block) => "source" in block || /^(thinking|redacted_thinking|.*tool_(use|result))$/.test(String(block["type"])),
  );
}
