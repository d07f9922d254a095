/** The code of docs/recall.md is the code that tests run. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

test("docs/recall.md shows what is run in test/recall/looking-back.test.ts, letter by letter", () => {
  const source = readFileSync(resolve(root, "test/recall/looking-back.test.ts"), "utf8");
  const example = /\/\/ example\n([^]*?)\n *\/\/ end/.exec(source)?.[1]?.replaceAll(/^ {4}/gm, "");
  expect(example).toContain("session.recall");
  expect(readFileSync(resolve(root, "docs/recall.md"), "utf8")).toContain(example);
});

test.each(["example of a model", "example"])(
  "docs/recall.md shows the %s of test/embeddings/embeddings.test.ts",
  (mark) => {
    const source = readFileSync(resolve(root, "test/embeddings/embeddings.test.ts"), "utf8");
    const example = new RegExp(`// ${mark}\\n([^]*?)\\n *// end`).exec(source)?.[1]?.replaceAll(/^ {4}/gm, "");
    expect(example).toMatch(/embeddings|byMeaning/);
    expect(readFileSync(resolve(root, "docs/recall.md"), "utf8")).toContain(example);
  },
);
