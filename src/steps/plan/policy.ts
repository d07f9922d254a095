/**
 * The policy: every number used for a plan, resolved and validated once, before anything is stored.
 */
import { PalimpsestError } from "../../errors.ts";
import { checkFields, checkWhole } from "../../known-fields.ts";
import {
  DEFAULT_PROTECT_HEAD,
  HARD_LINE,
  HEAD_SHARE_OF_THRESHOLD,
  MAX_OUTLINE_ROWS,
  MAX_NAME_CHARS,
  MAX_SUMMARY_TOKENS,
  MIN_SUMMARY_TOKENS,
  STACK_SHARE_OF_THRESHOLD,
  SUMMARIES_IN_A_STACK,
} from "../../limits.ts";

/**
 * Divisor of the threshold that bounds the user's first message if it is kept whole by default. It is nearly always the task. The tail and
 * a stack of summaries still have room to grow beside it.
 */
export const FIRST_MESSAGE_SHARE_OF_THRESHOLD = 4;

/** Tokens of the beginning of a larger first message, which stands beside a summary. They take at most a fortieth of the threshold. */
export const OPENING_TOKENS = 1_000;
export const OPENING_SHARE_OF_THRESHOLD = 40;

/** Recent tokens that are kept by default, where the threshold leaves room for them. */
export const DEFAULT_TAIL_TOKENS = 20_000;

/** Divisor of the threshold that bounds the default tail. With summaries of a quarter, half of a view remains to grow. */
export const TAIL_SHARE_OF_THRESHOLD = 4;

/** Recent messages that are kept by default at any size. They are the last question and the reply to it. */
export const DEFAULT_MIN_TAIL_MESSAGES = 2;

/**
 * Tokens of the user's own words beside a summary, which are standing instructions first. They take a twentieth of the threshold, at least
 * this many tokens, and at most a fifth.
 */
export const PINNED_SHARE_OF_THRESHOLD = 20;
export const MIN_PINNED_TOKENS = 400;
export const MOST_PINNED_OF_THRESHOLD = 5;
/** Tokens of skills, instruction files and the plan beside the last summary. They take a tenth of the threshold, at least this many, and at most a fifth. */
export const LOADED_SHARE_OF_THRESHOLD = 10;
export const MIN_LOADED_TOKENS = 2_000;
export const MOST_LOADED_OF_THRESHOLD = 5;

/** Largest share of its source that a summary may take. A larger one frees too little for its cost. */
export const MOST_OF_A_SOURCE = 0.8;

/** Divisor of the number of messages that bounds the messages of a tail, as with tokens. */
const TAIL_SHARE_OF_MESSAGES = 3;

/** The summaries of a view are folded into one where they are more than a sixth of the number of messages. */
const STACK_SHARE_OF_MESSAGES = 6;

/** The smallest span in messages is a twentieth of their number, and at least two, because a summary takes the place of one. */
const SPAN_SHARE_OF_MESSAGES = 20;
const MIN_SPAN_MESSAGES = 2;

/** The default smallest span is a twentieth of the threshold, and at least this many tokens. */
export const SPAN_SHARE_OF_THRESHOLD = 20;
export const MIN_SPAN_TOKENS = 200;

/**
 * Default source tokens per summariser call. They hold the usual span and a large output whole. An output that is many times the view is
 * mostly repetition, and to read all of it would cost more than it tells.
 */
export const DEFAULT_CHUNK_TOKENS = 120_000;
export const LEAST_CHUNK_TOKENS = 48_000;
export const CHUNK_OF_THRESHOLD = 2.5;

/** The largest share of a threshold for summaries. A larger one, beside tail and head, leaves too little room to grow. */
const MOST_SHARE = 1 / 3;

/** The limits of a run on a view, resolved and validated. Recorded with the run, so that a replay makes the same plan. */
export interface Policy {
  /** Compact when the view (overhead included) is estimated at more than this many tokens. */
  readonly thresholdTokens: number;
  /** Messages at the start of the path that are never replaced, as far as {@link headTokenBudget} reaches. */
  readonly protectHead: number;
  /** Most tokens of the protected start. Without a limit, a start with whole files would leave no room to compact. */
  readonly headTokenBudget: number;
  /** The origin of {@link headTokenBudget}. It is the hard line for a `protectHead` that the caller stated. */
  readonly headWithin: "budget" | "hard-line";
  /** The start is kept through the user's first message in any case, unless it takes more tokens than this. */
  readonly firstMessageTokens: number;
  /** Tokens of that message's beginning that are quoted where the message is not kept. */
  readonly openingTokens: number;
  /** Recent tokens that are kept. */
  readonly tailTokenBudget: number;
  /** Recent messages that are kept, whatever their size. */
  readonly minTailMessages: number;
  /** Most tokens of one summary. */
  readonly summaryTokens: number;
  /** Most tokens of the user's own words beside one summary: standing instructions, then the newest of what the user said. */
  readonly pinnedTokens: number;
  /** Most tokens of loaded texts (skills, instruction files, the plan) beside the last summary. */
  readonly loadedTokens: number;
  /** Most tokens of all summaries of a view. Where another one has no room, they are folded into one. What stands beside them has budgets of its own. */
  readonly stackTokens: number;
  /** A summary must be at most this share of the tokens it replaces. */
  readonly maxSummaryRatio: number;
  /** A span smaller than this many tokens is not worth a model call. */
  readonly minSpanTokens: number;
  /** Most source tokens given to the summariser in one call. */
  readonly chunkTokens: number;
  /** Compact also when the view has more than this many messages, each summary counted as one. Absent where only tokens count. */
  readonly maxMessages?: number;
  /** The session's choice of a model, by a name that its Workflow knows. */
  readonly model?: string;
}

