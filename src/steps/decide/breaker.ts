/**
 * The circuit breaker of one model, as a fold over its results.
 *
 *     closed ── failures in a row, or one of key or quota ──▶ open ── cooldown over ──▶ one probe ──▶ closed, or open for longer
 *
 * Decides whether the model may be asked, and how an answer or a failure changes the state. The caller passes `now` and
 * keeps the state (src/memory/runs/health.ts). It is safe because admitting a probe starts the next cooldown. So each
 * cooldown has at most one probe, and no code waits for its result.
 */
import { COOLDOWNS_MS } from "../../limits.ts";

/** Failures of a summariser in a row that open its breaker. That is as many as one step tries, so a short fault does not open it. */
export const FAILURES_TO_OPEN = 5;

export interface Breaker {
  /** Failures since the last answer. */
  readonly failures: number;
  /** How often the breaker opened since the last answer, which selects the length of the cooldown. */
  readonly openings: number;
  /** Epoch ms before which no call is made. Null while closed. */
  readonly until: number | null;
  /** The run that was admitted as the probe after the last cooldown and has no result yet. */
  readonly probe: string | null;
  /** The code of the last failure. Null while there is none. */
  readonly code: string | null;
}

export const CLOSED: Breaker = { failures: 0, openings: 0, until: null, probe: null, code: null };

/** Failures of one source, or of a caller who aborted. They say nothing about the model's health. */
const OF_SOURCE: ReadonlySet<string> = new Set(["content-filter", "too-long", "aborted"]);

/** Failures of the account. Seconds of waiting do not cure them, and every further try fails alike. */
const OF_ACCOUNT: ReadonlySet<string> = new Set(["auth", "quota"]);

/** True during a cooldown, including the one that starts with a probe. */
export function isOpen({ until }: Breaker, now: number): boolean {
  return until !== null && now < until;
}

/**
 * Whether `by` may ask. The first caller after a cooldown gets the probe, and no other caller does until the next
 * cooldown.
 */
export function admit(
  breaker: Breaker,
  by: string,
  now: number,
): { readonly kind: "yes" | "probe" | "no"; readonly breaker: Breaker } {
  if (breaker.until === null) return { kind: "yes", breaker };
  // The holder of the probe asks again, because a step is repeated. It gets the same answer.
  if (breaker.probe === by) return { kind: "probe", breaker };
  if (now < breaker.until) return { kind: "no", breaker };
  return { kind: "probe", breaker: { ...breaker, probe: by, until: now + cooldown(breaker.openings) } };
}

export function afterFailure(breaker: Breaker, code: string, now: number): Breaker {
  if (OF_SOURCE.has(code)) return breaker;
  const failures = breaker.failures + 1;
  const closed = breaker.until === null;
  if (closed && failures < FAILURES_TO_OPEN && !OF_ACCOUNT.has(code)) return { ...breaker, failures, code };
  // Calls that were under way when the breaker opened fail late and add no information.
  if (isOpen(breaker, now) && breaker.probe === null) return { ...breaker, failures };
  const openings = breaker.openings + 1;
  return { failures, openings, until: now + cooldown(openings), probe: null, code };
}

/** Milliseconds of the cooldown after the n-th opening in a row. After the last entry it stays at the longest. */
function cooldown(openings: number): number {
  return COOLDOWNS_MS[openings - 1] ?? Math.max(...COOLDOWNS_MS);
}

/** Explains a failure of this kind to a person, with a remedy. */
export function explainFailure(code: string): string {
  if (code === "auth") return "its provider refused the key: set a valid one";
  if (code === "quota") return "its quota is used up: raise it, or choose another model";
  if (code === "rate-limit") return "its provider asked for fewer calls";
  if (code === "answer-too-long") return "its answers do not end: choose a model that keeps to a limit of tokens";
  if (code === "unusable") return "its answers are no summaries, repaired or not: choose another model";
  if (code === "bad-request") return "its provider refused the request: check the model's name and endpoint";
  return `it does not answer (${code})`;
}
