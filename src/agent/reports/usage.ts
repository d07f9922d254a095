/**
 * A session's tokens as its provider would count them.
 *
 * Job: remember what model calls were counted at, and apply what that taught wherever a view is held against a threshold
 * or shown. Boundary: the arithmetic is pure (steps/calibrate.ts), and what is stamped on rows stays the plain estimate.
 * Safe because every total of a session goes through here, the trigger's, the plan's and the ledger's alike: what the
 * trigger takes for too large, the plan does as well.
 */
import { PalimpsestError } from "../../errors.ts";
import { MAX_NAME_CHARS } from "../../limits.ts";
import { calibrate, calibrationRatio, predictTokens } from "../../steps/tokens/calibrate.ts";
import type { Needs } from "../core.ts";

/** Most tokens that one model call may be reported at: larger than any model's window, so that a sum stays a number and a view is no fright. */
export const MAX_CALL_TOKENS = 10_000_000;

/** What a provider said about one model call on a session's view. */
export interface UsageReport {
  /** Tokens of the whole prompt, those read from a cache included; of one call, not of a turn of several. 0 says nothing. */
  readonly inputTokens: number;
  readonly outputTokens?: number | undefined;
  /** In a currency of the caller's choice. Default 0. */
  readonly cost?: number | undefined;
  /** Models differ in what they count: each is learned by itself. */
  readonly model?: string | undefined;
  /** The branch that was sent; the active one by default. */
  readonly leafId?: string | undefined;
  /** The `tokens` of the view that was sent, where messages or an overlay may have come in since. */
  readonly viewTokens?: number | undefined;
}

/** What the calls of one model came to in a session. */
export interface ModelUsage {
  /** "" for calls that named no model. */
  readonly model: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Counted tokens for each estimated one. */
  readonly ratio: number;
}

/** Learns from one call and adds it to the session's sums. Call inside a transaction. Throws `invalid_input`, `unknown_leaf`. */
export function recordUsage(
  core: Needs<"memory" | "platform" | "settings" | "usage">,
  sessionId: string,
  report: UsageReport,
): void {
  const { inputTokens, outputTokens = 0, cost = 0, model = "", leafId } = report;
  const history = core.memory.session(sessionId);
  checkReport(report);
  if (history.leafId() === null) {
    throw new PalimpsestError("invalid_input", `Session "${sessionId}" has no messages: no call was made on its view.`);
  }
  if (leafId !== undefined && !history.has(leafId)) {
    throw new PalimpsestError(
      "unknown_leaf",
      `There is no message "${leafId}" in session "${sessionId}". Leave leafId out for the active branch.`,
    );
  }
  const viewTokens = report.viewTokens ?? history.tokens(leafId);
  core.memory.sessions.addUsage(sessionId, { inputTokens, outputTokens, cost });
  if (inputTokens === 0) return;
  const estimate = viewTokens + core.settings.get(sessionId).overheadTokens;
  const before = core.usage.rows(sessionId).find((row) => row.model === model) ?? null;
  core.usage.put(sessionId, {
    ...calibrate(before, { counted: inputTokens, estimate }),
    model,
    calls: (before?.calls ?? 0) + 1,
    inputTokens: (before?.inputTokens ?? 0) + inputTokens,
    outputTokens: (before?.outputTokens ?? 0) + outputTokens,
    // Later than any other, so that the last one is told also within one millisecond.
    recordedAt: Math.max(core.platform.now(), (core.usage.rows(sessionId)[0]?.recordedAt ?? 0) + 1),
  });
}

/** By model, the one that was called last first. */
export function listUsage(core: Needs<"usage">, sessionId: string): ModelUsage[] {
  return core.usage.rows(sessionId).map((row) => {
    const { model, calls, inputTokens, outputTokens } = row;
    return { model, calls, inputTokens, outputTokens, ratio: calibrationRatio(row) };
  });
}

/** What the model that was called last would count for a branch's view, system prompt and tools included. */
export function promptTokens(
  core: Needs<"memory" | "settings" | "usage">,
  sessionId: string,
  leafId?: string | null,
): number {
  const viewTokens = core.memory.session(sessionId).tokens(leafId);
  return viewTokens + unseenTokens(core, sessionId, viewTokens);
}

/** What {@link promptTokens} has beside the view's own estimate: an outline's `overheadTokens`. May be negative. */
export function unseenTokens(core: Needs<"settings" | "usage">, sessionId: string, viewTokens: number): number {
  const { overheadTokens } = core.settings.get(sessionId);
  return predictTokens(core.usage.rows(sessionId)[0] ?? null, viewTokens + overheadTokens) - viewTokens;
}

/** Whether a provider may have counted one call at this. */
export function isTokenCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_CALL_TOKENS;
}

/** What else a sum cannot take is refused by `Sessions.addUsage`. */
function checkReport({ inputTokens, outputTokens = 0, viewTokens = 0, model = "" }: UsageReport): void {
  for (const [field, value] of Object.entries({ inputTokens, outputTokens, viewTokens })) {
    if (isTokenCount(value)) continue;
    throw new PalimpsestError(
      "invalid_input",
      `${field} is ${String(value)}: give what one call was counted at, a whole number from 0 to ${MAX_CALL_TOKENS}.`,
    );
  }
  if (typeof model !== "string" || model.length > MAX_NAME_CHARS) {
    throw new PalimpsestError("invalid_input", `model is a name of at most ${MAX_NAME_CHARS} characters.`);
  }
}
