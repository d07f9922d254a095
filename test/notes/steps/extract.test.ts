/** The offline model as a keeper of notes. It adds to them, and leaves text of others unchanged. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  arrangeSections,
  DEFAULT_NOTES_SECTIONS,
  renderNotes,
  resolveNotesShape,
  type NotesSection,
} from "../../../src/notes/steps/document.ts";
import { isWithin } from "../../../src/steps/draft/cut-section.ts";
import { auditEdits } from "../../../src/notes/steps/edits.ts";
import { extractEdits } from "../../../src/notes/steps/extract.ts";
import { describeSections } from "../../../src/notes/steps/prompt.ts";
import { importTranscript } from "../../../src/import/import.ts";
import { renderTranscript } from "../../../src/steps/draft/render.ts";
import { readTranscript } from "../../steps/transcripts.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { tries } from "../../tries.ts";

const REAL = readTranscript("pi-coding-session.jsonl");
const shape = resolveNotesShape({}, 60_000);
const transcript = [
  "[#1 user]\nPlease fix the parser in src/parse.ts. Never touch src/lexer.ts.",
  "[#2 assistant]\nI fixed parse() in src/parse.ts; all 12 tests pass. Next I will write the docs.",
].join("\n\n");

/** The sections after an update by the offline model. Throws where its own audit would refuse it. */
function update(before: readonly NotesSection[], text: string, within = shape): NotesSection[] {
  const sections = arrangeSections(within, before);
  const answer = extractEdits({
    countTokens: estimateTokens,
    transcript: text,
    previous: renderNotes(sections),
    drafts: [],
    template: { sections: describeSections(sections, within) },
    summaryTokens: within.maxTokens,
    references: true,
  });
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
  test.skipIf(REAL === null)("is never refused over a whole session, whatever the budgets: what it adds fits", () => {
    const [conversation] = importTranscript(REAL ?? "").conversations;
    const messages = conversation?.messages ?? [];
    expect(messages.length).toBeGreaterThan(500);
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

  test("leaves what a person wrote byte for byte: code, tables, prose, lists, sections of their own", () => {
    const after = update(BY_HAND, transcript);
    for (const { title, text } of BY_HAND) expect(textOf(after, title).startsWith(text), title).toBe(true);
    expect(textOf(after, "House rules")).toBe(BY_HAND.at(-1)?.text);
    expect(textOf(after, "User rules")).toContain("- Never touch src/lexer.ts. [#1]");
    const again = update(after, "[#9 user]\nPlease write the docs as well.");
    for (const { title, text } of BY_HAND) expect(textOf(again, title).startsWith(text), title).toBe(true);
  });

  test("survival: whatever lines stood before stand after an update, but for how things stood", () => {
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
        for (const { title, text } of before.slice(1)) expect(textOf(after, title).startsWith(text)).toBe(true);
        expect(renderNotes(after)).toContain(hasOwn ? "Never touch src/lexer.ts" : "");
      }),
      { numRuns: tries(60) },
    );
  });

  test("says where things stand anew, counts on what happened to a file, and says nothing twice", () => {
    const first = update([], `[#1 user]\nPlease fix the parser in src/parse.ts.\n\n${edited("src/parse.ts")}`);
    expect(renderNotes(first)).toContain("- User last said: Please fix the parser");
    const second = update(first, `[#1 user]\nNow the docs, please.\n\n${edited("src/parse.ts")}`);
    const text = renderNotes(second);
    expect(text.match(/User last said/g)).toHaveLength(1);
    expect(text).toContain("- User last said: Now the docs");
    expect(text).toContain("- src/parse.ts (edited ×2)");
    const third = renderNotes(update(second, "[#3 user]\nNow the docs, please."));
    expect(third.split("- Now the docs, please.")).toHaveLength(2);
  });

  test("where a section is full, its oldest own bullets make room, and a person's lines stay", () => {
    const small = resolveNotesShape({ sectionTokens: 120, maxTokens: 600 }, null);
    let notes: NotesSection[] = [{ title: "User rules", text: "Be kind to the parser at all times." }];
    for (let n = 0; n < 30; n++)
      notes = update(notes, `[#${n + 1} user]\nNever touch src/generated/file-${n}.ts by hand.`, small);
    const rules = textOf(notes, "User rules");
    expect(rules.startsWith("Be kind to the parser at all times.")).toBe(true);
    expect(rules).toContain("file-29.ts");
    expect(rules).not.toContain("file-0.ts");
  });

  test("the last line of a section stays where all of them must shrink", () => {
    const small = resolveNotesShape({ sectionTokens: 200, maxTokens: 400 }, null);
    const rule = `- Never touch ${Array.from({ length: 12 }, (_, n) => `src/generated/file-${n}.ts`).join(" or ")}. [#1]`;
    const before = [
      { title: "User rules", text: rule },
      { title: "House rules", text: "Be kind to the parser at all times. ".repeat(20).trim() },
    ];
    const notes = update(
      before,
      Array.from({ length: 9 }, (_, n) => edited(`docs/chapter-${n}.md`)).join("\n\n"),
      small,
    );
    expect(textOf(notes, "User rules")).toBe(rule);
  });

  test("short references do not make room that the long ones then take", () => {
    const small = resolveNotesShape({ sectionTokens: 120, maxTokens: 600 }, null);
    const said = Array.from({ length: 40 }, (_, n) => `[#${n + 1} user]\nNever do ${n}.`).join("\n\n");
    const before = arrangeSections(small, []);
    const answer = extractEdits({
      countTokens: estimateTokens,
      transcript: said,
      previous: renderNotes(before),
      drafts: [],
      template: { sections: describeSections(before, small) },
      summaryTokens: small.maxTokens,
      references: true,
    });
    const long = answer.replaceAll(/#\d+\b/g, "@1mq3z2k");
    expect(long).toContain("@1mq3z2k");
    expect(
      auditEdits({ countTokens: estimateTokens, answer: long, finishReason: "stop", before, shape: small }),
    ).toMatchObject({ ok: true });
  });
});

/** Closes open fences, as a person's notes must have them. */
function close(text: string): string {
  return /^ {0,3}(?:```|~~~)/m.test(text) ? "" : text;
}
