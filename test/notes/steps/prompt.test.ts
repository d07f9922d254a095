/** The prompt of an update, and the offline model as a keeper of notes. It adds to them, and leaves text of others unchanged. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  arrangeSections,
  DEFAULT_NOTES_SECTIONS,
  renderNotes,
  resolveNotesShape,
  type NotesSection,
  type NotesShape,
} from "../../../src/notes/steps/document.ts";
import { isWithin } from "../../../src/steps/draft/audit.ts";
import { auditEdits } from "../../../src/notes/steps/edits.ts";
import { describeSections, extractEdits, NOTES_TASK } from "../../../src/notes/steps/prompt.ts";
import { buildPrompt, parsePrompt } from "../../../src/steps/draft/prompt.ts";
import { importTranscript } from "../../../src/import/import.ts";
import type { OfflineTask } from "../../../src/steps/draft/fallback.ts";
import { renderTranscript } from "../../../src/steps/draft/render.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { tries } from "../../tries.ts";

const SESSION = readFileSync(resolve("examples/transcripts/palimpsest-session.jsonl"), "utf8");
const shape = resolveNotesShape({}, 60_000);
const transcript = [
  "[#1 user]\nPlease fix the parser in src/parse.ts. Never touch src/lexer.ts.",
  "[#2 assistant]\nI fixed parse() in src/parse.ts; all 12 tests pass. Next I will write the docs.",
].join("\n\n");

/** The sections after an update by the offline model. Throws where its own audit would refuse it. */
function update(before: readonly NotesSection[], text: string, within = shape): NotesSection[] {
  const sections = arrangeSections(within, before);
  const answer = extractEdits({ ...asked(sections, within), transcript: text });
  const audit = auditEdits({
    countTokens: estimateTokens,
    answer,
    finishReason: "stop",
    before: sections,
    shape: within,
  });
  if (!audit.ok) throw new Error(`${audit.problems.map(({ detail }) => detail).join(" ")}\n${answer}`);
  return [...audit.sections];
}

/** The task of an update without a transcript. */
function asked(sections: readonly NotesSection[], within: NotesShape): OfflineTask {
  return {
    countTokens: estimateTokens,
    transcript: null,
    previous: renderNotes(sections),
    drafts: [],
    sections: describeSections(sections, within),
    titles: [],
    summaryTokens: within.maxTokens,
    references: true,
  };
}

function textOf(sections: readonly NotesSection[], title: string): string {
  return sections.find((section) => section.title === title)?.text ?? "";
}

const BY_HAND: readonly NotesSection[] = [
  { title: "Workflow and commands", text: "```sh\nnpm test\n\n- not a bullet\nnpm run lint\n```" },
  { title: "User rules", text: "1. Always run tests first.\n2. Never push on Fridays.\n   - not even hotfixes" },
  { title: "Learnings", text: "| port | service |\n|---|---|\n| 8787 | ledger |\n| 9229 | debugger |" },
  { title: "Key results", text: "A paragraph in two lines,\nwith a sentence. And a third.\n\nAnother, as of [#7]." },
  { title: "House rules", text: "- be kind to the parser\n\n### Deep\n- even here" },
];

function edited(path: string): string {
  return `[#2 assistant]\n[call edit c1]\n{"path":"${path}"}\n[result edit c1]\nok`;
}

