/** Two versions of the notes, line by line. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { diffNotes, type DiffLine } from "../../dashboard/session/notes-diff.ts";

const section = (title: string, ...lines: string[]) => ({ title, text: lines.join("\n") });

function signs(lines: readonly DiffLine[] = []): string[] {
  return lines.map(({ kind, text }) => `${{ kept: "=", added: "+", dropped: "-" }[kind]}${text}`);
}

test("a line that stays is kept, one that changed is dropped and added in its place, sections come and go", () => {
  const older = [section("Task", "- one", "- two", "- three"), section("Gone", "- last words"), section("Empty")];
  const newer = [
    section("Task", "- one", "- two and a half", "- three"),
    section("New", "- first words"),
    section("Empty"),
  ];
  expect(diffNotes(older, newer).map(({ title, lines }) => [title, ...signs(lines)])).toEqual([
    ["Task", "=- one", "-- two", "+- two and a half", "=- three"],
    ["New", "+- first words"],
    ["Gone", "-- last words"],
  ]);
});

const texts = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 });

test("what is dropped and kept is the older text, what is kept and added the newer one, and no more is kept than can be in order", () => {
  fc.assert(
    fc.property(texts, texts, (older, newer) => {
      const [diff] = diffNotes([section("S", ...older)], [section("S", ...newer)]);
      const lines = diff?.lines ?? [];
      const without = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind !== kind).map(({ text }) => text);
      expect(without("added")).toEqual(older);
      expect(without("dropped")).toEqual(newer);
      expect(lines.filter(({ kind }) => kind === "kept")).toHaveLength(longestCommon(older, newer));
    }),
  );
});

test("texts of tens of thousands of lines are told apart at once", () => {
  const [diff] = diffNotes([section("S", "first", ...lines("was"))], [section("S", "first", ...lines("is"))]);
  expect(diff?.lines.map(({ kind }) => kind).filter((kind, at, all) => kind !== all[at - 1])).toEqual([
    "kept",
    "dropped",
    "added",
  ]);
});

function lines(word: string): string[] {
  return Array.from({ length: 30_000 }, (_, n) => `${word} ${n}`);
}

/** By trying, not by a table. */
function longestCommon(older: readonly string[], newer: readonly string[]): number {
  const [first, ...rest] = older;
  if (first === undefined) return 0;
  const at = newer.indexOf(first);
  const skipped = longestCommon(rest, newer);
  return at === -1 ? skipped : Math.max(skipped, 1 + longestCommon(rest, newer.slice(at + 1)));
}
