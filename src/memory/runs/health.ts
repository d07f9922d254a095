/**
 * How each summariser fares, for all sessions of an agent at once: what one session learned by waiting spares the next.
 *
 * Job: keep each model's breaker (steps/breaker.ts) through evictions and restarts. Boundary: knows no run and no
 * policy, and stores codes only, because a provider's own words may quote what it was sent (S2). Safe because the rows
 * are the truth: what is kept in memory is dropped when a transaction is rolled back.
 */
import { admit, afterFailure, CLOSED, explainFailure, isOpen, type Breaker } from "../../steps/decide/breaker.ts";
import type { Db } from "../db.ts";
import { HealthStatements, type HealthRow } from "./health-statements.ts";

/** Whether a model may be asked. `probe`: it was down, and this one call finds out whether it still is. */
export type MayAsk =
  | { readonly kind: "yes" }
  | { readonly kind: "probe" }
  /** `until` is in epoch ms; null when no moment is known. */
  | { readonly kind: "no"; readonly until: number | null; readonly reason: string };

/** A model that is left alone for now. */
export interface OpenBreaker {
  readonly model: string;
  /** Epoch ms. */
  readonly until: number;
  readonly reason: string;
}

export class Health {
  readonly #sql: HealthStatements;
  #rows: Map<string, HealthRow> | null = null;

  constructor(db: Db) {
    this.#sql = new HealthStatements(db);
    db.cached({ clear: () => (this.#rows = null) });
  }

  /**
   * Whether `by` (a run's id) may ask this model. The first who asks after a cooldown gets the probe, and gets it again
   * when it asks again; all others wait until another cooldown is over, or the probe was answered. Call inside a
   * transaction.
   */
  mayAsk(model: string, now: number, by: string): MayAsk {
    const row = this.#row(model);
    const { kind, breaker } = admit(row, by, now);
    if (breaker !== row) this.#put({ ...row, ...breaker });
    return kind === "no" ? { kind, ...this.#open(row) } : { kind };
  }

  /** A sound answer closes the breaker. Writes a row only when it tells something new. Call inside a transaction. */
  noteAnswer(model: string, now: number): void {
    const row = this.#row(model);
    const known = this.#all().has(model) && row.until === null && row.failures === 0;
    if (known && this.#heardLast()?.model === model) return;
    this.#put({ ...row, ...CLOSED, heardAt: now });
  }

  /** Counts one failed call; `code` is the summariser's (src/model/summarize.ts). Call inside a transaction. */
  noteFailure(model: string, code: string, now: number): void {
    const row = this.#row(model);
    const breaker: Breaker = afterFailure(row, code, now);
    if (breaker !== row) this.#put({ ...row, ...breaker, heardAt: now });
  }

  isOpen(model: string, now: number): boolean {
    return isOpen(this.#row(model), now);
  }

  /** The model that was heard of last, if it is to be left alone: the one that the next run would most likely ask. */
  latestOpen(now: number): OpenBreaker | null {
    const row = this.#heardLast();
    return row === null || !isOpen(row, now) ? null : this.#open(row);
  }

  /** By model. */
  list(): readonly HealthRow[] {
    return [...this.#all().values()];
  }

  #open({ model, code, until }: HealthRow): OpenBreaker {
    const reason = `The summariser ${model} is left alone for now: ${explainFailure(code ?? "unknown")}.`;
    return { model, until: until ?? 0, reason };
  }

  #heardLast(): HealthRow | null {
    return this.list().reduce<HealthRow | null>((last, row) => (last && last.heardAt > row.heardAt ? last : row), null);
  }

  #row(model: string): HealthRow {
    return this.#all().get(model) ?? { ...CLOSED, model, heardAt: 0 };
  }

  #put(row: HealthRow): void {
    this.#sql.putHealth(row);
    this.#all().set(row.model, row);
  }

  #all(): Map<string, HealthRow> {
    this.#rows ??= new Map(this.#sql.health().map((row) => [row.model, row]));
    return this.#rows;
  }
}
