/**
 * Call budgets by name, with one token bucket (bucket.ts) for each.
 *
 * The buckets can live in memory. An object that sleeps long enough to lose them was quiet for longer than a bucket takes to refill.
 * Callers may choose names freely, because full buckets are dropped.
 */
import { fullBucket, takeToken, type Bucket, type Rate } from "./bucket.ts";

/** Number of buckets above which the full ones are dropped. */
export const BUDGETS_KEPT = 1_000;

export class Budgets {
  readonly rate: Rate;
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = BUDGETS_KEPT;

  constructor(rate: Rate) {
    this.rate = rate;
  }

  /** Takes one call from the name's budget. Returns false when the budget is spent. */
  take(name: string, now: number): boolean {
    const { taken, bucket } = takeToken(this.#buckets.get(name) ?? fullBucket(this.rate, now), this.rate, now);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > this.#sweepAt) this.#sweep(now);
    return taken;
  }

  get size(): number {
    return this.#buckets.size;
  }

  #sweep(now: number): void {
    const { burst, perSecond } = this.rate;
    for (const [name, { tokens, at }] of this.#buckets) {
      if (tokens + ((now - at) / 1000) * perSecond >= burst) this.#buckets.delete(name);
    }
    // The remaining names are active now. Searching them at each call would cost more than keeping them.
    this.#sweepAt = Math.max(BUDGETS_KEPT, 2 * this.#buckets.size);
  }
}
