/**
 * The numbers that several modules share, each with its unit and its reason. A number that one module uses stands there. Relations between
 * numbers that a caller may set are checked where the options are resolved (steps/plan/policy.ts).
 */

/** Most tokens that one image counts, and the tokens of one of unknown size. Providers charge that much at their usual resolution. */
export const IMAGE_TOKENS = 1_600;

/** Tokens of each message's role and separators. */
export const MESSAGE_OVERHEAD_TOKENS = 4;

/** Messages at the start of a path that are kept by default. They usually hold the task as it was first given. */
export const DEFAULT_PROTECT_HEAD = 3;

/** Divisor of the threshold that bounds the protected head by default. The task fits, but not its files. */
export const HEAD_SHARE_OF_THRESHOLD = 10;

/**
 * Tokens of all summaries of a view. By default they take a quarter of the threshold, and one summary a third of that, a twelfth of the
 * threshold. A summary is asked for in at least as many tokens as a text takes that somebody can go on from, where a fifth of the
 * threshold holds them, and in at most as many as a model writes in one answer (decision 6).
 */
export const STACK_SHARE_OF_THRESHOLD = 4;
export const MIN_SUMMARY_TOKENS = 700;
export const SUMMARIES_IN_A_STACK = 3;
export const MAX_SUMMARY_TOKENS = 8_000;

/** An answer of up to this many tokens is never refused for its length. The exact length of a short answer is chance. */
export const TOLERATED_SUMMARY_TOKENS = 400;

/**
 * Tokens of the sentences before a shown summary, and of the message's frame. It is the most that they take, because what stands beside a
 * summary may use all the room that is left of its span.
 */
export const SUMMARY_FRAME_TOKENS = 90;

/** Tokens of what stands beside a summary that a caller adds to a session without a policy. */
export const DEFAULT_PINNED_TOKENS = 1_000;

/** Most bytes of content in one row. With its other columns, a row stays under the platform's 2 MB. */
export const ROW_MAX_BYTES = 1_800_000;

/** Most bytes of one message's JSON. RPC takes 32 MiB, and this fits even at two bytes a character. */
export const MESSAGE_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Most characters of encoded files in one prompt. Of the large providers, Gemini takes the least, 20 MB in a request, and the largest message
 * fits.
 */
export const MAX_FILE_CHARS = 18_000_000;

/** Most bytes of an answer over RPC. The platform takes 32 MiB and counts its own frame to it. */
export const RPC_MAX_BYTES = 31 * 1024 * 1024;

/** Bounds on a caller's input. They are large enough for any real use, and they keep a row and a page small. */
export const MAX_ID_CHARS = 512;
export const MAX_SESSION_ID_CHARS = 200;
export const MAX_FOCUS_CHARS = 2_000;
export const MAX_BATCH_MESSAGES = 10_000;
export const MAX_PAGE = 500;

/** Tokens of a prompt's instructions and section hints, and of what it shows of the view around the source. */
export const PROMPT_OVERHEAD_TOKENS = 2_000;
export const PROMPT_AROUND_TOKENS = 3_000;

/** Seconds between two checks of the watchdog while a run is live. */
export const WATCHDOG_SECONDS = 15;

/** Most restarts of an instance that the engine gave up. Then its run fails. */
export const MAX_INSTANCE_RESTARTS = 3;

/**
 * Most rows and bytes of JSON in one outline. It is read at once and crosses RPC within one step. A longer backlog is compacted from its
 * oldest end, run after run.
 */
export const MAX_OUTLINE_ROWS = 4_000;
export const MAX_OUTLINE_BYTES = 500_000;

/** Most characters per token of a rendered chunk, regardless of the estimate. English has 4 to 4.5. */
export const MAX_CHARS_PER_TOKEN = 4;

/** Most bytes of one block or keyed entry, and of a stored prompt. A row may take 2 MB with its keys. */
export const MAX_BLOCK_BYTES = 1_000_000;
export const MAX_PROMPT_BYTES = 1_900_000;

/** Most characters of names in tool schemas. A model is shown them and writes them back. */
export const MAX_LABEL_CHARS = 64;
export const MAX_ENTRY_KEY_CHARS = 200;

/** Most different words and phrases of a query that are searched, counted from its start. Each prefix (begin*) may walk over the index. */
export const MAX_QUERY_TERMS = 32;

