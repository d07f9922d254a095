/**
 * Parts of a conversation that each fit into one call, on its way into a session and out of it.
 *
 * A part holds whole messages. Only a message that is larger than a part goes alone, and the largest message fits into a call. Parts that come in
 * wait in memory, and nothing is stored before the last one came. So an upload that breaks off leaves nothing, and is sent again from its
 * beginning.
 */
import type { UIMessage } from "ai";
import type { Yielder } from "../agent/yielder.ts";
import { PalimpsestError } from "../errors.ts";
import { MAX_IMPORTING_CHARS } from "../limits.ts";
import type { Encoded } from "../memory/messages/content.ts";
import type { History } from "../memory/messages/history.ts";
import type { Conversation } from "./import.ts";
import { checkCount, importFailed } from "./items.ts";

/** Characters of a part. Some proxies take no WebSocket frame of a megabyte. */
export const PART_CHARS = 500_000;
/** Messages of a part, so that the agent answers others soon. */
const PART_MESSAGES = 1_000;

/** One message of a part. */
export interface PartEntry {
  readonly message: UIMessage;
  /** Its parent, where it does not follow the message before it. Null starts a root. */
  readonly parentId?: string | null | undefined;
  /** The id that it had as a message of Palimpsest's own. */
  readonly was?: string | undefined;
}

/** A part, which begins at the message of the number `at`. */
export interface Part {
  readonly at: number;
  readonly messages: readonly PartEntry[];
  readonly last: boolean;
}

/** A part with the upload that it belongs to. */
export interface SentPart extends Part {
  /** A name that the sender chose, which no other upload has. */
  readonly upload: string;
}

/** What came of a part. */
export interface PartReceipt {
  /** Number of messages that are here. */
  readonly received: number;
  /** Number of new messages, once the last part came. Null before. */
  readonly inserted: number | null;
}

/** Which part of a branch is exported. */
export interface ExportPartOptions {
  /** The branch, which is the active one by default. */
  readonly leafId?: string | undefined;
  /** The `next` of the part before. Default 0. */
  readonly from?: number | undefined;
  /** Leaves out the secrets that the session's rules find. */
  readonly redact?: boolean | undefined;
}

/** A part of a branch. */
export interface ExportedPart {
  /** Whole messages, one JSON value a line. */
  readonly text: string;
  /** The branch. Null for a session without messages. */
  readonly leafId: string | null;
  /** Where the next part begins. Null where there is none. */
  readonly next: number | null;
}

/** Returns at least one part. Throws `import_failed` for a conversation that is larger than an import may be, before anything is sent. */
export function partsOf({ messages, branches, disowned }: Conversation): Part[] {
  let current: PartEntry[] = [];
  const parts = [{ at: 0, messages: current }];
  let [chars, total] = [0, 0];
  for (const [at, message] of messages.entries()) {
    const size = JSON.stringify(message).length;
    total += size;
    if (current.length >= PART_MESSAGES || (current.length > 0 && chars + size > PART_CHARS)) {
      parts.push({ at, messages: (current = []) });
      chars = 0;
    }
    chars += size;
    const [parentId, was] = [branches.get(message.id), disowned.get(message.id)];
    current.push({ message, ...(parentId !== undefined && { parentId }), ...(was !== undefined && { was }) });
  }
  if (total > MAX_IMPORTING_CHARS) throw tooLarge(total);
  return parts.map((part, index) => ({ ...part, last: index === parts.length - 1 }));
}

/** The refusal of a file or a conversation that an agent could not hold in its memory. */
export function tooLarge(chars: number): PalimpsestError {
  return importFailed(
    `The conversation has ${chars} characters, and one import takes ${MAX_IMPORTING_CHARS}. Cut the file between two messages, and import one part after the other.`,
  );
}

function otherImports(): PalimpsestError {
  return new PalimpsestError("rate_limited", "Other imports are being read. Send this one again when they are done.");
}

/** A conversation that is here, with its messages in the form in which they will be stored. */
export interface Encodable {
  readonly messages: UIMessage[];
  readonly encoded: Encoded[];
  readonly branches: Map<string, string | null>;
  readonly disowned: Map<string, string>;
}

/** A conversation of which parts came. */
interface Upload extends Encodable {
  readonly sessionId: string;
  /** Whether the session was there when the first part came. */
  readonly existed: boolean;
  chars: number;
  heardAt: number;
}

/** The files that one agent is reading. */
export interface OpenImports {
  /** Number of their characters. */
  chars: number;
  /** Conversations that come in parts, by the name that their sender chose. */
  readonly uploads: Map<string, Upload>;
  readonly uses: Yielder;
}

interface Receiver {
  readonly reading: OpenImports;
  readonly history: History;
  readonly sessionId: string;
  readonly existed: boolean;
  readonly now: number;
}

/**
 * Keeps a part, and returns the upload, which is whole with the last one. Throws `import_failed`, `rate_limited`, and the errors of an append.
 * After an error nothing of the upload is left.
 */
export function takePart(receiver: Receiver, part: SentPart): Upload {
  const { reading, history, sessionId, existed, now } = receiver;
  const { uploads } = reading;
  try {
    const begun = { sessionId, existed, messages: [], encoded: [], branches: new Map(), disowned: new Map(), chars: 0 };
    const upload: Upload = part.at === 0 ? { ...begun, heardAt: now } : mustGet(receiver, part);
    upload.heardAt = now;
    uploads.set(part.upload, upload);
    for (const { message, parentId, was } of part.messages) {
      upload.messages.push(message);
      checkCount(upload.messages.length);
      const encoded = history.encode(message);
      upload.encoded.push(encoded);
      if (parentId !== undefined) upload.branches.set(message.id, parentId);
      if (was !== undefined) upload.disowned.set(message.id, was);
      upload.chars += encoded.bytes;
      if (upload.chars > MAX_IMPORTING_CHARS) throw tooLarge(upload.chars);
    }
    mustHaveRoom(receiver, MAX_IMPORTING_CHARS);
    if (part.last) uploads.delete(part.upload);
    return upload;
  } catch (error) {
    uploads.delete(part.upload);
    throw error;
  }
}

function mustGet({ reading, sessionId }: Receiver, part: SentPart): Upload {
  const upload = reading.uploads.get(part.upload);
  if (upload?.sessionId === sessionId && upload.messages.length === part.at) return upload;
  throw importFailed(
    `The part begins at message ${part.at}, and ${upload?.messages.length ?? 0} are here. The agent restarted meanwhile: send the file again`,
  );
}

/** Milliseconds after which an upload whose sender is silent gives way to another. */
const SILENT_MS = 120_000;

/** Bounds the characters in memory by `most`, beside which nothing else may be there. */
export function mustHaveRoom({ reading, now }: Pick<Receiver, "reading" | "now">, most: number): void {
  const isFull = (): boolean => {
    const held = [...reading.uploads.values()].reduce((sum, { chars }) => sum + chars, reading.chars);
    return held > 0 && held > most;
  };
  if (!isFull()) return;
  for (const [name, { heardAt }] of reading.uploads) if (now - heardAt > SILENT_MS) reading.uploads.delete(name);
  if (isFull()) throw otherImports();
}
