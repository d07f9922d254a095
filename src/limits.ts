/**
 * Every number that shapes a compaction, with its unit and its reason. One constant each; relations between those
 * that a caller may set are checked where the options are resolved (steps/policy.ts).
 */

/** Most tokens that one image is counted as, and what one of unknown size is: what providers charge at their usual resolution. */
export const IMAGE_TOKENS = 1_600;

/** Tokens around each message: role and separators. */
export const MESSAGE_OVERHEAD_TOKENS = 4;

/** Messages at the start of a path that are kept by default: usually the task as it was first put. */
export const DEFAULT_PROTECT_HEAD = 3;

/** Most of a threshold that the protected start may take by default, as a divisor: the task as it was put, not its files. */
export const HEAD_SHARE_OF_THRESHOLD = 10;

/**
 * Most of a threshold that the user's first message may take to be kept whole by default, as a divisor: it is nearly always the
 * task, and beside it the tail and a stack of summaries still leave room to grow.
 */
export const FIRST_MESSAGE_SHARE_OF_THRESHOLD = 4;

/** Tokens of its beginning, and of its rules, that stand beside a summary where it is larger; at most this share of a threshold. */
export const OPENING_TOKENS = 1_000;
export const OPENING_SHARE_OF_THRESHOLD = 40;

/** Recent tokens kept by default, where the threshold leaves room for them. */
export const DEFAULT_TAIL_TOKENS = 20_000;

/** Most of a threshold that the default tail may take, as a divisor: two thirds stay for what is compacted. */
export const TAIL_SHARE_OF_THRESHOLD = 3;

/** Recent messages kept by default, whatever they weigh: the last question and the reply to it. */
export const DEFAULT_MIN_TAIL_MESSAGES = 2;

/**
 * All that stands for what a view hides, its summaries and the names: a fifteenth of the threshold unless told otherwise, and no
 * fewer tokens than a summary of a sentence and some names take. A summary is a sixth of that at most, and so many tokens (above, it
 * is a copy); beyond a third, summaries are folded, so that names have the other two (decision 6).
 */
export const STACK_SHARE_OF_THRESHOLD = 15;
export const MIN_STACK_TOKENS = 160;
export const MIN_SUMMARY_TOKENS = 40;
export const SUMMARIES_IN_A_STACK = 6;
export const FOLD_BEYOND = 3;
export const MAX_SUMMARY_TOKENS = 4_000;

/** What is still in force beside a summary: a thirtieth of the threshold, at least so many tokens, at most a fifth. */
export const PINNED_SHARE_OF_THRESHOLD = 30;
export const MIN_PINNED_TOKENS = 400;
export const MOST_PINNED_OF_THRESHOLD = 5;

/**
 * A model's answer is not refused for its length up to so many tokens, whatever it was asked for: below that, how long an answer
 * comes out is chance.
 */
export const TOLERATED_SUMMARY_TOKENS = 400;

/** Largest share of its source that a summary may be: beyond it a compaction frees too little for its cost. */
export const DEFAULT_SUMMARY_RATIO = 0.8;

/** Tokens of the sentence that a summary is shown behind, of the heading over what is pinned, and around the message. */
export const SUMMARY_FRAME_TOKENS = 25;

/** What is in force beside a summary that a caller lays in a session without a policy, and the names beside it (tokens). */
export const DEFAULT_PINNED_TOKENS = 1_000;
export const DEFAULT_NAMES_TOKENS = 1_000;

/** Default least span: a twentieth of the threshold, at least this many tokens. */
export const SPAN_SHARE_OF_THRESHOLD = 20;
export const MIN_SPAN_TOKENS = 200;

/** Source tokens per call of the summariser by default: what a threshold of 60,000 replaces goes into one. A smaller window lowers it. */
export const DEFAULT_CHUNK_TOKENS = 48_000;

/**
 * Characters of one tool output that the summariser is shown: the start and the end tell what a call came to. Its names are
 * gathered from the whole of it, so that a shorter excerpt costs no name (docs/decisions/0014).
 */
export const RENDER_TOOL_CHARS = 1_000;

/** Characters of one text that the summariser is shown: long pastes rarely matter in the middle. */
export const RENDER_TEXT_CHARS = 16_000;

/** Bytes of content in one row: under the platform's 2 MB for a row, with its other columns. */
export const ROW_MAX_BYTES = 1_800_000;

/** Bytes of one message's JSON: crosses RPC, which takes 32 MiB, also at two bytes a character. */
export const MESSAGE_MAX_BYTES = 16 * 1024 * 1024;

