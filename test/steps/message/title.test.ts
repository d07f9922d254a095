/** The title of a conversation from its first words. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { titleOf } from "../../../src/steps/message/message.ts";

function titled(...texts: readonly string[]): string | null {
  return titleOf({ id: "m", role: "user", parts: texts.map((text) => ({ type: "text" as const, text })) });
}

test("a short text is the title as it is, in one line", () => {
  expect(titled("Fix the parser")).toBe("Fix the parser");
  expect(titled("  Fix\n\tthe ", "parser\u0000 now")).toBe("Fix the parser now");
});

test("a long text is cut between words; one long word where the room ends", () => {
  expect(titled("Please explain why the second compiler pass drops every trailing comma")).toBe(
    "Please explain why the second compiler pass drops every…",
  );
  expect(titled(`See https://example.com/${"a".repeat(100)}`)).toBe(`See https://example.com/${"a".repeat(35)}…`);
  expect(titled("文".repeat(100))).toBe(`${"文".repeat(59)}…`);
});

test("what a reader takes for one character is never cut in two: families, flags, letters with accents", () => {
  for (const whole of ["👩‍👩‍👧‍👦", "🇯🇵", "e\u0301\u0323", "👍🏽"]) {
    for (let lead = 50; lead < 60; lead++) {
      expect(titled(`${"x".repeat(lead)}${whole.repeat(20)}`)).toBe(`${"x".repeat(lead)}${whole.repeat(59 - lead)}…`);
    }
  }
});

test("without a text there is no title", () => {
  expect(titled()).toBeNull();
  expect(titled(" \n ")).toBeNull();
  const file = { type: "file" as const, mediaType: "image/png", url: "data:" };
  expect(titleOf({ id: "m", role: "user", parts: [file] })).toBeNull();
});

test("any text gives one line of at most 60 whole characters that begins as the text does", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary", maxLength: 90 }), { maxLength: 3 }), (texts) => {
      const title = titled(...texts);
      if (title === null) return;
      expect(Array.from(new Intl.Segmenter("en").segment(title)).length).toBeLessThanOrEqual(60);
      expect(title.isWellFormed()).toBe(true);
      expect(title).not.toMatch(/[\p{Cc}]|^\s|\s$/u);
      const line = texts
        .join(" ")
        .toWellFormed()
        .replaceAll(/[\s\p{Cc}]+/gu, " ")
        .trim();
      expect(line.startsWith(title.replace(/…$/, "")) || title === line).toBe(true);
    }),
  );
});
