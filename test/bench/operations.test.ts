/** The counted and the timed operations of one list. */
import { describe, expect, it } from "vitest";
import { listTimed, OPERATIONS } from "../../bench/lab/operations.ts";

describe("the operations", () => {
  const timed = OPERATIONS.flatMap(listTimed);

  it("are all timed but the start, which is in the first view from outside", () => {
    const counted = OPERATIONS.flat().map(({ name }) => name);
    const left = counted.filter((name) => !timed.some((each) => each.name === name));
    expect(left).toEqual(["start"]);
    expect(timed.flatMap(({ name, waits }) => (waits === "inside" ? [] : [name]))).toEqual([
      "first view, from outside",
      "first view, from the harness",
    ]);
  });

  it("are timed after an eviction wherever they are timed from outside", () => {
    expect(timed.every(({ waits, cold }) => waits === "inside" || cold === true)).toBe(true);
  });
});
