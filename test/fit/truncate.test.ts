/** Micro-compaction. It shortens the prompt, leaves the stored messages unchanged, and stays stable where a provider caches. */
import { convertToModelMessages, type UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { errorCode } from "../../src/errors.ts";
import { repairMessages } from "../../src/steps/view/repair.ts";
import { truncateOlderMessages, type TruncateOptions } from "../../src/fit/truncate.ts";
import { summaryMessage } from "../../src/facts/render.ts";
import { conversation, done, say, text } from "../steps/conversations.ts";
import { tries } from "../tries.ts";

/** Truncates everything, because the line is behind the last message. */
const ALL: TruncateOptions = { keepRecent: 0, step: 1 };

function truncated(message: UIMessage, options: TruncateOptions = ALL): UIMessage {
  return truncateOlderMessages([message], options)[0] as UIMessage;
}

function outputOf(output: unknown, options: TruncateOptions = ALL): unknown {
  return (truncated(say("a", "assistant", done("c", output)), options).parts[0] as { output: unknown }).output;
}

const size = fc.integer({ min: 200, max: 1_500 });
const options: fc.Arbitrary<{ readonly [Key in keyof TruncateOptions]-?: number }> = fc.record({
  keepRecent: fc.nat({ max: 6 }),
  step: fc.integer({ min: 1, max: 9 }),
  maxToolOutputChars: size,
  maxTextChars: size,
});

const longString = fc.tuple(fc.string({ unit: "binary" }), fc.nat({ max: 300 })).map(([unit, n]) => unit.repeat(n));
const output = fc.oneof(
  longString,
  fc.jsonValue().map((value) => value as unknown),
  fc.dictionary(fc.string(), fc.oneof(longString, fc.array(longString))),
);
const history = fc
  .tuple(conversation, fc.array(output, { maxLength: 8 }))
  .map(([messages, outputs]) => outputs.map(answer).concat(messages));

function answer(value: unknown, n: number): UIMessage {
  return say(`o${n}`, "assistant", done(`o${n}`, value), text(JSON.stringify(value) ?? ""));
}

/** The converted prompt in outline, with roles, kinds of parts and call ids. */
async function sent(messages: UIMessage[]) {
  const converted = await convertToModelMessages(repairMessages(messages));
  return converted.map(({ role, content }) => [
    role,
    typeof content === "string" ? "" : content.map((part) => [part.type, "toolCallId" in part && part.toolCallId]),
  ]);
}

describe("what is shortened", () => {
  test("strings stay strings, short enough, with both ends and the advice to run the tool again", () => {
    const log = `first line\n${"noise ".repeat(1_000)}\nlast line`;
    const short = outputOf(log) as string;
    expect(short.length).toBeLessThanOrEqual(500);
    expect(short).toMatch(/^first line/);
    expect(short).toMatch(/last line\n\[Shortened to save context\. Run the tool again to see all of it\.\]$/);
    expect(truncated(say("u", "user", text("word ".repeat(4_000)))).parts[0]).toMatchObject({ type: "text" });
  });

  test("objects keep their keys when shorter texts in them are enough, so that a tool's own mapping still reads them", () => {
    const short = outputOf({ exitCode: 1, stdout: "noise ".repeat(900), files: ["a.ts"] }) as Record<string, unknown>;
    expect(short).toMatchObject({
      exitCode: 1,
      files: ["a.ts"],
      stdout: expect.stringContaining("Run the tool again"),
    });
  });

  test("what is long for another reason becomes a preview that is valid JSON; bytes are never cut in place", () => {
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`key${n}`, n]));
    const preview = { preview: expect.stringContaining("key0"), note: expect.stringContaining("Run the tool again") };
    expect(outputOf(many)).toEqual(preview);
    expect(outputOf(Array.from({ length: 500 }, () => 7))).toEqual([{ ...preview, preview: expect.any(String) }]);
    const image = { content: [{ type: "image", data: "QUJD".repeat(500), mimeType: "image/png" }] };
    expect(outputOf(image)).toEqual({ ...preview, preview: expect.stringContaining("image") });
  });

  test("errors, files, reasoning, inputs, system messages, summaries and the provider's own results stay whole", () => {
    const long = "word ".repeat(5_000);
    const call = { type: "tool-look" as const, toolCallId: "c", input: { long } };
    const kept: UIMessage[] = [
      say("s", "system", text(long)),
      summaryMessage({ overlayId: "o", summary: long }),
      say("e", "assistant", { ...call, state: "output-error", errorText: long }),
      say("p", "assistant", { ...call, state: "output-available", providerExecuted: true, output: { long } }),
      say("i", "assistant", { ...call, state: "output-available", output: "ok" }),
      say("r", "assistant", { type: "reasoning", text: long }),
      say("f", "user", { type: "file", mediaType: "text/plain", url: `data:text/plain,${"a".repeat(20_000)}` }),
    ];
    expect(truncateOlderMessages(kept, ALL)).toBe(kept);
  });

  test("impossible options are refused before anything is read", () => {
    for (const bad of [{ keepRecent: -1 }, { step: 0 }, { maxTextChars: 10 }, { maxToolOutputChars: Number.NaN }]) {
      let code: string | undefined;
      try {
        truncateOlderMessages([], bad);
      } catch (error) {
        code = errorCode(error);
      }
      expect(code).toBe("invalid_options");
    }
  });
});

