/** The numbers of session notes, each with its unit and its reason. ../limits.ts has those that notes share with other rooms. */

/** Defaults for the messages that stay behind notes. They let a reply continue, and leave the view room to grow. */
export const DEFAULT_NOTES_MIN_TOKENS = 10_000;
export const DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES = 5;
export const DEFAULT_NOTES_MAX_TOKENS = 40_000;

/**
 * Divisors of the threshold that bound the two token defaults above. The head and the notes need the rest. Where more stayed behind notes, the
 * next compaction would come twice as soon.
 */
export const NOTES_MIN_SHARE_OF_THRESHOLD = 6;
export const NOTES_MAX_SHARE_OF_THRESHOLD = 4;

/** Tokens of a session's notes, and of one section. A person would read that much before continuing. */
export const NOTES_TOKENS = 12_000;
export const NOTES_SECTION_TOKENS = 2_000;

/** Default bounds as divisors. The first is for notes as a share of the threshold, the second for a section as a share of the notes. */
export const NOTES_SHARE_OF_THRESHOLD = 10;
export const NOTES_SECTION_SHARE = 4;

/** Notes of at least this many tokens may not shrink below this share in one update. A model that drops more has forgotten something. */
export const GUARDED_NOTES_TOKENS = 100;
export const LEAST_NOTES_SHARE = 0.5;

/**
 * A section of the notes' own with fewer words than this (as `meaningfulWords` counts) may be rewritten completely, because a task may have
 * changed.
 */
export const GUARDED_SECTION_WORDS = 20;

/** Above this share of their budget, a section or the whole notes may shrink further to make room. */
export const NOTES_CONDENSE_SHARE = 0.75;

/** Most lost lines that a retry shows to the model. That is enough to see the problem. */
export const MAX_FORGOTTEN_LINES = 5;

/** New tokens and tool calls after which notes are updated by growth. The tokens are at most a sixth of the threshold. */
export const NOTES_GROWTH_TOKENS = 10_000;
export const NOTES_TOOL_CALLS = 3;
export const NOTES_GROWTH_SHARE = 6;

/**
 * Fewest new tokens for an update, whose own prompt takes some 700. They are at most a quarter of the threshold, so that even a delayed
 * update comes before the first compaction.
 */
export const LEAST_NOTES_GROWTH_TOKENS = 1_500;
export const LEAST_NOTES_GROWTH_SHARE = 4;

/** After this multiple of the growth, an update no longer waits for tool calls or for a break. */
export const NOTES_PATIENCE = 2;

/** Most stored versions of notes. They cover a day's work. */
export const NOTES_VERSIONS = 10;

/** Most older versions that stay because a cut text in a view refers to them. That is one for each summary that a view may hold. */
export const MAX_POINTED_NOTES = 20;

/** Most bytes and sections of notes that a person writes. A row takes 2 MB. */
export const MAX_NOTES_BYTES = 500_000;
export const MAX_NOTES_SECTIONS = 50;

/** Time (ms) that a compaction waits for an update of the notes that runs already. It waits longer for one that it asked for itself. */
export const NOTES_WAIT_MS = 15_000;

/**
 * Largest setting of that wait (ms), and the wait for an update that the compaction asked for. A waiting compaction is still pending, and
 * the watchdog checks on it.
 */
export const MAX_NOTES_WAIT_MS = 60_000;
