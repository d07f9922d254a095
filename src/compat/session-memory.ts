/**
 * What stays behind notes when they become the summary, by the names that compaction from session notes has elsewhere.
 *
 * The configuration is one for the module, as there. The room of notes has a range for each session (`keepNotes({ keep })`), and does not
 * read this one.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import {
  DEFAULT_NOTES_MAX_TOKENS,
  DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES,
  DEFAULT_NOTES_MIN_TOKENS,
} from "../notes/limits.ts";
import { measureMessage } from "../steps/message/message.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { alignBoundaryBackward } from "./boundaries.ts";
import { estimateMessageTokens, isCompactionMessage } from "./messages.ts";

export interface SessionMemoryCompactConfig {
  /** Least tokens to keep. */
  readonly minTokens: number;
  /** Least messages with text to keep. */
  readonly minTextBlockMessages: number;
  /** No further message is kept once this many tokens are. */
  readonly maxTokens: number;
}

export const DEFAULT_SM_COMPACT_CONFIG: SessionMemoryCompactConfig = {
  minTokens: DEFAULT_NOTES_MIN_TOKENS,
  minTextBlockMessages: DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES,
  maxTokens: DEFAULT_NOTES_MAX_TOKENS,
};

let config = DEFAULT_SM_COMPACT_CONFIG;

/** A copy of the configuration in force. */
export function getSessionMemoryCompactConfig(): SessionMemoryCompactConfig {
  return { ...config };
}

/** Replaces the given fields. A number that is not above 0 changes nothing. Throws `invalid_options` for an unknown field. */
export function setSessionMemoryCompactConfig(changes: Partial<SessionMemoryCompactConfig>): void {
  const unknown = Object.keys(changes).filter((name) => !Object.hasOwn(DEFAULT_SM_COMPACT_CONFIG, name));
  if (unknown.length > 0) {
    const known = Object.keys(DEFAULT_SM_COMPACT_CONFIG).join(", ");
    throw new PalimpsestError("invalid_options", `${unknown.join(", ")}: no such field. There are: ${known}.`);
  }
  const positive = Object.entries(changes).filter(([, value]) => Number.isFinite(value) && value > 0);
  config = { ...config, ...Object.fromEntries(positive) };
}

export function resetSessionMemoryCompactConfig(): void {
  config = DEFAULT_SM_COMPACT_CONFIG;
}

/** True for a message of a user or an assistant with a text that is not blank. */
export function hasTextBlocks(message: UIMessage): boolean {
  return message.role !== "system" && measureMessage(message, () => 0).texts.length > 0;
}

/**
 * The index from which messages are kept, where notes cover all up to `lastSummarizedIndex`, or -1 for notes whose coverage is not known.
 * It goes back from there until enough tokens and enough messages with text are kept, or the most tokens are. It never goes behind a
 * message that stands for an earlier summary.
 */
export function calculateMessagesToKeepIndex(messages: readonly UIMessage[], lastSummarizedIndex: number): number {
  const floor = messages.findLastIndex(isCompactionMessage) + 1;
  let at = lastSummarizedIndex < 0 ? messages.length : Math.min(messages.length, lastSummarizedIndex + 1);
  at = Math.max(at, floor);
  const kept = messages.slice(at);
  let tokens = estimateMessageTokens(kept);
  let withText = kept.filter(hasTextBlocks).length;
  while (at > floor) {
    if (tokens >= config.maxTokens) break;
    if (tokens >= config.minTokens && withText >= config.minTextBlockMessages) break;
    at--;
    const added = messages.slice(at, at + 1);
    tokens += estimateMessageTokens(added);
    withText += added.filter(hasTextBlocks).length;
  }
  return Math.max(floor, adjustIndexToPreserveAPIInvariants(messages, at));
}

/** The last index up to the given one that parts neither a call from its result, nor the messages of one reply of a provider. */
export function adjustIndexToPreserveAPIInvariants(messages: readonly UIMessage[], startIndex: number): number {
  const groups = messages.map((message) => measureMessage(message, estimateTokens).group);
  for (let at = Math.min(startIndex, messages.length); ;) {
    const before = alignBoundaryBackward(messages, at);
    // Any message that is kept may be of a reply that began earlier, not the first one alone.
    const kept = new Set(groups.slice(before).filter((group) => group !== null));
    const first = groups.findIndex((group) => group !== null && kept.has(group));
    const next = first === -1 ? before : Math.min(first, before);
    if (next === at) return at;
    at = next;
  }
}