describe("any history", () => {
  test("M1: is never mutated, keeps every message, part and shape, and never grows", () => {
    fc.assert(
      fc.property(history, options, (messages, each) => {
        const before = structuredClone(messages);
        const after = truncateOlderMessages(messages, each);
        expect(messages).toEqual(before);
        expect(after.map(({ id, role, parts }) => [id, role, parts.map((part) => part.type)])).toEqual(
          messages.map(({ id, role, parts }) => [id, role, parts.map((part) => part.type)]),
        );
        after.forEach((message, index) => {
          expect(JSON.stringify(message).length).toBeLessThanOrEqual(JSON.stringify(messages[index]).length);
          if (index >= after.length - each.keepRecent) expect(message).toBe(messages[index]);
        });
      }),
      { numRuns: tries(200) },
    );
  });

  test("truncated twice is truncated once", () => {
    fc.assert(
      fc.property(history, options, (messages, each) => {
        const once = truncateOlderMessages(messages, each);
        expect(truncateOlderMessages(once, each)).toBe(once);
      }),
      { numRuns: tries(200) },
    );
  });

  test("keeps its prefix byte for byte from append to append, but for one move of the line in every step", () => {
    fc.assert(
      fc.property(history, options, (messages, each) => {
        let moves = 0;
        for (let length = 1; length < messages.length; length++) {
          const before = truncateOlderMessages(messages.slice(0, length), each);
          const after = truncateOlderMessages(messages.slice(0, length + 1), each);
          const same = JSON.stringify(after.slice(0, length)) === JSON.stringify(before);
          const older = Math.max(0, length + 1 - each.keepRecent);
          if (!same) {
            moves++;
            expect(older % each.step).toBe(0);
            // What was behind the line already is as it was.
            expect(JSON.stringify(after.slice(0, older - each.step))).toBe(
              JSON.stringify(before.slice(0, older - each.step)),
            );
          }
        }
        expect(moves).toBeLessThanOrEqual(Math.ceil(messages.length / each.step));
      }),
      { numRuns: tries(60) },
    );
  });

  test("V2: repairs and converts as it did before, call by call", async () => {
    await fc.assert(
      fc.asyncProperty(history, options, async (messages, each) => {
        const truncated = truncateOlderMessages(messages, each);
        expect(await sent(truncated)).toEqual(await sent(messages));
        expect(await sent(truncateOlderMessages(repairMessages(messages), each))).toEqual(await sent(messages));
      }),
      { numRuns: tries(100) },
    );
  });
});
