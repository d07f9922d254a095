/**
 * How often a property is tried.
 *
 * `npm test` tries each a few times, so that it finishes in minutes. `npm run test:all`, which CI runs, uses the written numbers.
 * A run tries the same examples as the run before, so that a change is what turns it red. `PALIMPSEST_SEED=7 npm run test:all` looks
 * for counterexamples elsewhere.
 */
import { configureGlobal } from "fast-check";
import { inject } from "vitest";

/** Whether everything runs, with kills, the browser, and properties at their full number of tries. */
export const everything: boolean = inject("everything");

/** Divisor of the tries in `npm test`, and the least number of tries. They still find any fault that is not rare. */
const SHARE = 12;
const LEAST = 12;

export function tries(all: number): number {
  return everything ? all : Math.min(all, Math.max(LEAST, Math.ceil(all / SHARE)));
}

configureGlobal({ numRuns: tries(100), seed: inject("seed") });
