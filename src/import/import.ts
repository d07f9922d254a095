/**
 * Turns other tools' transcripts into UIMessages that Palimpsest can append.
 *
 * It detects the format, reads the whole text and returns conversations. The caller stores them. A result exists only when every line was
 * understood, so no file is imported in part.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { atOnce, type Slices } from "../steps/text/text.ts";
import { anthropicMessage, isAnthropic } from "./formats/anthropic.ts";
import { readClaudeCode } from "./formats/claude-code.ts";
import { readCodex } from "./formats/codex.ts";
import { readGemini } from "./formats/gemini-cli.ts";
import { chatMessages, isMessage, isResponseItem, readChats } from "./formats/lists.ts";
import { isOpenAiRole, openAiMessage, readThreads } from "./formats/openai.ts";
import { readOpenCode } from "./formats/opencode.ts";
import { readPi } from "./formats/pi.ts";
import { readResponses } from "./formats/responses.ts";
import { isSpecStory, readSpecStory } from "./formats/specstory.ts";
import { readUIMessages } from "./formats/uimessage.ts";
import { importFailed, importPace, isRecord, readItems, type Item } from "./items.ts";
import { assemble, UniqueIds, UNKNOWN_BLOCK, type Assembled, type Chat } from "./turns.ts";

/** The formats of transcripts that can be read. */
export const FORMATS = [
  "uimessage-jsonl",
  "openai",
  "openai-responses",
  "openai-thread",
  "anthropic",
  "claude-code",
  "codex",
  "gemini-cli",
  "opencode",
  "pi",
  "specstory",
] as const;
/** One of {@link FORMATS}. */
export type Format = (typeof FORMATS)[number];

/** A format whose files are values of JSON. */
type JsonFormat = Exclude<Format, "specstory">;

/** How each format's values become conversations. Messages of the AI SDK are some already. */
const READERS: Readonly<Record<Exclude<JsonFormat, "uimessage-jsonl">, (items: readonly Item[]) => Slices<Chat[]>>> = {
  openai: (items) => readChats(items, openAiMessage, "openai"),
  "openai-responses": readResponses,
  "openai-thread": readThreads,
  anthropic: (items) => readChats(items, anthropicMessage, "anthropic"),
  "claude-code": readClaudeCode,
  codex: readCodex,
  "gemini-cli": readGemini,
  opencode: readOpenCode,
  pi: readPi,
};

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
  /** True for the conversation of an agent that another one of the text started. */
  readonly isSubAgent: boolean;
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
  const { format, chats, assembled } = yield* readAs(text, options.format);
  const name = options.name ?? format;
  const names = new UniqueIds();
  const isOne = chats.filter(({ isSubAgent = false }) => !isSubAgent).length === 1;
  const conversations = assembled.map(({ messages, branches, disowned }, index): Conversation => {
    const { label = null, isSubAgent = false } = chats[index] ?? {};
    const own = label ?? (isOne && !isSubAgent ? null : String(index + 1));
    return { name: names.take(own === null ? name : `${name}/${own}`, name), messages, branches, disowned, isSubAgent };
  });
  if (conversations.every(({ messages }) => messages.length === 0)) {
    throw importFailed(`The text holds no messages (format ${format})`);
  }
  const { index } = options;
  const chosen = index === undefined ? conversations : conversations.slice(index, index + 1);
  if (chosen.length === 0) {
    throw importFailed(`There is no conversation ${index}: the text holds ${conversations.length}, from 0 on`);
  }
  return { format, conversations: chosen, notes: notesOf(chats, assembled) };
}

interface ReadText {
  readonly format: Format;
  readonly chats: readonly Chat[];
  /** The messages of each. */
  readonly assembled: readonly Assembled[];
}

function* readAs(text: string, given: Format | undefined): Slices<ReadText> {
  if (given === "specstory" || (given === undefined && isSpecStory(text))) {
    return yield* assembleAll(yield* readSpecStory(text), "specstory");
  }
  const items = yield* readItems(text);
  const format = given ?? (yield* formatOf(items));
  if (format === null) throw importFailed(`The format is not known. Known are ${FORMATS.join(", ")}`);
  if (format !== "uimessage-jsonl") return yield* assembleAll(yield* READERS[format](items), format);
  return { format, chats: [{ label: null, turns: [] }], assembled: [yield* readUIMessages(items)] };
}

function* assembleAll(chats: readonly Chat[], format: Format): Slices<ReadText> {
  const assembled: Assembled[] = [];
  for (const [index, { turns, isSubAgent = false }] of chats.entries()) {
    assembled.push(yield* assemble(turns, isSubAgent ? `${format}-${index + 1}` : format));
  }
  return { format, chats, assembled };
}

