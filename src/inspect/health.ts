/**
 * The health of compaction in one agent, for a page and for alerts.
 *
 * Reads existing rows and a bounded page of runs, and counts. It holds no content of messages, and no text of a provider.
 */
import { reasonOf, type RunRecord } from "../memory/runs/runs.ts";
import { explainFailure, isOpen } from "../steps/decide/breaker.ts";
import type { Budget, Spend } from "../steps/decide/decide.ts";
import { listUsage, type ModelUsage } from "../agent/reports/usage.ts";
import type { Needs } from "../agent/core.ts";

export interface BreakerHealth {
  readonly model: string;
  /** `probing` means that the cooldown is over, and the next run probes the model. */
  readonly state: "closed" | "open" | "probing";
  /** Failures since the last answer. */
  readonly failures: number;
  /** Epoch ms until which no run asks the model. Null while closed. */
  readonly until: number | null;
  /** The code of the last failure, and advice for it. Null while there is none. */
  readonly code: string | null;
  /** What a person can do about it. */
  readonly advice: string | null;
}

/** One run, as a point of a plot. */
export interface RunHealth {
  /** The run, by the id that `getRun` takes. */
  readonly runId: string;
  /** Its number in the session, from 1. */
  readonly n: number;
  /** What it was started by. */
  readonly trigger: RunRecord["trigger"];
  /** Where it stands. */
  readonly state: RunRecord["state"];
  /** The kind of its outcome. Null while it has none. */
  readonly outcome: string | null;
  /** True when no model made the summary. */
  readonly degraded: boolean;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. Null while it is live. */
  readonly endedAt: number | null;
  /** Tokens of the view when it was asked for. */
  readonly tokensBefore: number;
  /** Tokens of the view after it. Null where it did not change the view. */
  readonly tokensAfter: number | null;
  /** Tokens by which each later call is shorter. */
  readonly savedTokens: number;
  /** Tokens in and out of the summariser. */
  readonly spentTokens: number;
  /** The part of them that is our estimate, because no provider reported it. */
  readonly estimatedTokens: number;
}

/** How the compaction of a session fares, over a page of its runs. */
export interface HealthReport {
  /**
   * `down` means that the last run failed, or that a summariser's breaker opened and it has not answered since. `degraded` means that no
   * model made the last summary, or that a summariser's last call failed. `idle` means that there is no run, as in a session that does not
   * exist.
   */
  readonly state: "ok" | "degraded" | "down" | "idle";
  /** Epoch ms. */
  readonly at: number;
  /** A breaker for each model that was asked. */
  readonly breakers: readonly BreakerHealth[];
  /** Tokens that summarising has cost so far. */
  readonly spend: Spend;
  /** The bounds on them. Null without a policy. */
  readonly budget: Budget | null;
  /** The session's usage by model, the last called first. `ratio` is the provider's count per estimated token. */
  readonly usage: readonly ModelUsage[];
  /** The page's runs that changed nothing, by outcome and reason, the most frequent first. */
  readonly failures: readonly { readonly reason: string; readonly count: number }[];
  /** Newest first. */
  readonly runs: readonly RunHealth[];
  /** Sums over the page. */
  readonly savedTokens: number;
  /** Tokens in and out of the summariser. */
  readonly spentTokens: number;
}

export function reportHealth(
  core: Needs<"health" | "platform" | "runs" | "settings" | "spend" | "usage">,
  sessionId: string,
  page: { readonly limit: number; readonly before?: number },
): HealthReport {
  const at = core.platform.now();
  const records = core.runs.list(sessionId, page);
  const runs = records.map(readRun);
  const breakers = core.health.list().map(({ model, until, failures, code, ...rest }): BreakerHealth => {
    const state = until === null ? "closed" : isOpen({ until, failures, code, ...rest }, at) ? "open" : "probing";
    return { model, state, failures, until, code, advice: code === null ? null : explainFailure(code) };
  });
  return {
    state: stateOf(breakers, records),
    at,
    breakers,
    spend: core.spend.of(sessionId, at),
    budget: core.settings.get(sessionId).when?.budget ?? null,
    usage: listUsage(core, sessionId),
    failures: countFailures(records),
    runs,
    savedTokens: sum(runs.map((run) => run.savedTokens)),
    spentTokens: sum(runs.map((run) => run.spentTokens)),
  };
}

function readRun(run: RunRecord): RunHealth {
  const { id, n, trigger, state, outcome, createdAt, endedAt, tokensBefore } = run;
  const tokensAfter = outcome !== null && "tokensAfter" in outcome ? outcome.tokensAfter : null;
  const laid = outcome?.kind === "applied" ? outcome : null;
  return {
    runId: id,
    n,
    trigger,
    state,
    outcome: outcome?.kind ?? null,
    degraded: laid?.degraded ?? false,
    createdAt,
    endedAt,
    tokensBefore,
    tokensAfter,
    savedTokens: tokensAfter === null ? 0 : Math.max(0, tokensBefore - tokensAfter),
    spentTokens: run.inputTokens + run.outputTokens,
    estimatedTokens: run.estimatedTokens,
  };
}

function stateOf(breakers: readonly BreakerHealth[], runs: readonly RunRecord[]): HealthReport["state"] {
  const { outcome = null } = runs.find((run) => run.outcome !== null) ?? {};
  // A cooldown that is over says nothing yet. Only an answer closes a breaker.
  if (breakers.some(({ state }) => state !== "closed") || outcome?.kind === "failed") return "down";
  const degraded = outcome?.kind === "applied" && outcome.degraded;
  if (degraded || breakers.some(({ failures }) => failures > 0)) return "degraded";
  return runs.length === 0 ? "idle" : "ok";
}

function countFailures(runs: readonly RunRecord[]): { reason: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const run of runs) {
    const reason = failureOf(run);
    if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts].map(([reason, count]) => ({ reason, count })).toSorted((a, b) => b.count - a.count);
}

function failureOf(run: RunRecord): string | null {
  const { outcome } = run;
  const reason = reasonOf(run);
  if (outcome?.kind === "failed" || reason !== null) return [outcome?.kind, reason].filter(Boolean).join(": ");
  return outcome?.kind === "applied" && outcome.degraded ? "degraded" : null;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
