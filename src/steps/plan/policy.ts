/**
 * The policy: every number that a plan is made with, resolved and checked once, before anything is stored.
 */
import { PalimpsestError } from "../../errors.ts";
import {
  DEFAULT_CHUNK_TOKENS,
  DEFAULT_MIN_TAIL_MESSAGES,
  DEFAULT_PROTECT_HEAD,
  DEFAULT_SUMMARY_RATIO,
  FIRST_MESSAGE_SHARE_OF_THRESHOLD,
  HARD_LINE,
  HEAD_SHARE_OF_THRESHOLD,
  DEFAULT_TAIL_TOKENS,
  MAX_NAME_CHARS,
  MAX_SUMMARY_TOKENS,
  MIN_SPAN_TOKENS,
  MIN_SUMMARY_TOKENS,
  OPENING_SHARE_OF_THRESHOLD,
  OPENING_TOKENS,
  SPAN_SHARE_OF_THRESHOLD,
  SUMMARY_SHARE_OF_THRESHOLD,
  TAIL_SHARE_OF_THRESHOLD,
} from "../../limits.ts";

/** Most that is pinned where overlays leave some of the stack, in summaries: names last longest there (decision 6). */
const MOST_PINNED_SUMMARIES = 1.25;

/** What is pinned beside a summary, as a divisor of the largest summary: the most with which three overlays still fit a stack (decision 6). */
const PINNED_SHARE_OF_SUMMARY = 1.5;

/** Most of a threshold that the overlays of a view may take together, as a divisor; never less than one of them needs. */
const STACK_SHARE_OF_THRESHOLD = 4;

/** What a run may do to a view: resolved, validated numbers. Recorded with the run, so that a replay plans alike. */
export interface Policy {
  /** Compact when the view (overhead included) is estimated at more than this many tokens. */
  readonly thresholdTokens: number;
  /** Messages at the start of the path that are never replaced, as far as {@link headTokenBudget} reaches. */
  readonly protectHead: number;
  /** Most tokens that the protected start may take: one that opens with whole files would leave no room to compact. */
  readonly headTokenBudget: number;
  /** Where that comes from: the hard line, for a `protectHead` that the caller stated. */
  readonly headWithin: "budget" | "hard-line";
  /** Up to so many tokens the start is kept through the user's first message in any case. */
  readonly firstMessageTokens: number;
  /** Tokens of that message's beginning, and of its rules, that stay word for word where it is not kept. */
  readonly openingTokens: number;
  /** Recent tokens that are kept. */
  readonly tailTokenBudget: number;
  /** Recent messages that are kept, whatever they weigh. */
  readonly minTailMessages: number;
  /** A summary may be at most this many tokens. */
  readonly summaryTokens: number;
  /** What is kept word for word beside one summary may take at most this many tokens. */
  readonly pinnedTokens: number;
  /** All summaries of a view together, with what is kept beside them: beyond it, neighbours are folded into one. */
  readonly stackTokens: number;
  /** A summary must be at most this share of the tokens it replaces. */
  readonly maxSummaryRatio: number;
  /** A span smaller than this many tokens is not worth a model call. */
  readonly minSpanTokens: number;
  /** Most source tokens given to the summariser in one call. */
  readonly chunkTokens: number;
  /** The session's choice of a model, by a name that its Workflow knows. */
  readonly model?: string;
}

/** A {@link Policy} with defaults for all but the threshold. */
export type PolicyOptions = {
  readonly [Key in Exclude<keyof Policy, "thresholdTokens" | "headWithin">]?: Policy[Key] | undefined;
} & {
  readonly thresholdTokens: number;
  /** Where a stated `protectHead` ends. Default: one and a half thresholds. */
  readonly hardTokens?: number | undefined;
  /** Tokens beside the messages (system prompt, tools): room that the view never has. Default 0. */
  readonly overheadTokens?: number | undefined;
};

