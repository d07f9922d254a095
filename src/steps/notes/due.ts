/** Decides when to update the notes: after enough tokens and tool calls, at a break where there is one. */
import { NOTES_PATIENCE } from "../../limits-of-notes.ts";

/** The growth of the conversation since the last update. */
export interface NotesGrowth {
  readonly tokens: number;
  readonly toolCalls: number;
  /** Whether the newest message waits for the result of a tool. */
  readonly openCall: boolean;
}

export interface NotesPace {
  /** Tokens after which an update is due. */
  readonly growthTokens: number;
  /** Tool calls that are also needed. 0 needs none. */
  readonly toolCalls: number;
}

/**
 * True at the first break with enough tokens and tool calls. At twice the tokens it is true in any case, so that
 * neither a long series of calls nor a conversation without calls delays an update for ever.
 */
export function isUpdateDue(growth: NotesGrowth, pace: NotesPace): boolean {
  if (growth.tokens >= pace.growthTokens * NOTES_PATIENCE) return true;
  return growth.tokens >= pace.growthTokens && growth.toolCalls >= pace.toolCalls && !growth.openCall;
}
