import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import {
  DEFAULT_NOTES_MAX_TOKENS,
  DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES,
  DEFAULT_NOTES_MIN_TOKENS,
  NOTES_GROWTH_TOKENS,
  NOTES_SECTION_TOKENS,
  NOTES_TOKENS,
  NOTES_TOOL_CALLS,
} from "../../src/limits-of-notes.ts";
import { DEFAULT_NOTES_SECTIONS } from "../../src/steps/notes/document.ts";

const root = resolve(import.meta.dirname, "../..");
const page = readFileSync(resolve(root, "docs/notes.md"), "utf8");

test("docs/notes.md shows what is run in test/agent/notes.test.ts, letter by letter", () => {
  const source = readFileSync(resolve(root, "test/agent/notes.test.ts"), "utf8");
  const examples = [...source.matchAll(/\/\/ example\n([^]*?)\n *\/\/ end/g)].map(([, text = ""]) => {
    const indent = /^ */.exec(text)?.[0] ?? "";
    return text.replaceAll(new RegExp(`^${indent}`, "gm"), "");
  });
  expect(examples).toHaveLength(2);
  for (const example of examples) expect(page).toContain(example);
});

test("the numbers and headings of docs/notes.md are those of the code", () => {
  const numbers = [
    DEFAULT_NOTES_MAX_TOKENS,
    DEFAULT_NOTES_MIN_TOKENS,
    NOTES_GROWTH_TOKENS,
    NOTES_SECTION_TOKENS,
    NOTES_TOKENS,
  ];
  for (const number of numbers) expect(page).toContain(number.toLocaleString("en"));
  expect(page).toContain(`${NOTES_TOOL_CALLS} tool calls`);
  expect(page).toContain(`${DEFAULT_NOTES_MIN_TEXT_BLOCK_MESSAGES} messages with text`);
  const headings = /with fixed headings: \*([^*]+)\*/.exec(page)?.[1]?.replaceAll("\n", " ");
  expect(headings).toBe(DEFAULT_NOTES_SECTIONS.map(({ title }) => title).join(", "));
});
