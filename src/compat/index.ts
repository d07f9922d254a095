/**
 * Helpers under the names that users of the Agents SDK's sessions, and of compaction from session notes, know. They run this project's own
 * steps.
 *
 * They are pure functions over messages, for code that moves here. Nothing else in the project uses them.
 */
import type { UIMessage } from "ai";
import { inWords, PalimpsestError } from "../errors.ts";
import { truncateOlderMessages as truncateInSteps, type TruncateOptions } from "../fit/truncate.ts";
import type { OwnSummary } from "../agent/settings.ts";
import { buildPrompt, DEFAULT_TEMPLATE } from "../steps/draft/prompt.ts";
import { renderTranscript } from "../steps/draft/render.ts";
import { repairMessages } from "../steps/view/repair.ts";
import { toolPart, measureMessage } from "../steps/message/message.ts";
import { estimateTokens } from "../steps/tokens/tokens.ts";
import { isSummary } from "../steps/view/view.ts";
import {
  DEFAULT_NOTES_MAX_TOKENS,
  DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES,
  DEFAULT_NOTES_MIN_TOKENS,
} from "../notes/limits.ts";

export type { TruncateOptions };

/** Messages at the start that are kept, tokens and messages at the end, where nothing else is said. */
const HEAD_MESSAGES = 3;
const TAIL_TOKENS = 20_000;
const TAIL_MESSAGES = 2;

/** The share of its source that a summary may take, within a least and a most number of tokens. */
const SUMMARY_SHARE = 0.2;
const LEAST_SUMMARY_TOKENS = 100;
const MOST_SUMMARY_TOKENS = 8_000;

/** The messages with every tool call paired with its one result, ready for `convertToModelMessages`. */
export function sanitizeToolPairs(messages: UIMessage[]): UIMessage[] {
  return repairMessages(messages);
}

/**
 * Shortens long tool outputs and texts of all but the newest messages, 4 of them unless `keepRecent` says otherwise. The function of this
 * name in `palimpsest` moves its line by 8 messages, for a provider's cache. This one moves it with each message, as the SDK's does.
 */
export function truncateOlderMessages(messages: UIMessage[], options: TruncateOptions = {}): UIMessage[] {
  return truncateInSteps(messages, { step: 1, ...options });
}

/** Where the tail begins: the newest messages within the budget, at least `minTailMessages` of them, never before `headEnd`. */
export function findTailCutByTokens(
  messages: readonly UIMessage[],
  headEnd: number,
  tailTokenBudget = TAIL_TOKENS,
  minTailMessages = TAIL_MESSAGES,
): number {
  let cut = messages.length;
  let tokens = 0;
  while (cut > headEnd) {
    tokens += estimateMessageTokens(messages.slice(cut - 1, cut));
    if (tokens > tailTokenBudget && messages.length - cut >= minTailMessages) break;
    cut--;
  }
  return Math.max(headEnd, alignBoundaryBackward(messages, cut));
}

/** Tokens that a summary of these messages may take. */
export function computeSummaryBudget(messages: readonly UIMessage[]): number {
  const share = Math.floor(estimateMessageTokens(messages) * SUMMARY_SHARE);
  return Math.min(MOST_SUMMARY_TOKENS, Math.max(LEAST_SUMMARY_TOKENS, share));
}

/** A prompt that asks for a summary in sections. Whatever the messages say in it is data to the model. */
export function buildSummaryPrompt(
  messages: readonly UIMessage[],
  previousSummary: string | null,
  budget: number,
): string {
  const { system, prompt } = buildPrompt({
    kind: "chunk",
    transcript: renderTranscript(messages.map((message) => ({ kind: "message", message }))),
    previous: previousSummary,
    template: DEFAULT_TEMPLATE,
    summaryTokens: budget,
    boundary: crypto.randomUUID(),
  });
  return `${system}\n\n${prompt}`;
}

