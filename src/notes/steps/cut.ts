/**
 * Where notes may take the place of a view, and when they are brought up to date.
 *
 * An outline, numbers and one place in, a plan out. It does not see the notes themselves. It is safe because the notes replace only messages
 * that they cover, and because every boundary is one that {@link layOut} calls safe. V1 and V2 hold as for any other plan.
 */
import { PalimpsestError } from "../../errors.ts";
import {
  DEFAULT_NOTES_MAX_TOKENS,
  DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES,
  DEFAULT_NOTES_MIN_TOKENS,
  NOTES_MAX_SHARE_OF_THRESHOLD,
  NOTES_MIN_SHARE_OF_THRESHOLD,
} from "../limits.ts";
import { layOut, tokensBetween, type Layout, cutHead, latestTail, type KeptHead } from "../../steps/plan/cut.ts";
import type { Outline } from "../../steps/plan/outline.ts";
import type { NothingReason } from "../../steps/decide/decide.ts";
import { freshTokens, spanPlan, type SpanPlan } from "../../steps/plan/plan.ts";
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

function positive(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) && value > 0 ? Math.ceil(value) : null;
}

export type NotesCut =
  | SpanPlan
  | { readonly kind: "nothing"; readonly reason: NothingReason | "too-recent"; readonly detail: string };

/**
 * Plans the overlay that shows notes. It covers everything from the first message to the end of the notes, earlier overlays included. It
 * keeps no head, because the notes describe those messages too, and an edit of a message that an overlay describes must be an edit under
 * that overlay (C3).
 *
 * The range and the policy's tail say what must be left behind that end. Where less is left, the notes are `too-recent`. With
 * `covered: null` nobody knows where they end, and the overlay ends at the last boundary that leaves enough.
 *
 * The threshold is not considered. The plan's level is one above the highest overlay in the span, or 0 without one.
 */
export function planFromNotes(
  outline: Outline,
  { covered, policy, notes }: { covered: CoveredEnd | null; policy: Policy; notes: NotesRange },
): NotesCut {
  if (outline.rows.length === 0) return nothing("empty", "The view holds no messages.");
  if (outline.truncated)
    return nothing("not-covered", "The view is longer than an outline, so what stands behind the notes is not known.");
  const layout = layOut(outline);
  const floor = layout.cells.findLastIndex(({ row }) => row.kind === "overlay") + 1;
  const most = Math.min(latestTail(layout, policy), latestWithEnough(layout, notes));
  const free = most <= floor ? null : lastWithoutTie(layout, { most, floor });
  const at = covered === null ? free : endOfCovered(layout, outline, covered);
  if (covered !== null && (at === null || at < floor)) return nothing("not-covered", whyNotCovered(at));
  if (at === null || free === null) return nothing("too-short", "All of the view is what is to be kept behind notes.");
  if (at > most || layout.ties[at] !== null) {
    return nothing("too-recent", "The notes tell of messages that are to be kept as they are behind a summary.");
  }
  const gain = freshTokens(layout)[at] ?? 0;
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
  return spanPlan({ layout, policy, head: { kept: headInWords(layout, outline, policy) } }, stacked, []);
}

/** Keeps no message of the start, but quotes the words of those messages that a model's compaction would keep. */
function headInWords(layout: Layout, { rows }: Outline, policy: Policy): KeptHead {
  const { at, kept } = cutHead(layout, policy);
  const inWords = rows.filter((_, index) => (layout.rowStarts[index] ?? 0) < at).map(({ id }) => id);
  return { ...kept, kept: 0, why: inWords.length === 0 ? kept.why : "notes", inWords };
}

/** The last boundary that leaves what a range asks for. */
function latestWithEnough(layout: Layout, { minTokens, minTextBlockMessages, maxTokens }: NotesRange): number {
  const end = layout.cells.length;
  const withText = new Set<number>();
  let at = end;
  for (; at > 0; at--) {
    const tokens = tokensBetween(layout, at, end);
    if (tokens >= maxTokens || (tokens >= minTokens && withText.size >= minTextBlockMessages)) break;
    const cell = layout.cells[at - 1];
    if (cell?.row.texts.includes(cell.step) === true) withText.add(cell.rowIndex);
  }
  return at;
}

function lastWithoutTie(layout: Layout, { most, floor }: { most: number; floor: number }): number | null {
  for (let at = most; at > floor; at--) if (layout.ties[at] === null) return at;
  return null;
}

/** The boundary behind the covered part of the last message. Null when the view does not show it. */
function endOfCovered(layout: Layout, { rows }: Outline, { messageId, step }: CoveredEnd): number | null {
  const at = rows.findLastIndex(
    ({ kind, id, firstStep }) => kind === "message" && id === messageId && firstStep <= step,
  );
  const row = rows[at];
  if (row === undefined) return null;
  return (layout.rowStarts[at] ?? 0) + Math.min(row.steps.length, step - row.firstStep + 1);
}

function whyNotCovered(end: number | null): string {
  if (end === null) return "The last message that the notes tell of is not in the view: an earlier summary hides it.";
  return "An earlier summary stands behind the last message that the notes tell of.";
}

function nothing(reason: (NotesCut & { kind: "nothing" })["reason"], detail: string): NotesCut {
  return { kind: "nothing", reason, detail };
}

/** The growth of the conversation since the last update. */
export interface NotesGrowth {
  readonly tokens: number;
  /** Tool calls that got a result. */
  readonly toolCalls: number;
  /** Whether the newest message waits for the result of a tool. */
  readonly openCall: boolean;
}

export interface NotesPace {
  /** Tokens after which an update is due at a break. */
  readonly leastTokens: number;
  /** Tokens after which it is due in any case, so that neither a long series of calls nor a conversation without calls delays it for ever. */
  readonly mostTokens: number;
  /** Tool calls that are also needed for a break. 0 needs none. */
  readonly toolCalls: number;
}

/** `rest` is asked only where the tokens alone do not tell. */
export function isUpdateDue(tokens: number, pace: NotesPace, rest: () => Omit<NotesGrowth, "tokens">): boolean {
  if (tokens < pace.leastTokens || tokens >= pace.mostTokens) return tokens >= pace.mostTokens;
  const { toolCalls, openCall } = rest();
  return toolCalls >= pace.toolCalls && !openCall;
}
