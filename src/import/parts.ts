/**
 * Parts of a conversation that each fit into one call, on its way into a session and out of it.
 *
 * A part holds whole messages. Only a message that is larger than a part goes alone, and the largest message fits into a call.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { MAX_IMPORTING_CHARS } from "../limits.ts";
import type { Conversation } from "./import.ts";

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

/** Returns at least one part. Throws `import_failed` for a conversation that is larger than an import may be, before anything is sent. */
export function partsOf({ messages, branches, disowned }: Conversation): Part[] {
  const parts: { at: number; messages: PartEntry[] }[] = [{ at: 0, messages: [] }];
  let [chars, total] = [0, 0];
  for (const [at, message] of messages.entries()) {
    const size = JSON.stringify(message).length;
    total += size;
    const current = parts.at(-1);
    const isFull = chars + size > PART_CHARS || (current?.messages.length ?? 0) >= PART_MESSAGES;
    if (current === undefined || (isFull && current.messages.length > 0)) {
      parts.push({ at, messages: [] });
      chars = 0;
    }
    chars += size;
    const parentId = branches.get(message.id);
    const was = disowned.get(message.id);
    parts
      .at(-1)
      ?.messages.push({ message, ...(parentId !== undefined && { parentId }), ...(was !== undefined && { was }) });
  }
  if (total > MAX_IMPORTING_CHARS) throw tooLarge(total);
  return parts.map((part, index) => ({ ...part, last: index === parts.length - 1 }));
}

/** The refusal of a file or a conversation that an agent could not hold in its memory. */
export function tooLarge(chars: number): PalimpsestError {
  return new PalimpsestError(
    "import_failed",
    `The conversation has ${chars} characters, and one import takes ${MAX_IMPORTING_CHARS}. Cut the file between two messages, and import one part after the other.`,
  );
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
