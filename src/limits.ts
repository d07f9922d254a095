/**
 * Every number that shapes a compaction, with its unit and its reason. One constant each; relations between those
 * that a caller may set are checked where the options are resolved (steps/policy.ts).
 */

/** Most tokens that one image is counted as, and what one of unknown size is: what providers charge at their usual resolution. */
export const IMAGE_TOKENS = 1_600;

/** Least tokens of an image: a base price, however small it is. */
export const LEAST_IMAGE_TOKENS = 85;

/** Pixels of an image per token, as the large providers charge. */
export const PIXELS_PER_TOKEN = 750;

/** Characters of a data URL's content in which the size of an image is looked for: a JPEG may begin with a thumbnail. */
export const IMAGE_HEADER_CHARS = 100_000;

/** Most tokens that a file other than an image is counted as: beyond it, providers reject or summarise the file. */
export const MAX_FILE_TOKENS = 20_000;

/** Bytes of a file per estimated token. */
export const FILE_BYTES_PER_TOKEN = 4;

/** Tokens around each message: role and separators. */
export const MESSAGE_OVERHEAD_TOKENS = 4;

/** Tokens around a tool call with its result: the provider's own wrapping of names, ids and JSON. */
export const TOOL_OVERHEAD_TOKENS = 60;

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

/** How far over its budget a tail may grow to start at a user turn or a safe boundary. */
export const TAIL_STRETCH = 1.5;

/** How little of its budget a tail may keep to start at a later user turn. */
export const TAIL_SHRINK = 0.5;

/**
 * Default size of a summary: a twentieth of the threshold, so that three of them, with what is pinned beside each, fit a
 * stack while a fourth is made; inside these bounds (tokens). Below, sections do not fit; above, it is a copy.
 */
export const SUMMARY_SHARE_OF_THRESHOLD = 20;
export const MIN_SUMMARY_TOKENS = 400;
export const MAX_SUMMARY_TOKENS = 4_000;

/** Largest share of its source that a summary may be: beyond it a compaction frees too little for its cost. */
export const DEFAULT_SUMMARY_RATIO = 0.8;

/** Source tokens for each token of a summary: a span of ordinary work told in an eighth still names what was done and why. */
export const SOURCE_PER_SUMMARY_TOKEN = 8;

/** Most of a threshold that the overlays of a view may take together, as a divisor; never less than one of them needs. */
export const STACK_SHARE_OF_THRESHOLD = 4;

/** Tokens of the sentence that a summary is shown behind, of the heading over what is pinned, and around the message. */
export const SUMMARY_FRAME_TOKENS = 80;

/** What is pinned beside a summary, as a divisor of the largest summary: the most with which three overlays still fit a stack (decision 6). */
export const PINNED_SHARE_OF_SUMMARY = 1.5;

/** Most that is pinned where overlays leave some of the stack, in summaries: names last longest there (decision 6). */
export const MOST_PINNED_SUMMARIES = 1.25;

/** Largest share of the summaries that a rebuild replaces which the new one may be: room for the sentence around it. */
export const REBUILT_SUMMARY_RATIO = 0.9;

/** What is pinned beside a summary that a caller lays in a session without a policy (tokens). */
export const DEFAULT_PINNED_TOKENS = 1_000;

/** How often a message's text may be written anew before its summary is made from the first drafts again. */
export const MAX_GENERATION = 8;

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

/** Characters of one reasoning part that the summariser is shown: what came of it is in the reply. */
export const RENDER_REASONING_CHARS = 1_000;

/** Bytes of content in one row: under the platform's 2 MB for a row, with its other columns. */
export const ROW_MAX_BYTES = 1_800_000;

/** Bytes of one message's JSON: crosses RPC, which takes 32 MiB, also at two bytes a character. */
export const MESSAGE_MAX_BYTES = 16 * 1024 * 1024;

/** Characters of what is stamped on a message about its steps and tool calls: it shares the row with the content. */
export const FACTS_MAX_CHARS = 100_000;

/** Characters of a tool's output that are kept where a turn's reply has no room for it, tried from the most to the least. */
export const KEPT_OUTPUT_CHARS: readonly number[] = [1_000_000, 100_000, 10_000, 1_000];

/** Bounds on what a caller may send: long enough for any real use, short enough to keep a row and a page small. */
export const MAX_ID_CHARS = 512;
export const MAX_SESSION_ID_CHARS = 200;
export const MAX_FOCUS_CHARS = 2_000;
export const MAX_BATCH_MESSAGES = 10_000;
export const MAX_PAGE = 500;

