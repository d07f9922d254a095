/** The code of docs/notes.md is the code that a test runs. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const page = readFileSync(resolve(root, "docs/notes.md"), "utf8");

test("docs/notes.md shows what is run in test/notes/notes.test.ts, letter by letter", () => {
  const source = readFileSync(resolve(root, "test/notes/notes.test.ts"), "utf8");
  const examples = [...source.matchAll(/\/\/ example\n([^]*?)\n *\/\/ end/g)].map(([, text = ""]) => {
    const indent = /^ */.exec(text)?.[0] ?? "";
    return text.replaceAll(new RegExp(`^${indent}`, "gm"), "");
  });
  expect(examples).toHaveLength(2);
  // On the page the first one stands in a class.
  const shown = page + page.replaceAll(/^ {2}/gm, "");
  for (const example of examples) expect(shown).toContain(example);
});
