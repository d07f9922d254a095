/** The distance between the estimate and the counts of providers. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const ENGLISH = [
  "It was the best of times for the small library on the hill. Every morning the doors opened at eight, and the same three readers came in from the cold, hung up their coats, and went without a word to the tables by the window.",
  "The quick decision to keep the archive whole was made early in the project, because nobody could say which of the older letters would matter later. When the committee met again in the spring, the members agreed that a short record of each meeting should be written, and that it would be kept beside the letters themselves.",
];
const JAPANESE =
  "会議は来週の火曜日の午後三時から始まります。資料は前日までに共有してください。よろしくお願いいたします。";

test("plain English reads at 4 to 4.8 characters per token", () => {
  for (const text of ENGLISH) {
    expect(text.length / estimateTokens(text)).toBeGreaterThan(4);
    expect(text.length / estimateTokens(text)).toBeLessThan(4.8);
  }
});

test("Japanese reads at about one token per character, not a quarter", () => {
  expect(estimateTokens(JAPANESE) / JAPANESE.length).toBeGreaterThan(0.8);
  expect(estimateTokens(JAPANESE) / JAPANESE.length).toBeLessThan(1.3);
});

test("an estimate is a whole number, at least 1 for any text, never less for more text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (text, more) => {
      const tokens = estimateTokens(text);
      expect(Number.isInteger(tokens)).toBe(true);
      expect(tokens >= 1).toBe(text !== "");
      expect(estimateTokens(text + more)).toBeGreaterThanOrEqual(tokens);
    }),
  );
});

test("an estimate takes one pass: a hostile megabyte costs no more than any other", () => {
  for (const unit of ["a", "A", "aA", " ", "\n", "-", "9", "字"]) {
    const tokens = estimateTokens(unit.repeat(1_000_000 / unit.length));
    expect(tokens).toBeGreaterThan(1_000);
    expect(tokens).toBeLessThanOrEqual(1_200_000);
  }
});
