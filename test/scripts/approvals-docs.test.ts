/** The code of docs/views.md is the code that a test runs. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

test("docs/views.md shows how an approval is written as test/agent/runs/approvals.test.ts runs it, letter by letter", () => {
  const source = readFileSync(resolve(root, "test/agent/runs/approvals.test.ts"), "utf8");
  const example = /\/\/ example\n([^]*?)\n *\/\/ end/.exec(source)?.[1]?.replaceAll(/^ {2}/gm, "");
  expect(example).toContain("approval-responded");
  expect(readFileSync(resolve(root, "docs/views.md"), "utf8")).toContain(example);
});
