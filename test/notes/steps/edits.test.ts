/** Notes as text. Tests the changes that a model may and may not make, and the budgets of sections. */
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
  type NotesSection,
} from "../../../src/notes/steps/document.ts";
import { cutSection } from "../../../src/steps/draft/audit.ts";
import { applyEdits, auditEdits, NO_CHANGES, parseEdits, splitSections } from "../../../src/notes/steps/edits.ts";
import { extractEdits } from "../../../src/notes/steps/extract.ts";
import { isUpdateDue, type NotesGrowth } from "../../../src/notes/steps/due.ts";
import { describeSections, NOTES_TASK } from "../../../src/notes/steps/prompt.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { buildPrompt, parsePrompt } from "../../../src/steps/draft/prompt.ts";

const shape = resolveNotesShape({}, 60_000);
const empty = arrangeSections(shape, []);
const line = fc.stringMatching(/^[a-zA-Z0-9`.,:/_-][a-zA-Z0-9 `.,:/_-]{0,40}$/).map((text) => `- ${text.trim()}`);
const body = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => lines.join("\n"));
const notes: fc.Arbitrary<NotesSection[]> = fc
  .array(fc.option(body, { nil: "" }), { minLength: empty.length, maxLength: empty.length })
  .map((texts) => empty.map(({ title }, at) => ({ title, text: texts[at] ?? "" })));

const transcript = [
  "[#1 user]\nPlease fix the parser in src/parse.ts. Never touch src/lexer.ts.",
  "[#2 assistant]\nI fixed parse() in src/parse.ts; all 12 tests pass. Next I will write the docs.",
].join("\n\n");
const ask = (previous: string, text: string): string =>
  extractEdits({
    countTokens: estimateTokens,
    transcript: text,
    previous,
    drafts: [],
    sections: describeSections(empty, shape),
    titles: [],
    summaryTokens: shape.maxTokens,
  });

const words = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

