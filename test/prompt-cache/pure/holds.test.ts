/** A prompt is only continued where it holds the messages as they are stored now. */
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { convertToModelMessages, generateText, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { lengthUpTo } from "../../../src/prompt-cache/holds.ts";

/** The prompt that a provider gets for these messages, as the AI SDK makes it. */
async function promptOf(messages: UIMessage[]): Promise<LanguageModelV4Prompt> {
  const model = new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: "text", text: "ok" }],
      finishReason: { unified: "stop", raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 1, text: 1, reasoning: undefined },
      },
      warnings: [],
    }),
  });
  await generateText({ model, messages: await convertToModelMessages(messages), instructions: "Be brief." });
  return model.doGenerateCalls[0]?.prompt ?? [];
}

type Part = UIMessage["parts"][number];

const words = fc.string({ minLength: 1, maxLength: 30 }).map((text) => `w ${text}`);
const call = fc
  .record({ output: fc.oneof(words, fc.record({ rows: fc.array(words) })), isError: fc.boolean(), n: fc.nat() })
  .map(({ output, isError, n }): Part => {
    const made = { type: "tool-look", toolCallId: "", input: { n } } as const;
    return isError
      ? { ...made, state: "output-error", errorText: "It failed." }
      : { ...made, state: "output-available", output };
  });
const part = fc.oneof(
  words.map((text): Part => ({ type: "text", text })),
  call,
);
const conversation = fc
  .array(fc.record({ user: words, parts: fc.array(part, { minLength: 1, maxLength: 5 }) }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((turns) =>
    turns.flatMap(({ user, parts }, at): UIMessage[] => [
      { id: `u${at}`, role: "user", parts: [{ type: "text", text: user }] },
      {
        id: `a${at}`,
        role: "assistant",
        parts: parts.map((each, n) => ("toolCallId" in each ? { ...each, toolCallId: `c${at}-${n}` } : each)),
      },
    ]),
  );

test("a prompt holds every part of the conversation that it was made of, and is cut behind that part", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, fc.nat(), fc.nat(), async (messages, one, other) => {
      const prompt = await promptOf(messages);
      const from = one % messages.length;
      const to = from + 1 + (other % (messages.length - from));
      const length = lengthUpTo(prompt, messages.slice(from, to)) ?? 0;
      expect(prompt.slice(0, length)).toEqual(await promptOf(messages.slice(0, to)));
    }),
  );
});

test("a prompt does not hold messages between which it says more", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async (messages) => {
      fc.pre(messages.length > 2);
      const prompt = await promptOf(messages);
      expect(lengthUpTo(prompt, messages.toSpliced(1, 1))).toBeNull();
    }),
  );
});

test("a prompt does not hold a message with another word, another input or another output", async () => {
  await fc.assert(
    fc.asyncProperty(conversation, fc.nat(), async (messages, pick) => {
      const prompt = await promptOf(messages);
      const at = pick % messages.length;
      const changed = messages.map((message, index) =>
        index === at ? { ...message, parts: message.parts.map(changedPart) } : message,
      );
      expect(lengthUpTo(prompt, changed)).toBeNull();
    }),
  );
});

function changedPart(part: Part): Part {
  if (part.type === "text") return { ...part, text: `${part.text} quokka` };
  if ("output" in part && part.output !== undefined) return { ...part, output: "quokka" };
  return "input" in part ? { ...part, input: "quokka" } : part;
}

const said = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

test("a prompt does not hold a message that came later, nor messages in another order", async () => {
  const prompt = await promptOf([said("a", "one"), said("b", "two")]);
  expect(lengthUpTo(prompt, [said("c", "three")])).toBeNull();
  expect(lengthUpTo(prompt, [said("b", "two"), said("a", "one")])).toBeNull();
  expect(lengthUpTo(prompt, [said("a", "one"), said("b", "two")])).not.toBeNull();
});

test("a prompt does not hold a message that goes on in the prompt", async () => {
  const both: UIMessage = { id: "a", role: "user", parts: ["one", "two"].map((text) => ({ type: "text", text })) };
  const prompt = await promptOf([both]);
  expect(lengthUpTo(prompt, [said("a", "one")])).toBeNull();
  expect(lengthUpTo(prompt, [both])).not.toBeNull();
});

function looked(output: string): UIMessage {
  const call = { toolCallId: "c", state: "output-available", input: {}, output } as const;
  return { id: "a", role: "assistant", parts: [{ type: "tool-look", ...call }] };
}

test("an output that was shortened is not held", async () => {
  const output = "a line of output\n".repeat(40);
  expect(lengthUpTo(await promptOf([looked(output)]), [looked(output)])).not.toBeNull();
  expect(lengthUpTo(await promptOf([looked("a line…")]), [looked(output)])).toBeNull();
});

test("a message with a file is not held, because its form in a prompt is the provider's", async () => {
  const file: UIMessage = {
    id: "a",
    role: "user",
    parts: [{ type: "file", mediaType: "text/plain", url: "data:text/plain;base64,aGk=" }],
  };
  expect(lengthUpTo(await promptOf([file]), [file])).toBeNull();
});
