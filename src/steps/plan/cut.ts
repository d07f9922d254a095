/**
 * Where a head ends, a tail begins and a chunk is cut: never between a tool call and its result, and never inside one provider reply (V2).
 *
 * The outline is laid out as *cells*, one per visible step of a message and one per overlay. Boundary `b` lies before cell `b`, so there is
 * one more boundary than cells. An overlay is one cell, so no boundary cuts into it.
 *
 * A result answers the latest waiting call with its id, as in view/repair.ts. A call without an answer ties no boundary, so a crash in the
 * middle of a call never blocks compaction. Calls of the newest message that says anything are an exception, because a person, a client or a
 * result beyond a truncated outline can still answer them. They and everything after them stay in view.
 *
 * The budgets alone give a place for each end. It is moved to one that breaks no pair and reads well, and the plan says why. Chunks cover the
 * span's messages once and have similar sizes, because a tiny last chunk would cost a model call and say little.
 */
import { MESSAGE_OVERHEAD_TOKENS } from "../../limits.ts";
import { type Outline, type OutlineRow, WHOLE_MESSAGE, type Span } from "./outline.ts";
import { messageShares, type Policy } from "./policy.ts";

interface Cell {
  readonly row: OutlineRow;
  /** The row's index in the outline. */
  readonly rowIndex: number;
  /** The step of the message. 0 for an overlay. */
  readonly step: number;
  readonly tokens: number;
}

/** The unit that a boundary would break. */
type Tie = "tool-pair" | "group";

/** A view as the budgets of its head and tail see it. The trigger has no more of one. */
export interface Sizes {
  readonly rows: readonly Pick<OutlineRow, "kind" | "role">[];
  /** `before[b]` has the tokens of all cells before boundary `b`. One longer than the cells. */
  readonly before: readonly number[];
  /** The first boundary of each row. One longer than the rows, so that it also tells where the last row ends. */
  readonly rowStarts: readonly number[];
}

export interface Layout extends Sizes {
  readonly cells: readonly Cell[];
  /** `ties[b]` is the unit that boundary `b` would break, or null where it is safe. One longer than `cells`. */
  readonly ties: readonly (Tie | null)[];
}

export function layOut(outline: Outline): Layout {
  const cells = outline.rows.flatMap((row, rowIndex) =>
    row.steps.map((tokens, offset): Cell => ({ row, rowIndex, step: row.firstStep + offset, tokens })),
  );
  const rowStarts = sumsBefore(outline.rows, ({ steps }) => steps.length);
  const before = sumsBefore(cells, ({ tokens }) => tokens);
  return { rows: outline.rows, cells, rowStarts, before, ties: findTies(outline, rowStarts) };
}

/** Tokens between two boundaries. */
export function tokensBetween({ before }: Pick<Sizes, "before">, from: number, to: number): number {
  return (before[to] ?? 0) - (before[from] ?? 0);
}

/** The sums of a number of each value before every boundary. One longer than the values. */
export function sumsBefore<Value>(values: readonly Value[], of: (value: Value, at: number) => number): number[] {
  const sums = [0];
  for (const [at, value] of values.entries()) sums.push((sums[at] ?? 0) + of(value, at));
  return sums;
}

function findTies(outline: Outline, rowStarts: readonly number[]): (Tie | null)[] {
  const end = rowStarts.at(-1) ?? 0;
  const ties = Array.from<Tie | null>({ length: end + 1 }).fill(null);
  /** Ties cells `first` to `last` together. */
  const hold = (first: number, last: number, tie: Tie): unknown => ties.fill(tie, first + 1, last + 1);

  for (const { first, last } of replies(outline.rows)) {
    if (first < last) hold(rowStarts[first] ?? 0, (rowStarts[last + 1] ?? 0) - 1, "group");
  }
  const waiting = new Map<string, number>();
  const answering = new Set<number>();
  outline.rows.forEach((row, index) => {
    for (const { id, step, result } of toolEvents(row)) {
      const cell = (rowStarts[index] ?? 0) + step - row.firstStep;
      const call = waiting.get(id);
      if (!result) {
        waiting.set(id, cell);
      } else if (call !== undefined) {
        hold(call, cell, "tool-pair");
        waiting.delete(id);
        answering.add(index);
      }
    }
  });
  let newest = outline.rows.length - 1;
  while (answering.has(newest) || saysNothing(outline.rows[newest])) newest--;
  for (const call of waiting.values()) if (call >= (rowStarts[newest] ?? 0)) hold(call, end, "tool-pair");
  return ties;
}

/** A reply that was stored as a placeholder for a turn, or only has data for the page. Nobody continued from it. */
function saysNothing(row: OutlineRow | undefined): boolean {
  return row?.kind === "message" && row.tokens <= MESSAGE_OVERHEAD_TOKENS;
}

