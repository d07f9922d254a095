/** The sources of a bullet. References are resolved, checked, carried on, and never believed. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectLinear } from "../../growth.ts";
import { importTranscript } from "../../../src/import/import.ts";
import { MAX_BULLET_REFERENCES } from "../../../src/limits.ts";
import { extractSummary } from "../../../src/extractive/extract.ts";
import { withoutEmptySections } from "../../../src/steps/draft/empty-sections.ts";
import { NAME_LIST } from "../../../src/extractive/names.ts";
import { keepReferences, numberMessages, parseReferences, referencesIn } from "../../../src/steps/draft/provenance.ts";
import { hashId, hashOf, referenceTo } from "../../../src/steps/message/reference.ts";
import { renderTranscript } from "../../../src/steps/draft/render.ts";
import { DEFAULT_TEMPLATE } from "../../../src/steps/draft/template.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { sliceMessageId, overlayMessageId } from "../../../src/steps/view/view.ts";
import { readTranscript } from "../transcripts.ts";

const numbers = new Map([
  [1, "alpha"],
  [2, "beta"],
  [12, "gamma"],
]);
const [alpha = "", beta = "", gamma = ""] = ["alpha", "beta", "gamma"].map(referenceTo);

describe("references", () => {
  test("of a summariser's answer become the same wherever they stand", () => {
    const text = "## Goal\n- Fix it [#1]\n- Both [#1, #12].\n- Apart [#2] and [#12]\n- None\n\nSee #1 or [1] or a[#x].";
    expect(parseReferences(text, numbers)).toBe(
      `## Goal\n- Fix it [${alpha}]\n- Both. [${alpha}, ${gamma}]\n- Apart and [${beta}, ${gamma}]\n- None\n\nSee #1 or [1] or a[#x].`,
    );
  });

  test("that were invented are taken out, and nothing else of the text is touched", () => {
    const text = parseReferences("- One [#1, #99]\n- Two [#7]\n\tThree  ", numbers);
    expect(text).toBe(`- One [${alpha}]\n- Two\n\tThree  `);
    const checked = keepReferences(`- One [${alpha}, ${beta}]\n- Two [@zzzzzzz]\n- Three [#1]`, [alpha]);
    expect(checked).toBe(`- One [${alpha}]\n- Two\n- Three`);
  });

  test("of an earlier summary stay through an update, and are checked with the new ones", () => {
    const answer = `- Carried on [${alpha}]\n- New [#2]`;
    const parsed = parseReferences(answer, numbers);
    expect(parsed).toBe(`- Carried on [${alpha}]\n- New [${beta}]`);
    expect(keepReferences(parsed, [alpha, beta])).toBe(parsed);
    expect(keepReferences(parsed, [beta])).toBe(`- Carried on\n- New [${beta}]`);
  });

  test("are the messages' own numbers: a part counts as its message, a summary as none", () => {
    const made = ["a", sliceMessageId("b", 0, 1), overlayMessageId("ov_1"), "c"].map((id): UIMessage => ({
      id,
      role: "user",
      parts: [],
    }));
    expect([...numberMessages(made)]).toEqual([
      [1, "a"],
      [2, "b"],
      [4, "c"],
    ]);
    expect([...numberMessages(made.slice(0, 1), 7)]).toEqual([[7, "a"]]);
  });

  test("name an id by its hash, for any id; any other text is none", () => {
    fc.assert(
      fc.property(fc.string(), (id) => {
        expect(referenceTo(id)).toMatch(/^@[0-9a-z]{7}$/);
        expect(hashOf(referenceTo(id))).toBe(hashId(id));
        expect(hashOf(referenceTo(id).slice(1))).toBe(hashId(id));
      }),
    );
    for (const none of ["", "@", "@short", "@toolong12", "#12", "@ABCDEFG", "@zzzzzzz"])
      expect(hashOf(none)).toBeNull();
  });

  test("never lead out of the span, whatever a model writes; text without any comes back as it was", () => {
    const bit = fc.oneof(
      fc.string(),
      fc.constantFrom("[", "]", ", ", "#1", "#2", "#12", "#99", "@zzzzzzz", "\n- ", " "),
      fc.constantFrom("alpha", "beta", "delta").map(referenceTo),
    );
    fc.assert(
      fc.property(fc.array(bit, { maxLength: 30 }), (bits) => {
        const written = bits.join("");
        const text = keepReferences(parseReferences(written, numbers), [alpha, gamma]);
        expect(text.split("\n")).toHaveLength(written.split("\n").length);
        for (const line of text.split("\n")) {
          const references = referencesIn(line);
          expect(references.length).toBeLessThanOrEqual(MAX_BULLET_REFERENCES);
          expect(references.every((each) => each === alpha || each === gamma)).toBe(true);
        }
        if (!/[#@]/.test(written)) expect(text).toBe(written);
        expect(keepReferences(text, [alpha, gamma])).toBe(text);
      }),
    );
  });

  test("take linear time to find in a hostile text", () => {
    const parts = ["[#1, ", " [", "\t "];
    const make = (size: number): string => parts.map((part) => part.repeat(size)).join("");
    expectLinear(make, (hostile) => expect(referencesIn(parseReferences(hostile, numbers))).toEqual([]), 10_000);
  });
});

describe("an extractive summary", () => {
  const sources = ["pi-coding-session.jsonl", "tau-airline-100.json"].map((name) => ({
    name,
    text: readTranscript(name),
  }));

  test.for(sources)(
    "of $name: each bullet points into its span, to messages that hold its words",
    ({ text }, { skip }) => {
      if (text === null) skip("transcript not here");
      let bullets = 0;
      for (const { messages } of importTranscript(text ?? "").conversations.slice(0, 30)) {
        for (let at = 0, previous: string | null = null; at < messages.length; at += 80) {
          const chunk = messages.slice(at, at + 80);
          const seen = messages.slice(0, at + 80);
          const summary = extractOf(chunk, previous, 2_000);
          expect(estimateTokens(withoutEmptySections(summary))).toBeLessThanOrEqual(2_000);
          const parsed = parseReferences(summary, numberMessages(chunk));
          expect(referencesIn(parsed)).toHaveLength(referencesIn(summary).length);
          const known = seen.map((message) => referenceTo(message.id));
          expect(keepReferences(parsed, known)).toBe(parsed);
          bullets += checkBullets(parsed, seen);
          previous = parsed;
        }
      }
      expect(bullets).toBeGreaterThan(200);
    },
  );

  test("without references is the same text as ever", () => {
    const messages: UIMessage[] = [{ id: "a", role: "user", parts: [{ type: "text", text: "Please fix the build." }] }];
    expect(extractOf(messages, null, 400)).toContain("- Please fix the build. [#1]");
    const input = {
      previous: `## Goal\n- Ship it. [${alpha}]`,
      drafts: [],
      template: DEFAULT_TEMPLATE,
      summaryTokens: 400,
    };
    const plain = extractSummary({ countTokens: estimateTokens, ...input, transcript: renderTranscript([]) });
    expect(plain).toContain("- Ship it.\n");
    expect(extractSummary({ countTokens: estimateTokens, ...input, transcript: null, references: true })).toContain(
      `- Ship it. [${alpha}]`,
    );
  });
});

function extractOf(messages: readonly UIMessage[], previous: string | null, summaryTokens: number): string {
  const transcript = renderTranscript(messages.map((message) => ({ kind: "message", message })));
  return extractSummary({
    countTokens: estimateTokens,
    transcript,
    previous,
    drafts: [],
    template: DEFAULT_TEMPLATE,
    summaryTokens,
    references: true,
  });
}

/** Words that an extractive summary puts before and behind a slice, and between two. */
const OWN_WORDS =
  /^(?:User last said|User agreed to|User|To the user|Last said|Last action|Attached|Blocked|To do|Committed|Called|Failed): |\((?:passed later|(?:(?:created|edited|deleted|read)(?: ×\d+)?(?:, )?)+)\)|→|…/g;

/** Checks each line with content against its sources. Returns their number. */
function checkBullets(text: string, messages: readonly UIMessage[]): number {
  const said = new Map(messages.map((message) => [referenceTo(message.id), allOf(message)]));
  const lines = text.split("\n").flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : []));
  for (const line of lines) {
    if (NAME_LIST.test(line)) continue;
    const source = referencesIn(line)
      .map((each) => said.get(each) ?? "")
      .join("\n");
    const slice = line.replace(/ \[@[^\]]*\]$/, "").replaceAll(OWN_WORDS, " ");
    const words = slice.split(/[^\p{L}\p{N}_./-]+/u).filter((word) => word.length > 2);
    const lost = words.filter((word) => !source.includes(word.replace(/^[./-]+|[./-]+$/g, "")));
    expect({ line, lost }).toEqual({ line, lost: [] });
  }
  return lines.length;
}

/** Everything in a message as it is rendered, however long. */
function allOf(message: UIMessage): string {
  const [toolChars, textChars, reasoningChars] = [1e9, 1e9, 1e9];
  return renderTranscript([{ kind: "message", message }], { toolChars, textChars, reasoningChars });
}