/** Entries of one import: all of them are in memory at once, and are stored in one transaction, which keeps others out. */
export const MAX_IMPORT_ENTRIES = 50_000;

/** Bad entries after which an import is read no further: whoever mends a file mends their cause, not each of them. */
export const MAX_BAD_ENTRIES = 1_000;

/** Characters of an import that are read before others are let in, some ten milliseconds' worth; and what each entry counts besides. */
export const IMPORT_PIECE_CHARS = 200_000;
export const IMPORT_ENTRY_CHARS = 200;

/** Longest that a caller may wait for a run in one call (ms): under the platform's idle limits for a request. */
export const MAX_WAIT_MS = 300_000;

/** Chunks summarised at the same time: more would meet a provider's rate limit before it saved time. */
export const PARALLEL_CHUNKS = 4;

/** Tokens that a prompt carries beside source and earlier summary: instructions and section hints. */
export const PROMPT_OVERHEAD_TOKENS = 1_500;

/** A live run that no step was heard from for this long (ms) is looked at. */
export const QUIET_RUN_MS = 15_000;

/** Between two nudges of one run (ms): an engine that is only waiting for a model keeps every event it is sent. */
export const NUDGE_AGAIN_MS = 300_000;

/** Seconds between two looks of the watchdog while a run is live. */
export const WATCHDOG_SECONDS = 15;

/** How long a run may wait for the engine to take it (ms): an outage is waited out, a run is not kept for ever. */
export const PENDING_LIMIT_MS = 3_600_000;

/** How often an instance that the engine gave up is started again before its run fails. */
export const MAX_INSTANCE_RESTARTS = 3;

/** How long a session's own compaction function may take unless told otherwise (ms): slow models answer in minutes. */
export const DEFAULT_FUNCTION_LIMIT_MS = 300_000;

/** The longest that it may be given (ms): a function hangs in memory, and an object rarely lives for longer. */
export const MAX_FUNCTION_LIMIT_MS = 3_600_000;

/** Steps kept in a run's ledger row: a row must stay far under 2 MB whatever a run does. */
export const MAX_STEP_RECORDS = 500;

/** How far back the newest finished run is looked for: live runs are at most one per branch. */
export const MAX_LIVE_RUNS = 20;

/** Elements and bytes of JSON of one outline: it is a step's result, which the platform bounds at 1 MiB. */
export const MAX_OUTLINE_ROWS = 4_000;
export const MAX_OUTLINE_BYTES = 500_000;

/** Runs in a row that may lose a race with an edit before the next one waits for the view to grow. */
export const MAX_STALE_STREAK = 3;

/** Characters per token beyond which a rendered chunk is cut, whatever the estimate said: English runs at 4 to 4.5. */
export const MAX_CHARS_PER_TOKEN = 4;

/** How long a context provider may take (ms): a person waits for this turn, and an object store answers in well under a second. */
export const PROVIDER_LIMIT_MS = 10_000;

/** Bytes of one block, of one keyed entry, and of a stored prompt: a row may take 2 MB with its keys. */
export const MAX_BLOCK_BYTES = 1_000_000;
export const MAX_PROMPT_BYTES = 1_900_000;

/** Bounds on the names that a model is shown in tool schemas and types back. */
export const MAX_LABEL_CHARS = 64;
export const MAX_ENTRY_KEY_CHARS = 200;

/** Entries that one search of a block returns at most, and the characters after which no further one is added. */
export const SEARCH_ENTRIES = 10;
export const SEARCH_ANSWER_CHARS = 40_000;

/** Characters of a query that are looked at: a search asks for words, not for a document. */
export const MAX_QUERY_CHARS = 2_000;

/** Different words and phrases of a query that are looked for, the first ones: each begin* may be a walk over the index. */
export const MAX_QUERY_TERMS = 32;

/** Characters of a snippet, some 30 words, and those of them that stand before the match. */
export const SNIPPET_CHARS = 240;
export const SNIPPET_LEAD_CHARS = 80;

/** Words of one phrase that must stand side by side, the first ones; of an unspaced script each character is a word. */
export const MAX_PHRASE_WORDS = 128;

/** HiddenMessages of the words in one text that are compared for its snippet: the best of so many is good enough. */
export const SNIPPET_MATCHES = 1_000;

/** Words of a phrase by which its place is found for a snippet: more of them tell it no better, and cost time each. */
export const SNIPPET_PHRASE_WORDS = 8;