/** Returns a line for everything that is not as it was in the file. */
function notesOf(chats: readonly Chat[], assembled: readonly Assembled[]): string[] {
  const turns = chats.flatMap((chat) => chat.turns);
  const kinds = {
    "entries without a message left out": turns.flatMap(({ role, kind = "unnamed" }) =>
      role === null ? (kind ?? []) : [],
    ),
    "blocks of a kind that no model will be sent, kept as data": assembled.flatMap(({ messages }) =>
      messages.flatMap(unknownBlocks),
    ),
    "fields of messages left out": turns.flatMap((turn) => turn.unread ?? []),
  };
  const sum = (pick: (one: Assembled) => number): number => assembled.reduce((total, one) => total + pick(one), 0);
  const counts = {
    "messages that do not follow the one before them": sum(({ branches }) => branches.size),
    "tool calls without a result": sum(({ danglingCalls }) => danglingCalls),
    "tool results without a call, kept as text": sum(({ strayResults }) => strayResults),
    "repeated ids made unique": sum(({ renamedIds }) => renamedIds),
    "summaries and parts of messages by Palimpsest, kept as ordinary messages under new ids, whose rules do not count":
      sum(({ disowned }) => disowned.size),
  };
  return [
    ...Object.entries(kinds).flatMap(([note, found]) =>
      found.length > 0 ? [`${note}: ${found.length} (${kindsOf(found)})`] : [],
    ),
    ...Object.entries(counts).flatMap(([note, count]) => (count > 0 ? [`${note}: ${count}`] : [])),
  ];
}

/** The kinds of a message's blocks that are kept as data. */
function unknownBlocks({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => {
    if (part.type !== UNKNOWN_BLOCK || !("data" in part)) return [];
    const { data } = part;
    return isRecord(data) && typeof data["type"] === "string" ? data["type"] : "unnamed";
  });
}

/** Kinds that one note names, and characters of each. A file may have thousands. */
const NAMED_KINDS = 12;
const KIND_CHARS = 40;

function kindsOf(found: readonly string[]): string {
  const counts = [...Map.groupBy(found, (kind) => kind)].map(([kind, { length }]) => ({ kind, length }));
  const named = counts.toSorted((a, b) => b.length - a.length).slice(0, NAMED_KINDS);
  const rest = counts.length - named.length;
  const texts = named.map(({ kind, length }) => `${kind.slice(0, KIND_CHARS).toWellFormed()}: ${length}`);
  return [...texts, ...(rest > 0 ? [`and ${rest} more kinds`] : [])].join(", ");
}

/**
 * Returns the conversation at `index`, with notes on what was left out. Without it the file's only one, or the one whose agent started all the
 * others. Throws `invalid_input`.
 */
export function chooseConversation(
  { conversations, notes }: ImportResult,
  index?: number,
): { readonly conversation: Conversation; readonly notes: readonly string[] } {
  const [first, ...others] = conversations;
  const isMain = first !== undefined && !first.isSubAgent && others.every(({ isSubAgent }) => isSubAgent);
  const conversation = conversations[index ?? 0];
  if (conversation === undefined || (index === undefined && !isMain)) {
    throw new PalimpsestError(
      "invalid_input",
      `The file holds ${conversations.length} conversations. Pass index, 0 to ${conversations.length - 1}, to choose one.`,
    );
  }
  if (index !== undefined || others.length === 0) return { conversation, notes };
  const messages = others.reduce((sum, other) => sum + other.messages.length, 0);
  const left = `messages of ${others.length} sub-agents left out (index 1 to ${others.length} takes one): ${messages}`;
  return { conversation, notes: [...notes, left] };
}

/** Yields one line a message, with its newline, which `importTranscript` reads back unchanged. A long history is never held as one string. */
export function* exportJsonl(messages: Iterable<UIMessage>): Generator<string, void> {
  for (const message of messages) yield `${JSON.stringify(message)}\n`;
}

/** Returns the format of `text`, or null for an unknown one. Throws `import_failed` when the text is no format's at all. */
export function detectFormat(text: string): Format | null {
  return isSpecStory(text) ? "specstory" : atOnce(formatOf(atOnce(readItems(text))));
}

/** Returns the format of a file's values, or null for an unknown one. */
function* formatOf(items: readonly Item[]): Slices<JsonFormat | null> {
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
    if (messages.some((message) => message["object"] === "thread.message")) return "openai-thread";
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
  const isGemini =
    (type === "init" && typeof value["session_id"] === "string") ||
    (type === "message" && value["delta"] === true) ||
    (type === "tool_use" && typeof value["tool_name"] === "string");
  return isGemini ? "gemini-cli" : null;
}

/** A part that is no object at all is a bad part. One without a type belongs to another tool's message. */
function isTyped(part: unknown): boolean {
  return !isRecord(part) || typeof part["type"] === "string";
}

function isOpenCodeMessage(value: unknown): boolean {
  return isRecord(value) && isRecord(value["info"]) && Array.isArray(value["parts"]);
}

/** The first line of the first rollouts, before bare items. */
function isHeader(value: unknown): boolean {
  return isRecord(value) && !isMessage(value) && typeof value["timestamp"] === "string" && "id" in value;
}
