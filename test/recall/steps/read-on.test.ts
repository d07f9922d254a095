/** A long original is read in pieces, and a piece costs what it holds. */
import { expect, test } from "vitest";
import { readOn } from "../../../src/recall/read-on.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const TOLD = {
  id: "m",
  reference: "@0a1b2c3",
  role: "user",
  createdAt: 0,
  overlayId: null,
  beside: false,
  clipped: false,
} as const;
const LINE = "a line of a report says that entry is kept\n";

/** The characters that are counted for the first piece of a text. */
function countedFor(text: string): number {
  let counted = 0;
  const piece = { header: "[@0a1b2c3 user]\n", text, from: 0, maxTokens: 1_000 };
  readOn(piece, TOLD, (each) => {
    counted += each.length;
    return estimateTokens(each);
  });
  return counted;
}

test("a piece of an original costs the same however long the rest is", () => {
  expect(countedFor(LINE.repeat(80_000))).toBeLessThan(1.1 * countedFor(LINE.repeat(2_000)));
});

test("the pieces of an original are the whole of it, also where a token has many characters", () => {
  const text = LINE.repeat(300) + " ".repeat(60_000) + LINE.repeat(300);
  let [read, from] = ["", 0];
  for (let next: string | undefined = "0"; next !== undefined;) {
    from = Number(next);
    const answer = readOn({ header: "", text, from, maxTokens: 1_000 }, TOLD, estimateTokens);
    expect(estimateTokens(answer.text)).toBeLessThanOrEqual(1_000);
    read += answer.text.replace(/\n\n\(Characters [^]*$/, "");
    next = /from: (\d+)\.\)$/.exec(answer.text)?.[1];
  }
  expect(read).toBe(text);
});
