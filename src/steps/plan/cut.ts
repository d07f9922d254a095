/**
 * Decides where the head ends and where the tail begins.
 *
 * The budget alone gives a place for each. This module moves it to a place that breaks no pair and reads well, and
 * records why.
 */
import { tokensBetween, type Layout } from "./align.ts";
import type { OutlineRow } from "./outline.ts";
import { messageShares, type Policy } from "./policy.ts";

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
export function askingRow(rows: readonly OutlineRow[]): number | null {
  const found = rows.findIndex(({ kind, role }) => kind === "overlay" || role === "user");
  return rows[found]?.kind === "message" ? found : null;
}

/** The number of protected rows, why they are fewer than asked, and the row of the user's first message. */
function protectRows(layout: Layout, policy: Policy): { rows: number; why: KeptHead["why"]; asking: number | null } {
  const { cells, rowStarts } = layout;
  const { protectHead, headTokenBudget, firstMessageTokens } = policy;
  const weight = (rows: number): number => tokensBetween(layout, 0, rowStarts[rows] ?? cells.length);
  const all = rowStarts.flatMap((start) => cells[start]?.row ?? []);
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
  const byBudget = budget.at;
  const latest = latestTail(layout, policy);
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

/** The bounds of a tail in tokens and in messages, and the lowest boundary after which the cells fit both. */
function tailBudget(layout: Layout, policy: Policy): { tokens: number; messages: number; at: number } {
  const tokens = policy.tailTokenBudget;
  const messages = messageShares(policy)?.tail ?? Number.POSITIVE_INFINITY;
  const rows = layout.rowStarts.length - 1;
  const byMessages = layout.rowStarts[Math.max(0, rows - messages)] ?? 0;
  return { tokens, messages, at: Math.max(walkBack(layout, tokens), byMessages) };
}

/** Messages behind a boundary. One that the boundary divides counts as one. */
function messagesFrom({ cells, rowStarts }: Layout, at: number): number {
  const first = cells[at]?.rowIndex ?? rowStarts.length - 1;
  return rowStarts.length - 1 - first;
}

/** The lowest boundary after which the cells fit the budget. */
function walkBack(layout: Layout, budget: number): number {
  let at = layout.cells.length;
  while (at > 0 && tokensBetween(layout, at - 1, layout.cells.length) <= budget) at--;
  return at;
}

/**
 * The highest boundary that keeps the least tail of `minTailMessages` messages. If a message of several steps alone
 * exceeds the budget, it may be kept in part, from the first step that fits, or else its last step.
 */
export function latestTail(layout: Layout, policy: Policy): number {
  const { cells, rowStarts } = layout;
  let at = cells.length;
  let messages = 0;
  for (let row = rowStarts.length - 2; row >= 0 && messages < policy.minTailMessages; row--) {
    const start = rowStarts[row] ?? 0;
    const steps = at - start;
    if (steps > 1 && tokensBetween(layout, start, at) > policy.tailTokenBudget) {
      return Math.min(Math.max(walkBack(layout, policy.tailTokenBudget), start + 1), at - 1);
    }
    at = start;
    if (cells[start]?.row.kind === "message") messages++;
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
