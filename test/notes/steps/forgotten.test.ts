/** Content that no answer of any model may take out of the notes. */
import { describe, expect, test } from "vitest";
import { arrangeSections, resolveNotesShape, type NotesSection } from "../../../src/notes/steps/document.ts";
import { auditEdits } from "../../../src/notes/steps/edits.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const shape = resolveNotesShape({}, 60_000);
const TABLE = "| port | service |\n|---|---|\n| 8787 | ledger |\n| 9229 | debugger |";
const WORKLOG = Array.from({ length: 12 }, (_, n) => `- moved part-${n} of the scanner into module-${n}`).join("\n");

/** So much besides that the notes as a whole lose little. */
const OTHER = {
  title: "Key results",
  text: Array.from({ length: 20 }, (_, n) => `- answer ${n} is that bench ${n} is twice as fast as it was in May`).join(
    "\n",
  ),
};

function audit(known: readonly NotesSection[], answer: string, within = shape) {
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
    const found = audit([section, OTHER], `## ${section.title}\n${text}`);
    expect(found).toMatchObject({ ok: false, problems: [{ kind: "shrunk" }] });
    expect(found.ok ? "" : found.problems[0]?.detail).toContain(section.title);
  });

  test("may condense, move, supersede: words that stand elsewhere are not lost, nor is how things stood", () => {
    const state = { title: "Current state", text: WORKLOG };
    expect(audit([state, OTHER], "## Current state\n- writing the docs").ok).toBe(true);
    const log = { title: "Worklog", text: WORKLOG };
    expect(audit([log], `## Worklog\nNone.\n\n## Key results\n${WORKLOG}`).ok).toBe(true);
    const half = WORKLOG.split("\n").slice(0, 8).join("\n");
    expect(audit([log], `## Worklog\n${half}`).ok).toBe(true);
    expect(audit([{ title: "Task", text: "- fix the parser" }], "## Task\n- write docs").ok).toBe(true);
    const passing = { title: "Key results", text: "- Last reply: I wrote all of the tests for the scanner" };
    expect(audit([passing, log], "## Key results\nNone.").ok).toBe(true);
  });

  test("of a section that is nearly full may take more, and may still not empty it", () => {
    const tight = resolveNotesShape({ sectionTokens: 180, maxTokens: 4_000 }, null);
    const sections = [
      { title: "Worklog", text: WORKLOG },
      { title: "Learnings", text: WORKLOG.replaceAll("scanner", "ledger").replaceAll(/part|module/g, "piece") },
    ];
    expect(audit(sections, "## Worklog\n- moved the scanner", tight).ok).toBe(true);
    expect(audit(sections, "## Learnings\nNone.", tight).ok).toBe(false);
  });
});
