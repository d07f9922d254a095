/** A turn keeps what was done: calls under one id, a step that is stopped, and outputs that are no JSON. */
import { generateText, isStepCount, simulateReadableStream, streamText, tool, type ToolSet, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { plain } from "../../src/turn/plain.ts";
import { keepTurn } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { newAgent } from "../agents.ts";
import type { FullSession } from "../rooms.ts";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const nothing = z.object({});

function inSession<T>(work: (session: FullSession) => Promise<T>): Promise<T> {
  return inside(newAgent(), async (manager) => {
    const session = manager.getSession("x!100000");
    await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: "Go." }] });
    await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
    return work(session);
  });
}

interface ToolUse {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
}

/** Calls once, and then says "ok". Keeps its prompts. */
function calling(calls: readonly ToolUse[]) {
  const prompts: string[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const first = prompts.push(JSON.stringify(prompt)) === 1;
      return {
        content: first ? calls.map((call) => ({ type: "tool-call", ...call })) : [{ type: "text", text: "ok" }],
        finishReason: { unified: first ? "tool-calls" : "stop", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
  return { model, prompts };
}

async function generate(session: FullSession, tools: ToolSet, calls: readonly ToolUse[]): Promise<string[]> {
  const { model, prompts } = calling(calls);
  const turn = keepTurn(session, { replyId: "reply", tools });
  await generateText({ model, tools, stopWhen: isStepCount(5), ...(await turn.prepareStep()), ...turn });
  turn.mustBeKept();
  return prompts;
}

const partsOf = async (session: FullSession): Promise<UIMessage["parts"]> =>
  (await session.getMessage("reply"))?.parts ?? [];

test.each([
  ["in their order", ["Rome", "Oslo"]],
  ["with one input twice", ["Rome", "Rome"]],
])("two calls of one step under one id keep their own results, %s", async (_name, cities) => {
  await inSession(async (session) => {
    let n = 0;
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => `${city} has weather ${n++}.`,
    });
    const calls = cities.map((city) => ({
      toolCallId: "weather",
      toolName: "weather",
      input: JSON.stringify({ city }),
    }));
    const [, second] = await generate(session, { weather }, calls);
    const kept = (await partsOf(session)).filter(({ type }) => type === "tool-weather") as object[] as {
      input: { city: string };
      output: string;
    }[];
    const expected = cities.map((city, at) => `${city}: ${city} has weather ${at}.`);
    expect(kept.map(({ input, output }) => `${input.city}: ${output}`)).toEqual(expected);
    for (const at of cities.keys()) expect(second).toContain(`has weather ${at}.`);
  });
});

const streaming = (list: readonly object[]): MockLanguageModelV4 =>
  new MockLanguageModelV4({
    doStream: async () => ({ stream: simulateReadableStream({ chunks: [...list] as never[] }) }),
  });

async function stopped(
  session: FullSession,
  { model, tools, stop }: { model: MockLanguageModelV4; tools: ToolSet; stop: AbortController },
) {
  const turn = keepTurn(session, { replyId: "reply", tools });
  const result = streamText({
    model,
    tools,
    stopWhen: isStepCount(5),
    abortSignal: stop.signal,
    ...(await turn.prepareStep()),
    ...turn,
    onError: () => undefined,
  });
  await result.consumeStream();
  return { turn, parts: await partsOf(session) };
}

const waits = async (signal: AbortSignal | undefined): Promise<string> =>
  new Promise((_resolve, reject) => {
    const end = (): void => reject(new Error("aborted"));
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end);
  });

describe("a step that is stopped", () => {
  const chunks = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "I pay the " },
    { type: "text-delta", id: "t", delta: "invoice first." },
    { type: "text-end", id: "t" },
    { type: "tool-call", toolCallId: "c1", toolName: "pay", input: '{"n":7}' },
    { type: "tool-call", toolCallId: "c2", toolName: "read", input: "{}" },
    { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
  ];

  test("remembers its text, the call that was done, and the one that was not", async () => {
    await inSession(async (session) => {
      const stop = new AbortController();
      const tools = {
        pay: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => `Paid ${n}.` }),
        read: tool({
          inputSchema: nothing,
          execute: async (_input, { abortSignal }) => {
            stop.abort();
            return waits(abortSignal);
          },
        }),
      };
      const { parts } = await stopped(session, { model: streaming(chunks), tools, stop });
      expect(parts.filter(({ type }) => type === "text")).toMatchObject([{ text: "I pay the invoice first." }]);
      expect(parts.filter(({ type }) => type === "tool-pay")).toMatchObject([{ toolCallId: "c1", output: "Paid 7." }]);
      expect(parts.filter(({ type }) => type === "tool-read")).toMatchObject([{ toolCallId: "c2", input: {} }]);
      await session.appendMessage({ id: "next", role: "user", parts: [{ type: "text", text: "Was it paid?" }] });
      expect(JSON.stringify((await session.getView()).messages)).toContain("Paid 7.");
    });
  });

  test("takes the result of a call that ends later", async () => {
    await inSession(async (session) => {
      const stop = new AbortController();
      const { promise: paid, resolve: pay } = Promise.withResolvers<string>();
      const tools = {
        pay: tool({ inputSchema: z.object({ n: z.number() }), execute: () => paid }),
        read: tool({
          inputSchema: nothing,
          execute: async (_input, { abortSignal }) => (stop.abort(), waits(abortSignal)),
        }),
      };
      const { parts } = await stopped(session, { model: streaming(chunks), tools, stop });
      expect(JSON.stringify(parts)).not.toContain("Paid 7.");
      pay("Paid 7.");
      await expect.poll(async () => JSON.stringify(await partsOf(session))).toContain("Paid 7.");
    });
  });

  test("keeps the text that came, and no step that ended is stored twice", async () => {
    await inSession(async (session) => {
      const stop = new AbortController();
      const [start, ...rest] = chunks;
      let calls = 0;
      const model = new MockLanguageModelV4({
        doStream: async () => {
          if (calls++ === 0) {
            return {
              stream: simulateReadableStream({
                chunks: [
                  start,
                  ...rest.filter((each) => !("toolCallId" in each && each.toolCallId === "c2")),
                ] as never[],
              }),
            };
          }
          const stream = new ReadableStream({
            start(controller) {
              for (const each of chunks.slice(0, 3)) controller.enqueue(each);
              setTimeout(() => stop.abort(), 20);
            },
          });
          return { stream: stream as never };
        },
      });
      const tools = { pay: tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => `Paid ${n}.` }) };
      const { parts } = await stopped(session, { model, tools, stop });
      expect(parts.filter(({ type }) => type === "tool-pay")).toHaveLength(1);
      expect(parts.filter(({ type }) => type === "text")).toMatchObject([
        { text: "I pay the invoice first." },
        { text: "I pay the " },
      ]);
    });
  });

  test("that said nothing leaves the reply empty", async () => {
    await inSession(async (session) => {
      const stop = new AbortController();
      stop.abort();
      const { parts, turn } = await stopped(session, { model: streaming(chunks), tools: {}, stop });
      expect(parts).toEqual([]);
      turn.mustBeKept();
    });
  });
});

