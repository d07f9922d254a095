/** A summary that continues the prompt which the agent last sent, on a real agent and a provider that counts what it reads from its cache. */
import { env } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { convertToModelMessages, isStepCount, streamText, tool, type ToolSet } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { keepTurn } from "../../../src/turn/turn.ts";
import { Session } from "../../../src/agent/sessions/session.ts";
import { overlayOf, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { everyTable } from "../../rows.ts";
import type { CachedAgent } from "../../worker.ts";
import { cachingModel, providerOf, type Answered, type Asked } from "../caching-provider.ts";

skipRetryDelays();

const TOOLS = {
  look: tool({
    description: "Looks at a file.",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => `file ${n}`,
  }),
} satisfies ToolSet;

let agents = 0;

function newAgent(kind: "own" | "cheap" | "plain" | "narrow") {
  const name = `cached-${kind}-${agents++}`;
  const stub = env.CachedAgent.get(env.CachedAgent.idFromName(name));
  return { name, stub, provider: providerOf(name), agent: stub as unknown as CachedAgent };
}

/** One turn, as an application runs it. */
async function takeTurn(
  stub: DurableObjectStub<CachedAgent>,
  { at, sessionId = "", by = "own" }: { at: number; sessionId?: string; by?: string },
) {
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession(sessionId);
    await session.appendAll([say(at), { id: `reply ${at}`, role: "assistant", parts: [] }]);
    const turn = keepTurn(session, { replyId: `reply ${at}`, tools: TOOLS });
    const result = streamText({
      model: session.rememberPrompt(cachingModel(agent.name, by)),
      instructions: "You keep promises.",
      tools: TOOLS,
      stopWhen: isStepCount(4),
      ...(await turn.prepareStep()),
      ...turn,
    });
    await result.consumeStream();
    turn.mustBeKept();
  });
}

/** Fills a session up to its threshold and takes the turn that crosses it. Returns the run that it starts. */
async function crossThreshold(
  { stub, agent }: Pick<ReturnType<typeof newAgent>, "stub" | "agent">,
  {
    before = async () => undefined,
    sessionId = "",
    by = "own",
  }: { before?: () => Promise<unknown>; sessionId?: string; by?: string } = {},
): Promise<RunRecord> {
  await agent.appendAll({ sessionId, messages: talk(0, 36) });
  await takeTurn(stub, { at: 40, sessionId, by });
  await before();
  return compacted(agent, sessionId);
}

/** The newest run, which this asks for where none is live. */
async function compacted(agent: CachedAgent, sessionId = ""): Promise<RunRecord> {
  await agent.compact({ sessionId });
  const [run] = await agent.runs({ sessionId });
  return agent.waitForRun({ runId: run?.id ?? "" });
}

const summariesOf = (asked: readonly Asked[]): Asked[] => asked.filter(({ summary }) => summary !== null);

test("a summary continues the prompt that was last sent, and the provider reads that prompt from its cache", async () => {
  const own = newAgent("own");
  const run = await crossThreshold(own);
  expect(run.outcome?.kind).toBe("applied");
  const [turn] = own.provider.asked;
  const [summary, ...others] = summariesOf(own.provider.asked);
  expect(others).toEqual([]);
  expect(summary?.summary?.kind).toBe("continue");
  // Up to the last message that the summary tells of. What was said behind it is none of its business.
  const begun = summary?.options.prompt.slice(0, -1) ?? [];
  expect(begun).toEqual(turn?.options.prompt.slice(0, begun.length));
  expect(begun.length).toBeLessThan(turn?.options.prompt.length ?? 0);
  expect(summary?.cachedTokens).toBeGreaterThan((turn?.tokens ?? 0) / 2);
  expect(summary?.options.tools).toEqual(turn?.options.tools);
  // The ledger and the costs have what was read from the cache.
  expect(run.steps.find(({ calls }) => calls > 0)).toMatchObject({
    inputTokens: summary?.tokens,
    cachedTokens: summary?.cachedTokens,
  });
  expect((await own.agent.getCosts({})).summarisers).toMatchObject([
    { model: "cached:own", inputTokens: summary?.tokens, cachedTokens: summary?.cachedTokens },
  ]);
});

test("a continued prompt has the previous summary carried on, and asks for the same lists and length as any other", async () => {
  const own = newAgent("own");
  await crossThreshold(own);
  await own.agent.appendAll({ messages: talk(41, 77) });
  await takeTurn(own.stub, { at: 80 });
  await compacted(own.agent);
  const [, second] = summariesOf(own.provider.asked);
  expect(second?.summary).toMatchObject({ kind: "continue", previous: expect.stringContaining("## ") as unknown });
  const asked = JSON.stringify(second?.options.prompt.at(-1));
  for (const sentence of ["Carry the previous summary on", "## Standing instructions", "ended by", "Length: up to"])
    expect(asked).toContain(sentence);
});

