/** The changes that a model may and may not make to notes. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  arrangeSections,
  fitVersion,
  renderNotes,
  resolveNotesShape,
  type NotesSection,
} from "../../../src/notes/steps/document.ts";
import { applyEdits, auditEdits, NO_CHANGES, parseEdits, splitSections } from "../../../src/notes/steps/edits.ts";
import { cutSection } from "../../../src/steps/draft/audit.ts";
import { findOpenFence } from "../../../src/steps/text/text.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const shape = resolveNotesShape({}, 60_000);
const empty = arrangeSections(shape, []);
const line = fc.stringMatching(/^[a-zA-Z0-9`.,:/_-][a-zA-Z0-9 `.,:/_-]{0,40}$/).map((text) => `- ${text.trim()}`);
const body = fc.array(line, { minLength: 1, maxLength: 6 }).map((lines) => lines.join("\n"));
const notes: fc.Arbitrary<NotesSection[]> = fc
  .array(fc.option(body, { nil: "" }), { minLength: empty.length, maxLength: empty.length })
  .map((texts) => empty.map(({ title }, at) => ({ title, text: texts[at] ?? "" })));

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

const TABLE = "| port | service |\n|---|---|\n| 8787 | ledger |\n| 9229 | debugger |";
const WORKLOG = Array.from({ length: 12 }, (_, n) => `- moved part-${n} of the scanner into module-${n}`).join("\n");

/** So much besides that the notes as a whole lose little. */
const OTHER = {
  title: "Key results",
  text: Array.from({ length: 20 }, (_, n) => `- answer ${n} is that bench ${n} is twice as fast as it was in May`).join(
    "\n",
  ),
};

function auditOf(known: readonly NotesSection[], answer: string, within = shape) {
  return auditEdits({
    countTokens: estimateTokens,
    answer,
    finishReason: "stop",
    before: arrangeSections(within, known),
    shape: within,
  });
}

describe("an edit", () => {
  test.each<[string, NotesSection, string]>([
    ["a section that a person added", { title: "House rules", text: "- be kind to the parser" }, "- done"],
    ["a short section", { title: "House rules", text: "- be kind to the parser" }, "None."],
    ["a short section of the notes", { title: "Learnings", text: "- patience with the ledger" }, "- None"],
    ["the rows of a table", { title: "Learnings", text: `${TABLE}\n${WORKLOG}` }, "- There is a table of ports."],
    ["a long section", { title: "Worklog", text: WORKLOG }, "- wrote the docs"],
    ["what is written without blanks", { title: "My rules", text: "不要修改词法分析器的源代码文件" }, "新的文字"],
  ])("may not make away with %s: the answer is refused, and says which words", (_what, section, text) => {
    const found = auditOf([section, OTHER], `## ${section.title}\n${text}`);
    expect(found).toMatchObject({ ok: false, problems: [{ kind: "shrunk" }] });
    expect(found.ok ? "" : found.problems[0]?.detail).toContain(section.title);
  });

  test("may condense, move, supersede: words that stand elsewhere are not lost, nor is how things stood", () => {
    const state = { title: "Current state", text: WORKLOG };
    expect(auditOf([state, OTHER], "## Current state\n- writing the docs").ok).toBe(true);
    const log = { title: "Worklog", text: WORKLOG };
    expect(auditOf([log], `## Worklog\nNone.\n\n## Key results\n${WORKLOG}`).ok).toBe(true);
    const half = WORKLOG.split("\n").slice(0, 8).join("\n");
    expect(auditOf([log], `## Worklog\n${half}`).ok).toBe(true);
    expect(auditOf([{ title: "Task", text: "- fix the parser" }], "## Task\n- write docs").ok).toBe(true);
    const passing = { title: "Key results", text: "- Last reply: I wrote all of the tests for the scanner" };
    expect(auditOf([passing, log], "## Key results\nNone.").ok).toBe(true);
  });

  test("of a section that is nearly full may take more, and may still not empty it", () => {
    const tight = resolveNotesShape({ sectionTokens: 180, maxTokens: 4_000 }, null);
    const sections = [
      { title: "Worklog", text: WORKLOG },
      { title: "Learnings", text: WORKLOG.replaceAll("scanner", "ledger").replaceAll(/part|module/g, "piece") },
    ];
    expect(auditOf(sections, "## Worklog\n- moved the scanner", tight).ok).toBe(true);
    expect(auditOf(sections, "## Learnings\nNone.", tight).ok).toBe(false);
  });

  test("of a section that is shown cut may condense it to little, and of no other", () => {
    const tight = resolveNotesShape({ sectionTokens: 180, maxTokens: 4_000 }, null);
    const cut = fitVersion({ n: 1, sections: [{ title: "Task", text: WORKLOG.repeat(9) }] }, tight, estimateTokens);
    expect(auditOf(cut, "## Task\n- move the scanner", tight).ok).toBe(true);
    expect(auditOf(cut, "## Task\nNone.", tight).ok).toBe(false);
    const others = [...cut, { title: "Worklog", text: WORKLOG }, OTHER];
    expect(auditOf(others, "## Task\n- a\n\n## Worklog\n- b\n\n## Key results\n- c", tight)).toMatchObject({
      problems: expect.arrayContaining([expect.objectContaining({ detail: expect.stringContaining("from") })]),
    });
  });
});

describe("a code fence", () => {
  test("ends with as many of its own sign, alone on a line, and with nothing else", () => {
    expect(findOpenFence("````md\n```\n## Worklog\n```\n````")).toBeNull();
    expect(findOpenFence("````md\n```\n```")).toBe("````");
    expect(findOpenFence("```\n~~~\n``` js\n")).toBe("```");
    expect(findOpenFence("``` a`b\ntext")).toBeNull();
    expect(splitSections("## Task\n````md\n```\n## Worklog\n````")).toHaveLength(2);
  });

  test("that an answer leaves open is refused: the sections behind it would be in it", () => {
    const answer = "## Task\n```sh\nnpm test\n\n## Worklog\n- done";
    expect(parseEdits(answer, empty).problems).toMatchObject([{ kind: "bad-shape" }]);
    expect(auditEdits({ countTokens: estimateTokens, answer, finishReason: "stop", before: empty, shape }).ok).toBe(
      false,
    );
  });

  test("around all of an answer is taken off, whatever is fenced in it", () => {
    const answer = "````md\n## Task\n```sh\nnpm test\n```\n````";
    expect(parseEdits(answer, empty).edits).toEqual([{ title: "Task", text: "```sh\nnpm test\n```" }]);
    const two = "## Task\n```\na\n```\n\n## Worklog\n```\nb\n```";
    expect(parseEdits(two, empty).edits).toHaveLength(2);
  });

  test("that a cut goes through is closed", () => {
    const text = `\`\`\`sh\n${"npm test\n".repeat(100)}\`\`\``;
    const cut = cutSection(text, 60, { pointer: "[cut]", countTokens: estimateTokens });
    expect(cut).toMatch(/npm test\n```\n\[cut\]$/);
    expect(findOpenFence(cut)).toBeNull();
  });
});
