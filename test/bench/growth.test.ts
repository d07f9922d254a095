/** A row that only some repetitions of an operation write shows in the operation's figure. */
import { expect, test } from "vitest";
import { OPERATIONS } from "../../bench/lab/operations.ts";
import { typicalRows } from "../../bench/report/stats.ts";

const appends = (rowsOfEach: number) =>
  Array.from({ length: 128 }, (_, n) => ({
    read: n === 0 ? 9 : 0,
    written: n % 64 === 63 ? rowsOfEach + 1 : rowsOfEach,
  }));

test("of rows written the mean is told, of rows read the median", () => {
  expect(typicalRows(appends(1))).toEqual({ read: 0, written: 1 + 2 / 128 });
});

test("appends of two rows break their bound, and one of one row and every 64th one more keeps it", () => {
  const bound = OPERATIONS.flat().find(({ name }) => name === "append")?.most?.[1] ?? 0;
  expect(typicalRows(appends(1)).written).toBeLessThanOrEqual(bound);
  expect(typicalRows([...appends(1).slice(8), ...appends(2).slice(0, 8)]).written).toBeGreaterThan(bound);
});
