/**
 * Turns other tools' transcripts into UIMessages that Palimpsest can append.
 *
 * It detects the format, reads the whole text and returns conversations. The caller stores them. A result exists only when every line was
 * understood, so no file is imported in part.
 */
import type { UIMessage } from "ai";
import { anthropicMessage } from "./anthropic.ts";
import { UNKNOWN_BLOCK } from "./blocks.ts";
import { readChats } from "./chats.ts";
import { readClaudeCode } from "./claude-code.ts";
import { readCodex } from "./codex.ts";
import { formatOf } from "./detect.ts";
import { FORMATS, type Format, type JsonFormat } from "./formats.ts";
import { readGemini } from "./gemini.ts";
import { importFailed, isRecord, readItems, type Item } from "./items.ts";
import { notesOf } from "./notes.ts";
import { openAiMessage } from "./openai.ts";
import { readOpenCode } from "./opencode.ts";
import { readPi } from "./pi.ts";
import { readResponses } from "./responses.ts";
import { isSpecStory, readSpecStory } from "./specstory.ts";
import { atOnce, type Slices } from "../steps/text/slices.ts";
import { readThreads } from "./threads.ts";
import { assemble, UniqueIds, type Assembled, type Chat } from "./turns.ts";
import { readUIMessages } from "./uimessage.ts";

export { FORMATS, type Format } from "./formats.ts";

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
  const { format, labelled, notes } = yield* readAs(text, options.format);
  const name = options.name ?? format;
  const names = new UniqueIds();
  const conversations = labelled.map(({ label, ...conversation }): Conversation => {
    return { name: names.take(label === null ? name : `${name}/${label}`, name), ...conversation };
  });
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

/** Returns the format of `text`, or null for an unknown one. Throws `import_failed` when the text is no format's at all. */
export function detectFormat(text: string): Format | null {
  return isSpecStory(text) ? "specstory" : atOnce(formatOf(atOnce(readItems(text))));
}

interface Labelled extends Omit<Conversation, "name"> {
  /** The source's name of the conversation, or null for the only one. */
  readonly label: string | null;
}

interface ReadText {
  readonly labelled: readonly Labelled[];
  readonly notes: string[];
}

function* readAs(text: string, given: Format | undefined): Slices<ReadText & { readonly format: Format }> {
  if (given === undefined && isSpecStory(text)) return yield* readAs(text, "specstory");
  if (given === "specstory") return { format: given, ...(yield* assembleAll(yield* readSpecStory(text), given)) };
  const items = yield* readItems(text);
  const format = given ?? (yield* formatOf(items));
  if (format === null) throw importFailed(`The format is not known. Known are ${FORMATS.join(", ")}`);
  if (format === "uimessage-jsonl") return { format, ...(yield* readOurs(items)) };
  return { format, ...(yield* assembleAll(yield* READERS[format](items), format)) };
}

function* readOurs(items: readonly Item[]): Slices<ReadText> {
  const { messages, renamedIds, disowned } = yield* readUIMessages(items);
  const conversation: Labelled = { label: null, messages, branches: new Map(), disowned, isSubAgent: false };
  return { labelled: [conversation], notes: notesOf({ renamedIds, disowned: disowned.size }) };
}

function* assembleAll(chats: readonly Chat[], format: Format): Slices<ReadText> {
  const assembled: Assembled[] = [];
  for (const [index, { turns, isSubAgent = false }] of chats.entries()) {
    assembled.push(yield* assemble(turns, isSubAgent ? `${format}-${index + 1}` : format));
  }
  const isOne = chats.filter(({ isSubAgent = false }) => !isSubAgent).length === 1;
  const labelled = assembled.map(({ messages, branches, disowned }, index): Labelled => {
    const { label = null, isSubAgent = false } = chats[index] ?? {};
    const number = isOne && !isSubAgent ? null : String(index + 1);
    return { label: label ?? number, messages, branches, disowned, isSubAgent };
  });
  const turns = chats.flatMap((chat) => chat.turns);
  const sum = (pick: (one: Assembled) => number) => assembled.reduce((total, one) => total + pick(one), 0);
  const counts = {
    branches: sum((one) => one.branches.size),
    danglingCalls: sum((one) => one.danglingCalls),
    strayResults: sum((one) => one.strayResults),
    renamedIds: sum((one) => one.renamedIds),
    disowned: sum((one) => one.disowned.size),
  };
  const kinds = {
    skipped: turns.filter((turn) => turn.role === null).flatMap(({ kind = "unnamed" }) => kind ?? []),
    unsent: assembled.flatMap(({ messages }) => messages.flatMap(unknownBlocks)),
    unread: turns.flatMap((turn) => turn.unread ?? []),
  };
  return { labelled, notes: notesOf(counts, kinds) };
}

/** The kinds of a message's blocks that are kept as data. */
function unknownBlocks({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => {
    if (part.type !== UNKNOWN_BLOCK || !("data" in part)) return [];
    const { data } = part;
    return isRecord(data) && typeof data["type"] === "string" ? data["type"] : "unnamed";
  });
}

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
