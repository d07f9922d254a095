/**
 * Imports a file into a session without blocking the agent.
 *
 * The file is read and measured in pieces, between which the agent answers other calls. Nothing is stored before all was read, and all of
 * it is stored in one transaction.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { readTranscript, type Conversation, type Format } from "./import.ts";
import { pauseOf, type Uses } from "../agent/let-others-in.ts";
import { inSlices, type Slices } from "../steps/text/slices.ts";
import { importPace } from "./pace.ts";
import { MAX_REQUEST_BYTES } from "../limits.ts";
import type { Encoded } from "../memory/messages/content.ts";
import type { History } from "../memory/messages/history.ts";

/**
 * Most characters of all imports that an agent reads at the same time. They are those of the largest frame. Two such files with the messages
 * that are made of them exceed the platform's 128 MB.
 */
const MAX_IMPORTING_CHARS = MAX_REQUEST_BYTES;

/** How a transcript is read. */
export interface ImportTranscriptOptions {
  /** Skips the detection of the format. */
  readonly format?: Format | undefined;
  /** Takes the conversation at this index, counted from 0, of a text with several. */
  readonly index?: number | undefined;
}

interface ReadFile {
  readonly format: Format;
  readonly notes: readonly string[];
  readonly conversation: Conversation;
  /** The conversation's messages in the form and order in which they will be stored. */
  readonly encoded: readonly Encoded[];
}

/** The files that one agent is reading. */
export interface OpenImports {
  /** Number of their characters. */
  chars: number;
  readonly uses: Uses;
}

/** Throws `import_failed`, `invalid_input` for an index that the file does not have, `rate_limited`, and the errors of an append. */
export async function readFile(
  reading: OpenImports,
  history: History,
  { text, ...options }: { text: string } & ImportTranscriptOptions,
): Promise<ReadFile> {
  // Each file takes memory while it is read, so this bounds the files at one time.
  if (reading.chars > 0 && reading.chars + text.length > MAX_IMPORTING_CHARS) {
    throw new PalimpsestError("rate_limited", "Other imports are being read. Send this one again when they are done.");
  }
  reading.chars += text.length;
  try {
    return await inSlices(read(history, text, options), pauseOf(reading));
  } finally {
    reading.chars -= text.length;
  }
}

function* read(history: History, text: string, { format, index }: ImportTranscriptOptions): Slices<ReadFile> {
  const { conversations, ...found } = yield* readTranscript(text, format === undefined ? {} : { format });
  const conversation = conversations[index ?? 0];
  if (conversation === undefined || (index === undefined && conversations.length > 1)) {
    throw new PalimpsestError(
      "invalid_input",
      `The file holds ${conversations.length} conversations. Pass index, 0 to ${conversations.length - 1}, to choose one.`,
    );
  }
  return { ...found, conversation, encoded: yield* encodeAll(history, conversation.messages) };
}

function* encodeAll(history: History, messages: readonly UIMessage[]): Slices<Encoded[]> {
  const pace = importPace();
  const encoded: Encoded[] = [];
  for (const message of messages) {
    const each = history.encode(message);
    encoded.push(each);
    if (pace.isOverEntry(each.bytes)) yield;
  }
  return encoded;
}

/**
 * Stores the file. Call it inside the transaction. Returns the number of new messages. A message that the session already holds is not
 * changed.
 */
export function storeFile(
  history: History,
  { messages, branches, disowned }: Conversation,
  encoded: readonly Encoded[],
): number {
  return messages.filter((message, at) => {
    // A summary of the session's own has another id in the file than the message made from it.
    const own = disowned.get(message.id);
    if (own !== undefined && history.has(own)) return false;
    return history.append(message, branches.get(message.id), encoded[at]).inserted;
  }).length;
}