describe("edits", () => {
  test("a section that the answer does not name stays byte for byte; one that it names is what it says", () => {
    fc.assert(
      fc.property(
        notes,
        fc.array(fc.tuple(fc.nat(empty.length - 1), body), { minLength: 1, maxLength: 4 }),
        (before, to) => {
          const wanted = new Map(to.map(([at, text]) => [before[at]?.title ?? "", text]));
          const answer = [...wanted].map(([title, text]) => `## ${title}\n${text}`).join("\n\n");
          const { edits, problems } = parseEdits(answer, before);
          expect(problems).toEqual([]);
          const after = applyEdits(before, edits);
          for (const [at, section] of after.entries()) {
            expect(section.title).toBe(before[at]?.title);
            expect(section.text).toBe(wanted.get(section.title) ?? before[at]?.text);
          }
        },
      ),
    );
  });

  test("what is rendered reads back as the same sections", () => {
    fc.assert(
      fc.property(notes, (before) => {
        const { edits, problems } = parseEdits(renderNotes(before), before);
        expect(problems).toEqual([]);
        expect(edits).toEqual(before);
      }),
    );
  });

  test("of a section that is given by its changes, every other line stays as it stood", () => {
    fc.assert(
      fc.property(notes, fc.nat(), body, (before, at, fresh) => {
        const { title, text } = before[at % before.length] ?? { title: "", text: "" };
        const lines = text.split("\n");
        const gone = lines[at % lines.length] ?? "";
        const answer = `## ${title} (added)\n${gone === "" ? "" : `~~${gone}~~\n`}${fresh}`;
        const { edits, problems } = parseEdits(answer, before);
        expect(problems).toEqual([]);
        const kept = lines.filter((each) => each !== gone && each !== "");
        expect(edits).toEqual([{ title, text: [...kept, fresh].join("\n") }]);
      }),
    );
  });

  test("a line is taken out by its beginning, with or without its references", () => {
    const worklog = "- moving the parser to parse.ts [@0a1b2c3]\n- the docs are next [@0a1b2c4]\n- the docs are long";
    const before = arrangeSections(shape, [{ title: "Worklog", text: worklog }]);
    const after = (changes: string): string | undefined =>
      parseEdits(`## Worklog (added)\n${changes}`, before).edits[0]?.text;
    expect(after("~~- moving the parser…~~\n- moved it [@0a1b2c5]")).toBe(
      "- the docs are next [@0a1b2c4]\n- the docs are long\n- moved it [@0a1b2c5]",
    );
    expect(after("~~- the docs are next~~ [@0a1b2c4]")).toBe(
      "- moving the parser to parse.ts [@0a1b2c3]\n- the docs are long",
    );
    expect(after("```\n~~- the docs are next~~\n```")).toBe(`${worklog}\n\`\`\`\n~~- the docs are next~~\n\`\`\``);
  });

  test("a quotation that fits no line, or several, is a problem that asks for the whole section", () => {
    const before = arrangeSections(shape, [{ title: "Worklog", text: "- the docs are next\n- the docs are long" }]);
    const problemsOf = (changes: string): string[] =>
      parseEdits(`## Worklog (added)\n${changes}\n- more`, before).problems.map(({ detail }) => detail);
    for (const quoted of ["~~- the docs…~~", "~~- the tests~~", "~~…~~"]) {
      expect(problemsOf(quoted), quoted).toEqual([expect.stringContaining("Write the section whole.")]);
    }
    expect(problemsOf("~~- the docs are n…~~")).toEqual([]);
  });

  test("changes that change nothing leave a section as it is stored", () => {
    const before = arrangeSections(shape, [{ title: "Task", text: "- a" }]);
    expect(parseEdits("## Task (added)\nNone.", before)).toEqual({ edits: [], problems: [] });
  });

  test("a section whose own title ends like one that is given by its changes is given whole", () => {
    const before = arrangeSections(shape, [{ title: "Files (added)", text: "- a.ts" }]);
    expect(parseEdits("## Files (added)\n- b.ts", before).edits).toEqual([{ title: "Files (added)", text: "- b.ts" }]);
  });

  test("a heading in a code fence, or of another level, is text", () => {
    const text = "- see\n```md\n## Worklog\nnot a section\n```\n### Details\n- more";
    expect(parseEdits(`## Task\n${text}`, empty)).toEqual({ edits: [{ title: "Task", text }], problems: [] });
  });

  test("an answer of another shape says what is wrong, and changes nothing", () => {
    const kinds = (answer: string): string[] => {
      const audit = auditEdits({ countTokens: estimateTokens, answer, finishReason: "stop", before: empty, shape });
      return audit.ok ? [] : audit.problems.map(({ kind }) => kind);
    };
    expect(kinds("Here are the notes:\n## Task\n- a")).toEqual(["bad-shape"]);
    expect(kinds("## Poem\n- a")).toEqual(["bad-shape"]);
    expect(kinds("## Task\n- a\n## Task\n- b")).toEqual(["bad-shape"]);
    expect(kinds("The user wants a parser.")).toEqual(["bad-shape"]);
    expect(kinds("I'm sorry, I cannot help with that.")).toEqual(["refusal", "bad-shape"]);
    expect(kinds("")).toEqual(["empty", "bad-shape"]);
    expect(kinds("## Task\n- a")).toEqual([]);
    expect(kinds(NO_CHANGES)).toEqual([]);
    expect(kinds("```markdown\n## Task\n- a\n```")).toEqual([]);
    expect(
      auditEdits({ countTokens: estimateTokens, answer: "## Task\n- a", finishReason: "length", before: empty, shape })
        .ok,
    ).toBe(false);
  });

  test("an answer that takes most of the notes away is refused", () => {
    const before = arrangeSections(shape, [
      { title: "Task", text: "- keep the parser small\n".repeat(40).trim() },
      { title: "Worklog", text: "- moved it\n".repeat(40).trim() },
    ]);
    const shrunk = auditEdits({
      countTokens: estimateTokens,
      answer: "## Task\nNone.\n\n## Worklog\nNone.",
      finishReason: "stop",
      before,
      shape,
    });
    expect(shrunk).toMatchObject({ ok: false, problems: [{ kind: "shrunk" }] });
    const few = arrangeSections(shape, [{ title: "Task", text: "- a" }]);
    expect(
      auditEdits({ countTokens: estimateTokens, answer: "## Task\nNone.", finishReason: "stop", before: few, shape })
        .ok,
    ).toBe(false);
  });

  test("a section over its budget is refused, and notes over theirs", () => {
    const small = resolveNotesShape({ sectionTokens: 20, maxTokens: 120 }, null);
    const long = `## Task\n${"- word after word\n".repeat(20)}`;
    expect(
      auditEdits({ countTokens: estimateTokens, answer: long, finishReason: "stop", before: empty, shape: small }),
    ).toMatchObject({
      problems: [{ kind: "too-large" }, { kind: "too-large" }],
    });
    const many = empty.map(({ title }, n) => `## ${title}\n- word ${n} after word after word after word`).join("\n\n");
    expect(
      auditEdits({ countTokens: estimateTokens, answer: many, finishReason: "stop", before: empty, shape: small }),
    ).toMatchObject({
      problems: [{ kind: "too-large" }],
    });
  });
});

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

  test("splitSections loses no text", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(line, fc.constantFrom("## Task", "```", "", "## ", "# x"))), (lines) => {
        const found = splitSections(lines.join("\n"));
        const again = found.map(({ title, text }) => `${title === null ? "" : `## ${title}`}\n${text}`).join("\n");
        expect(words(again)).toBe(words(lines.join("\n")));
      }),
    );
  });
});

