/**
 * How much each of many may still ask for: a bucket (bucket.ts) for each name.
 *
 * Safe to keep in memory: an object that sleeps long enough to forget has been quiet for longer than a bucket takes to be full
 * again. Safe to grow with names that others choose: a bucket that is full says nothing, and is forgotten.
 */
import { fullBucket, takeToken, type Bucket, type Rate } from "./bucket.ts";

/** Budgets of connections and callers that are kept before those that are full again are looked for. */
export const BUDGETS_KEPT = 1_000;

export class Budgets {
  readonly rate: Rate;
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = BUDGETS_KEPT;

  constructor(rate: Rate) {
    this.rate = rate;
  }

  /** False when the name has nothing left. */
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
    // What is left are those that ask right now: looking through them at each call would cost more than they do.
    this.#sweepAt = Math.max(BUDGETS_KEPT, 2 * this.#buckets.size);
  }
}