interface Amounts {
  readonly messages?: number | undefined;
  readonly tokens?: number | undefined;
}

/** The messages at the start that stay: how many, and the most tokens that they may take. A number is the messages. */
export type HeadOptions = number | Amounts;

/** The recent messages that stay: tokens of them, and messages of any size. A number is the tokens. */
export type TailOptions = number | Amounts;

/** What a caller may decide of a {@link Policy}. All other numbers follow from the threshold. */
export interface PolicyOptions {
  readonly thresholdTokens: number;
  /** The limit of a stated head in tokens. Default: one and a half thresholds. */
  readonly hardTokens?: number | undefined;
  /** Tokens of system prompt and tools, which the view can never use. Default 0. */
  readonly overheadTokens?: number | undefined;
  readonly head?: HeadOptions | undefined;
  readonly tail?: TailOptions | undefined;
  /** The share of the threshold that all summaries take together. Default: a quarter. */
  readonly share?: number | undefined;
  readonly chunkTokens?: number | undefined;
  readonly maxMessages?: number | undefined;
  readonly model?: string | undefined;
}

/** Fills in the defaults and checks each number and how they fit together. Throws `invalid_options`. */
export function resolvePolicy(options: PolicyOptions): Policy {
  const { thresholdTokens: threshold, overheadTokens = 0, share, maxMessages, model } = options;
  checkWhole("thresholdTokens", threshold, 1);
  const tail = readAmounts("tail", options.tail, "tokens");
  const head = readAmounts("head", options.head, "messages");
  const tailTokenBudget = tail.tokens ?? Math.min(DEFAULT_TAIL_TOKENS, Math.floor(threshold / TAIL_SHARE_OF_THRESHOLD));
  const plannedHead = head.tokens ?? Math.floor(threshold / HEAD_SHARE_OF_THRESHOLD);
  const chunk = Math.min(
    DEFAULT_CHUNK_TOKENS,
    Math.max(LEAST_CHUNK_TOKENS, Math.floor(threshold * CHUNK_OF_THRESHOLD)),
  );
  const policy: Policy = {
    thresholdTokens: threshold,
    ...resolveHead(options, { head, plannedHead, tailTokenBudget }),
    tailTokenBudget,
    minTailMessages: tail.messages ?? DEFAULT_MIN_TAIL_MESSAGES,
    ...resolveSummaryBudget(threshold, share),
    pinnedTokens: shareOf(threshold, PINNED_SHARE_OF_THRESHOLD, MIN_PINNED_TOKENS, MOST_PINNED_OF_THRESHOLD),
    loadedTokens: shareOf(threshold, LOADED_SHARE_OF_THRESHOLD, MIN_LOADED_TOKENS, MOST_LOADED_OF_THRESHOLD),
    maxSummaryRatio: MOST_OF_A_SOURCE,
    minSpanTokens: Math.max(MIN_SPAN_TOKENS, Math.floor(threshold / SPAN_SHARE_OF_THRESHOLD)),
    chunkTokens: options.chunkTokens ?? chunk,
    ...(maxMessages !== undefined && { maxMessages }),
    ...(model !== undefined && { model: checkChoice(model) }),
  };
  checkWhole("chunkTokens", policy.chunkTokens, 1);
  requireFit({ ...policy, headTokenBudget: plannedHead }, overheadTokens);
  requireMessagesFit(policy);
  return policy;
}

/** Reads and checks `head` or `tail`. A number alone is of `unit`. */
function readAmounts(name: "head" | "tail", given: number | Amounts | undefined, unit: keyof Amounts): Amounts {
  const amounts = typeof given === "object" ? given : { [unit]: given };
  checkFields<Amounts>(`compactAfter: ${name}`, amounts, { messages: true, tokens: true });
  for (const [each, value] of Object.entries(amounts)) {
    if (value !== undefined) checkWhole(amounts === given ? `${name}.${each}` : name, value as number, 0);
  }
  return amounts;
}

/** A part of the threshold, at least so many tokens, and at most another part. */
function shareOf(threshold: number, part: number, least: number, most: number): number {
  return Math.min(Math.max(least, Math.floor(threshold / part)), Math.floor(threshold / most));
}

