/**
 * Plans the part of a view that the session's notes replace, and the part kept behind them.
 *
 * An outline, numbers and one message id in, a plan out. It does not see the notes themselves. It is safe because the
 * notes replace only messages that they cover, and because every boundary is one that {@link layOut} calls safe. V1 and
 * V2 hold as for any other plan.
 */
import { PalimpsestError } from "../../errors.ts";
import {
  DEFAULT_NOTES_MAX_TOKENS,
  DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES,
  DEFAULT_NOTES_MIN_TOKENS,
  NOTES_MAX_SHARE_OF_THRESHOLD,
  NOTES_MIN_SHARE_OF_THRESHOLD,
} from "../limits.ts";
import {
  layOut,
  tokensBetween,
  type Layout,
  cutHead,
  latestTail,
  type KeptHead,
  type BoundaryMove,
} from "../../steps/plan/cut.ts";
import type { Outline } from "../../steps/plan/outline.ts";
import { freshTokens, spanPlan, type Plan } from "../../steps/plan/plan.ts";
import type { Policy } from "../../steps/plan/policy.ts";

/** The part kept behind notes. All three are whole numbers from 1, and `minTokens` is at most `maxTokens`. */
export interface NotesRange {
  /** Least tokens to keep, as far as `maxTokens` allows. */
  readonly minTokens: number;
  /** Least messages with text to keep, as far as `maxTokens` allows. */
  readonly minTextBlockMessages: number;
  /** No further message is kept once this many tokens are. The message that reaches the limit is kept too. */
  readonly maxTokens: number;
}

/** The last message that notes cover, and its last covered step. `WHOLE_MESSAGE` stands for its end. */
export interface CoveredEnd {
  readonly messageId: string;
  readonly step: number;
}

export type NotesRangeOptions = { readonly [Key in keyof NotesRange]?: number | undefined };

/**
 * The defaults, scaled down for a small threshold, each replaced by a given positive number, and at most a quarter of the threshold. A
 * given `maxTokens` lowers the default `minTokens` to it. Throws `invalid_options` for a given `minTokens` above a given `maxTokens`.
 */
export function resolveNotesRange(policy: Pick<Policy, "thresholdTokens">, options: NotesRangeOptions): NotesRange {
  const { thresholdTokens } = policy;
  const share = (divisor: number): number => Math.max(1, Math.floor(thresholdTokens / divisor));
  const [least, most] = [positive(options.minTokens), positive(options.maxTokens)];
  if (least !== null && most !== null && least > most) {
    throw new PalimpsestError(
      "invalid_options",
      `keep: minTokens (${least}) is above maxTokens (${most}). Lower one or raise the other, or leave one out.`,
    );
  }
  const quarter = share(NOTES_MAX_SHARE_OF_THRESHOLD);
  const fewest = least ?? Math.min(DEFAULT_NOTES_MIN_TOKENS, share(NOTES_MIN_SHARE_OF_THRESHOLD), most ?? Infinity);
  const minTokens = Math.min(fewest, quarter);
  const maxTokens = Math.min(most ?? DEFAULT_NOTES_MAX_TOKENS, quarter);
  return {
    minTokens,
    minTextBlockMessages: positive(options.minTextBlockMessages) ?? DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES,
    maxTokens: Math.max(minTokens, maxTokens),
  };
}

/**
 * Plans the overlay that shows notes. It covers everything from the first message, earlier overlays included, to the
 * boundary `b` below. It keeps no head, because the notes describe those messages too. An edit of a message that an
 * overlay describes must be an edit under that overlay (C3). `layOut` defines boundaries, cells and ties.
 *
 * 1. `start` is the boundary behind the last covered visible step of the last message that the notes cover. With
 *    `covered: null` the coverage is unknown, and `start` is the end of the view.
 * 2. `floor` is the boundary behind the last overlay of the view, or the beginning where there is none.
 * 3. `kept` goes down from `start`, cell by cell, and stops at `floor`. It also stops once the cells behind it hold at
 *    least `minTokens` and at least `minTextBlockMessages` messages with text, or at least `maxTokens`. So the cell
 *    that reaches `maxTokens` is kept. A message has text when one of its cells behind the boundary has a text.
 * 4. `most` is the highest allowed boundary. It is not above `start`. Behind it are the user's newest message and the
 *    last `policy.minTailMessages` messages, whole, whatever their size. It is not below `floor`, because earlier
 *    overlays hide the part before that. `kept` is not above it.
 * 5. `b` is the highest boundary from `kept` down to `floor` without a tie. If there is none, it is the lowest one
 *    above `kept` and not above `most`. `b` is never the beginning. If `kept` is the beginning, there is no `b`.
 *
 * The result is `nothing` in these cases:
 * - `empty`: the view has no message.
 * - `not-covered`: the notes end before the part of the view that they could replace. An earlier overlay hides their
 *   last message or stands behind it, the message is missing, or the outline was truncated.
 * - `too-short`: the notes reach far enough, but the kept part leaves nothing to replace.
 * - `too-small`: the replaced part, without earlier overlays, has fewer tokens than `policy.minSpanTokens`, or none.
 *
 * The threshold is not considered. The plan's level is one above the highest overlay in the span, or 0 without one. Its
 * chunks and parts are those that a model would read, as in any plan.
 */