/** Growth that ends at a break. */
function grown(tokens: number): NotesGrowth {
  return { tokens, toolCalls: 2, openCall: false };
}

describe("an update is due", () => {
  const pace = { growthTokens: 100, toolCalls: 2, compaction: null };
  test("at a break, after enough of both; without either once twice the tokens came", () => {
    expect(isUpdateDue({ tokens: 99, toolCalls: 9, openCall: false }, pace, 0)).toBe(false);
    expect(isUpdateDue({ tokens: 100, toolCalls: 1, openCall: false }, pace, 0)).toBe(false);
    expect(isUpdateDue({ tokens: 100, toolCalls: 2, openCall: true }, pace, 0)).toBe(false);
    expect(isUpdateDue({ tokens: 100, toolCalls: 2, openCall: false }, pace, 0)).toBe(true);
    expect(isUpdateDue({ tokens: 200, toolCalls: 0, openCall: true }, pace, 0)).toBe(true);
  });

  describe("where the next compaction is known,", () => {
    const compaction = { thresholdTokens: 10_000, keptTokens: 2_000, mostTokens: 9_000 };
    const before = { ...pace, growthTokens: 2_500, compaction };
    test("once it is near, and not before, unless one update could not read it all", () => {
      expect(isUpdateDue(grown(7_000), before, 9_499)).toBe(false);
      expect(isUpdateDue(grown(7_000), before, 9_500)).toBe(true);
      const small = { ...before, compaction: { ...compaction, mostTokens: 5_000 } };
      expect(isUpdateDue(grown(4_999), small, 6_000)).toBe(false);
      expect(isUpdateDue(grown(5_000), small, 6_000)).toBe(true);
    });

    test("for what the compaction would hide, so that no second one comes before it", () => {
      expect(isUpdateDue(grown(4_000), before, 9_500)).toBe(true);
      expect(isUpdateDue(grown(3_999), before, 9_500)).toBe(false);
      // The update left what the compaction keeps.
      for (let grows = 0; grows <= 500; grows += 10)
        expect(isUpdateDue(grown(1_500 + grows), before, 9_500 + grows)).toBe(false);
    });

    test("together with the compaction, where the threshold is so small that an update before it would not pay", () => {
      const small = { ...before, growthTokens: 1_500 };
      expect(isUpdateDue(grown(7_000), small, 9_999)).toBe(false);
      expect(isUpdateDue(grown(7_000), small, 10_000)).toBe(true);
    });

    test("at a break, until half of the way is left", () => {
      const busy = { tokens: 7_000, toolCalls: 0, openCall: true };
      expect(isUpdateDue(busy, before, 9_749)).toBe(false);
      expect(isUpdateDue(busy, before, 9_750)).toBe(true);
    });
  });
});

describe("the offline model", () => {
  test("answers in the shape that is asked for, the same each time, and passes the audit", () => {
    const answer = ask(renderNotes(empty), transcript);
    expect(ask(renderNotes(empty), transcript)).toBe(answer);
    const audit = auditEdits({ countTokens: estimateTokens, answer, finishReason: "stop", before: empty, shape });
    expect(audit).toMatchObject({ ok: true });
    if (!audit.ok) return;
    expect(renderNotes(audit.sections)).toContain("Never touch src/lexer.ts");
    const again = ask(renderNotes(audit.sections), "[#3 user]\nThanks.");
    const next = auditEdits({
      countTokens: estimateTokens,
      answer: again,
      finishReason: "stop",
      before: audit.sections,
      shape,
    });
    expect(next).toMatchObject({ ok: true });
  });

  test("writes what changes of long sections, and not the sections again", () => {
    const long = Array.from({ length: 20 }, (_, n) => `- kept line ${n}`).join("\n");
    const before = empty.map(({ title }) => ({ title, text: long }));
    const answer = ask(renderNotes(before), transcript);
    expect(answer).not.toContain("kept line");
    const audit = auditEdits({ countTokens: estimateTokens, answer, finishReason: "stop", before, shape });
    expect(audit).toMatchObject({ ok: true });
    if (!audit.ok) return;
    for (const { text } of audit.sections) expect(text.startsWith(long)).toBe(true);
    expect(renderNotes(audit.sections)).toContain("Never touch src/lexer.ts");
  });

  test("the prompt names the sections with their budgets, and reads back", () => {
    const { system, prompt } = buildPrompt({
      kind: NOTES_TASK,
      transcript,
      previous: renderNotes(empty),
      template: { sections: describeSections(empty, shape) },
      summaryTokens: shape.maxTokens,
      boundary: "b1",
    });
    expect(system).toContain("notes");
    expect(parsePrompt(prompt)).toMatchObject({ kind: "notes", transcript, previous: renderNotes(empty) });
    expect(prompt).toContain(`At most ${shape.sectionTokens} tokens.`);
  });
});
