/** What is kept of a shadow. Shapes alone. */
import type { RunRecord } from "../memory/runs/runs.ts";
import type { AuditProblemKind } from "../steps/draft/audit.ts";
import type { Hindsight } from "../facts/hindsight.ts";
import type { Pinned } from "../facts/fact.ts";

/**
 * How a shadow ended:
 * - `kept`: its summary is stored. `tokens` is its size as a view would show it.
 * - `refused`: the audit found these problems in each of its answers.
 * - `failed`: its model gave no answer, or the Workflow has no such model (`not_configured`).
 * - `skipped`: no model was asked, because the day's tokens would not suffice or the model's breaker is open.
 * - `stale`: the messages changed before it was done.
 */
export type ShadowOutcome =
  | { readonly kind: "kept"; readonly tokens: number }
  | { readonly kind: "refused"; readonly problems: readonly AuditProblemKind[] }
  | { readonly kind: "failed"; readonly code: string }
  | { readonly kind: "skipped"; readonly reason: "budget-spent" | "breaker-open" }
  | { readonly kind: "stale" };

/** The calls of a summariser with their tokens. */
export interface Spent {
  /** Billed calls. */
  readonly calls: number;
  /** Tokens read. */
  readonly inputTokens: number;
  /** Tokens written. */
  readonly outputTokens: number;
}

/** The real summary beside a shadow. */
export interface RealSummary extends Spent {
  /** The model that made it. */
  readonly model: string;
  /** Estimated tokens of its text. */
  readonly tokens: number;
}

/** Tokens set aside for one call. */
export interface Reserved {
  /** The UTC day of the call. */
  readonly day: number;
  readonly tokens: number;
}

export interface ShadowRecord extends Spent {
  /** Null while it is not done. */
  readonly outcome: ShadowOutcome | null;
  /** Null before a model is known. */
  readonly model: string | null;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly real: RealSummary;
  /** Null until the next compaction is planned, and while nothing was said since. */
  readonly hindsight: Hindsight | null;
  /** Calls at work, oldest first. The day's tokens hold them until their costs are known. */
  readonly reserved: readonly Reserved[];
  /** The names of the answers that its costs include. */
  readonly billed: readonly string[];
  /** By step, an answer that the audit refused. The step does not ask for it again. */
  readonly refused: Readonly<Record<string, { readonly key: string; readonly soundKey: string }>>;
}

/** The part of a row that may quote the conversation. */
export interface ShadowWords {
  /** The draft with its text. Null where there is none. */
  readonly key: string | null;
  /** The facts and names beside it. */
  readonly pinned: Pinned | null;
  /** Overlays whose hidden words may be among its names, or in its text. */
  readonly namesOf: readonly string[];
  /** Why it failed, as the provider says it. */
  readonly reason: string | null;
}

/** `n` is the number of the overlay that it stands beside. */
export interface ShadowRow {
  readonly n: number;
  readonly name: string;
  readonly overlayId: string;
  readonly record: ShadowRecord;
  readonly words: ShadowWords | null;
}

export function newRecord(
  run: RunRecord,
  createdAt: number,
  real: Pick<RealSummary, "model" | "tokens">,
): ShadowRecord {
  const { modelCalls, inputTokens, outputTokens } = run;
  return {
    outcome: null,
    model: null,
    createdAt,
    calls: 0,
    inputTokens: 0,
    outputTokens: 0,
    real: { ...real, calls: modelCalls, inputTokens, outputTokens },
    hindsight: null,
    reserved: [],
    billed: [],
    refused: {},
  };
}
