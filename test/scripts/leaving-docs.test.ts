/** The code on the page about leaving is the code that the tests of leaving run. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

test("every function of the page is one that is tested, letter by letter", () => {
  const page = readFileSync("docs/leaving.md", "utf8");
  const tested = readFileSync("test/leaving.ts", "utf8");
  const functions = [...tested.matchAll(/^(?:export )?(?:async )?function\*? \w+\([\s\S]*?^\}$/gm)].map(
    ([code]) => code,
  );
  expect(functions).toHaveLength(4);
  for (const code of functions) expect(page).toContain(code);
});
