/** Which prompt is known, whether it holds the messages, and which call costs less. */
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { convertToModelMessages, generateText, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_PRICES } from "../../../src/limits.ts";
import { extractiveModel } from "../../../src/model/extractive.ts";
import { chargesOf, continuePrompt, lengthUpTo, type CallTokens } from "../../../src/prompt-cache/continue.ts";
import { KEPT_FOR_MS, SentPrompts } from "../../../src/prompt-cache/remember.ts";

type Options = Partial<LanguageModelV4CallOptions>;

function withFile(data: unknown): Options {
  return {
    prompt: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data }] }] as LanguageModelV4Prompt,
  };
}

describe("a prompt that was sent", () => {
  const PROMPT: LanguageModelV4Prompt = [{ role: "user", content: [{ type: "text", text: "quokka" }] }];
  const EDIT = {};

  function sentAt(now = { ms: 0 }) {
    const sent = new SentPrompts(() => now.ms);
    const send = (options: Options = {}, sessionId = "s") =>
      sent.begin(sessionId, "p:m", { prompt: PROMPT, ...options }, EDIT)(EDIT);
    return { sent, send, read: (edit: object = EDIT) => sent.read("s", "p:m", edit) };
  }

  test("is known until its provider's cache forgets it, by the model that it was sent to, and until the next edit", () => {
    const now = { ms: 0 };
    const { sent, send, read } = sentAt(now);
    expect(read()).toBeNull();
    send({ temperature: 1, headers: { "x-beta": "long" } });
    now.ms = KEPT_FOR_MS - 1;
    expect(JSON.parse(read() ?? "null")).toEqual({ prompt: PROMPT, headers: { "x-beta": "long" } });
    expect([sent.read("s", "p:other", EDIT), sent.read("another", "p:m", EDIT), read({})]).toEqual([null, null, null]);
    now.ms = KEPT_FOR_MS;
    expect(read()).toBeNull();
  });

  test("of a call that ends after its session was cleared is not brought back", () => {
    const { sent, send, read } = sentAt();
    const ended = sent.begin("s", "p:m", { prompt: PROMPT }, EDIT);
    sent.forget("s");
    ended({});
    expect(read()).toBeNull();
    send();
    sent.forget("s");
    expect(read()).toBeNull();
  });

  test.each<[string, Options]>([
    ["its model must answer in JSON", { responseFormat: { type: "json" } }],
    ["its model must call a tool", { toolChoice: { type: "required" } }],
    ["its model must call one tool", { toolChoice: { type: "tool", toolName: "look" } }],
    ["its model may call no tool", { toolChoice: { type: "none" } }],
    ["JSON does not hold its bytes", withFile({ type: "data", data: new Uint8Array(3) })],
    ["JSON does not hold its address", withFile({ type: "url", url: new URL("https://example.com/a.png") })],
  ])("is not continued, nor is the one before it, where %s", (_, options) => {
    const { send, read } = sentAt();
    send();
    send(options);
    expect(read()).toBeNull();
  });

  test("is kept as it was sent, and only of the sessions that were last at work", () => {
    const { sent, send, read } = sentAt();
    const input = { path: "a.ts" };
    const call = { type: "tool-call", toolCallId: "c", toolName: "look", input } as const;
    send({ prompt: [{ role: "assistant", content: [call] }] });
    input.path = "b.ts";
    expect(read()).toContain("a.ts");
    for (let n = 0; n < 20; n++) send({}, `s${n}`);
    const known = Array.from({ length: 20 }, (_, n) => sent.read(`s${n}`, "p:m", EDIT) !== null);
    expect(known).toEqual(Array.from({ length: 20 }, (_, n) => n >= 12));
  });
});

test("wrong options are refused by name", () => {
  const invalid = expect.objectContaining({ code: "invalid_options" }) as Error;
  expect(() => continuePrompt(extractiveModel(), { windowTokens: 10 })).toThrow(invalid);
  expect(() => continuePrompt("a name" as never, { windowTokens: 9_000 })).toThrow(invalid);
  expect(() => continuePrompt(extractiveModel(), { windowTokens: 9_000, misspelt: 1 } as never)).toThrow(invalid);
});

/** The prompt that a provider gets for these messages, as the AI SDK makes it. */
async function promptOf(messages: UIMessage[]): Promise<LanguageModelV4Prompt> {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  };
  const finishReason = { unified: "stop", raw: undefined } as const;
  const model = new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text: "ok" }], finishReason, usage, warnings: [] }),
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
const turn = fc.record({ user: words, parts: fc.array(part, { minLength: 1, maxLength: 5 }) });
const conversation = fc.array(turn, { minLength: 1, maxLength: 4 }).map((turns) =>
  turns.flatMap(({ user, parts }, at): UIMessage[] => [
    said(`u${at}`, user),
    {
      id: `a${at}`,
      role: "assistant",
      parts: parts.map((each, n) => ("toolCallId" in each ? { ...each, toolCallId: `c${at}-${n}` } : each)),
    },
  ]),
);