/** Resolves the budget of all summaries and of one. A stated share holds in the smallest view as well. */
function resolveSummaryBudget(
  threshold: number,
  share: number | undefined,
): Pick<Policy, "stackTokens" | "summaryTokens"> {
  const part = share ?? 1 / STACK_SHARE_OF_THRESHOLD;
  if (!(part > 0 && part <= MOST_SHARE)) {
    throw invalid(`share is ${part}: give a share of the threshold over 0 and up to ${MOST_SHARE}.`);
  }
  const stack = Math.max(1, Math.floor(threshold * part));
  const least = share === undefined ? Math.min(MIN_SUMMARY_TOKENS, Math.ceil(threshold / 5)) : 1;
  const summaryTokens = Math.min(MAX_SUMMARY_TOKENS, Math.max(least, Math.ceil(stack / SUMMARIES_IN_A_STACK)));
  return { stackTokens: Math.max(stack, summaryTokens), summaryTokens };
}

type Head = Pick<Policy, "protectHead" | "headTokenBudget" | "headWithin" | "firstMessageTokens" | "openingTokens">;

/**
 * Resolves the limits of the head. Messages that the caller stated may take up to the hard line, because no view could hold more. Without
 * them, the user's first message has a share of its own.
 */
function resolveHead(
  { thresholdTokens, overheadTokens = 0, hardTokens = Math.ceil(thresholdTokens * HARD_LINE) }: PolicyOptions,
  { head, plannedHead, tailTokenBudget }: { head: Amounts; plannedHead: number; tailTokenBudget: number },
): Head {
  const isStated = head.messages !== undefined && head.tokens === undefined;
  const share = Math.floor(
    Math.min(
      thresholdTokens / FIRST_MESSAGE_SHARE_OF_THRESHOLD,
      (thresholdTokens - overheadTokens - tailTokenBudget) / 2,
    ),
  );
  const protectHead = head.messages ?? DEFAULT_PROTECT_HEAD;
  const opening = Math.min(OPENING_TOKENS, Math.floor(thresholdTokens / OPENING_SHARE_OF_THRESHOLD));
  return {
    protectHead,
    headTokenBudget: isStated ? Math.max(plannedHead, hardTokens - overheadTokens) : plannedHead,
    headWithin: isStated ? "hard-line" : "budget",
    firstMessageTokens: isStated || head.tokens !== undefined ? 0 : Math.max(0, share),
    openingTokens: protectHead === 0 ? 0 : opening,
  };
}

/**
 * After a compaction the view holds the overhead, the head, the tail and a summary. Together they must be under the
 * threshold.
 */
function requireFit(policy: Policy, overheadTokens: number): void {
  checkWhole("overheadTokens", overheadTokens, 0);
  const { thresholdTokens, headTokenBudget, tailTokenBudget, summaryTokens, stackTokens } = policy;
  const left = thresholdTokens - overheadTokens - tailTokenBudget;
  const isStackTooLarge = stackTokens >= left && stackTokens > summaryTokens;
  if (headTokenBudget < left && !isStackTooLarge && summaryTokens < left) return;
  throw invalid(
    `thresholdTokens (${thresholdTokens}) leaves nothing to compact beside overheadTokens (${overheadTokens}), a head of ${headTokenBudget} tokens, a tail of ${tailTokenBudget} and summaries of ${stackTokens}. Raise it, or lower overheadTokens, head, tail or share.`,
  );
}

/** What a number of messages leaves to the parts of a view. */
export interface MessageShares {
  /** Most messages of the tail, as far as {@link Policy.minTailMessages} lets it. */
  readonly tail: number;
  /** Most summaries of a view. */
  readonly overlays: number;
  /** Messages that a span must hide, and by which a view must grow after a run. */
  readonly span: number;
}

/** Null where only tokens count. */
export function messageShares({ maxMessages, minTailMessages }: Policy): MessageShares | null {
  if (maxMessages === undefined) return null;
  return {
    tail: Math.max(minTailMessages, Math.floor(maxMessages / TAIL_SHARE_OF_MESSAGES)),
    overlays: Math.max(1, Math.floor(maxMessages / STACK_SHARE_OF_MESSAGES)),
    span: Math.max(MIN_SPAN_MESSAGES, Math.floor(maxMessages / SPAN_SHARE_OF_MESSAGES)),
  };
}

/** A view with one message too many must hold a span between its head, its summaries and its tail. */
function requireMessagesFit(policy: Policy): void {
  const { maxMessages, protectHead } = policy;
  const shares = messageShares(policy);
  if (maxMessages === undefined || shares === null) return;
  // As many as one plan reads.
  checkWhole("maxMessages", maxMessages, 1, MAX_OUTLINE_ROWS);
  if (protectHead + shares.overlays + shares.tail + shares.span <= maxMessages + 1) return;
  throw invalid(
    `maxMessages (${maxMessages}) leaves nothing to compact between the first ${protectHead} messages, ${shares.overlays} summaries and the last ${shares.tail}. Raise maxMessages, or lower head or tail.messages.`,
  );
}

function checkChoice(model: string): string {
  if (typeof model === "string" && model.trim() !== "" && model.length <= MAX_NAME_CHARS) return model;
  throw invalid(
    `model is ${JSON.stringify(model)}: give a name for your Workflow's model(), of at most ${MAX_NAME_CHARS} characters.`,
  );
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}
