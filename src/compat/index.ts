/**
 * Helpers under the names that users of the Agents SDK's sessions, and of compaction from session notes, know. They run this project's own
 * steps.
 *
 * They are pure functions over messages, for code that moves here. Nothing else in the project uses them.
 */
import type { UIMessage } from "ai";
import { inWords, PalimpsestError } from "../errors.ts";
import { truncateOlderMessages as truncateInSteps, type TruncateOptions } from "../fit/truncate.ts";
import type { InlineSummary } from "../agent/settings.ts";
import { buildPrompt, DEFAULT_TEMPLATE } from "../steps/draft/prompt.ts";
import { renderTranscript } from "../steps/draft/render.ts";
import { repairMessages } from "../steps/view/repair.ts";
import { alignBoundaryBackward, alignBoundaryForward } from "./boundaries.ts";
import { COMPACTION_PREFIX, estimateMessageTokens, estimateStringTokens, isCompactionMessage } from "./messages.ts";

export {
  alignBoundaryBackward,
  alignBoundaryForward,
  COMPACTION_PREFIX,
  estimateMessageTokens,
  estimateStringTokens,
  isCompactionMessage,
};
export {
  adjustIndexToPreserveAPIInvariants,
  calculateMessagesToKeepIndex,
  DEFAULT_SM_COMPACT_CONFIG,
  getSessionMemoryCompactConfig,
  hasTextBlocks,
  resetSessionMemoryCompactConfig,
  setSessionMemoryCompactConfig,
  type SessionMemoryCompactConfig,
} from "./session-memory.ts";
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
): (messages: readonly UIMessage[]) => Promise<InlineSummary | null> {
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