/** Bounds on what a caller may send: long enough for any real use, short enough to keep a row and a page small. */
export const MAX_ID_CHARS = 512;
export const MAX_SESSION_ID_CHARS = 200;
export const MAX_FOCUS_CHARS = 2_000;
export const MAX_BATCH_MESSAGES = 10_000;
export const MAX_PAGE = 500;

/** Entries of one import: all of them are in memory at once, and are stored in one transaction, which keeps others out. */
export const MAX_IMPORT_ENTRIES = 50_000;

/**
 * Characters of one JSON value of an import, a line or a whole document: it is parsed in one go, which keeps others out. The largest
 * message with what stands around it, so that whatever a session holds can be exported and read back.
 */
export const MAX_IMPORT_VALUE_CHARS = 18_000_000;

/** Bad entries after which an import is read no further: whoever mends a file mends their cause, not each of them. */
export const MAX_BAD_ENTRIES = 1_000;

/** Tokens that a prompt carries beside source and earlier summary: instructions and section hints. */
export const PROMPT_OVERHEAD_TOKENS = 1_500;

/** Seconds between two looks of the watchdog while a run is live. */
export const WATCHDOG_SECONDS = 15;

/** How often an instance that the engine gave up is started again before its run fails. */
export const MAX_INSTANCE_RESTARTS = 3;

/** How long a session's own compaction function may take unless told otherwise (ms): slow models answer in minutes. */
export const DEFAULT_FUNCTION_LIMIT_MS = 300_000;

/** The longest that it may be given (ms): a function hangs in memory, and an object rarely lives for longer. */
export const MAX_FUNCTION_LIMIT_MS = 3_600_000;

/** Elements and bytes of JSON of one outline: it is a step's result, which the platform bounds at 1 MiB. */
export const MAX_OUTLINE_ROWS = 4_000;
export const MAX_OUTLINE_BYTES = 500_000;

/** Characters per token beyond which a rendered chunk is cut, whatever the estimate said: English runs at 4 to 4.5. */
export const MAX_CHARS_PER_TOKEN = 4;

/** Bytes of one block, of one keyed entry, and of a stored prompt: a row may take 2 MB with its keys. */
export const MAX_BLOCK_BYTES = 1_000_000;
export const MAX_PROMPT_BYTES = 1_900_000;

/** Bounds on the names that a model is shown in tool schemas and types back. */
export const MAX_LABEL_CHARS = 64;
export const MAX_ENTRY_KEY_CHARS = 200;

/** Different words and phrases of a query that are looked for, the first ones: each begin* may be a walk over the index. */
export const MAX_QUERY_TERMS = 32;

/** Words of one phrase that must stand side by side, the first ones; of an unspaced script each character is a word. */
export const MAX_PHRASE_WORDS = 128;

/** Characters without a break from which on a text is bytes: not searched for, and not shown by half in an output. */
export const ENCODED_SEARCH_CHARS = 1_000;
export const ENCODED_OUTPUT_CHARS = 200;

/** Bytes of one message in the search index: half of the platform's 2 MB for a value. What is longer is cut, to no less than so many characters. */
export const SEARCH_MAX_BYTES = 1_000_000;
export const SEARCH_LEAST_CHARS = 1_000;

/** Messages that one search returns by default, and at most: each hit costs a read of its row and a snippet. */
export const DEFAULT_SEARCH_HITS = 20;
export const MAX_SEARCH_HITS = 100;

/** Skills listed in a prompt at most, and characters of each one's description: the list is paid for with every call. */
export const MAX_SKILLS = 1_000;
export const SKILL_DESCRIPTION_CHARS = 300;

/** Characters of a session's name, and of the words that say where it came from and which model it talks to. */
export const MAX_NAME_CHARS = 200;

/** A model call that is not over after this long (ms) is given up: a full summary at twenty tokens a second takes less. */
export const MODEL_CALL_MS = 240_000;

/** How long (ms) a model is asked in one step, all its tries together: one that hangs or drips costs no more than this. */
export const MODEL_STEP_MS = 300_000;

/** Least of that time (ms) that is worth another try: below it hardly a model answers. */
export const LEAST_TRY_MS = 10_000;

/** Characters that are read of an answer for each token that it may have: four times what tokens usually hold, thoughts included. */
export const ANSWER_CHARS_PER_TOKEN = 16;

/** Characters of one pinned fact, and of a rule or a task: longer ones are data, not names, and no single sentences. */
export const MAX_FACT_CHARS = 200;
export const MAX_RULE_CHARS = 400;

