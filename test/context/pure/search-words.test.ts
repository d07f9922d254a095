/** Queries. For any input the index receives a query that it understands. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indexWords, matchExpression, readableWords } from "../../../src/recall/index-text.ts";

describe("a query", () => {
  test("asks for all its words, beginnings and phrases", () => {
    expect(matchExpression('deploy "on friday" 3.5 rel*')).toBe('"on friday" "rel" * "deploy" "friday" "3" "5"');
    expect(matchExpression("  ")).toBe("");
    expect(matchExpression('"" * ( -')).toBe("");
  });

  test("in a script without spaces asks for the characters side by side, as they are indexed", () => {
    const indexed = indexWords("in 東京 now");
    expect(indexed).toContain(matchExpression("東京").replaceAll('"', ""));
    expect(indexed.split("\u2063")).toEqual(["in ", "東", "京", " now"]);
  });

  test("finds what differs in its looks alone: half-width kana, full-width letters, ligatures, however they are composed", () => {
    for (const [one, other] of [
      ["ﾊﾟｿｺﾝ", "パソコン"],
      ["ＡＢＣ", "ABC"],
      ["ﬁle", "file"],
      ["é", "e\u0301"],
    ] as const) {
      expect(indexWords(one)).toBe(indexWords(other));
      expect(matchExpression(one)).toBe(matchExpression(other));
    }
  });

  test("has even quotes and no NUL, whatever it was made of; and a text reads as it was", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (query) => {
        const expression = matchExpression(query);
        expect(expression.split('"').length % 2).toBe(1);
        expect(expression).not.toContain("\0");
        const text = query.toWellFormed().replaceAll("\0", " ").replaceAll("\u2063", "").normalize("NFKC");
        expect(readableWords(indexWords(text))).toBe(text);
      }),
    );
  });
});
