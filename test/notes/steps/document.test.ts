/** Notes as a document: their sections, the budgets of these, and what stays readable of a version whose messages changed. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import {
  arrangeSections,
  DEFAULT_NOTES_SECTIONS,
  fitNotes,
  hasContent,
  notesTokens,
  renderNotes,
  resolveNotesShape,
  withholdNotes,
  type NotesSection,
} from "../../../src/notes/steps/document.ts";
import { parseEdits } from "../../../src/notes/steps/edits.ts";
import { cutSection } from "../../../src/steps/draft/audit.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const shape = resolveNotesShape({}, 60_000);
const empty = arrangeSections(shape, []);
const line = fc.stringMatching(/^[a-zA-Z0-9`.,:/_-][a-zA-Z0-9 `.,:/_-]{0,40}$/).map((text) => `- ${text.trim()}`);
const body = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => lines.join("\n"));
const notes: fc.Arbitrary<NotesSection[]> = fc
  .array(fc.option(body, { nil: "" }), { minLength: empty.length, maxLength: empty.length })
  .map((texts) => empty.map(({ title }, at) => ({ title, text: texts[at] ?? "" })));

describe("the document", () => {
  test("an untouched template is empty", () => {
    expect(hasContent(empty)).toBe(false);
    expect(hasContent(parseEdits(renderNotes(empty), empty).edits)).toBe(false);
    for (const text of ["None", "- None.", "none.", "N/A", "_None yet._", "---", "###"]) {
      expect(hasContent([{ title: "Task", text }]), text).toBe(false);
    }
    expect(hasContent(arrangeSections(shape, [{ title: "Task", text: "x" }]))).toBe(true);
  });

  test("fitted notes are within both budgets, cut at line ends, and say where the rest is", () => {
    fc.assert(
      fc.property(
        notes,
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 200, max: 400 }),
        (before, section, all) => {
          const pointer = "[cut: version 3]";
          const fitted = fitNotes(
            before,
            { sectionTokens: section, maxTokens: all },
            { pointer: () => pointer, countTokens: estimateTokens },
          );
          expect(notesTokens(fitted, estimateTokens)).toBeLessThanOrEqual(all);
          for (const [at, { text }] of fitted.entries()) {
            const whole = before[at]?.text ?? "";
            expect(estimateTokens(text)).toBeLessThanOrEqual(section);
            if (text === whole) continue;
            expect(text === "" || text.endsWith(pointer)).toBe(true);
            expect(whole.startsWith(text.replace(pointer, "").trimEnd())).toBe(true);
          }
        },
      ),
    );
    expect(cutSection("- a\n- b", 100, { pointer: "…", countTokens: estimateTokens })).toBe("- a\n- b");
  });

  test("sections that the shape does not know stay, behind those that it does", () => {
    const known = [
      { title: "Old heading", text: "- kept" },
      { title: "task", text: "- found by its words" },
    ];
    const arranged = arrangeSections(shape, known);
    expect(arranged.map(({ title }) => title)).toEqual([
      ...DEFAULT_NOTES_SECTIONS.map(({ title }) => title),
      "Old heading",
    ]);
    expect(arranged[1]).toEqual({ title: "Task", text: "- found by its words" });
  });

  test("budgets scale down to a threshold; what is no number is refused", () => {
    expect(resolveNotesShape({}, 60_000)).toMatchObject({ maxTokens: 6_000, sectionTokens: 1_500 });
    expect(resolveNotesShape({}, 2_000)).toMatchObject({ maxTokens: 200, sectionTokens: 50 });
    expect(() => resolveNotesShape({ maxTokens: 0 }, null)).toThrow(PalimpsestError);
    expect(() => resolveNotesShape({ sections: [{ title: "a" }, { title: "A" }] }, null)).toThrow(/template/);
  });
});

function version(by: "update" | "hand", runId: string | null, ...lines: string[]) {
  return { standing: false, by, runId, sections: [{ title: "Task", text: lines.join("\n") }] };
}

/** The lines that are shown of each version, newest first. The versions are given oldest first. */
function shown(...versions: ReturnType<typeof version>[]): (string | undefined)[] {
  const numbered = versions.map((each, at) => ({ ...each, n: at + 1 }));
  return withholdNotes(numbered.toReversed()).map(({ sections }) => sections[0]?.text);
}

test("a person's own lines stay readable, in every version that has them", () => {
  const [update, hand] = [version("update", "a", "derived"), version("hand", "a", "derived", "own")];
  expect(shown(update, hand)).toEqual(["own", ""]);
  expect(shown(version("hand", null, "own"))).toEqual(["own"]);
});

test("S3: no derived line counts as a person's where the update below it is gone, whatever version came before", () => {
  const other = version("update", "b", "of another branch");
  const hand = version("hand", "a", "derived", "own");
  expect(shown(other, hand)).toEqual(["", ""]);
  expect(shown(version("hand", "a", "own"), hand)).toEqual(["", ""]);
});
