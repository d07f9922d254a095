/** What a caller reports of a model call. */

/**
 * Most tokens that one model call may report. It is larger than any model's window, and bounds the effect of a wrong report on sums and
 * views.
 */
export const MAX_CALL_TOKENS = 10_000_000;

/** A provider's report of one model call on a session's view. */
export interface UsageReport {
  /** Tokens of the whole prompt, cached ones included, of one call and not of a turn of several. 0 means unknown. */
  readonly inputTokens: number;
  readonly outputTokens?: number | undefined;
  /** The part of `inputTokens` that the provider read from its prompt cache, and the part that it wrote to it. Default 0. */
  readonly cachedTokens?: number | undefined;
  readonly writtenTokens?: number | undefined;
  /** In a currency of the caller's choice. Default 0. */
  readonly cost?: number | undefined;
  /** Each model is calibrated by itself, because models count differently. */
  readonly model?: string | undefined;
  /** The branch that was sent, which is the active one by default. */
  readonly leafId?: string | undefined;
  /** The `tokens` of the view that was sent, for a case where messages or an overlay may have come in since. */
  readonly viewTokens?: number | undefined;
}