/** Fills in the defaults and checks each number and how they fit together. Throws `invalid_options`. */
export function resolvePolicy(options: PolicyOptions): Policy {
  const threshold = options.thresholdTokens;
  whole("thresholdTokens", threshold, 1);
  const summaryDefault = Math.min(
    MAX_SUMMARY_TOKENS,
    Math.max(MIN_SUMMARY_TOKENS, Math.floor(threshold / SUMMARY_SHARE_OF_THRESHOLD)),
  );
  const plannedHead = options.headTokenBudget ?? Math.floor(threshold / HEAD_SHARE_OF_THRESHOLD);
  const tailTokenBudget =
    options.tailTokenBudget ?? Math.min(DEFAULT_TAIL_TOKENS, Math.floor(threshold / TAIL_SHARE_OF_THRESHOLD));
  const summaryTokens = options.summaryTokens ?? Math.min(summaryDefault, Math.ceil(threshold / 2));
  const stackRoom = Math.min(
    Math.floor(threshold / STACK_SHARE_OF_THRESHOLD),
    threshold - (options.overheadTokens ?? 0) - plannedHead - tailTokenBudget,
  );
  const pinnedTokens = options.pinnedTokens ?? pinnedBeside(summaryTokens, { threshold, stackRoom });
  const policy: Policy = {
    thresholdTokens: threshold,
    ...resolveHead(options, { plannedHead, tailTokenBudget }),
    tailTokenBudget,
    minTailMessages: options.minTailMessages ?? DEFAULT_MIN_TAIL_MESSAGES,
    summaryTokens,
    pinnedTokens,
    stackTokens: options.stackTokens ?? Math.max(stackRoom, summaryTokens + pinnedTokens),
    maxSummaryRatio: options.maxSummaryRatio ?? DEFAULT_SUMMARY_RATIO,
    minSpanTokens: options.minSpanTokens ?? Math.max(MIN_SPAN_TOKENS, Math.floor(threshold / SPAN_SHARE_OF_THRESHOLD)),
    chunkTokens: options.chunkTokens ?? DEFAULT_CHUNK_TOKENS,
    ...(options.model !== undefined && { model: checkChoice(options.model) }),
  };
  whole("protectHead", policy.protectHead, 0);
  whole("headTokenBudget", policy.headTokenBudget, 0);
  whole("firstMessageTokens", policy.firstMessageTokens, 0);
  whole("openingTokens", policy.openingTokens, 0);
  whole("tailTokenBudget", policy.tailTokenBudget, 0);
  whole("minTailMessages", policy.minTailMessages, 0);
  whole("summaryTokens", policy.summaryTokens, 1);
  whole("pinnedTokens", policy.pinnedTokens, 0);
  whole("stackTokens", policy.stackTokens, 1);
  whole("minSpanTokens", policy.minSpanTokens, 0);
  whole("chunkTokens", policy.chunkTokens, 1);
  if (!(policy.maxSummaryRatio > 0 && policy.maxSummaryRatio < 1)) {
    throw invalid(
      `maxSummaryRatio is ${policy.maxSummaryRatio}: a summary must be smaller than its source, so give a share between 0 and 1.`,
    );
  }
  requireFit({ ...policy, headTokenBudget: plannedHead }, options.overheadTokens ?? 0);
  return policy;
}

type Head = Pick<Policy, "protectHead" | "headTokenBudget" | "headWithin" | "firstMessageTokens" | "openingTokens">;

/**
 * What is kept of the start. A number of messages that the caller stated wins over every share, up to the hard line: beyond it no
 * view could hold them. Unstated, the user's first message has a share of its own.
 */