/**
 * First and last row of each provider reply. A user's message ends every reply. Some clients give every message the
 * same id, so an id that returns after a user's message ties nothing.
 */
function replies(rows: readonly OutlineRow[]): readonly { first: number; last: number }[] {
  const ended: { first: number; last: number }[] = [];
  let open = new Map<string, { first: number; last: number }>();
  rows.forEach(({ kind, role, texts, group }, index) => {
    if (kind === "message" && role === "user" && texts.length > 0) {
      ended.push(...open.values());
      open = new Map();
    } else if (group !== null) {
      open.set(group, { first: open.get(group)?.first ?? index, last: index });
    }
  });
  return [...ended, ...open.values()];
}

/** The row's calls and results in the order of its steps. Within a step, a call comes before its result. */
function toolEvents(row: OutlineRow): readonly { id: string; step: number; result: boolean }[] {
  const calls = row.calls.map(([id, step]) => ({ id, step, result: false }));
  const results = row.results.map(([id, step]) => ({ id, step, result: true }));
  return [...calls, ...results].toSorted((a, b) => a.step - b.step);
}

/** Why a boundary differs from the place that the budget alone would give. */
export interface BoundaryMove {
  readonly boundary: "head" | "tail";
  readonly why: "tool-pair" | "group" | "user-turn" | "min-tail" | "min-span" | "inside-message";
  readonly tokens: number;
}

/** The least share of its budget that a tail may keep in order to start at a later user turn. */
const TAIL_SHRINK = 0.5;

/** The most that a tail may exceed its budget in order to start at a user turn or a safe boundary. */
const TAIL_STRETCH = 1.5;

/** A boundary and the moves that led to it. */
export interface Cut {
  readonly at: number;
  readonly moves: readonly BoundaryMove[];
}

/** The kept part of the start, and why it is smaller than asked. */
export interface KeptHead {
  /** The number of messages that were to be kept: `protectHead`. */
  readonly asked: number;
  /** The number of messages that are kept in the view unchanged. */
  readonly kept: number;
  /** Why fewer are kept. Null when all are. */
  readonly why: "budget" | "hard-line" | "earlier-summary" | "notes" | "function" | null;
  /** Ids of messages quoted in full beside notes that hide them. */
  readonly inWords: readonly string[];
  /** The user's first message, where only its beginning is quoted. */
  readonly beginningOf: string | null;
}

export interface HeadCut extends Cut {
  readonly kept: KeptHead;
}

/**
 * The boundary after the protected messages, which are the first `protectHead` of the path. There are fewer when an
 * earlier overlay comes first or their budget is spent. The user's first message is included if its own budget has
 * room. There are more when the last one is tied to the next messages. Equals the number of cells when everything is
 * tied.
 */
export function cutHead(layout: Layout, policy: Policy): HeadCut {
  const { cells, rowStarts, ties } = layout;
  const { rows, why: fewer, asking } = protectRows(layout, policy);
  const wanted = rowStarts[rows] ?? cells.length;
  let at = wanted;
  while (at < cells.length && ties[at] !== null) at++;
  const why = ties[wanted] ?? null;
  const isWhole = asking === null || (rowStarts[asking] ?? 0) < at;
  const beginningOf = isWhole || policy.openingTokens === 0 ? null : (cells[rowStarts[asking] ?? 0]?.row.id ?? null);
  return {
    at,
    moves: at === wanted || why === null ? [] : [{ boundary: "head", why, tokens: tokensBetween(layout, wanted, at) }],
    kept: { asked: policy.protectHead, kept: rows, why: fewer, inWords: [], beginningOf },
  };
}

/** The row of the user's first message. Null where an overlay comes before it, or there is none. */
export function askingRow(rows: Sizes["rows"]): number | null {
  const found = rows.findIndex(({ kind, role }) => kind === "overlay" || role === "user");
  return rows[found]?.kind === "message" ? found : null;
}

/** The number of protected rows, why they are fewer than asked, and the row of the user's first message. */
function protectRows(sizes: Sizes, policy: Policy): { rows: number; why: KeptHead["why"]; asking: number | null } {
  const { rows: all, rowStarts } = sizes;
  const { protectHead, headTokenBudget, firstMessageTokens } = policy;
  const weight = (rows: number): number => tokensBetween(sizes, 0, rowStarts[rows] ?? 0);
  const overlay = all.findIndex(({ kind }) => kind === "overlay");
  const open = overlay === -1 ? all.length : overlay;
  const asking = askingRow(all);
  let rows = 0;
  while (rows < Math.min(protectHead, open) && weight(rows + 1) <= headTokenBudget) rows++;
  const through = asking === null ? 0 : asking + 1;
  if (protectHead > 0 && through > rows && weight(through) <= firstMessageTokens) rows = through;
  if (rows >= protectHead || rows === all.length) return { rows, why: null, asking };
  return { rows, why: rows === open ? "earlier-summary" : policy.headWithin, asking };
}