test("outputs of tools are in the prompt that is continued, and in the facts beside the summary", async () => {
  const { stub, agent, provider } = newAgent("own");
  const plain = provider.answer;
  provider.answer = (asked) =>
    asked.summary === null && asked.options.prompt.at(-1)?.role === "user"
      ? { tool: "look", input: { n: 7 } }
      : plain(asked);
  await agent.appendAll({ messages: talk(0, 12) });
  await takeTurn(stub, { at: 14 });
  await agent.appendAll({ messages: talk(16, 36) });
  await takeTurn(stub, { at: 40 });
  expect((await compacted(agent)).outcome?.kind).toBe("applied");
  const [summary] = summariesOf(provider.asked);
  expect(summary?.summary?.kind).toBe("continue");
  expect(JSON.stringify(summary?.options.prompt)).toContain("file 7");
});

test("an update of the notes continues that prompt too, with the notes and what is new by name", async () => {
  const own = newAgent("own");
  const sessionId = "noted";
  await crossThreshold(own, { sessionId });
  const runs = await own.agent.runs({ sessionId });
  expect(runs.find(({ kind }) => kind === "notes")).toMatchObject({
    trigger: "compaction",
    outcome: { kind: "noted" },
  });
  const [turn] = own.provider.asked;
  const [asked, ...others] = summariesOf(own.provider.asked);
  expect(others).toEqual([]);
  expect(asked?.summary?.kind).toBe("notes");
  const begun = asked?.options.prompt.slice(0, -1) ?? [];
  expect(begun).toEqual(turn?.options.prompt.slice(0, begun.length));
  expect(asked?.cachedTokens).toBeGreaterThan((turn?.tokens ?? 0) / 2);
  // The first words of each new message, and not the rest, which stands above.
  expect(asked?.summary?.transcript).toMatch(/^\[#1 user\] Message 0: we changed src\/parser-0\.ts/);
  expect(asked?.summary?.transcript?.length).toBeLessThan(36 * 100);
  expect(runs.find(({ kind }) => kind === "compaction")).toMatchObject({ path: "notes", modelCalls: 0 });
});

test.each([
  ["nothing was remembered", { kind: "own", before: async ({ stub }) => evictDurableObject(stub) }],
  ["a message changed since", { kind: "own", before: async ({ agent }) => agent.update({ message: say(6, "No: ") }) }],
  [
    "another message changed since",
    { kind: "own", before: async ({ agent }) => agent.update({ message: say(35, "No: ") }) },
  ],
  [
    "another message was deleted since",
    { kind: "own", before: async ({ agent }) => agent.deleteMessages({ ids: ["m35"] }) },
  ],
  [
    "a summary was laid since",
    {
      kind: "own",
      before: async ({ agent }) =>
        agent.addCompaction({ fromMessageId: "m33", toMessageId: "m35", summary: "Two promises." }),
    },
  ],
  ["the session redacts what a summariser is sent", { kind: "own", sessionId: "redacted" }],
  ["another model was asked", { kind: "own", by: "other" }],
  ["the window has no room for it", { kind: "narrow" }],
  ["the Workflow has no model that continues", { kind: "plain" }],
  ["the plain call costs less", { kind: "cheap", sessionId: "cheap" }],
] satisfies [string, Case][])(
  "the plain call is made where %s",
  async (_why, { kind, before, sessionId, by }: Case) => {
    const made = newAgent(kind);
    const run = await crossThreshold(made, {
      ...(before !== undefined && { before: () => before(made) }),
      ...(sessionId !== undefined && { sessionId }),
      ...(by !== undefined && { by }),
    });
    expect(run.outcome?.kind).toBe("applied");
    expect(summariesOf(made.provider.asked).map(({ model, summary }) => [model, summary?.kind])).toEqual([
      [kind === "cheap" ? "cheap" : "own", "chunk"],
    ]);
  },
);

interface Case {
  readonly kind: Parameters<typeof newAgent>[0];
  readonly before?: (made: ReturnType<typeof newAgent>) => Promise<unknown>;
  readonly sessionId?: string;
  readonly by?: string;
}

test("the agent's own model continues its prompt where that costs less than the configured summariser", async () => {
  const cheap = newAgent("cheap");
  const run = await crossThreshold(cheap);
  expect(run.outcome?.kind).toBe("applied");
  const [summary, ...others] = summariesOf(cheap.provider.asked);
  expect([summary?.model, summary?.summary?.kind, others]).toEqual(["own", "continue", []]);
  expect((await cheap.agent.getCosts({})).summarisers).toMatchObject([{ model: "cached:own", calls: 1 }]);
});

test.each<[string, answer: () => Answered, calls: number]>([
  ["goes on with its work", () => ({ tool: "look" }), 2],
  ["answers with no summary", () => "Sure! I go on with the parser.", 2],
  ["refuses the prompt", () => refuse("prompt is too long: 250000 tokens > 200000 maximum"), 1],
])("a model that %s is asked once more in the plain way, and each answer is on the bill", async (_, answer, calls) => {
  const { stub, agent, provider } = newAgent("own");
  const plain = provider.answer;
  provider.answer = (asked) => (asked.summary?.kind === "continue" ? answer() : plain(asked));
  const run = await crossThreshold({ stub, agent });
  const asked = summariesOf(provider.asked);
  expect(asked.map(({ summary }) => summary?.kind)).toEqual(["continue", "chunk"]);
  const inputTokens = asked.slice(-calls).reduce((sum, { tokens }) => sum + tokens, 0);
  expect(run).toMatchObject({ outcome: { kind: "applied" }, modelCalls: calls, inputTokens });
});

function refuse(why: string): never {
  throw new Error(why);
}

test("what was paid for by either call is not paid for again by the other", async () => {
  const { stub, agent, provider } = newAgent("own");
  await agent.appendAll({ messages: talk(0, 30) });
  await takeTurn(stub, { at: 40 });
  const first = await compacted(agent);
  const before = provider.asked.length;
  expect([first.modelCalls, provider.asked.at(-1)?.summary?.kind]).toEqual([1, "continue"]);
  // The prompt is forgotten, so only the plain call is left.
  await evictDurableObject(stub);
  await agent.rollback({ overlayId: overlayOf(first) });
  const again = await compacted(agent);
  expect(again).toMatchObject({ outcome: { kind: "applied" }, modelCalls: 0 });
  expect(provider.asked.length).toBe(before);
});

test("a cleared session is not continued, and no row holds the prompt", async () => {
  const { stub, agent, provider } = newAgent("own");
  await agent.appendAll({ messages: talk(0, 4) });
  await takeTurn(stub, { at: 6 });
  await runInDurableObject(stub, (_, { storage }) => {
    const rows = [...everyTable(storage).values()].join("\n");
    expect(rows).toContain("Message 3");
    expect(rows).not.toContain("You keep promises.");
  });
  await agent.clearMessages({});
  await agent.appendAll({ messages: talk(0, 46) });
  await compacted(agent);
  expect(summariesOf(provider.asked).map(({ summary }) => summary?.kind)).not.toContain("continue");
});

/** A turn that converts its messages once, as some hosts do. Its second step sends again what the first one sent. */
async function takeLoop(
  { name, stub, provider }: ReturnType<typeof newAgent>,
  meanwhile: (session: Session) => unknown,
) {
  const plain = provider.answer;
  provider.answer = (asked) =>
    asked.summary === null && asked.options.prompt.every(({ role }) => role !== "tool")
      ? { tool: "look", input: { n: 7 } }
      : plain(asked);
  await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("");
    const execute = async () => {
      await meanwhile(session);
      return "file 7";
    };
    const look = tool({ inputSchema: z.object({ n: z.number() }), execute });
    const messages = await convertToModelMessages((await session.getView()).messages);
    const model = session.rememberPrompt(cachingModel(name, "own"));
    await streamText({ model, messages, tools: { look }, stopWhen: isStepCount(2) }).consumeStream();
  });
  expect(provider.asked).toHaveLength(2);
}

test.each([
  ["is not continued after an edit", "chunk", (session: Session) => session.updateMessage(say(1, "No: "))],
  ["is not continued after a deletion", "chunk", (session: Session) => session.deleteMessages(["m1"])],
  [
    "is not continued after a clear",
    "chunk",
    async (session: Session) => {
      await session.clearMessages();
      await session.appendAll(talk(0, 36));
    },
  ],
  ["is continued where nothing changed", "continue", () => undefined],
] as const)("the prompt of a turn that sends its messages once more %s", async (_, kind, meanwhile) => {
  const made = newAgent("own");
  await made.agent.appendAll({ messages: talk(0, 36) });
  await takeLoop(made, meanwhile);
  expect((await compacted(made.agent)).outcome?.kind).toBe("applied");
  expect(summariesOf(made.provider.asked).map(({ summary }) => summary?.kind)).toEqual([kind]);
});

test("the name of a model is refused, because only the model itself can be listened to", async () => {
  const { stub } = newAgent("own");
  await runInDurableObject(stub, (agent) => {
    const session = Session.create(agent).forSession("");
    expect(() => session.rememberPrompt("own" as never)).toThrow(expect.objectContaining({ code: "invalid_input" }));
  });
});