function resolveHead(
  options: PolicyOptions,
  { plannedHead, tailTokenBudget }: { plannedHead: number; tailTokenBudget: number },
): Head {
  const { thresholdTokens, overheadTokens = 0, hardTokens = Math.ceil(thresholdTokens * HARD_LINE) } = options;
  const isStated = options.protectHead !== undefined && options.headTokenBudget === undefined;
  const hasOwnBudget = options.headTokenBudget !== undefined;
  const share = Math.floor(
    Math.min(
      thresholdTokens / FIRST_MESSAGE_SHARE_OF_THRESHOLD,
      (thresholdTokens - overheadTokens - tailTokenBudget) / 2,
    ),
  );
  const protectHead = options.protectHead ?? DEFAULT_PROTECT_HEAD;
  const opening = Math.min(OPENING_TOKENS, Math.floor(thresholdTokens / OPENING_SHARE_OF_THRESHOLD));
  return {
    protectHead,
    headTokenBudget: isStated ? Math.max(plannedHead, hardTokens - overheadTokens) : plannedHead,
    headWithin: isStated ? "hard-line" : "budget",
    firstMessageTokens: options.firstMessageTokens ?? (isStated || hasOwnBudget ? 0 : Math.max(0, share)),
    openingTokens: options.openingTokens ?? (protectHead === 0 ? 0 : opening),
  };
}

/**
 * What is pinned beside a summary by default. Where the threshold is too small for summaries to be in proportion to it, also what
 * the overlays that fit a stack leave of it: no fewer fit for that.
 */
function pinnedBeside(
  summaryTokens: number,
  { threshold, stackRoom }: { threshold: number; stackRoom: number },
): number {
  const least = Math.floor(summaryTokens / PINNED_SHARE_OF_SUMMARY);
  if (threshold >= MIN_SUMMARY_TOKENS * SUMMARY_SHARE_OF_THRESHOLD) return least;
  const overlays = Math.max(1, Math.floor(stackRoom / (summaryTokens + least)));
  const left = Math.floor(stackRoom / overlays) - summaryTokens;
  return Math.max(least, Math.min(left, Math.floor(summaryTokens * MOST_PINNED_SUMMARIES)));
}

/** After a compaction the view holds the overhead, the head, the tail and a summary: that must be under the threshold. */
function requireFit(policy: Policy, overheadTokens: number): void {
  whole("overheadTokens", overheadTokens, 0);
  const { thresholdTokens, headTokenBudget, tailTokenBudget, summaryTokens, pinnedTokens, stackTokens } = policy;
  if (overheadTokens >= thresholdTokens) {
    throw invalid(
      `overheadTokens (${overheadTokens}) is not under thresholdTokens (${thresholdTokens}): every append would compact. Raise the threshold or shorten the system prompt and tools.`,
    );
  }
  const room = thresholdTokens - overheadTokens;
  if (tailTokenBudget >= room) {
    throw invalid(
      `tailTokenBudget (${tailTokenBudget}) leaves nothing to compact under thresholdTokens (${thresholdTokens}, ${room} of it for messages). Lower the tail or raise the threshold.`,
    );
  }
  if (headTokenBudget >= room - tailTokenBudget) {
    throw invalid(
      `headTokenBudget (${headTokenBudget}) and tailTokenBudget (${tailTokenBudget}) leave nothing to compact under thresholdTokens (${thresholdTokens}, ${room} of it for messages). Lower one of the two or raise the threshold.`,
    );
  }
  if (stackTokens >= room - tailTokenBudget && stackTokens > summaryTokens + pinnedTokens) {
    throw invalid(
      `stackTokens (${stackTokens}) does not fit beside tailTokenBudget (${tailTokenBudget}) under thresholdTokens (${thresholdTokens}, ${room} of it for messages). Lower one of the two or raise the threshold.`,
    );
  }
  if (summaryTokens >= room - tailTokenBudget) {
    throw invalid(
      `summaryTokens (${summaryTokens}) does not fit beside tailTokenBudget (${tailTokenBudget}) under thresholdTokens (${thresholdTokens}, ${room} of it for messages). Lower one of the two or raise the threshold.`,
    );
  }
}

function checkChoice(model: string): string {
  if (typeof model === "string" && model.trim() !== "" && model.length <= MAX_NAME_CHARS) return model;
  throw invalid(
    `model is ${JSON.stringify(model)}: give the name that your Workflow's model() is to be called with, at most ${MAX_NAME_CHARS} characters.`,
  );
}

function whole(name: keyof PolicyOptions, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw invalid(`${name} is ${String(value)}: give a whole number of at least ${least}.`);
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}
