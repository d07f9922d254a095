/** The code of a page is the code that a test runs, letter by letter. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (file: string): string => readFileSync(file, "utf8");

/** Without the indentation of its first line. */
function unindented(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? "";
  return text.replaceAll(new RegExp(`^${indent}`, "gm"), "");
}

test.each([
  ["docs/views.md", "test/agent/runs/approvals.test.ts", "example", "approval-responded"],
  ["docs/notes.md", "test/notes/notes.test.ts", "example", "notes"],
  ["docs/recall.md", "test/recall/looking-back.test.ts", "example", "session.recall"],
  ["docs/recall.md", "test/embeddings/embeddings.test.ts", "example of a model", "embeddings"],
  ["docs/recall.md", "test/embeddings/embeddings.test.ts", "example", "byMeaning"],
  ["docs/transcripts.md", "test/sessions-source/import-from.test.ts", "example", "fromMyTable"],
])("%s shows what %s runs as its %s", (page, file, mark, named) => {
  const examples = [...read(file).matchAll(new RegExp(`// ${mark}\\n([^]*?)\\n *// end`, "g"))];
  expect(examples.map(([code]) => code).join("")).toContain(named);
  // Some stand in a class there.
  const shown = read(page) + read(page).replaceAll(/^ {2}/gm, "");
  for (const [, code = ""] of examples) expect(shown).toContain(unindented(code));
});

test("every function of docs/leaving.md is one that test/leaving.ts has", () => {
  const functions = read("test/leaving.ts").match(/^(?:export )?(?:async )?function\*? \w+\([\s\S]*?^\}$/gm) ?? [];
  expect(functions).toHaveLength(4);
  for (const code of functions) expect(read("docs/leaving.md")).toContain(code);
});
