/** Parts of an outline's rows, because notes may describe a message up to one of its steps. */
import type { OutlineRow } from "../../steps/plan/outline.ts";

/** Steps `fromStep` to `toStep` of a message's visible part. Null when none of them is visible. */
export function sliceRow(row: OutlineRow, fromStep: number, toStep: number): OutlineRow | null {
  const firstStep = Math.max(row.firstStep, fromStep);
  const steps = row.steps.slice(firstStep - row.firstStep, Math.max(0, toStep - row.firstStep + 1));
  if (steps.length === 0) return null;
  const inside = (step: number): boolean => step >= fromStep && step <= toStep;
  return {
    ...row,
    tokens: steps.reduce((sum, tokens) => sum + tokens, 0),
    firstStep,
    steps,
    complete: row.complete && firstStep + steps.length === row.firstStep + row.steps.length,
    calls: row.calls.filter(([, step]) => inside(step)),
    results: row.results.filter(([, step]) => inside(step)),
    texts: row.texts.filter(inside),
  };
}

/** The last visible step of a message. */
export function lastVisibleStep({ firstStep, steps }: OutlineRow): number {
  return firstStep + steps.length - 1;
}
