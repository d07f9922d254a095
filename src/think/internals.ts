/**
 * What is read of Think that it does not declare. Each is a hint that an older or a later version may lack: without it the answer is
 * the one that holds for most.
 */
import type { Think } from "@cloudflare/think";
import type { UIMessage } from "ai";

interface Internals {
  /** The message that the turn under way answers, where that is not the newest one. */
  readonly _turnHistoryLeafId?: unknown;
  /** True while media of old messages is moved to files. */
  readonly _mediaEvictionRunning?: unknown;
}

/** The leaf of a turn on another branch than the newest message's; undefined for that one. */
export function leafOfTurn(agent: Think): string | undefined {
  const { _turnHistoryLeafId: leafId } = agent as unknown as Internals;
  return typeof leafId === "string" ? leafId : undefined;
}

/**
 * Whether an update moved media of the message to files and changed nothing that was said: Think is at that, and the message
 * names a file of its own.
 */
export function isEviction(agent: Think, message: UIMessage): boolean {
  const { _mediaEvictionRunning: isRunning } = agent as unknown as Internals;
  return isRunning === true && JSON.stringify(message.parts).includes(evictedFile(message.id));
}

/** As it stands in a message's JSON. */
function evictedFile(messageId: string): string {
  return JSON.stringify(`/workspace/attachments/evicted/${messageId}-`).slice(1, -1);
}
