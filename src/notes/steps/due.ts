/** Decides when to update the notes, and how much of what is new an update leaves for the next one. */
import { LEAST_NOTES_GROWTH_TOKENS, NOTES_LEAD, NOTES_PATIENCE } from "../limits.ts";
import type { OutlineRow } from "../../steps/plan/outline.ts";
import type { NotesRange } from "./range.ts";

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
  /** The compaction for which the notes are kept. Null where updates come by growth alone. */
  readonly compaction: NextCompaction | null;
}

/** A compaction that comes at a known size of the view. */
export interface NextCompaction {
  /** Tokens of the view at which it comes. */
  readonly thresholdTokens: number;
  /** Least tokens that it keeps behind the notes. */
  readonly keptTokens: number;
  /** Most tokens that one update reads. */
  readonly mostTokens: number;
}

/**
 * True at the first break with enough tokens and tool calls. At twice the tokens it is true in any case, so that
 * neither a long series of calls nor a conversation without calls delays an update for ever.
 *
 * Each update sends the notes to the model again, and a compaction needs one of them. So where the next compaction is
 * known, an update waits until that is near, or until there is as much as one update reads. It counts what a
 * compaction would hide. It no longer waits for a break once half of that way is left.
 */
export function isUpdateDue(growth: NotesGrowth, pace: NotesPace, viewTokens: number): boolean {
  const { growthTokens, toolCalls, compaction } = pace;
  const isBreak = growth.toolCalls >= toolCalls && !growth.openCall;
  if (compaction === null) {
    return growth.tokens >= growthTokens * NOTES_PATIENCE || (growth.tokens >= growthTokens && isBreak);
  }
  if (!mayBeDue(pace, viewTokens)) return false;
  const left = Math.max(0, compaction.thresholdTokens - viewTokens);
  const hidden = growth.tokens - Math.max(0, compaction.keptTokens - left);
  if (hidden >= compaction.mostTokens) return true;
  return (
    isNear(pace, viewTokens) && hidden >= growthTokens && (isBreak || left * NOTES_PATIENCE <= leadOf(growthTokens))
  );
}

/** False where an update cannot be due in a view of this size, whatever the growth. */
export function mayBeDue(pace: NotesPace, viewTokens: number): boolean {
  return pace.compaction === null || isNear(pace, viewTokens) || viewTokens >= pace.compaction.mostTokens;
}

function isNear({ growthTokens, compaction }: NotesPace, viewTokens: number): boolean {
  if (compaction === null) return true;
  return viewTokens + leadOf(growthTokens) >= compaction.thresholdTokens;
}

/** Tokens by which a view can still grow when an update for a compaction is due. At small thresholds both come at once. */
function leadOf(growthTokens: number): number {
  return Math.max(0, growthTokens - LEAST_NOTES_GROWTH_TOKENS) / NOTES_LEAD;
}

/** Most tokens of growth that {@link isUpdateDue} needs to know. */
export function enoughGrowth({ growthTokens, compaction }: NotesPace): number {
  return compaction === null ? growthTokens * NOTES_PATIENCE : compaction.mostTokens + compaction.keptTokens;
}

/**
 * Tokens at the end of a view that a compaction would keep behind the notes, if it came after `coming` more tokens
 * without a text. Notes that describe these could not become its summary.
 */
export function tokensToKeep(
  rows: readonly OutlineRow[],
  { range, minTailMessages }: { readonly range: NotesRange; readonly minTailMessages: number },
  coming: number,
): number {
  // What comes is one more message at least.
  const leastRows = coming > 0 ? minTailMessages - 1 : minTailMessages;
  const isEnough = (tokens: number, texts: number): boolean =>
    tokens >= range.maxTokens || (tokens >= range.minTokens && texts >= range.minTextBlockMessages);
  let tokens = coming;
  let texts = 0;
  for (const [kept, row] of rows.toReversed().entries()) {
    if (row.kind === "overlay") break;
    let hasText = false;
    for (let at = row.steps.length - 1; at >= 0; at--) {
      if (kept >= leastRows && isEnough(tokens, texts + (hasText ? 1 : 0))) return tokens - coming;
      tokens += row.steps[at] ?? 0;
      hasText ||= row.texts.includes(row.firstStep + at);
    }
    texts += hasText ? 1 : 0;
  }
  return tokens - coming;
}