class Berth {
  readonly name = "north";
  describe(): string {
    return `Berth ${this.name}`;
  }
}

describe("outputs that are no JSON", () => {
  const circular: { name: string; self?: unknown } = { name: "loop" };
  circular.self = circular;
  const look = { toolCallId: "c1", toolName: "look", input: "{}" };

  test.each<[string, () => unknown, (output: never) => string, string]>([
    [
      "bytes",
      () => ({ image: new Uint8Array([1, 2, 3]) }),
      ({ image }: { image: Uint8Array }) => [...image].join(),
      "1,2,3",
    ],
    [
      "a date",
      () => ({ when: new Date(0) }),
      ({ when }: { when: Date }) => when.toISOString(),
      "1970-01-01T00:00:00.000Z",
    ],
    [
      "a map",
      () => ({ hits: new Map([["a", 1]]) }),
      ({ hits }: { hits: Map<string, number> }) => [...hits].join(),
      "a,1",
    ],
    ["an object of a class", () => new Berth(), (output: Berth) => output.describe(), "Berth north"],
    ["a big number", () => ({ n: 12n }), ({ n }: { n: bigint }) => (n * 2n).toString(), "24"],
    ["a circular object", () => circular, ({ self }: { self: { name: string } }) => self.name, "loop"],
  ])("a tool that shows the model its own form of %s", async (_name, execute, show, shown) => {
    await inSession(async (session) => {
      const own = tool({
        inputSchema: nothing,
        execute: async () => execute() as object,
        toModelOutput: ({ output }) => ({ type: "text", value: show(output as never) }),
      });
      const [, second] = await generate(session, { look: own }, [look]);
      expect(second).toContain(shown);
      // A later turn has the JSON alone.
      await session.appendAll([
        { id: "q2", role: "user", parts: [{ type: "text", text: "And?" }] },
        { id: "reply2", role: "assistant", parts: [] },
      ]);
      const later = keepTurn(session, { replyId: "reply2", tools: { look: own } });
      expect(JSON.stringify((await later.prepareStep()).messages)).toContain("tool-result");
    });
  });

  test.each<[string, unknown, unknown]>([
    ["bytes", { image: new Uint8Array([1, 2, 3]) }, { image: "data:application/octet-stream;base64,AQID" }],
    [
      "maps and sets",
      { a: new Map([["k", 1n]]), b: new Set([1]), c: new Map([[1, 2]]) },
      { a: { k: "1" }, b: [1], c: [[1, 2]] },
    ],
    ["a circular object", circular, { name: "loop", self: "[circular]" }],
    ["an error", { failed: new RangeError("too far") }, { failed: { name: "RangeError", message: "too far" } }],
    ["what JSON leaves out", { f: () => 1, u: undefined, n: Number.NaN, l: [undefined] }, { n: null, l: [null] }],
    [
      "a getter that throws",
      Object.defineProperty({}, "x", {
        enumerable: true,
        get: () => {
          throw new Error("no");
        },
      }),
      "[unreadable]",
    ],
  ])("%s are stored as JSON", async (_name, output, stored) => {
    expect(plain(output)).toEqual(stored);
    await inSession(async (session) => {
      const own = tool({ inputSchema: nothing, execute: async () => output as object });
      // The SDK itself ends a turn over some of them, after the tool has run.
      await generate(session, { look: own }, [look]).catch(() => undefined);
      expect(await partsOf(session)).toContainEqual(expect.objectContaining({ type: "tool-look", output: stored }));
    });
  });

  test("an output of a thousand levels is stored to a depth that every parser reads", () => {
    let deep: unknown = "end";
    for (let n = 0; n < 1_000; n++) deep = [deep];
    expect(JSON.stringify(plain(deep))).toContain("[too deep]");
  });
});
