/** What all four chats have in common. */

/** Tokens. Over so many a chat with compaction is compacted. */
export const THRESHOLD = 4_000;
/** Tokens of the newest messages that a compaction keeps. */
export const TAIL_TOKENS = 1_300;
/** Tokens of one call of our summariser, so that a summary takes several calls. The SDK makes one. */
export const CHUNK_TOKENS = 1_000;
/** Tokens that the chat's model takes. A longer prompt is an error. */
export const WINDOW = 8_000;
export const SUMMARISER_WINDOW = 128_000;

/** What a model is asked for. */
export type Asked = "chat" | "summary";

/** The names of chats whose rows are counted begin so. They are not compacted. */
export const COUNTED = "counted";
