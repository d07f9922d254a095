/**
 * Imports a file into a session without blocking the agent.
 *
 * The file is read and measured in pieces, between which the agent answers other calls. Nothing is stored before all was read, and all of
 * it is stored in one transaction.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { chooseConversation } from "./chosen.ts";
import { readTranscript, type Conversation, type Format } from "./import.ts";
import { tooLarge } from "./parts.ts";
import type { OpenImports } from "./uploads.ts";
import { pauseOf } from "../agent/let-others-in.ts";
import { inSlices, type Slices } from "../steps/text/slices.ts";
import { importPace } from "./pace.ts";
import { MAX_IMPORTING_CHARS, MAX_REQUEST_BYTES } from "../limits.ts";
import type { Encoded } from "../memory/messages/content.ts";
import type { History } from "../memory/messages/history.ts";

/** Most characters of several imports that an agent reads at the same time, those of the largest frame. A larger one is read alone. */
const MAX_TOGETHER_CHARS = MAX_REQUEST_BYTES;

/** How a transcript is read. */
export interface ImportTranscriptOptions {
  /** Skips the detection of the format. */
  readonly format?: Format | undefined;
  /**
   * Takes the conversation at this index, counted from 0, of a text with several. Default: the only one, or the one whose agent started all
   * the others.
   */
  readonly index?: number | undefined;
}

interface ReadFile {
  readonly format: Format;
  readonly notes: readonly string[];
  readonly conversation: Conversation;
  /** The conversation's messages in the form and order in which they will be stored. */
  readonly encoded: readonly Encoded[];
}

/** Throws `import_failed`, `invalid_input` for an index that the file does not have, `rate_limited`, and the errors of an append. */
export async function readFile(
  reading: OpenImports,
  history: History,
  { text, ...options }: { text: string } & ImportTranscriptOptions,
): Promise<ReadFile> {
  if (text.length > MAX_IMPORTING_CHARS) throw tooLarge(text.length);
  // Each file takes memory while it is read, with the messages that are made of it.
  if (reading.chars > 0 && reading.chars + text.length > MAX_TOGETHER_CHARS) {
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
  const { format: found, ...rest } = yield* readTranscript(text, format === undefined ? {} : { format });
  const { conversation, notes } = chooseConversation({ format: found, ...rest }, index);
  return { format: found, notes, conversation, encoded: yield* encodeAll(history, conversation.messages) };
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
  { messages, branches, disowned }: Pick<Conversation, "messages" | "branches" | "disowned">,
  encoded: readonly Encoded[],
): number {
  return messages.filter((message, at) => {
    // A summary of the session's own has another id in the file than the message made from it.
    const own = disowned.get(message.id);
    if (own !== undefined && history.has(own)) return false;
    return history.append(message, branches.get(message.id), encoded[at]).inserted;
  }).length;
}