export function planFromNotes(
  outline: Outline,
  { covered, policy, notes }: { covered: CoveredEnd | null; policy: Policy; notes: NotesRange },
): Plan {
  if (outline.rows.length === 0) return nothing("empty", "The view holds no messages.");
  if (outline.truncated)
    return nothing("not-covered", "The view is longer than an outline, so what stands behind the notes is not known.");
  const layout = layOut(outline);
  const floor = layout.cells.findLastIndex(({ row }) => row.kind === "overlay") + 1;
  const start = endOfCovered(layout, outline, covered);
  if (start === null || start < floor) return nothing("not-covered", whyNotCovered(start));
  const most = Math.max(floor, Math.min(start, latestTail(layout, policy)));
  const kept = Math.min(expandBack(layout, { start, floor }, notes), most);
  const at = kept === 0 ? null : align(layout, { kept, most, floor: Math.max(floor, 1) });
  if (at === null) return nothing("too-short", "All of the view is what the notes are asked to keep behind them.");
  const fresh = freshTokens(layout);
  const gain = fresh[at] ?? 0;
  if (gain < Math.max(1, policy.minSpanTokens)) {
    return nothing(
      "too-small",
      `The notes would take the place of ${gain} tokens; ${policy.minSpanTokens} are worth it.`,
    );
  }
  const levels = layout.cells
    .slice(0, at)
    .flatMap(({ row }) => (row.kind === "overlay" ? [row.overlay?.level ?? 0] : []));
  const stacked = { from: 0, to: at, level: Math.max(-1, ...levels) + 1, rebuild: false };
  const head = { kept: headInWords(layout, outline, policy) };
  return spanPlan({ layout, policy, head }, stacked, explain(layout, { start, kept, at }));
}

/** Keeps no message of the start, but quotes the words of those messages that a model's compaction would keep. */
function headInWords(layout: Layout, { rows }: Outline, policy: Policy): KeptHead {
  const { at, kept } = cutHead(layout, policy);
  const inWords = rows.filter((_, index) => (layout.rowStarts[index] ?? 0) < at).map(({ id }) => id);
  return { ...kept, kept: 0, why: inWords.length === 0 ? kept.why : "notes", inWords };
}

/** The boundary behind the covered part of the last message. Null when the view does not show it. */
function endOfCovered(layout: Layout, { rows }: Outline, covered: CoveredEnd | null): number | null {
  if (covered === null) return layout.cells.length;
  const { messageId, step } = covered;
  const at = rows.findLastIndex(
    ({ kind, id, firstStep }) => kind === "message" && id === messageId && firstStep <= step,
  );
  const row = rows[at];
  if (row === undefined) return null;
  return (layout.rowStarts[at] ?? 0) + Math.min(row.steps.length, step - row.firstStep + 1);
}

function whyNotCovered(start: number | null): string {
  if (start === null) return "The last message that the notes tell of is not in the view: an earlier summary hides it.";
  return "An earlier summary stands behind the last message that the notes tell of.";
}

function expandBack(layout: Layout, { start, floor }: { start: number; floor: number }, notes: NotesRange): number {
  const end = layout.cells.length;
  const withText = new Set<number>();
  const look = (cell: number): void => {
    const found = layout.cells[cell];
    if (found?.row.texts.includes(found.step) === true) withText.add(found.rowIndex);
  };
  for (let cell = start; cell < end; cell++) look(cell);
  let at = start;
  while (at > floor) {
    const tokens = tokensBetween(layout, at, end);
    if (tokens >= notes.maxTokens) break;
    if (tokens >= notes.minTokens && withText.size >= notes.minTextBlockMessages) break;
    at--;
    look(at);
  }
  return at;
}

function align(layout: Layout, { kept, most, floor }: { kept: number; most: number; floor: number }): number | null {
  for (let at = kept; at >= floor; at--) if (layout.ties[at] === null) return at;
  for (let at = kept + 1; at <= most; at++) if (layout.ties[at] === null) return at;
  return null;
}

function explain(layout: Layout, { start, kept, at }: { start: number; kept: number; at: number }): BoundaryMove[] {
  const moves: BoundaryMove[] = [];
  const add = (why: BoundaryMove["why"], from: number, to: number): unknown =>
    moves.push({ boundary: "tail", why, tokens: tokensBetween(layout, Math.min(from, to), Math.max(from, to)) });
  if (kept !== start) add("min-tail", kept, start);
  if (at !== kept) add(layout.ties[kept] ?? "min-span", at, kept);
  const rowStart = layout.rowStarts[layout.cells[at]?.rowIndex ?? -1] ?? at;
  if (rowStart < at) add("inside-message", rowStart, at);
  return moves;
}

function positive(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) && value > 0 ? Math.ceil(value) : null;
}

function nothing(reason: (Plan & { kind: "nothing" })["reason"], detail: string): Plan {
  return { kind: "nothing", reason, detail };
}
