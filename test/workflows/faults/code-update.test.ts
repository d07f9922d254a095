/** New code comes in the middle of a run: the object restarts before each step, and what steps of the version before left is read. */
import { describe, expect, test } from "vitest";
import { skipRetryDelays } from "../../agents.ts";
import { instances } from "../../strict.ts";
import { happen, SHAPES } from "./faulty-shapes.ts";
import before from "./steps-before.json";

skipRetryDelays();

/** Keys and types of a value, without its words. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length === 0 ? "" : shapeOf(value[0])}]`;
  if (typeof value !== "object" || value === null) return value === null ? "null" : typeof value;
  return `{${Object.entries(value)
    .map(([key, each]) => `${key}: ${shapeOf(each)}`)
    .toSorted()
    .join(", ")}}`;
}

describe.for(SHAPES)("$name", (shape) => {
  test("ends as undisturbed where the agent's object restarts before each step", async () => {
    const calm = await happen(shape);
    const updated = await happen(shape, "code updates");
    expect(updated.plan.updated.size).toBeGreaterThanOrEqual(new Set(calm.plan.steps).size);
    expect(updated.run.outcome?.kind).toBe(calm.run.outcome?.kind);
    expect(updated.state).toEqual(calm.state);
    expect(updated.paid.twice).toBe(0);
  });

  test("its steps have the names and results that the version before stored", async () => {
    const { plan, run } = await happen(shape);
    const stored: Record<string, Record<string, string>> = before;
    const results = [["params", instances.get(run.id)] as const, ...plan.results];
    expect(Object.fromEntries(results.map(([name, result]) => [name, shapeOf(result)]))).toEqual(stored[shape.name]);
  });
});
