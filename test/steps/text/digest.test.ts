/** Digests tell exact texts apart, and the digest of a collection does not depend on its order. */
import { describe, expect, it } from "vitest";
import { digest, sumDigests } from "../../../src/steps/text/digest.ts";

describe("digests", () => {
  // Computed by the command `sha256sum`, so that stored digests are the same in any version.
  it("are the first half of SHA-256, of each part with its length", () => {
    expect(digest("abc")).toBe("aab5f9ae99b2e38fb462025c8f72f570");
    expect(digest("ab", "ç")).toBe("884b8518314abb3a9c4b89aee1ed8b02");
    expect(digest("ab", "c")).not.toBe(digest("a", "bc"));
  });

  it("name text that is no Unicode", () => {
    expect(digest("\ud800")).toBe(digest("\ufffd"));
  });

  it("of a collection are the same in any order and grouping", () => {
    const [one, two, three] = ["1", "2", "3"].map((text) => digest(text)) as [string, string, string];
    expect(sumDigests([three, sumDigests([one, two])])).toBe(sumDigests([one, two, three]));
    expect(sumDigests([])).toBe("0".repeat(32));
  });
});
