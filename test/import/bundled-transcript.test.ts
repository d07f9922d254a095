/** The session that the demo replays imports whole, and is long enough to be compacted several times. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { convertToModelMessages } from "ai";
import { expect, test } from "vitest";
import { importTranscript } from "../../src/import/import.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

const file = resolve(import.meta.dirname, "../../examples/transcripts/palimpsest-session.jsonl");
const text = readFileSync(file, "utf8");

test("the bundled session imports whole, and holds what makes compaction hard", async () => {
  const { format, conversations, notes } = importTranscript(text);
  expect([format, notes, conversations.length]).toEqual(["uimessage-jsonl", [], 1]);
  const messages = conversations[0]?.messages ?? [];
  expect((await convertToModelMessages(messages)).length).toBeGreaterThan(messages.length);
  const states = messages.flatMap((message) => message.parts.map((part) => ("state" in part ? part.state : part.type)));
  expect(states).toEqual(expect.arrayContaining(["step-start", "reasoning", "output-error", "output-available"]));
  expect(states.filter((state) => state === "input-available")).toHaveLength(1);
});

test("the bundled session is long enough to be compacted several times over", () => {
  expect(estimateTokens(text)).toBeGreaterThan(5 * 12_000);
});