/** Characters of a text that are looked through at a time for a snippet: nearly every text is read in one piece. */
export const SNIPPET_WINDOW_CHARS = 100_000;

/** Characters without a break from which on a text is bytes: not searched for, and not shown by half in an output. */
export const ENCODED_SEARCH_CHARS = 1_000;
export const ENCODED_OUTPUT_CHARS = 200;

/** Bytes of one message in the search index: half of the platform's 2 MB for a value. What is longer is cut, to no less than so many characters. */
export const SEARCH_MAX_BYTES = 1_000_000;
export const SEARCH_LEAST_CHARS = 1_000;

/** Messages that one search returns by default, and at most: each hit costs a read of its row and a snippet. */
export const DEFAULT_SEARCH_HITS = 20;
export const MAX_SEARCH_HITS = 100;

/** Sessions of one page of a list, unless told. */
export const DEFAULT_SESSIONS_PAGE = 50;

/** Skills listed in a prompt at most, and characters of each one's description: the list is paid for with every call. */
export const MAX_SKILLS = 1_000;
export const SKILL_DESCRIPTION_CHARS = 300;

/** Characters of a session's title: a line of a list. */
export const TITLE_CHARS = 60;

/** Characters of a session's name, and of the words that say where it came from and which model it talks to. */
export const MAX_NAME_CHARS = 200;

/** Hits that the model's own search returns, and characters of each: a few hundred tokens, enough to know what to read. */
export const SESSION_SEARCH_HITS = 10;
export const SESSION_SEARCH_CHARS = 400;

/** Most tokens that one model call may be reported at: larger than any model's window, so that a sum stays a number and a view is no fright. */
export const MAX_CALL_TOKENS = 10_000_000;

/** A model call that is not over after this long (ms) is given up: a full summary at twenty tokens a second takes less. */
export const MODEL_CALL_MS = 240_000;

/** How long (ms) a model is asked in one step, all its tries together: one that hangs or drips costs no more than this. */
export const MODEL_STEP_MS = 300_000;

/** Least of that time (ms) that is worth another try: below it hardly a model answers. */
export const LEAST_TRY_MS = 10_000;

/** Characters that are read of an answer for each token that it may have: four times what tokens usually hold, thoughts included. */
export const ANSWER_CHARS_PER_TOKEN = 16;

/** Waits (ms) before an answer is told to the agent again: at once after a reset, then through a deploy; with a model's longest call under the step's own timeout. */
export const SAVE_AGAIN_MS: readonly number[] = [0, 1_000, 4_000];

/** Longest that a step waits (ms) because a provider asked to be left alone; beyond it, the step's own backoff does. */
export const MAX_POLITE_WAIT_MS = 60_000;

/** Characters of one pinned fact, and of a rule or a task: longer ones are data, not names, and no single sentences. */
export const MAX_FACT_CHARS = 200;
export const MAX_RULE_CHARS = 400;

/** Rules and names that the facts of a span hold: with the rest, 70 to 150 kB of JSON, kept with each draft. */
export const MAX_RULES = 200;
export const MAX_IDENTIFIERS = 600;

/** Naming words that the table of a span holds, the warmest, and places of each: some 50 kB of JSON, kept with each draft. */
export const MAX_WORDS = 1_000;
export const MAX_WORD_PLACES = 4;

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

/** Answers that could not be used, repair included, after which a run asks that model no more. */
export const MAX_WASTED_CALLS = 3;

/** Least chunk that a summariser's window must leave room for (tokens): smaller ones would be thousands of calls that say nothing. */
export const MIN_CHUNK_TOKENS = 500;

/** A chunk that no model could tell is cut in two from this many tokens on: smaller halves say nothing by themselves. */
export const MIN_SPLIT_TOKENS = 3_000;

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

/** How often the growth that is waited for doubles after runs that came to nothing: beyond it, a view is over any window. */
export const MAX_FRUITLESS_DOUBLINGS = 10;

/** Fewest tokens that a view can be fitted into: the beginning of what was asked, and a line that says what is left out. */
export const MIN_VIEW_TOKENS = 64;

/** Thresholds that the messages of a turn's prompt may take unless it is told the window: beyond, compaction is not keeping up. */
export const THRESHOLDS_IN_A_TURN = 2;

/** Steps of a power of two in which a fitted view's room is counted: one that is predicted anew at each call must not move its line. */
export const FIT_ROOM_STEPS = 16;

/** Share of that power by which a fitted view's line between older and newest moves: so often, and no oftener, does its prefix change. */
export const FIT_LINE_SHARE = 1 / 3;

