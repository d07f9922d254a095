/** What a reader of the package meets first stays few: the names of the main entry, and the options of a threshold. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const read = (file: string): string => readFileSync(resolve(import.meta.dirname, "../../..", file), "utf8");

test("the main entry has at most 12 values and 25 types", () => {
  const exported = [...read("src/index.ts").matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(
    ([, isType, list = ""]) =>
      list
        .split(",")
        .map((name) => name.trim())
        .filter((name) => name !== "")
        .map((name) => isType !== undefined || name.startsWith("type ")),
  );
  expect(exported.filter((isType) => !isType).length).toBeLessThanOrEqual(12);
  expect(exported.filter((isType) => isType).length).toBeLessThanOrEqual(25);
  expect(exported.length).toBeGreaterThan(20);
});

test("the page of options has at most 12 for compactAfter", () => {
  const [, table = ""] = /\| Option \| Default[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)/.exec(read("docs/options.md")) ?? [];
  const options = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(options.length).toBeGreaterThan(5);
  expect(options.length).toBeLessThanOrEqual(12);
});
