/** The sources of a bullet. References are resolved, checked, carried on, and never believed. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectLinear } from "../../growth.ts";
import { MAX_BULLET_REFERENCES } from "../../../src/limits.ts";
import { keepReferences, numberMessages, parseReferences, referencesIn } from "../../../src/steps/draft/provenance.ts";
import { hashId, hashOf, referenceTo } from "../../../src/steps/message/message.ts";
import { sliceMessageId, overlayMessageId } from "../../../src/steps/view/view.ts";

const numbers = new Map([
  [1, "alpha"],
  [2, "beta"],
  [12, "gamma"],
]);
const [alpha = "", beta = "", gamma = ""] = ["alpha", "beta", "gamma"].map(referenceTo);

describe("references", () => {
  test("of a summariser's answer become the same where they stand, so a sentence that needs one keeps it", () => {
    const text =
      "## Goal\n- Fix it [#1]\n- Both [#1, #12].\n- Answered yes by [#2] and [#12] alone\n- None\n\nSee #1 or [1] or a[#x].";
    expect(parseReferences(text, numbers)).toBe(
      `## Goal\n- Fix it [${alpha}]\n- Both. [${alpha}, ${gamma}]\n- Answered yes by [${beta}] and [${gamma}] alone\n- None\n\nSee #1 or [1] or a[#x].`,
    );
  });

  test("written as a range, with one mark for a list, or in other brackets are the same", () => {
    expect(parseReferences("- A [#1-2]\n- B [#1, 12]\n- C 【#2】\n- D [# 1]", numbers)).toBe(
      `- A [${alpha}, ${beta}]\n- B [${alpha}, ${gamma}]\n- C [${beta}]\n- D [# 1]`,
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
          for (const group of line.match(/\[[^[\]]*\]/g) ?? [])
            expect(referencesIn(group).length).toBeLessThanOrEqual(MAX_BULLET_REFERENCES);
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
