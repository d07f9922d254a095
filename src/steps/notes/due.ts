/** When the notes are brought up to date: after enough of both tokens and tool calls, at a break where there is one. */
import { NOTES_PATIENCE } from "../../limits-of-notes.ts";

/** What came since the last update. */
export interface NotesGrowth {
  readonly tokens: number;
  readonly toolCalls: number;
  /** Whether the newest message waits for the result of a tool. */
  readonly openCall: boolean;
}

export interface NotesPace {
  /** Tokens after which an update is due. */
  readonly growthTokens: number;
  /** Tool calls that must have come as well; 0 asks for none. */
  readonly toolCalls: number;
}

/**
 * True at the first break with enough of both; and true without one, and without the tool calls, once the tokens are twice
 * as many: neither a long row of calls nor a conversation without any puts an update off for ever.
 */
export function isUpdateDue(growth: NotesGrowth, pace: NotesPace): boolean {
  if (growth.tokens >= pace.growthTokens * NOTES_PATIENCE) return true;
  return growth.tokens >= pace.growthTokens && growth.toolCalls >= pace.toolCalls && !growth.openCall;
}
