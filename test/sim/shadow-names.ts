/** Names of the shadows under simulation. */

/** The name with which the Workflow's model is chosen. */
export const SHADOW_MODEL = "shadow";

/** A word of each good answer of that model, which no other text has. */
export const SHADOW_WORD = "umbra";

/** So few that some shadows of a simulation are skipped. */
export const DAY_TOKENS = 3_500;
