/** The check finds a message that is lost, altered or stored twice, at any position. */
import { expect, test } from "vitest";
import { countDamaged } from "../../bench/kills/damage.ts";

const said = [{ id: "a" }, { id: "b" }];

test("what was said and is stored once, as it was said, is whole", () => {
  expect(countDamaged({ said, stored: [{ id: "a" }, { id: "b" }], rows: 2 })).toBe(0);
});

test("a message that is lost or altered is counted once", () => {
  expect(countDamaged({ said, stored: [{ id: "a" }, null], rows: 1 })).toBe(1);
  expect(countDamaged({ said, stored: [{ id: "a" }, { id: "b", text: "else" }], rows: 2 })).toBe(1);
});

test("a message that is stored twice at the end is counted", () => {
  expect(countDamaged({ said, stored: said, rows: 3 })).toBe(1);
});