describe("the offline model", () => {
  test("is never refused over a whole session, whatever the budgets: what it adds fits", () => {
    const [conversation] = importTranscript(SESSION).conversations;
    const messages = conversation?.messages ?? [];
    expect(messages.length).toBeGreaterThan(50);
    for (const [thresholdTokens, each] of [
      [8_000, 12],
      [60_000, 60],
    ] as const) {
      const within = resolveNotesShape({}, thresholdTokens);
      let notes: NotesSection[] = [{ title: "House rules", text: "- be kind to the parser" }];
      for (let at = 0; at < messages.length; at += each) {
        const part = messages.slice(at, at + each);
        const elements = part.map((message) => ({ kind: "message" as const, message }));
        notes = update(notes, renderTranscript(elements, { maxChars: 4 * thresholdTokens }), within);
      }
      expect(isWithin(renderNotes(notes), within.maxTokens, estimateTokens)).toBe(true);
      expect(textOf(notes, "House rules")).toBe("- be kind to the parser");
    }
  });

  test("puts the user's words, the calls and the last reply where they belong, with the messages they come from", () => {
    const after = update([], `${transcript}\n\n${edited("src/parse.ts")}`);
    expect(textOf(after, "Task")).toBe("- Please fix the parser in src/parse.ts. Never touch src/lexer.ts. [#1]");
    expect(textOf(after, "Worklog")).toBe('- edit {"path":"src/parse.ts"} [#2]');
    expect(textOf(after, "Current state")).toContain("Next I will write the docs.");
    expect(after.filter(({ text }) => text !== "")).toHaveLength(3);
  });

  test("leaves what a person wrote byte for byte: code, tables, prose, lists, sections of their own", () => {
    const after = update(BY_HAND, transcript);
    for (const { title, text } of BY_HAND) expect(textOf(after, title), title).toBe(text);
    const task = [{ title: "Task", text: "Words of a person.\n\n> quoted" }];
    const added = textOf(update(task, transcript), "Task");
    expect(added.startsWith(`${task[0]?.text}\n\n- Please fix`)).toBe(true);
  });

  test("whatever lines stood before stand after an update", () => {
    const line = fc.stringMatching(/^[-*|>a-zA-Z0-9`~][a-zA-Z0-9 `.,:|/_-]{0,40}$/).map((text) => text.trim());
    const body = fc.array(line, { maxLength: 8 }).map((lines) => lines.join("\n").trim());
    const sections = fc.array(body, { minLength: 9, maxLength: 9 });
    fc.assert(
      fc.property(sections, fc.boolean(), (texts, hasOwn) => {
        const before = texts.map((text, at) => ({ title: DEFAULT_NOTES_SECTIONS[at]?.title ?? "", text: close(text) }));
        const noted = hasOwn ? update(before, transcript) : before;
        const after = update(
          noted,
          "[#4 user]\nPlease look at src/other.ts.\n\n[#5 assistant]\nI changed src/other.ts.",
        );
        for (const { title, text } of before) expect(textOf(after, title).startsWith(text)).toBe(true);
        expect(renderNotes(after)).toContain(hasOwn ? "Never touch src/lexer.ts" : "");
        expect(renderNotes(after)).toContain("Please look at src/other.ts.");
      }),
      { numRuns: tries(60) },
    );
  });

  test("says where things stand anew, and says nothing twice", () => {
    const first = update([], transcript);
    const second = update(first, "[#1 user]\nNow the docs, please.\n\n[#2 assistant]\nThe docs are written.");
    expect(textOf(second, "Current state")).toBe("- Last reply: The docs are written.");
    const third = renderNotes(update(second, "[#3 user]\nNow the docs, please."));
    expect(third.split("- Now the docs, please.")).toHaveLength(2);
    const state = [{ title: "Current state", text: "Words of a person." }];
    expect(textOf(update(update(state, transcript), "[#2 assistant]\nAll is done."), "Current state")).toBe(
      "Words of a person.\n\n- Last reply: All is done.",
    );
    // A line that only begins like one that is known is another one.
    const longer = update([{ title: "Task", text: "- Now the docs of all." }], "[#1 user]\nNow the docs");
    expect(textOf(longer, "Task")).toBe("- Now the docs of all.\n- Now the docs [#1]");
  });

  test("where the notes have a section for none of it, all goes under the last heading, and nothing is left out", () => {
    const one = resolveNotesShape({ sections: [{ title: "Diary" }] }, 60_000);
    const after = textOf(update([], `${transcript}\n\n${edited("src/parse.ts")}`, one), "Diary");
    for (const told of ["Please fix the parser", "- edit {", "Last reply: I fixed parse()"])
      expect(after).toContain(told);
  });

  test("writes what changes of long sections, and not the sections again", () => {
    const long = Array.from({ length: 20 }, (_, n) => `- kept line ${n}`).join("\n");
    const before = arrangeSections(shape, []).map(({ title }) => ({ title, text: long }));
    expect(extractEdits({ ...asked(before, shape), transcript })).not.toContain("kept line");
    expect(renderNotes(update(before, transcript))).toContain("Never touch src/lexer.ts");
  });

  test("a message without words changes nothing", () => {
    const sections = arrangeSections(shape, []);
    expect(extractEdits({ ...asked(sections, shape), transcript: "[#1 assistant]" })).toBe("No changes.");
  });

  test("where a section has room for some lines alone, the oldest new ones are left out, and no line of before", () => {
    const small = resolveNotesShape({ sectionTokens: 120, maxTokens: 1_200 }, null);
    const before = [{ title: "Task", text: "Be kind to the parser at all times." }];
    const said = Array.from({ length: 30 }, (_, n) => `[#${n + 1} user]\nNever touch src/generated/file-${n}.ts.`);
    const task = textOf(update(before, said.join("\n\n"), small), "Task");
    expect(task.startsWith("Be kind to the parser at all times.")).toBe(true);
    expect(task).toContain("file-29.ts");
    expect(task).not.toContain("file-0.ts");
    const full = [{ title: "Task", text: "Be kind to the parser. ".repeat(20).trim() }];
    expect(textOf(update(full, said.join("\n\n"), small), "Task")).toBe(full[0]?.text);
  });

  test("short references do not make room that the long ones then take", () => {
    const small = resolveNotesShape({ sectionTokens: 120, maxTokens: 600 }, null);
    const said = Array.from({ length: 40 }, (_, n) => `[#${n + 1} user]\nNever do ${n}.`).join("\n\n");
    const before = arrangeSections(small, []);
    const answer = extractEdits({ ...asked(before, small), transcript: said });
    const long = answer.replaceAll(/#\d+\b/g, "@1mq3z2k");
    expect(long).toContain("@1mq3z2k");
    expect(
      auditEdits({ countTokens: estimateTokens, answer: long, finishReason: "stop", before, shape: small }),
    ).toMatchObject({ ok: true });
  });
});

test("the prompt names the sections with their budgets, and reads back", () => {
  const sections = arrangeSections(shape, []);
  const { system, prompt } = buildPrompt({
    kind: NOTES_TASK,
    transcript,
    previous: renderNotes(sections),
    template: { sections: describeSections(sections, shape) },
    summaryTokens: shape.maxTokens,
    boundary: "b1",
  });
  expect(system).toContain("notes");
  expect(parsePrompt(prompt)).toMatchObject({ kind: "notes", transcript, previous: renderNotes(sections) });
  expect(prompt).toContain(`At most ${shape.sectionTokens} tokens.`);
});

/** Closes open fences, as a person's notes must have them. */
function close(text: string): string {
  return /^ {0,3}(?:```|~~~)/m.test(text) ? "" : text;
}
