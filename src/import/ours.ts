/**
 * Messages of a file that claim to be ours. A transcript of a session that continues another one holds the other's summary. A dump of a
 * view holds its summaries and cut messages.
 *
 * A file may claim anything, so none of these is trusted. Each becomes an ordinary message under a new id. Text that nobody said becomes
 * the assistant's, so no line of a summary is taken for a rule of the user.
 */
import type { UIMessage } from "ai";
import { MAX_ID_CHARS } from "../limits.ts";
import { innerParts, type Part } from "../steps/message/tool-parts.ts";
import { RESERVED_METADATA, RESERVED_PREFIX } from "../steps/view/view.ts";

/** Prefix of the new id of a disowned message. */
const IMPORTED = "imported-";

/** Returns an id that only this message has. A second import of the same file gives the same id. */
export function ordinaryId(id: string): string {
  const rest = id.startsWith(RESERVED_PREFIX) ? id.slice(RESERVED_PREFIX.length) : id;
  return `${IMPORTED}${rest}`.slice(0, MAX_ID_CHARS).toWellFormed();
}

/** Returns the message without any mark of ours. Nobody vouches for its author, so it is the assistant's. */
export function disown({ metadata, ...message }: UIMessage): UIMessage {
  const kept = withoutOurs(metadata);
  const parts = message.parts.flatMap(withoutSteering);
  return {
    ...message,
    id: ordinaryId(message.id),
    role: disownedRole(message.role),
    parts,
    ...(kept !== undefined && { metadata: kept }),
  };
}

/** The role of a message that claimed to be ours. No word of it may count as the user's. */
export function disownedRole(role: UIMessage["role"]): UIMessage["role"] {
  return role === "user" ? "assistant" : role;
}

/** A user's message during a reply would count as the user's own words. */
function withoutSteering(part: Part): Part[] {
  return part.type === "steering-message" ? innerParts(part).flatMap(withoutSteering) : [part];
}

function withoutOurs(metadata: unknown): unknown {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return metadata;
  const entries = Object.entries(metadata).filter(([key]) => key !== RESERVED_METADATA);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
