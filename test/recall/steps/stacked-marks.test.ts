/** Marks stacked on one character take time in proportion to their number, wherever a text is compared or indexed. */
import { describe, expect, test } from "vitest";
import { checkInstructions, readAnswer } from "../../../src/facts/instructions.ts";
import { findUnfounded } from "../../../src/facts/founded.ts";
import { fitWords } from "../../../src/recall/index-text.ts";
import { wordsOfText } from "../../../src/recall/question.ts";
import { normalForm } from "../../../src/steps/text/text.ts";
import { expectLinear } from "../../growth.ts";
import { say, text } from "../../steps/conversations.ts";

/** The later marks belong before the earlier ones, which is the order that a normal form has. */
const stack = (marks: number): string => `a${"\u0315".repeat(marks)}${"\u0300".repeat(marks)} word`;
const halfWidth = (marks: number): string => "\uff9e".repeat(marks) + "\u0334".repeat(marks);

describe("marks stacked on one character", () => {
  test.each([
    ["are indexed", (given: string) => fitWords([given])],
    ["are split into words", wordsOfText],
    [
      "are looked for in what the model was shown",
      (given: string) => findUnfounded('It said "one two three four".', given),
    ],
    [
      "are looked for as an instruction",
      (given: string) =>
        checkInstructions(readAnswer('## Standing instructions\n- "a word of it"'), {
          messages: [say("m", "user", text(given))],
          numbers: new Map(),
          before: [],
        }),
    ],
  ])("%s in linear time", (_, work) => {
    expectLinear(stack, work, 8_000);
    expectLinear(halfWidth, work, 8_000);
  });

  test("have the platform's own form as far as people write them", () => {
    for (const form of ["NFC", "NFD", "NFKC"] as const) {
      for (const each of ["Việt Nam", "e\u0301\u0323", "שָׁלוֹם", "ｶﾞ", `a${"\u0315".repeat(15)}${"\u0300".repeat(15)}b`])
        expect(normalForm(each, form)).toBe(each.normalize(form));
    }
  });
});
