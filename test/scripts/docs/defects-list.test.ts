/** The list of defects in test/memory/known-defects.test.ts names tests that exist, in the files where they stand. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const LIST = "test/memory/known-defects.test.ts";
const source = readFileSync(LIST, "utf8");
const head = source.slice(0, source.indexOf("*/"));

/** A test's name, with `…` for what is left out, and its file in test/, or `here`. */
const NAMED = [...head.matchAll(/"([^"]+)" \(([\w/.-]+)\)/g)].map(([, name = "", file = ""]) => [name, file] as const);

describe("each test that guards a defect exists where the list says", () => {
  test("the list is read", () => {
    expect(NAMED.length).toBeGreaterThan(40);
  });

  test.each(NAMED)("%s (%s)", (name, file) => {
    const text = file === "here" ? source.slice(head.length) : readFileSync(`test/${file}.test.ts`, "utf8");
    const parts = name.split("…").map((part) => part.trim().replace(/[,:;]$/, ""));
    expect(parts.filter((part) => !text.includes(part))).toEqual([]);
  });
});
