/** Sections of a summary that a view leaves out. */
import { expect, test } from "vitest";
import { withoutEmptySections, withoutState } from "../../../src/steps/draft/audit.ts";

test("an earlier summary by our template is shown without its state", () => {
  const rest = "## Goal\nShip.\n\n## Progress\n### Today\n```\n## Stage\n```\n- Built.";
  expect(withoutState(`${rest}\n\n## State\nHalf done.`)).toBe(rest);
});

test("an earlier summary by our template that only tells a state is shown as empty, without a heading", () => {
  expect(withoutState("## Goal\nNone.\n\n## Errors\n- None.\n\n## State\n- Half done.")).toBe("");
});

test("a section on a state is shown where the summary has another template", () => {
  for (const summary of ["## State\nTexas.\n\n## Customers\nAcme.", "# Tax\n\n## State\nTexas.", "## State\nDone."])
    expect(withoutState(summary)).toBe(summary);
});

test("a heading over others stays with what they tell", () => {
  const summary = "## Goal\nShip.\n\n## Open\n### Requests\n- deploy\n### Questions\nNone.\n\n## Next\n### Now\nNone.";
  expect(withoutEmptySections(summary)).toBe("## Goal\nShip.\n\n## Open\n### Requests\n- deploy");
});

test("a comment in a block of code is no heading", () => {
  const summary = "## Done\n```\n0 3 * * * backup\n# no other jobs\n```\n\n## State\nThe backup runs.";
  expect(withoutEmptySections(summary)).toBe(summary);
});
