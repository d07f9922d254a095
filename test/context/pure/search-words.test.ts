/** Queries: whatever is asked, the index is asked something that it understands. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { indexWords, matchExpression } from "../../../src/context/search-words.ts";

describe("a query", () => {
  test("asks for all its words and phrases", () => {
    expect(matchExpression('deploy "on friday" 3.5')).toBe(
      'words : "deploy" AND words : "on friday" AND words : "3.5"',
    );
    expect(matchExpression("  ")).toBeNull();
    expect(matchExpression('"" * ( -')).toBeNull();
  });

  test("in a script without spaces asks for the characters side by side", () => {
    expect(matchExpression("東京")).toBe('words : " 東  京 "');
    expect(indexWords("in 東京 now")).toContain(" 東  京 ");
  });

  test("has even quotes and no control character, whatever it was made of", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (query) => {
        const expression = matchExpression(query) ?? "";
        expect(expression.split('"').length % 2).toBe(1);
        expect(expression).not.toMatch(/\p{Cc}/u);
      }),
    );
  });
});
