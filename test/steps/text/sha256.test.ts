import { createHash } from "node:crypto";
import { assert, property, uint8Array } from "fast-check";
import { describe, expect, it } from "vitest";
import { digest } from "../../../src/steps/text/digest.ts";
import { sha256 } from "../../../src/steps/text/sha256.ts";

const theirs = (message: Uint8Array): string => createHash("sha256").update(message).digest("hex");
const ours = (message: Uint8Array): string => Buffer.from(sha256(message)).toString("hex");

describe("SHA-256", () => {
  it("is the platform's for every length around the edges of a block", () => {
    for (let length = 0; length <= 200; length++) {
      const message = new Uint8Array(length).fill(length);
      expect(ours(message)).toBe(theirs(message));
    }
  });

  it("is the platform's for any bytes", () => {
    assert(
      property(uint8Array({ maxLength: 5_000 }), (message) => {
        expect(ours(message)).toBe(theirs(message));
      }),
    );
  });

  it("names text by the first half of it, with each part's length", () => {
    expect(digest("ab", "ç")).toBe(createHash("sha256").update("2:ab1:ç").digest("hex").slice(0, 32));
    expect(digest("ab", "c")).not.toBe(digest("a", "bc"));
  });
});