/** Rules that the facts of a span hold: with the rest, up to 100 kB of JSON, kept with each draft. */
export const MAX_RULES = 200;

/** Open tasks and failures that the facts of a span hold, and the messages after which one was forgotten or is settled. */
export const MAX_OPEN_MESSAGES = 100;
export const MAX_TASKS = 8;
export const MAX_FAILURES = 8;

/** Calls that worked that the facts of a span remember: what failed is tried again soon or never. */
export const MAX_WORKED = 100;

/** Names that a survival score looks at, those of most worth: a summary is no index, and need not say the rest. */
export const MAX_SCORED_NAMES = 60;

/** Facts named in a report of what a summary lost: more are read by nobody. */
export const MAX_MISSING_FACTS = 20;

/** Least share of a source's facts that a draft must keep, pinned facts counted, not to be sent back once. */
export const MIN_SURVIVAL = 0.5;

/** Failures of a summariser in a row after which it is left alone: all the tries of one step, so that a short fault is ridden out. */
export const FAILURES_TO_OPEN = 5;

/** How long it is left alone (ms), each time it was asked again in vain for longer: an hour without it costs a handful of calls. */
export const COOLDOWNS_MS: readonly number[] = [60_000, 300_000, 900_000, 3_600_000];

/** Thresholds at which a view is compacted whatever it costs: a third of such a view is over what was asked for. */
export const HARD_LINE = 1.5;

/** Prices per token relative to uncached input: what the large providers charge for output and for their prompt caches. */
export const DEFAULT_PRICES = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 } as const;

/** Model calls within which a compaction should pay for itself: a few long turns; a usual one takes some thirty. */
export const DEFAULT_MAX_BREAK_EVEN_CALLS = 300;

/** Fewest tokens that a view can be fitted into: the beginning of what was asked, and a line that says what is left out. */
export const MIN_VIEW_TOKENS = 64;

/** Share of that power that the digest of its oldest part may take, and least tokens of one with sections. */
export const FIT_DIGEST_SHARE = 1 / 5;
export const FIT_SECTIONS_TOKENS = 400;
export const FIT_DIGEST_TOKENS = 90;

/**
 * What `truncate` leaves of a view unless told otherwise: newest messages that stay whole, characters of an older tool output and
 * of an older text, and messages by which the line between them moves, so that a provider's cache holds meanwhile.
 */
export const TRUNCATE_KEEP_RECENT = 4;
export const TRUNCATE_OUTPUT_CHARS = 500;
export const TRUNCATE_TEXT_CHARS = 10_000;
export const TRUNCATE_STEP = 8;

/** Tokens beyond which the deployable Worker compacts a view: half of a small window. */
export const WORKER_THRESHOLD_TOKENS = 60_000;

/** Messages that one bullet of a summary says it comes from: each reference costs some five tokens, in every prompt. */
export const MAX_BULLET_REFERENCES = 3;

/** Most that a summary may be with its references, as a multiple of its budget: an index is no summary. */
export const MAX_REFERENCED_RATIO = 2;

/** Tokens of one answer of `recall`, unless told otherwise, and the bounds of what it may be told: a page of originals. */
export const RECALL_TOKENS = 4_000;
export const MIN_RECALL_TOKENS = 200;
export const MAX_RECALL_TOKENS = 50_000;

/** Originals that one search looks at, and ids that one call may name. */
export const RECALL_HITS = 20;

/** Fewest characters of the Worker's secret: 24 of any usual alphabet are past guessing. */
export const MIN_SECRET_CHARS = 24;

/** Bytes of a body over HTTP, and characters of a frame over a WebSocket: as of the largest message, with what surrounds it. */
export const MAX_REQUEST_BYTES = MESSAGE_MAX_BYTES + 1_000_000;

/** Characters of all imports that an agent reads at the same time: two of the largest frames, within the platform's 128 MB. */
export const MAX_IMPORTING_CHARS = 2 * MAX_REQUEST_BYTES;

/** Calls of one connection in a row, and per second in the long run: more than any person, page or model makes. */
export const CALLS_IN_A_ROW = 1_000;
export const CALLS_PER_SECOND = 200;

/** How many connections' worth of calls one caller has over all of its connections to an agent: a few tabs and a script. */
export const CALLER_SHARE = 4;

/** Tickets of one agent that are remembered as spent within their minute, in one row: thirty connections a second, all along. */
export const MAX_SPENT_TICKETS = 2_000;

/** Least that a run waits for a word before it asks again (ms): what is left of a wait may be nothing. */
export const LEAST_APPROVAL_MS = 1_000;