export interface CompactOptions {
  /** Calls a model with a prompt. */
  readonly summarize: (prompt: string) => Promise<string>;
  /** Messages at the start that are kept. Default 3. */
  readonly protectHead?: number | undefined;
  /** Newest tokens that are kept. Default 20,000. */
  readonly tailTokenBudget?: number | undefined;
  /** The same, by its newer name. */
  readonly keepRecentTokens?: number | undefined;
  /** Newest messages that are kept, whatever they weigh. Default 2. */
  readonly minTailMessages?: number | undefined;
}

/**
 * A function for `session.onCompaction(…)` of the room `ownFunction()`: it keeps head and tail, and has the middle summarised, an earlier summary in it
 * brought up to date. Null where there is nothing between the two, or the answer is empty. Throws `invalid_options`.
 */
export function createCompactFunction(
  options: CompactOptions,
): (messages: readonly UIMessage[]) => Promise<OwnSummary | null> {
  const { summarize, protectHead = HEAD_MESSAGES, minTailMessages = TAIL_MESSAGES } = options;
  const tailTokenBudget = options.tailTokenBudget ?? options.keepRecentTokens ?? TAIL_TOKENS;
  for (const [name, value] of Object.entries({ protectHead, minTailMessages, tailTokenBudget })) {
    if (Number.isSafeInteger(value) && value >= 0) continue;
    throw new PalimpsestError("invalid_options", `${name} is ${inWords(value)}: give a whole number of at least 0.`);
  }
  return async (messages) => {
    const from = alignBoundaryForward(messages, Math.min(protectHead, messages.length));
    const to = findTailCutByTokens(messages, from, tailTokenBudget, minTailMessages);
    const middle = messages.slice(from, to);
    const [first] = middle;
    const last = middle.at(-1);
    if (first === undefined || last === undefined) return null;
    const earlier = middle.filter(isCompactionMessage).map(textOf).join("\n\n");
    const source = middle.filter((message) => !isCompactionMessage(message));
    if (source.length === 0) return null;
    const prompt = buildSummaryPrompt(source, earlier === "" ? null : earlier, computeSummaryBudget(middle));
    const summary = (await summarize(prompt)).trim();
    return summary === "" ? null : { summary, fromMessageId: first.id, toMessageId: last.id };
  };
}

function textOf({ parts }: UIMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The first boundary from `index` on that separates no tool call from its result. */
export function alignBoundaryForward(messages: readonly UIMessage[], index: number): number {
  const dividing = dividingBoundaries(messages);
  let at = index;
  while (dividing.has(at)) at++;
  return at;
}

/** The last boundary up to `index` that separates no tool call from its result. */
export function alignBoundaryBackward(messages: readonly UIMessage[], index: number): number {
  const dividing = dividingBoundaries(messages);
  let at = index;
  while (dividing.has(at)) at--;
  return at;
}

/** Boundaries with a call before and its result behind them. Boundary `n` lies before message `n`. */
function dividingBoundaries(messages: readonly UIMessage[]): ReadonlySet<number> {
  const dividing = new Set<number>();
  const calledAt = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    for (const part of message.parts) {
      const tool = toolPart(part);
      if (tool === null) continue;
      const called = calledAt.get(tool.toolCallId);
      if (called === undefined) calledAt.set(tool.toolCallId, index);
      else for (let boundary = called + 1; boundary <= index; boundary++) dividing.add(boundary);
    }
  }
  return dividing;
}

/** Begins the id of a message that stands for a summary there. */
export const COMPACTION_PREFIX = "compaction_";

/** Of theirs or of ours. */
export function isCompactionMessage(message: Pick<UIMessage, "id" | "parts">): boolean {
  return message.id.startsWith(COMPACTION_PREFIX) || isSummary(message);
}

export function estimateStringTokens(text: string): number {
  return estimateTokens(text);
}

export function estimateMessageTokens(messages: readonly UIMessage[]): number {
  return messages.reduce((sum, message) => sum + measureMessage(message, estimateTokens).tokens, 0);
}

// What stays behind notes when they become the summary, by the names that compaction from session notes has elsewhere.
//
// The configuration is one for the module, as there. The room of notes has a range for each session (`keepNotes({ keep })`), and does not
// read this one.

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
