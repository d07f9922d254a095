/**
 * Messages of a file that say they are ours: a transcript of a session that went on from another one holds its summary, and
 * a dump of a view the summaries and cut messages in it.
 *
 * A file may say anything, so none of them is believed. Each becomes an ordinary message under a new id. What was not
 * somebody's own words is the assistant's: no line of a summary is then taken for a rule of the user.
 */
import type { UIMessage } from "ai";
import { MAX_ID_CHARS } from "../limits.ts";
import { innerParts, type Part } from "../steps/message/tool-parts.ts";
import { parseSyntheticId, RESERVED_METADATA, RESERVED_PREFIX } from "../steps/view/view.ts";

/** Begins the id of what is no longer ours. */
const IMPORTED = "imported-";

/** An id that nothing is known by yet but this message, whatever file it comes from again. */
export function ordinaryId(id: string): string {
  const rest = id.startsWith(RESERVED_PREFIX) ? id.slice(RESERVED_PREFIX.length) : id;
  return `${IMPORTED}${rest}`.slice(0, MAX_ID_CHARS).toWellFormed();
}

/** The message with nothing of ours about it. */
export function disown({ metadata, ...message }: UIMessage): UIMessage {
  const kept = withoutOurs(metadata);
  // Only a part of a message has an author of its own.
  const isPart = parseSyntheticId(message.id)?.kind === "slice";
  const role = message.role === "user" && !isPart ? "assistant" : message.role;
  const parts = isPart ? message.parts : message.parts.flatMap(withoutSteering);
  return { ...message, id: ordinaryId(message.id), role, parts, ...(kept !== undefined && { metadata: kept }) };
}

/** What a user said while a reply went on is the user's own. Nothing in a summary is. */
function withoutSteering(part: Part): Part[] {
  return part.type === "steering-message" ? innerParts(part).flatMap(withoutSteering) : [part];
}

function withoutOurs(metadata: unknown): unknown {
  if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return metadata;
  const entries = Object.entries(metadata).filter(([key]) => key !== RESERVED_METADATA);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
