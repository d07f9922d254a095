/**
 * The numbers that shape a compaction, that a caller meets or that several rooms share, each with its unit and its reason. A number that
 * matters to one module alone stands there. Relations between numbers that a caller may set are checked where the options are resolved
 * (steps/plan/policy.ts).
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
 * Divisor of the threshold that bounds the user's first message if it is kept whole by default. It is nearly always the task. The tail and
 * a stack of summaries still have room to grow beside it.
 */
export const FIRST_MESSAGE_SHARE_OF_THRESHOLD = 4;

/**
 * Tokens of the beginning and the rules of a larger first message, which stand beside a summary. They take at most a fortieth of the
 * threshold.
 */
export const OPENING_TOKENS = 1_000;
export const OPENING_SHARE_OF_THRESHOLD = 40;

/** Recent tokens that are kept by default, where the threshold leaves room for them. */
export const DEFAULT_TAIL_TOKENS = 20_000;

/** Divisor of the threshold that bounds the default tail. Two thirds remain for compaction. */
export const TAIL_SHARE_OF_THRESHOLD = 3;

/** Recent messages that are kept by default at any size. They are the last question and the reply to it. */
export const DEFAULT_MIN_TAIL_MESSAGES = 2;

/**
 * Tokens of all summaries and names in a view. By default they take a fifteenth of the threshold, and at least the tokens of a one-sentence
 * summary and some names. A share that a caller states has no such least. One summary takes at most a twelfth of that, and at most 4,000
 * tokens, because a longer one is a copy. Summaries beyond a quarter are folded, so that names have the other three quarters (decision 6).
 */
export const STACK_SHARE_OF_THRESHOLD = 15;
export const MIN_STACK_TOKENS = 160;
export const MIN_SUMMARY_TOKENS = 40;
export const SUMMARIES_IN_A_STACK = 12;
export const FOLD_BEYOND = 4;
export const MAX_SUMMARY_TOKENS = 4_000;

/**
 * Tokens of rules, tasks and errors still in force beside a summary. They take a thirtieth of the threshold, at least this many tokens, and
 * at most a fifth.
 */
export const PINNED_SHARE_OF_THRESHOLD = 30;
export const MIN_PINNED_TOKENS = 400;
export const MOST_PINNED_OF_THRESHOLD = 5;
/** Tokens of skills, instruction files, the plan and open calls beside the last summary. They take a tenth of the threshold, at least this many, and at most a fifth. */
export const LOADED_SHARE_OF_THRESHOLD = 10;
export const MIN_LOADED_TOKENS = 2_000;
export const MOST_LOADED_OF_THRESHOLD = 5;

/** An answer of up to this many tokens is never refused for its length. The exact length of a short answer is chance. */
export const TOLERATED_SUMMARY_TOKENS = 400;

/** Largest share of its source that a summary may take. A larger one frees too little for its cost. */
export const DEFAULT_SUMMARY_RATIO = 0.8;

/** Tokens of the sentence before a shown summary, of the heading above pinned facts, and of the message's frame. */
export const SUMMARY_FRAME_TOKENS = 25;

/** Tokens of facts and names beside a summary that a caller adds to a session without a policy. */
export const DEFAULT_PINNED_TOKENS = 1_000;
export const DEFAULT_LOADED_TOKENS = 2_000;
export const DEFAULT_NAMES_TOKENS = 1_000;

/** Divisor of the number of messages that bounds the messages of a tail, as with tokens. */
export const TAIL_SHARE_OF_MESSAGES = 3;

/** The summaries of a view are folded into one where they are more than a sixth of the number of messages. */
export const STACK_SHARE_OF_MESSAGES = 6;

/** The smallest span in messages is a twentieth of their number, and at least two, because a summary takes the place of one. */
export const SPAN_SHARE_OF_MESSAGES = 20;
export const MIN_SPAN_MESSAGES = 2;

/** The default smallest span is a twentieth of the threshold, and at least this many tokens. */
export const SPAN_SHARE_OF_THRESHOLD = 20;
export const MIN_SPAN_TOKENS = 200;

/** Default source tokens per summariser call. The span of a threshold of 60,000 fits into one call. A smaller window lowers it. */
export const DEFAULT_CHUNK_TOKENS = 48_000;

/**
 * Characters of one tool output in the summariser's prompt. Its start and end show the result of the call. Names are gathered from the
 * whole output, so a shorter excerpt loses no name (docs/decisions/0014).
 */
export const RENDER_TOOL_CHARS = 1_000;

/** Characters of one text in the summariser's prompt. The middle of a long paste rarely matters. */
export const RENDER_TEXT_CHARS = 16_000;