/**
 * Characters without a break from which a text counts as encoded bytes. It is then not searched, and an output does not show part of it.
 */
export const ENCODED_SEARCH_CHARS = 1_000;
export const ENCODED_OUTPUT_CHARS = 200;

/** Messages that one search returns by default, and at most. Each hit costs a read of its row and a snippet. */
export const DEFAULT_SEARCH_HITS = 20;
export const MAX_SEARCH_HITS = 100;

/** Most skills listed in a prompt, and characters of each description. Every call pays for the list. */
export const MAX_SKILLS = 1_000;
export const SKILL_DESCRIPTION_CHARS = 300;

/** Most characters of a session's name, of its origin and of its model's name. */
export const MAX_NAME_CHARS = 200;

/**
 * Tokens that a summariser may think before it answers, in its first try. Each further try gets twice as many, because a model that thinks
 * longer ends without an answer.
 */
export const THINKING_TOKENS = 8_000;

/** Time limit of a model call (ms). A full summary at twenty tokens a second takes less. */
export const MODEL_CALL_MS = 240_000;

/** Time limit (ms) for asking a model in one step, all tries together. A model that hangs or answers slowly costs no more. */
export const MODEL_STEP_MS = 300_000;

/** How often a model is asked again in one step after it failed. The waits between come to 45 s. */
export const MODEL_RETRIES = 4;

/** Wait before the first of these tries. Each further wait is twice as long. */
export const MODEL_RETRY_DELAY = "3 seconds";

/** A run asks a model for no further chunk after this many unusable answers, each with its repair. Chunks that are under way end. */
export const MAX_WASTED_CALLS = 3;

/** Most chunks that are summarised at the same time. More would meet a provider's rate limit before they saved time. */
export const PARALLEL_CHUNKS = 4;

/** Shortest remaining time (ms) for another try. A model hardly ever answers in less. */
export const LEAST_TRY_MS = 10_000;

/** Times (ms) that a breaker stays open, longer after each failed probe. An hour's outage costs a handful of calls. */
export const COOLDOWNS_MS: readonly number[] = [60_000, 300_000, 900_000, 3_600_000];

/** Multiple of the threshold at which a view is compacted at any cost. A third of such a view is then above the threshold. */
export const HARD_LINE = 1.5;

/** Prices per token relative to uncached input. They are what large providers charge for output and for their prompt caches. */
export const DEFAULT_PRICES = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 } as const;

/** Fewest tokens that a view can be fitted into. They hold the beginning of the last question and a line about the rest. */
export const MIN_VIEW_TOKENS = 64;

/** Share of a fitted view that the summaries of its left-out parts may take together, and the fewest tokens of one. */
export const FIT_EXTRACT_SHARE = 1 / 5;
export const FIT_EXTRACT_TOKENS = 90;

/** Most messages that one bullet of a summary refers to. Each reference costs some five tokens in every prompt. */
export const MAX_BULLET_REFERENCES = 3;

/** Largest size of a summary with its references, as a multiple of its budget. An index is no summary. */
export const MAX_REFERENCED_RATIO = 2;

/** Most originals that one search reads, and most ids that one call may name. */
export const RECALL_HITS = 20;

/** Most bytes of an HTTP body and characters of a WebSocket frame. The largest message fits with its wrapping. */
export const MAX_REQUEST_BYTES = MESSAGE_MAX_BYTES + 1_000_000;

/** Most characters of one conversation that is imported, in however many parts it comes. An agent reads one of that size at a time. */
export const MAX_IMPORTING_CHARS = 2 * MAX_REQUEST_BYTES;

/** Most tokens of one context block carried behind a summary, and of text that a caller's hook adds there. */
export const CARRIED_TOKENS = 2_000;
export const HOOK_TOKENS = 2_000;

/** Tokens beyond which the deployable Worker compacts a view. They are half of a small window. A Worker's module exports no number. */
export const WORKER_THRESHOLD_TOKENS = 60_000;

/** Calls of one connection in a row, and per second in the long run. No person, page or model makes more. */
export const CALLS_IN_A_ROW = 1_000;
export const CALLS_PER_SECOND = 200;

/** Number of connections whose call budgets one caller has over all of its connections to an agent. That is a few tabs and a script. */
export const CALLER_SHARE = 4;

/** Characters of the reason of a rejection, which is one line in a list of runs. */
export const MAX_REASON_CHARS = 500;