/** Decides whether replacing everything from the head to this boundary is worth it. */
export type WorthCutting = (boundary: number) => boolean;

/**
 * The boundary before the tail, or null when no safe one is worth it. In order of preference:
 *
 * 1. the start of a user turn, looking back as far as the budget stretches, then forward while half of the budget is kept
 * 2. any safe boundary, looking back as far as the budget stretches, then forward to the least tail, then further back
 */
export function cutTail(layout: Layout, policy: Policy, worth: WorthCutting): Cut | null {
  const end = layout.cells.length;
  const budget = tailBudget(layout, policy);
  const { at: byBudget, latest } = budget;
  const start = Math.min(byBudget, latest);
  const kept = (at: number): number => tokensBetween(layout, at, end);
  const keptMessages = (at: number): number => messagesFrom(layout, at);
  const usable = (at: number): boolean => layout.ties[at] === null && worth(at);
  const turn = (at: number): boolean => usable(at) && startsTurn(layout, at);
  const near = (at: number): boolean =>
    at === start || (kept(at) <= budget.tokens * TAIL_STRETCH && keptMessages(at) <= budget.messages * TAIL_STRETCH);
  const enough = (at: number): boolean =>
    kept(at) >= budget.tokens * TAIL_SHRINK || keptMessages(at) >= budget.messages * TAIL_SHRINK;

  const at =
    findDown(start, (at) => near(at) && turn(at)) ??
    findUp(start, latest, (at) => enough(at) && turn(at)) ??
    findDown(start, (at) => near(at) && usable(at)) ??
    findUp(start, latest, usable) ??
    findDown(start, usable);
  return at === null ? null : { at, moves: explain(layout, { byBudget, start, at }) };
}

/** The boundary at the end of a truncated outline. Everything after it is kept, whatever its size. */
export function cutEnd(layout: Layout, worth: WorthCutting): Cut | null {
  const end = layout.cells.length;
  const at = findDown(end, (at) => layout.ties[at] === null && worth(at));
  return at === null ? null : { at, moves: explain(layout, { byBudget: end, start: end, at }) };
}

/** Tokens that the budgets keep at the start of a view, and the boundary before those at its end. No end is moved to a better place. */
export function keptBySize(sizes: Sizes, policy: Policy): { readonly headTokens: number; readonly tailAt: number } {
  const { rows } = protectRows(sizes, policy);
  const { at, latest } = tailBudget(sizes, policy);
  return { headTokens: tokensBetween(sizes, 0, sizes.rowStarts[rows] ?? 0), tailAt: Math.min(at, latest) };
}

/** The bounds of a tail in tokens and in messages, the lowest boundary after which the cells fit both, and that of the least tail. */
function tailBudget(sizes: Sizes, policy: Policy): { tokens: number; messages: number; at: number; latest: number } {
  const tokens = policy.tailTokenBudget;
  const messages = messageShares(policy)?.tail ?? Number.POSITIVE_INFINITY;
  const byMessages = sizes.rowStarts[Math.max(0, sizes.rows.length - messages)] ?? 0;
  return { tokens, messages, at: Math.max(walkBack(sizes, tokens), byMessages), latest: latestTail(sizes, policy) };
}

/** Messages behind a boundary. One that the boundary divides counts as one. */
function messagesFrom({ cells, rows }: Layout, at: number): number {
  return rows.length - (cells[at]?.rowIndex ?? rows.length);
}

/** The lowest boundary after which the cells fit the budget. */
function walkBack(sizes: Sizes, budget: number): number {
  const end = sizes.before.length - 1;
  let at = end;
  while (at > 0 && tokensBetween(sizes, at - 1, end) <= budget) at--;
  return at;
}

/**
 * The highest boundary that keeps the least tail of `minTailMessages` messages. If a message of several steps alone
 * exceeds the budget, it may be kept in part, from the first step that fits, or else its last step.
 */
export function latestTail(sizes: Sizes, policy: Policy): number {
  const { rows, rowStarts } = sizes;
  let at = sizes.before.length - 1;
  let messages = 0;
  for (let row = rows.length - 1; row >= 0 && messages < policy.minTailMessages; row--) {
    const start = rowStarts[row] ?? 0;
    const steps = at - start;
    if (steps > 1 && tokensBetween(sizes, start, at) > policy.tailTokenBudget) {
      return Math.min(Math.max(walkBack(sizes, policy.tailTokenBudget), start + 1), at - 1);
    }
    at = start;
    if (rows[row]?.kind === "message") messages++;
  }
  return at;
}