/** Most bytes of content in one row. With its other columns, a row stays under the platform's 2 MB. */
export const ROW_MAX_BYTES = 1_800_000;

/** Most bytes of one message's JSON. RPC takes 32 MiB, and this fits even at two bytes a character. */
export const MESSAGE_MAX_BYTES = 16 * 1024 * 1024;

/** Bounds on a caller's input. They are large enough for any real use, and they keep a row and a page small. */
export const MAX_ID_CHARS = 512;
export const MAX_SESSION_ID_CHARS = 200;
export const MAX_FOCUS_CHARS = 2_000;
export const MAX_BATCH_MESSAGES = 10_000;
export const MAX_PAGE = 500;

/**
 * Most entries of one import. All are in memory at once and are stored in one transaction, which blocks other calls for seconds. Storing
 * them in pieces would write each row twice, first where no reader looks.
 */
export const MAX_IMPORT_ENTRIES = 50_000;

/**
 * Most characters of one JSON value in an import (a line or a whole document), because parsing it blocks other calls. The largest message
 * fits with its wrapping, so every export can be imported again.
 */
export const MAX_IMPORT_VALUE_CHARS = 18_000_000;

/** Bad entries after which an import stops reading. A person fixes their cause, not each entry. */
export const MAX_BAD_ENTRIES = 1_000;

/** Tokens of a prompt's instructions and section hints, beside the source and the earlier summary. */
export const PROMPT_OVERHEAD_TOKENS = 1_500;

/** Seconds between two checks of the watchdog while a run is live. */
export const WATCHDOG_SECONDS = 15;

/** Most restarts of an instance that the engine gave up. Then its run fails. */
export const MAX_INSTANCE_RESTARTS = 3;

/** Default time limit of a session's own compaction function (ms). Slow models answer in minutes. */
export const DEFAULT_FUNCTION_LIMIT_MS = 300_000;

/** Largest setting of that time limit (ms). A function exists only in memory, and an object rarely lives longer. */
export const MAX_FUNCTION_LIMIT_MS = 3_600_000;

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

/** Most words of one phrase that must be adjacent, counted from its start. In a script without spaces, each character is a word. */
export const MAX_PHRASE_WORDS = 128;

/**
 * Characters without a break from which a text counts as encoded bytes. It is then not searched, and an output does not show part of it.
 */
export const ENCODED_SEARCH_CHARS = 1_000;
export const ENCODED_OUTPUT_CHARS = 200;

/**
 * Most bytes of one message in the search index, half of the platform's 2 MB for a value. A longer text is cut, but keeps at least this
 * many characters.
 */
export const SEARCH_MAX_BYTES = 1_000_000;
export const SEARCH_LEAST_CHARS = 1_000;

/** Messages that one search returns by default, and at most. Each hit costs a read of its row and a snippet. */
export const DEFAULT_SEARCH_HITS = 20;
export const MAX_SEARCH_HITS = 100;

/** Most skills listed in a prompt, and characters of each description. Every call pays for the list. */
export const MAX_SKILLS = 1_000;
export const SKILL_DESCRIPTION_CHARS = 300;

/** Most characters of a session's name, of its origin and of its model's name. */
export const MAX_NAME_CHARS = 200;

/** Time limit of a model call (ms). A full summary at twenty tokens a second takes less. */
export const MODEL_CALL_MS = 240_000;

/** Time limit (ms) for asking a model in one step, all tries together. A model that hangs or answers slowly costs no more. */
export const MODEL_STEP_MS = 300_000;

/** How often a model is asked again in one step after it failed. The waits between come to 45 s. */
export const MODEL_RETRIES = 4;

/** Shortest remaining time (ms) for another try. A model hardly ever answers in less. */
export const LEAST_TRY_MS = 10_000;

/** Characters that are read of an answer for each allowed token. That is four times the usual number, thoughts included. */
export const ANSWER_CHARS_PER_TOKEN = 16;

/** Most characters of one pinned fact, and of a rule or a task. Longer ones are data instead of names, or more than one sentence. */
export const MAX_FACT_CHARS = 200;
export const MAX_RULE_CHARS = 400;

/** Most rules in the facts of a span. With the rest they take up to 100 kB of JSON, stored with each draft. */
export const MAX_RULES = 200;

/** Most open tasks, failures and changed files in the facts of a span, and the messages after which one counts as forgotten or settled. */
export const MAX_OPEN_MESSAGES = 100;
export const MAX_TASKS = 8;
export const MAX_FAILURES = 8;
export const MAX_CHANGED = 8;

/** Most successful calls that the facts of a span remember. A failed call is retried soon or never. */
export const MAX_WORKED = 100;

