/** Vectors in bytes: a comparison is nearly the cosine, and pages keep what was added first. Pieces of messages. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { cutMessage } from "../../../src/recall/passages.ts";
import { MAX_PIECES, piecesOf, pieceTexts } from "../../../src/embeddings/search.ts";
import { ENTRY_BYTES, ofLengthOne, packEntries, similarIn } from "../../../src/embeddings/pages.ts";
import { tries } from "../../tries.ts";

const vectors = (size: number) =>
  fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: size, maxLength: size });

function cosine(a: readonly number[], b: readonly number[]): number {
  const product = a.reduce((sum, each, at) => sum + each * (b[at] ?? 0), 0);
  const lengths = Math.hypot(...a) * Math.hypot(...b);
  return lengths === 0 ? 0 : product / lengths;
}

test("a comparison in bytes is nearly the cosine, and a page keeps what was added first", () => {
  fc.assert(
    fc.property(fc.array(vectors(64), { minLength: 1, maxLength: 5 }), vectors(64), (stored, question) => {
      const entries = stored.map((vector, offset) => ({ offset, piece: offset % 3, vector }));
      const page = packEntries(packEntries(new Uint8Array(), entries.slice(0, 2)), entries.slice(2));
      expect(page).toHaveLength(stored.length * (64 + ENTRY_BYTES));
      const found = similarIn(page, ofLengthOne(question));
      expect(found.map(({ offset, piece }) => [offset, piece])).toEqual(stored.map((_, at) => [at, at % 3]));
      for (const { offset, similarity } of found) {
        expect(Math.abs(similarity - cosine(stored[offset] ?? [], question))).toBeLessThan(0.03);
      }
    }),
    { numRuns: tries(200) },
  );
});

const text = (said: string): UIMessage["parts"][number] => ({ type: "text", text: said });

test("the pieces of a message are what was written, whole passages of an answer, and no output of a tool", () => {
  const long = Array.from({ length: 200 }, (_, n) => `Line ${n} of a long text, about item ${n} and others.\n`).join(
    "",
  );
  const message: UIMessage = {
    id: "m",
    role: "assistant",
    parts: [
      text("Short."),
      {
        type: "dynamic-tool",
        toolName: "grep",
        toolCallId: "c",
        state: "output-available",
        input: { pattern: "haystack" },
        output: "needle",
      },
      text(long),
    ],
  };
  const texts = pieceTexts(message);
  expect(texts).toHaveLength(MAX_PIECES);
  expect(texts.join("\n")).not.toMatch(/needle|haystack/);
  expect(texts[0]).toContain("Short.");
  expect(texts.at(-1)).toContain("Line 199 ");
  // An answer cuts the whole message, and finds the same pieces in it.
  const cut = cutMessage({ seq: 3, message, createdAt: 0 });
  expect(
    piecesOf(cut).map((piece) =>
      piece
        .map((each) => each.text)
        .join("")
        .trim(),
    ),
  ).toEqual(texts);
  expect(pieceTexts({ id: "t", role: "assistant", parts: message.parts.slice(1, 2) })).toEqual([]);
});