function said(id: string, ...texts: string[]): UIMessage {
  return { id, role: "user", parts: texts.map((text) => ({ type: "text", text })) };
}

function looked(output: string): UIMessage {
  const part = { type: "tool-look", toolCallId: "c", state: "output-available", input: {}, output } as const;
  return { id: "a", role: "assistant", parts: [part] };
}

const FILE: Part = { type: "file", mediaType: "text/plain", url: "data:text/plain;base64,aGk=" };
const OUTPUT = "a line of output\n".repeat(40);

describe("a prompt holds", () => {
  test("every part of the conversation that it was made of, and is cut behind that part", async () => {
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

  test("no messages between which it says more, nor one with another word, input or output", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.nat(), async (messages, pick) => {
        const prompt = await promptOf(messages);
        if (messages.length > 2) expect(lengthUpTo(prompt, messages.toSpliced(1, 1))).toBeNull();
        const at = pick % messages.length;
        const changed = messages.map((message, index) =>
          index === at ? { ...message, parts: message.parts.map(changedPart) } : message,
        );
        expect(lengthUpTo(prompt, changed)).toBeNull();
      }),
    );
  });

  test.each<[string, boolean, sent: UIMessage[], asked: UIMessage[]]>([
    ["what it says in this order", true, [said("a", "one"), said("b", "two")], [said("a", "one"), said("b", "two")]],
    ["not what came later", false, [said("a", "one"), said("b", "two")], [said("c", "three")]],
    ["not another order", false, [said("a", "one"), said("b", "two")], [said("b", "two"), said("a", "one")]],
    ["not a message that goes on in it", false, [said("a", "one", "two")], [said("a", "one")]],
    ["an output", true, [looked(OUTPUT)], [looked(OUTPUT)]],
    ["not an output that was shortened", false, [looked("a line…")], [looked(OUTPUT)]],
    [
      "not a file, whose form is the provider's",
      false,
      [{ ...said("a"), parts: [FILE] }],
      [{ ...said("a"), parts: [FILE] }],
    ],
  ])("%s", async (_, isHeld, sent, asked) => {
    expect(lengthUpTo(await promptOf(sent), asked) !== null).toBe(isHeld);
  });
});

function changedPart(part: Part): Part {
  if (part.type === "text") return { ...part, text: `${part.text} quokka` };
  if ("output" in part && part.output !== undefined) return { ...part, output: "quokka" };
  return "input" in part ? { ...part, input: "quokka" } : part;
}

describe("which call costs less", () => {
  const tokens = fc.integer({ min: 0, max: 1_000_000 });
  const price = fc.double({ min: 0.001, max: 10, noNaN: true });
  const someCalls: fc.Arbitrary<CallTokens> = fc.record({
    plainTokens: tokens,
    cachedTokens: tokens,
    addedTokens: tokens,
    answerTokens: tokens,
  });
  const somePrices = fc.record({ input: price, output: price, cacheRead: price, cacheWrite: price });

  test("a worked example: 60,000 tokens in the cache against 25,000 sent anew, at the prices of a large provider", () => {
    const calls = { plainTokens: 25_000, cachedTokens: 60_000, addedTokens: 2_000, answerTokens: 1_500 };
    const { plain, continued } = chargesOf(calls, DEFAULT_PRICES);
    expect(plain).toBeCloseTo(25_000 + 1_500 * 5);
    expect(continued).toBeCloseTo(60_000 * 0.1 + 2_000 + 1_500 * 5);
  });

  test("a cheaper summariser makes the plain call alone cheaper, a dearer cache the continued one dearer, and free input is never dearer", () => {
    fc.assert(
      fc.property(someCalls, somePrices, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (calls, prices, share) => {
        const before = chargesOf(calls, prices);
        const cheap = chargesOf(calls, { ...prices, input: prices.input * share, output: prices.output * share });
        expect(cheap.plain).toBeLessThanOrEqual(before.plain);
        expect(cheap.continued).toBeCloseTo(before.continued, 3);
        const dearer = chargesOf(calls, { ...prices, cacheRead: prices.cacheRead + 1 });
        expect(dearer.plain).toBe(before.plain);
        expect(dearer.continued).toBeGreaterThanOrEqual(before.continued);
        const free = chargesOf(calls, { ...prices, input: 0 });
        expect(free.continued).toBeGreaterThan(free.plain);
      }),
    );
  });
});
