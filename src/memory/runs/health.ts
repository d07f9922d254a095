/**
 * Tracks each summariser's breaker for all sessions of an agent, so that one session's failures spare the others a
 * wait.
 *
 * Keeps each breaker (steps/decide/breaker.ts) through evictions and restarts. It knows no run and no policy. It stores
 * numbers, model names and codes only, because a provider's error text may quote the request (S2). It is safe because the rows are the
 * truth and the cache is cleared when a transaction rolls back.
 */
import { columns, ADDED_UP, type Db } from "../db.ts";
import { admit, afterFailure, CLOSED, explainFailure, isOpen, type Breaker } from "../../steps/decide/breaker.ts";
import { utcDay, type Spend } from "../../steps/decide/decide.ts";

/** One model's breaker and the time of its last result (epoch ms). */
export type HealthRow = { [Field in keyof Breaker]: Breaker[Field] } & { model: string; heardAt: number };

const HEALTH = columns("model", "failures", "openings", "until", "probe", "code", "heardAt");

/** Whether a model may be asked. `probe` means that its breaker was open and this one call tests whether it still fails. */
export type Admission =
  | { readonly kind: "yes" }
  | { readonly kind: "probe" }
  /** `until` is in epoch ms. It is null when no time is known. */
  | { readonly kind: "no"; readonly until: number | null; readonly reason: string };

/** A model whose breaker is open. */
export interface OpenBreaker {
  readonly model: string;
  /** Epoch ms. */
  readonly until: number;
  readonly reason: string;
}

export class Health {
  readonly #db: Db;
  /** Every model that was ever configured and heard of. */
  #rows: Map<string, HealthRow> | null = null;

  constructor(db: Db) {
    this.#db = db;
    db.cached({ clear: () => (this.#rows = null) });
  }

  /**
   * Whether the run `by` may ask this model. The first run that asks after a cooldown gets the probe, and gets it again
   * when it asks again. All others wait until another cooldown is over or the probe was answered. Call it inside a
   * transaction.
   */
  admitCall(model: string, now: number, by: string): Admission {
    const row = this.#row(model);
    const { kind, breaker } = admit(row, by, now);
    if (breaker !== row) this.#put({ ...row, ...breaker });
    return kind === "no" ? { kind, ...this.#open(row) } : { kind };
  }

  /** Closes the breaker after a sound answer. Writes a row only when something changes. Call it inside a transaction. */
  noteAnswer(model: string, now: number): void {
    const row = this.#row(model);
    const known = this.#all().has(model) && row.until === null && row.failures === 0;
    if (known && this.#heardLast()?.model === model) return;
    this.#put({ ...row, ...CLOSED, heardAt: now });
  }

  /** Counts one failed call. `code` is the summariser's (src/model/summarize.ts). Call it inside a transaction. */
  noteFailure(model: string, code: string, now: number): void {
    const row = this.#row(model);
    const breaker: Breaker = afterFailure(row, code, now);
    if (breaker !== row) this.#put({ ...row, ...breaker, heardAt: now });
  }

  isOpen(model: string, now: number): boolean {
    return isOpen(this.#row(model), now);
  }

  /** The last model with a result, if its breaker is open. The next run would most likely ask that one. */
  latestOpen(now: number): OpenBreaker | null {
    const row = this.#heardLast();
    return row === null || !isOpen(row, now) ? null : this.#open(row);
  }

  /** One row for each model. */
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
    this.#db.replace("palimpsest_health", row);
    this.#all().set(row.model, row);
  }

  #all(): Map<string, HealthRow> {
    const sql = `SELECT ${HEALTH} FROM palimpsest_health ORDER BY model`;
    return (this.#rows ??= new Map(this.#db.run<HealthRow>(sql).map((row) => [row.model, row])));
  }
}

export class SpendTable {
  readonly #db: Db;
  /** Cached sums of sessions and of one day, so that a waiting trigger reads no row. */
  readonly #sessions: Map<string, number>;
  #day: { readonly day: number; readonly tokens: number } | null = null;

  constructor(db: Db) {
    this.#db = db;
    this.#sessions = db.cached(new Map());
    db.cached({ clear: () => (this.#day = null) });
  }

  of(sessionId: string, now: number): Spend {
    const day = utcDay(now);
    const sessionTokens = this.#sessions.get(sessionId) ?? this.#spent(sessionId);
    this.#sessions.set(sessionId, sessionTokens);
    if (this.#day?.day !== day) this.#day = { day, tokens: this.#spent(day) };
    return { sessionTokens, dayTokens: this.#day.tokens };
  }

  /** Call it inside a transaction. */
  add(sessionId: string, tokens: number, now: number): void {
    if (tokens === 0) return;
    const day = utcDay(now);
    // Budgets count the current day only. A number is less than any text, so no session is among these.
    this.#db.run("DELETE FROM palimpsest_spend WHERE key < ?", day);
    for (const key of [sessionId, day]) this.#db.insert("palimpsest_spend", { key, tokens }, ADDED_UP);
    this.#sessions.delete(sessionId);
    this.#day = null;
  }

  /** For a session that is deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_spend WHERE key = ?", sessionId);
  }

  #spent(key: string | number): number {
    return this.#db.run<{ tokens: number }>("SELECT tokens FROM palimpsest_spend WHERE key = ?", key)[0]?.tokens ?? 0;
  }
}
