/**
 * How often a property is tried. `npm test` tries each some times, so that an answer comes in minutes; `npm run test:all`, as CI
 * runs it, as often as is written here.
 */
import { configureGlobal } from "fast-check";
import { inject } from "vitest";

/** Whether everything is tried: kills, the browser, and properties as often as they ask for. */
export const everything: boolean = inject("everything");

/** A property costs less than this in `npm test`: as many tries as find a fault that is not rare. */
const SHARE = 8;
const LEAST = 12;

export function tries(all: number): number {
  return everything ? all : Math.min(all, Math.max(LEAST, Math.ceil(all / SHARE)));
}

configureGlobal({ numRuns: tries(100) });
