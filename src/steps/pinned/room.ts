/**
 * The room of the names beside a summary, in tokens.
 *
 * Names take what the summaries of a view leave of their budget. By rent, a view may come over its ceiling before the
 * rent has paid for a summary. Until then a conversation is short or has met a large output, and often it ends soon.
 * So the first summary of such a view gets half of the room for its names, and the next one all of it.
 * docs/decisions/0018 says how that was measured.
 */
export const EARLY_NAMES_SHARE = 0.5;

export interface NamesRoom {
  /** Tokens of all summaries of a view with their names. */
  readonly stackTokens: number;
  /** Tokens that the summaries take. */
  readonly takenTokens: number;
  /** True for the first summary of a view that the rent has not paid for. */
  readonly isEarly: boolean;
  /** Default {@link EARLY_NAMES_SHARE}. */
  readonly earlyShare?: number;
}

/** Never more than the summaries leave, and never below 0. */
export function namesRoom({ stackTokens, takenTokens, isEarly, earlyShare = EARLY_NAMES_SHARE }: NamesRoom): number {
  const most = isEarly ? Math.floor(stackTokens * earlyShare) : stackTokens;
  return Math.max(0, Math.min(most, stackTokens - takenTokens));
}
