/**
 * A session's tokens as its provider would count them.
 *
 * Records the counts of model calls, and applies the calibration wherever a view is compared with a threshold or shown. The arithmetic is
 * pure (steps/tokens/calibrate.ts), and rows keep the plain estimate. Safe because every total of a session comes from here, so the
 * trigger, the plan and the ledger agree on what is too large.
 */
import { PalimpsestError } from "../../errors.ts";
import { calibrate, calibrationRatio, predictTokens } from "../../steps/tokens/calibrate.ts";
import type { Needs } from "../core.ts";
import { MAX_CALL_TOKENS, type UsageReport } from "./usage-report.ts";

/** Sums of one model's calls in a session. */
export interface ModelUsage {
  /** "" for calls that named no model. */
  readonly model: string;
  /** Recorded calls. */
  readonly calls: number;
  /** Tokens of their prompts. */
  readonly inputTokens: number;
  /** Tokens of their answers. */
  readonly outputTokens: number;
  /** Counted tokens per estimated token. */
  readonly ratio: number;
}

/** Calibrates by one call and adds it to the session's sums. Call inside a transaction. Throws `invalid_input`, `unknown_leaf`. */
export function recordUsage(
  core: Needs<"memory" | "platform" | "rooms" | "settings" | "usage">,
  sessionId: string,
  report: UsageReport,
): void {
  const { inputTokens, outputTokens = 0, cost = 0, model = "", leafId } = report;
  const history = core.memory.session(sessionId);
  if (history.leafId() === null) {
    throw new PalimpsestError("invalid_input", `Session "${sessionId}" has no messages: no call was made on its view.`);
  }
  if (leafId !== undefined) history.mustHaveLeaf(leafId);
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
    // Later than any other row, so that the last call is known even within one millisecond.
    recordedAt: Math.max(core.platform.now(), (core.usage.rows(sessionId)[0]?.recordedAt ?? 0) + 1),
  });
  core.rooms.counted?.(sessionId, report);
}

/** By model, the last called first. */
export function listUsage(core: Needs<"usage">, sessionId: string): ModelUsage[] {
  return core.usage.rows(sessionId).map((row) => {
    const { model, calls, inputTokens, outputTokens } = row;
    return { model, calls, inputTokens, outputTokens, ratio: calibrationRatio(row) };
  });
}

/** The count that the last called model would give for a branch's view, with system prompt and tools. */
export function promptTokens(
  core: Needs<"memory" | "settings" | "usage">,
  sessionId: string,
  leafId?: string | null,
): number {
  const viewTokens = core.memory.session(sessionId).tokens(leafId);
  return viewTokens + unseenTokens(core, sessionId, viewTokens);
}

/** The part of {@link promptTokens} beside the view's own estimate, which is an outline's `overheadTokens`. May be negative. */
export function unseenTokens(core: Needs<"settings" | "usage">, sessionId: string, viewTokens: number): number {
  const { overheadTokens } = core.settings.get(sessionId);
  return predictTokens(core.usage.rows(sessionId)[0] ?? null, viewTokens + overheadTokens) - viewTokens;
}

/** Whether a provider may have counted one call at this number. */
export function isTokenCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_CALL_TOKENS;
}
