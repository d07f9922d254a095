/** The numbers of session notes and of what is carried across a compaction, each with its unit and its reason. All others are in limits.ts. */

/** What is kept behind notes by default: enough to go on in the same breath, and no more than a view with room to grow. */
export const DEFAULT_NOTES_MIN_TOKENS = 10_000;
export const DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES = 5;
export const DEFAULT_NOTES_MAX_TOKENS = 40_000;

/** Most of a threshold that these two defaults take, as divisors: beside them stand the head and the notes. */
export const NOTES_MIN_SHARE_OF_THRESHOLD = 6;
export const NOTES_MAX_SHARE_OF_THRESHOLD = 1.5;

/** Tokens of a session's notes, and of one of their sections: what a person would read through before going on. */
export const NOTES_TOKENS = 12_000;
export const NOTES_SECTION_TOKENS = 2_000;

/** Most of a threshold that notes take by default, and of notes that a section takes, as divisors. */
export const NOTES_SHARE_OF_THRESHOLD = 5;
export const NOTES_SECTION_SHARE = 4;

/** Notes of so many tokens may not fall below this share of themselves in one update: a model that drops more has forgotten. */
export const GUARDED_NOTES_TOKENS = 100;
export const LEAST_NOTES_SHARE = 0.5;

/** An edited section of fewer words than these (as `meaningfulWords` counts) may come out as another one: a task that changed. */
export const GUARDED_SECTION_WORDS = 20;

/** Fuller than this share of its budget, a section may lose more than that to make room, and so may all of them. */
export const NOTES_CONDENSE_SHARE = 0.75;

/** Lost lines that a refused answer is shown: enough to see what is meant. */
export const MAX_FORGOTTEN_LINES = 5;

/** New tokens and tool calls after which notes are brought up to date; the tokens are at most a sixth of the threshold. */
export const NOTES_GROWTH_TOKENS = 10_000;
export const NOTES_TOOL_CALLS = 3;
export const NOTES_GROWTH_SHARE = 6;

/**
 * Fewer new tokens are not worth an update, whose own prompt weighs some 700; of a threshold they are at most this share, as a
 * divisor: with patience, an update comes before the first compaction.
 */
export const LEAST_NOTES_GROWTH_TOKENS = 1_500;
export const LEAST_NOTES_GROWTH_SHARE = 4;

/** Growths after which an update waits no longer for tool calls or for a break. */
export const NOTES_PATIENCE = 2;

/** Versions of notes that are kept: enough to look back over a day's work, each with the facts of what it covers. */
export const NOTES_VERSIONS = 10;

/** Older ones that stay because a line where a shown text was cut leads to them: one for each summary that a view may still hold. */
export const MAX_POINTED_NOTES = 20;

/** Bytes of the notes' sections that a person may write, and sections: a row takes 2 MB with the facts beside them. */
export const MAX_NOTES_BYTES = 500_000;
export const MAX_NOTES_SECTIONS = 50;

/** How long a compaction waits for notes that are just being brought up to date (ms): less than a summary takes. */
export const NOTES_WAIT_MS = 15_000;

/** Most of that (ms): a compaction that waits is still pending, and the watchdog looks after it. */
export const MAX_NOTES_WAIT_MS = 60_000;

/** Tokens of one context block that is carried behind a summary, and of what a caller's code adds there. */
export const CARRIED_TOKENS = 2_000;
export const HOOK_TOKENS = 2_000;

/** How long that code may take (ms), and how often it is tried: it may call a service that is down for a minute. */
export const HOOK_LIMIT_MS = 60_000;
export const MAX_HOOK_ATTEMPTS = 5;
