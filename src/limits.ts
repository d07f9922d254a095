/**
 * Every number that shapes a compaction, with its unit and its reason. One constant each; relations between those
 * that a caller may set are checked where the options are resolved (steps/plan.ts).
 */

/** Tokens that one image is counted as: what the large providers charge for an image at their usual resolution. */
export const IMAGE_TOKENS = 1_600;

/** Most tokens that a file other than an image is counted as: beyond it, providers reject or summarise the file. */
export const MAX_FILE_TOKENS = 20_000;

/** Bytes of a file per estimated token. */
export const FILE_BYTES_PER_TOKEN = 4;

/** Tokens around each message: role and separators. */
export const MESSAGE_OVERHEAD_TOKENS = 4;

/** Tokens around a tool call with its result: the provider's own wrapping of names, ids and JSON. */
export const TOOL_OVERHEAD_TOKENS = 40;
