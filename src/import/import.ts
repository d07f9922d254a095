/**
 * Turns other tools' transcripts into UIMessages that Palimpsest can append.
 *
 * It detects the format, reads the whole text and returns conversations. The caller stores them. A result exists only when every line was
 * understood, so no file is imported in part.
 */
import type { UIMessage } from "ai";
import { anthropicMessage } from "./anthropic.ts";
import { chatMessages, readChats } from "./chats.ts";
import { readClaudeCode } from "./claude-code.ts";
import { importFailed, isRecord, readItems, type Item } from "./items.ts";
import { openAiMessage } from "./openai.ts";
import { readPi } from "./pi.ts";
import { atOnce, type Slices } from "../steps/text/slices.ts";
import { importPace } from "./pace.ts";
import { assemble, UniqueIds, type Assembled, type Chat } from "./turns.ts";
import { readUIMessages } from "./uimessage.ts";

/** The formats of transcripts that can be read. */
export const FORMATS = ["uimessage-jsonl", "openai", "anthropic", "pi", "claude-code"] as const;
/** One of {@link FORMATS}. */
export type Format = (typeof FORMATS)[number];

/** How a text is read. */
export interface ImportOptions {
  /** Skips the detection of the format. */
  readonly format?: Format;
  /** Name of the conversation, or the first part of each name when there are several. Default: the format. */
  readonly name?: string;
  /** Takes only the conversation at this index, counted from 0. */
  readonly index?: number;
}

export interface Conversation {
  readonly name: string;
  /** Messages in the order of the source, with every parent before its children. Ids are unique. */
  readonly messages: UIMessage[];
  /**
   * Parents of the messages that do not follow the one before them. Null starts a new root. Usually empty. Calling `append(message,
   * branches.get(message.id))` in order builds the tree of the source.
   */
  readonly branches: ReadonlyMap<string, string | null>;
  /** Original ids by new id, for messages that claimed to be a summary of ours or had an id of that kind. */
  readonly disowned: ReadonlyMap<string, string>;
}

/** The conversations of a text. */
export interface ImportResult {
  /** The format, as it was given or detected. */
  readonly format: Format;
  /** In the order of the text. */
  readonly conversations: Conversation[];
  /** Notes for the reader about entries that were no messages, calls without a result, and ids that had to change. */
  readonly notes: string[];
}

/**
 * Returns the conversations in `text`. Throws `import_failed` when a line cannot be read, the format is unknown, or there are no messages
 * or too many for one import. For unreadable lines the error names the first with reasons and counts the others.
 */
export function importTranscript(text: string, options: ImportOptions = {}): ImportResult {
  return atOnce(readTranscript(text, options));
}

/** Works as {@link importTranscript}, in pieces. */
export function* readTranscript(text: string, options: ImportOptions = {}): Slices<ImportResult> {
  const items = yield* readItems(text);
  const format = options.format ?? (yield* formatOf(items));
  if (format === null) throw importFailed(`The format is not known. Known are ${FORMATS.join(", ")}`);
  const { conversations, notes } = yield* read(items, format, options.name ?? format);
  if (conversations.every((conversation) => conversation.messages.length === 0)) {
    throw importFailed(`The text holds no messages (format ${format})`);
  }
  if (options.index === undefined) return { format, conversations, notes };
  const chosen = conversations[options.index];
  if (chosen === undefined) {
    throw importFailed(`There is no conversation ${options.index}: the text holds ${conversations.length}, from 0 on`);
  }
  return { format, conversations: [chosen], notes };
}

/** Returns the format of `text`, or null for an unknown one. Throws `import_failed` when the text is not JSON at all. */
export function detectFormat(text: string): Format | null {
  return atOnce(formatOf(atOnce(readItems(text))));
}

function* read(items: readonly Item[], format: Format, name: string): Slices<Omit<ImportResult, "format">> {
  if (format === "uimessage-jsonl") {
    const { messages, renamedIds, disowned } = yield* readUIMessages(items);
    const conversation: Conversation = { name, messages, branches: new Map(), disowned };
    return { conversations: [conversation], notes: notesOf({ renamedIds, disowned: disowned.size }) };
  }
  const chats = yield* READERS[format](items);
  const assembled: Assembled[] = [];
  for (const chat of chats) assembled.push(yield* assemble(chat.turns, format));
  const names = new UniqueIds();
  const conversations = assembled.map(({ messages, branches, disowned }, index): Conversation => {
    const label = chats[index]?.label ?? (chats.length > 1 ? String(index + 1) : null);
    return { name: names.take(label === null ? name : `${name}/${label}`, name), messages, branches, disowned };
  });
  const sum = (pick: (one: Assembled) => number) => assembled.reduce((total, one) => total + pick(one), 0);
  const notes = notesOf({
    skipped: chats.flatMap((chat) => chat.turns).filter((turn) => turn.role === null).length,
    branches: sum((one) => one.branches.size),
    danglingCalls: sum((one) => one.danglingCalls),
    strayResults: sum((one) => one.strayResults),
    renamedIds: sum((one) => one.renamedIds),
    disowned: sum((one) => one.disowned.size),
  });
  return { conversations, notes };
}

const READERS: Readonly<Record<Exclude<Format, "uimessage-jsonl">, (items: readonly Item[]) => Slices<Chat[]>>> = {
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
  disowned:
    "summaries and parts of messages by Palimpsest, kept as ordinary messages under new ids, whose rules do not count",
};

function notesOf(counts: Partial<Record<keyof typeof NOTES, number>>): string[] {
  const kinds = Object.keys(NOTES) as (keyof typeof NOTES)[];
  return kinds.filter((kind) => (counts[kind] ?? 0) > 0).map((kind) => `${NOTES[kind]}: ${counts[kind]}`);
}

function* formatOf(items: readonly Item[]): Slices<Format | null> {
  const pace = importPace();
  for (const { value } of items) {
    if (!isRecord(value)) continue;
    if (Array.isArray(value["parts"]) && typeof value["role"] === "string") return "uimessage-jsonl";
    if (value["type"] === "session") return "pi";
    if (isRecord(value["message"])) return value["type"] === "message" ? "pi" : "claude-code";
    if (pace.isOverEntry(0)) yield;
  }
  let format: Format | null = null;
  for (const { value, size } of items) {
    const messages = (chatMessages(value) ?? [value]).filter(isRecord);
    const chat = messages.filter((message) => typeof message["role"] === "string");
    // Plain text looks alike in both formats, so only the blocks decide.
    if (chat.some(isAnthropic)) return "anthropic";
    if (chat.length > 0) format = "openai";
    if (pace.isOverEntry(size)) yield;
  }
  return format;
}

function isAnthropic(message: Record<string, unknown>): boolean {
  const blocks = Array.isArray(message["content"]) ? message["content"].filter(isRecord) : [];
  return blocks.some(
    (block) => "source" in block || /^(thinking|redacted_thinking|.*tool_(use|result))$/.test(String(block["type"])),
  );
}
