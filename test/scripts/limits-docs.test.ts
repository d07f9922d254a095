import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import {
  MAX_BAD_ENTRIES,
  MAX_IMPORT_ENTRIES,
  MAX_IMPORTING_CHARS,
  MAX_REQUEST_BYTES,
  SEARCH_MAX_BYTES,
} from "../../src/limits.ts";

const root = resolve(import.meta.dirname, "../..");
const page = (name: string): string => readFileSync(resolve(root, name), "utf8").replaceAll(/\s+/g, " ");
const bad = MAX_BAD_ENTRIES.toLocaleString("en");
const entries = MAX_IMPORT_ENTRIES.toLocaleString("en");

test.each([
  ["docs/sessions.md", `how many more there are is counted, up to ${bad}.`],
  ["docs/sessions.md", `One import takes ${entries} entries`],
  ["SECURITY.md", `Reading stops after ${bad} bad lines or ${entries} entries`],
  ["docs/recall.md", `**A message is searched up to ${SEARCH_MAX_BYTES / 1_000_000} MB.**`],
])("%s says: %s", (name, sentence) => {
  expect(page(name)).toContain(sentence);
});

test("SECURITY.md: two of the largest files are read at a time", () => {
  expect(page("SECURITY.md")).toContain("two of the largest files are read at a time");
  expect(MAX_IMPORTING_CHARS).toBe(2 * MAX_REQUEST_BYTES);
});