/** Most names that a survival score considers, the most valuable ones first. A summary is no index and need not hold the rest. */
export const MAX_SCORED_NAMES = 60;

/** Most facts listed in a report of a summary's losses. Nobody reads more. */
export const MAX_MISSING_FACTS = 20;

/** Smallest share of a source's facts that a draft must keep, pinned facts counted. A draft below it is sent back once. */
export const MIN_SURVIVAL = 0.5;

/** Failures of a summariser in a row that open its breaker. That is as many as one step tries, so a short fault does not open it. */
export const FAILURES_TO_OPEN = 5;

/** Times (ms) that a breaker stays open, longer after each failed probe. An hour's outage costs a handful of calls. */
export const COOLDOWNS_MS: readonly number[] = [60_000, 300_000, 900_000, 3_600_000];

/** Multiple of the threshold at which a view is compacted at any cost. A third of such a view is then above the threshold. */
export const HARD_LINE = 1.5;

/** Prices per token relative to uncached input. They are what large providers charge for output and for their prompt caches. */
export const DEFAULT_PRICES = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 } as const;

/** Model calls within which a compaction should pay for itself. They are a few long turns, and a usual turn takes some thirty. */
export const DEFAULT_MAX_BREAK_EVEN_CALLS = 300;

/** Fewest tokens that a view can be fitted into. They hold the beginning of the last question and a line about the rest. */
export const MIN_VIEW_TOKENS = 64;

/**
 * Share of a fitted view that the summaries of its left-out parts may take together. The other two are the fewest tokens of one with
 * sections, and of any.
 */
export const FIT_EXTRACT_SHARE = 1 / 5;
export const FIT_SECTIONS_TOKENS = 400;
export const FIT_EXTRACT_TOKENS = 90;

/**
 * Defaults of `truncate`. They are the newest messages that stay whole, and the characters of an older tool output and an older text. The
 * last is the number of messages by which the boundary moves, so that a provider's cache holds in between.
 */
export const TRUNCATE_KEEP_RECENT = 4;
export const TRUNCATE_OUTPUT_CHARS = 500;
export const TRUNCATE_TEXT_CHARS = 10_000;
export const TRUNCATE_STEP = 8;

/** Tokens beyond which the deployable Worker compacts a view. They are half of a small window. */
export const WORKER_THRESHOLD_TOKENS = 60_000;

/** Most messages that one bullet of a summary refers to. Each reference costs some five tokens in every prompt. */
export const MAX_BULLET_REFERENCES = 3;

/** Largest size of a summary with its references, as a multiple of its budget. An index is no summary. */
export const MAX_REFERENCED_RATIO = 2;

/** Default tokens of one answer of `recall`, and the bounds of that setting. An answer is a page of originals. */
export const RECALL_TOKENS = 4_000;
export const MIN_RECALL_TOKENS = 200;
export const MAX_RECALL_TOKENS = 50_000;

/** Most originals that one search reads, and most ids that one call may name. */
export const RECALL_HITS = 20;

/** Fewest characters of the Worker's secret. Nobody can guess 24 of any usual alphabet. */
export const MIN_SECRET_CHARS = 24;

/** Most bytes of an HTTP body and characters of a WebSocket frame. The largest message fits with its wrapping. */
export const MAX_REQUEST_BYTES = MESSAGE_MAX_BYTES + 1_000_000;

/**
 * Most characters of all imports that an agent reads at the same time. They are two of the largest frames, within the platform's 128 MB.
 */
export const MAX_IMPORTING_CHARS = 2 * MAX_REQUEST_BYTES;

/** Calls of one connection in a row, and per second in the long run. No person, page or model makes more. */
export const CALLS_IN_A_ROW = 1_000;
export const CALLS_PER_SECOND = 200;

/** Number of connections whose call budgets one caller has over all of its connections to an agent. That is a few tabs and a script. */
export const CALLER_SHARE = 4;

/** Most used tickets of one agent that are remembered in their minute, in one row. They allow thirty connections a second. */
export const MAX_SPENT_TICKETS = 2_000;

/** Shortest wait of a run for an approval before it asks again (ms). Less may be left of the whole wait. */
export const LEAST_APPROVAL_MS = 1_000;

/** Most tokens of one context block carried behind a summary, and of text that a caller's hook adds there. */
export const CARRIED_TOKENS = 2_000;
export const HOOK_TOKENS = 2_000;

/** Time limit of that hook (ms) and its number of tries. It may call a service that is down for a minute. */
export const HOOK_LIMIT_MS = 60_000;
export const MAX_HOOK_ATTEMPTS = 5;