/** Most of its room that a fitted view's newest part takes, its growth until the line moves included. */
export const FIT_NEWEST_SHARE = 5 / 8;

/** Share of that power that the digest of its oldest part may take, and least tokens of one with sections. */
export const FIT_DIGEST_SHARE = 1 / 5;
export const FIT_SECTIONS_TOKENS = 400;
export const FIT_DIGEST_TOKENS = 90;

/** Share of that power that the user's rules may take beside a digest, and beside a message that is cut: one long rule of the least useful rooms. */
export const FIT_RULES_SHARE = 1 / 4;

/** Characters to which what was asked is cut at least before the rules beside it are given up: its beginning tells what it is. */
export const FIT_ASKED_CHARS = 40;

/** Characters of the oldest part that its digest is made from: a digest is made while a model waits to be asked. */
export const FIT_DIGEST_SOURCE_CHARS = 80_000;

/** Characters of one older tool output and of one older text in a fitted view, round by round. */
export const FIT_OLDER_CHARS = [
  { output: 2_000, text: 10_000 },
  { output: 500, text: 4_000 },
  { output: 200, text: 1_000 },
] as const;

/** Characters to which the newest parts of a fitted view are shortened at least, before they go; the last question keeps more. */
export const FIT_LEAST_CHARS = 200;
export const FIT_ASKED_TIMES = 4;

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

/** Characters of the preview of an oversized tool output, and least bytes of one that may be called so. */
export const PREVIEW_CHARS = 2_000;
export const MIN_PREVIEW_BYTES = 4_000;

/** Messages that one bullet of a summary says it comes from: each reference costs some five tokens, in every prompt. */
export const MAX_BULLET_REFERENCES = 3;

/** Most that a summary may be with its references, as a multiple of its budget: an index is no summary. */
export const MAX_REFERENCED_RATIO = 2;

/** Tokens of one answer of `recall`, unless told otherwise, and the bounds of what it may be told: a page of originals. */
export const RECALL_TOKENS = 4_000;
export const MIN_RECALL_TOKENS = 200;
export const MAX_RECALL_TOKENS = 50_000;

/** Tokens below which no further original is begun in an answer: less would not say what it is. */
export const MIN_RECALLED_TOKENS = 60;

/** Tokens kept for saying what an answer leaves out and how to ask for it. */
export const RECALL_NOTE_TOKENS = 100;

/** Originals that share an answer at most equally: the first of many long ones must not take it whole. */
export const RECALL_SHARES = 3;

/** Originals that one search looks at, and ids that one call may name. */
export const RECALL_HITS = 20;

/** Branches that a page of a session's branches shows, the newest: each is read with its last message. */
export const MAX_BRANCH_TIPS = 100;

/** Fewest characters of the Worker's secret: 24 of any usual alphabet are past guessing. */
export const MIN_SECRET_CHARS = 24;

/** How long a ticket admits (ms): a page asks for one just before it connects, and URLs are kept in logs. */
export const TICKET_MS = 60_000;

/** Characters of an agent's name in a path, as it stands there: long enough for an e-mail address or two ids. */
export const MAX_AGENT_NAME_CHARS = 200;

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

/** Budgets of connections and callers that are kept before those that are full again are looked for. */
export const BUDGETS_KEPT = 1_000;

/** How long a summary waits for a person (ms): a day unless told otherwise, a month at most, as finished runs are kept. */
export const DEFAULT_APPROVAL_MS = 86_400_000;
export const MAX_APPROVAL_MS = 30 * 86_400_000;

/** Least that a run waits for a word before it asks again (ms): what is left of a wait may be nothing. */
export const LEAST_APPROVAL_MS = 1_000;

/** Characters of the reason of a rejection: a line of a list of runs. */
export const MAX_REASON_CHARS = 500;

/** Characters of a step's name, as the platform bounds it. */
export const MAX_STEP_NAME_CHARS = 256;

/** Characters of a summary that a person wrote: some ten times the largest budget; the audit says what is too large. */
export const MAX_SUMMARY_CHARS = 200_000;

/** Pages of the ledger that are looked through for the newest run of a kind: notes are updated far oftener than summaries made. */
export const MAX_LEDGER_PAGES = 10;

/** What the platform lets one Durable Object store (bytes). */
export const MAX_DATABASE_BYTES = 10_000_000_000;

/** Kept for the ledger, summaries and deletions once no more messages are taken (bytes): the largest message is a fifth of it. */
export const RESERVED_BYTES = 100_000_000;
