/**
 * Conversations that come in parts, because no single call could carry them.
 *
 * The parts wait in memory, and nothing is stored before the last one came. So an upload that breaks off leaves nothing, and is sent again from
 * its beginning.
 */
import type { UIMessage } from "ai";
import type { Uses } from "../agent/let-others-in.ts";
import { PalimpsestError } from "../errors.ts";
import { MAX_IMPORTING_CHARS } from "../limits.ts";
import type { Encoded } from "../memory/messages/content.ts";
import type { History } from "../memory/messages/history.ts";
import type { Conversation } from "./import.ts";
import { checkCount, importFailed } from "./items.ts";
import { tooLarge, type Part } from "./parts.ts";

/** Milliseconds after which an upload whose sender is silent gives way to another. */
const SILENT_MS = 120_000;

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

/** A conversation that is here whole, with its messages in the form in which they will be stored. */
export interface WholeUpload {
  readonly conversation: Pick<Conversation, "messages" | "branches" | "disowned">;
  readonly encoded: readonly Encoded[];
  /** Whether the session was there when the first part came. */
  readonly existed: boolean;
}

export interface Upload {
  readonly sessionId: string;
  readonly existed: boolean;
  readonly messages: UIMessage[];
  readonly encoded: Encoded[];
  readonly branches: Map<string, string | null>;
  readonly disowned: Map<string, string>;
  chars: number;
  heardAt: number;
}

/** The files that one agent is reading. */
export interface OpenImports {
  /** Number of their characters. */
  chars: number;
  /** Conversations that come in parts, by the name that their sender chose. */
  readonly uploads: Map<string, Upload>;
  readonly uses: Uses;
}

interface Receiver {
  readonly reading: OpenImports;
  readonly history: History;
  readonly sessionId: string;
  readonly existed: boolean;
  readonly now: number;
}

/**
 * Keeps a part. Returns the whole conversation once the last part came, and the number of messages before. Throws `import_failed`,
 * `rate_limited`, and the errors of an append. After an error nothing of the upload is left.
 */
export function takePart(receiver: Receiver, part: SentPart): WholeUpload | number {
  const { reading } = receiver;
  try {
    const upload = openUpload(receiver, part);
    for (const { message, parentId, was } of part.messages) {
      upload.messages.push(message);
      checkCount(upload.messages.length);
      const encoded = receiver.history.encode(message);
      upload.encoded.push(encoded);
      if (parentId !== undefined) upload.branches.set(message.id, parentId);
      if (was !== undefined) upload.disowned.set(message.id, was);
      upload.chars += encoded.bytes;
      if (upload.chars > MAX_IMPORTING_CHARS) throw tooLarge(upload.chars);
    }
    mustHaveRoom(receiver);
    if (!part.last) return upload.messages.length;
    reading.uploads.delete(part.upload);
    const { messages, branches, disowned, encoded, existed } = upload;
    return { conversation: { messages, branches, disowned }, encoded, existed };
  } catch (error) {
    reading.uploads.delete(part.upload);
    throw error;
  }
}

function openUpload({ reading, sessionId, existed, now }: Receiver, { upload: name, at }: SentPart): Upload {
  const fresh = { sessionId, existed, messages: [], encoded: [], branches: new Map(), disowned: new Map(), chars: 0 };
  const upload: Upload = at === 0 ? { ...fresh, heardAt: now } : mustGet(reading, name, { sessionId, at });
  upload.heardAt = now;
  reading.uploads.set(name, upload);
  return upload;
}

function mustGet({ uploads }: OpenImports, name: string, expected: { sessionId: string; at: number }): Upload {
  const upload = uploads.get(name);
  if (upload?.sessionId === expected.sessionId && upload.messages.length === expected.at) return upload;
  throw importFailed(
    `The part begins at message ${expected.at}, and ${upload?.messages.length ?? 0} are here. The agent restarted meanwhile: send the file again`,
  );
}

/** Bounds what waits in memory. An upload whose sender is silent gives way. */
function mustHaveRoom({ reading, now }: Receiver): void {
  const waiting = (): number =>
    reading.chars + [...reading.uploads.values()].reduce((sum, each) => sum + each.chars, 0);
  if (waiting() <= MAX_IMPORTING_CHARS) return;
  for (const [name, { heardAt }] of reading.uploads) if (now - heardAt > SILENT_MS) reading.uploads.delete(name);
  if (waiting() <= MAX_IMPORTING_CHARS) return;
  throw new PalimpsestError("rate_limited", "Other imports are being read. Send this one again when they are done.");
}
