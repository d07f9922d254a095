/** Names of the shadows under simulation. */

/** The name with which the Workflow's model is chosen. */
export const SHADOW_MODEL = "shadow";

/** A word of each good answer of that model, which no other text has. */
export const SHADOW_WORD = "umbra";

/** What each call costs. The room compares a call by more, because a prompt alone is larger. */
export const CALL_TOKENS = [1_300, 60] as const;

/** Enough for a few calls, so that some shadows of a simulation are skipped. */
export const DAY_TOKENS = 4_500;