function startsTurn(layout: Layout, at: number): boolean {
  const cell = layout.cells[at];
  return cell?.row.kind === "message" && cell.row.role === "user" && layout.rowStarts[cell.rowIndex] === at;
}

function explain(layout: Layout, place: { byBudget: number; start: number; at: number }): BoundaryMove[] {
  const { byBudget, start, at } = place;
  const moves: BoundaryMove[] = [];
  const add = (why: BoundaryMove["why"], from: number, to: number): unknown =>
    moves.push({ boundary: "tail", why, tokens: tokensBetween(layout, Math.min(from, to), Math.max(from, to)) });
  if (start !== byBudget) add("min-tail", start, byBudget);
  if (at !== start) add(startsTurn(layout, at) ? "user-turn" : (layout.ties[start] ?? "min-span"), start, at);
  const cell = layout.cells[at];
  const rowStart = cell === undefined ? at : (layout.rowStarts[cell.rowIndex] ?? at);
  if (rowStart < at) add("inside-message", rowStart, at);
  return moves;
}

function findDown(from: number, accept: (at: number) => boolean): number | null {
  for (let at = from; at > 0; at--) if (accept(at)) return at;
  return null;
}

function findUp(from: number, to: number, accept: (at: number) => boolean): number | null {
  for (let at = from + 1; at <= to; at++) if (accept(at)) return at;
  return null;
}

/** Source for one call of the summariser. */
export interface ChunkPlan extends Span {
  readonly index: number;
  readonly tokens: number;
  /** The index of the chunk that this half replaces. Set when no model could summarise that chunk in one piece. */
  readonly halfOf?: number;
}

/** The closed range from boundary `from` to a later boundary `to`, in the ids of {@link Span}. */
export function spanBetween(layout: Layout, from: number, to: number): Span {
  const first = layout.cells[from];
  const last = layout.cells[to - 1];
  if (first === undefined || last === undefined || to <= from)
    throw new RangeError(`No span between boundaries ${from} and ${to}.`);
  const endsRow = layout.rowStarts[last.rowIndex + 1] === to;
  const whole = last.row.kind === "overlay" || (endsRow && last.row.complete);
  return { fromId: first.row.id, fromStep: first.step, toId: last.row.id, toStep: whole ? WHOLE_MESSAGE : last.step };
}

/** Chunks of the messages between two boundaries, at most `chunkTokens` each unless a single step is larger. */
export function chunkSpan(
  layout: Layout,
  range: { from: number; to: number },
  chunkTokens: number,
): readonly ChunkPlan[] {
  const chunks: ChunkPlan[] = [];
  let at = range.from;
  while (at < range.to) {
    if (layout.cells[at]?.row.kind === "overlay") {
      at++;
      continue;
    }
    let runEnd = at + 1;
    while (runEnd < range.to && layout.cells[runEnd]?.row.kind === "message") runEnd++;
    while (at < runEnd) {
      const to = chunkEnd(layout, { from: at, to: runEnd }, chunkTokens);
      chunks.push({ ...spanBetween(layout, at, to), index: chunks.length, tokens: tokensBetween(layout, at, to) });
      at = to;
    }
  }
  return chunks;
}

/** The boundary within the limit that is nearest to an even share of the rest. Prefers a safe one. */
function chunkEnd(layout: Layout, range: { from: number; to: number }, limit: number): number {
  const rest = tokensBetween(layout, range.from, range.to);
  if (rest <= limit) return range.to;
  const share = rest / Math.ceil(rest / limit);
  let nearest = range.from + 1;
  let safe: number | null = null;
  const distance = (at: number): number => Math.abs(tokensBetween(layout, range.from, at) - share);
  for (let at = range.from + 1; at <= range.to && tokensBetween(layout, range.from, at) <= limit; at++) {
    if (distance(at) <= distance(nearest)) nearest = at;
    if (layout.ties[at] === null && (safe === null || distance(at) <= distance(safe))) safe = at;
  }
  return safe ?? nearest;
}

/** Splits a chunk's rows into two chunks of similar size. Empty when it cannot be cut. Their indices count from 0. */
export function halveChunk(outline: Outline): readonly ChunkPlan[] {
  const layout = layOut(outline);
  const to = layout.cells.length;
  const halves = chunkSpan(layout, { from: 0, to }, Math.ceil(tokensBetween(layout, 0, to) * HALF_AND_MARGIN));
  return halves.length === 2 ? halves : [];
}

/** The largest share of the whole that a half may have, because cuts fall between messages. */
const HALF_AND_MARGIN = 0.7;
