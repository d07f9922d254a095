/** The formats of transcripts that can be read. */
export const FORMATS = [
  "uimessage-jsonl",
  "openai",
  "openai-responses",
  "openai-thread",
  "anthropic",
  "claude-code",
  "codex",
  "gemini-cli",
  "opencode",
  "pi",
  "specstory",
] as const;
/** One of {@link FORMATS}. */
export type Format = (typeof FORMATS)[number];

/** A format whose files are values of JSON. */
export type JsonFormat = Exclude<Format, "specstory">;
