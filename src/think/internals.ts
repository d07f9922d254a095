/**
 * Undeclared internals of Think that this package reads. Each is a hint that another version may lack. Without it the answer is the usual
 * case.
 */
import type { Think } from "@cloudflare/think";
import type { UIMessage } from "ai";
import { sayLostFiles } from "../steps/view/repair.ts";

interface Internals {
  /** The message that the current turn answers, where that is not the newest one. */
  readonly _turnHistoryLeafId?: unknown;
  /** True while media of old messages is moved to files. */
  readonly _mediaEvictionRunning?: unknown;
  /** The messages that a turn begins with. Think converts them before any hook. */
  _turnHistory?: () => Promise<UIMessage[]>;
}

/** Has a turn of Think begin although a stored file has no address, on which the conversion throws. */
export function keepLostFilesAway(agent: Think): void {
  const internals = agent as unknown as Internals;
  const { _turnHistory: turnHistory } = internals;
  if (typeof turnHistory !== "function") return;
  // oxlint-disable-next-line eslint/no-underscore-dangle -- the SDK's name
  internals._turnHistory = async () => sayLostFiles(await turnHistory.call(agent));
}

/** The leaf of a turn on another branch than the newest message's. Undefined for that branch. */
export function leafOfTurn(agent: Think): string | undefined {
  const { _turnHistoryLeafId: leafId } = agent as unknown as Internals;
  return typeof leafId === "string" ? leafId : undefined;
}

/**
 * Whether an update only moved media of the message to files and changed no text. Think must be moving media, and the message must name a
 * file of its own.
 */
export function isEviction(agent: Think, message: UIMessage): boolean {
  const { _mediaEvictionRunning: isRunning } = agent as unknown as Internals;
  return isRunning === true && JSON.stringify(message.parts).includes(evictedFile(message.id));
}

/** The file's path as a message's JSON contains it. */
function evictedFile(messageId: string): string {
  return JSON.stringify(`/workspace/attachments/evicted/${messageId}-`).slice(1, -1);
}
