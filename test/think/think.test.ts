/** Think with compaction, as the model sees it, as the person sees it, and with Think's own acts. */
import { Think } from "@cloudflare/think";
import { env } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { Agent } from "agents";
import { tool } from "ai";
import { z } from "zod";
import { expect, onTestFinished, test, vi } from "vitest";
import { tableOf } from "../../src/agent/calls.ts";
import { DEFAULT_CLIENTS, ClientAccess } from "../../src/agent/clients.ts";
import { withCompaction as withPlainCompaction } from "../../src/agent/compacting-agent.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { withCompaction } from "../../src/think/with-compaction.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { scriptModel, summaryOf } from "../scripted-model.ts";
import { talk } from "../conversation.ts";
import { skipRetryDelays } from "../agents.ts";
import { dropPalimpsest } from "../leaving.ts";
import { namesOf, until, user } from "../ai-chat/chat.ts";
import { given, toolsIn } from "../ai-chat/chat-model.ts";
import { promisesOf } from "../ai-chat/promises.ts";
import { longTurn, REQUEST } from "../turn/long-turn.ts";
import { signing } from "../turn/signing-provider.ts";
import {
  connect,
  ended,
  expectEqual,
  inside,
  messagesOf,
  newThinker,
  SUMMARY,
  talkUntilCompacted,
  told,
} from "./thinker.ts";
import { SKILL } from "./worker.ts";

skipRetryDelays();

function quiet(method: "warn" | "error") {
  const said = vi.spyOn(console, method).mockImplementation(() => undefined);
  onTestFinished(() => said.mockRestore());
  return () => said.mock.calls.flat().map(String).join("\n");
}

promisesOf({
  newChat: newThinker,
  inside,
  connect,
  messagesOf,
  ended,
  talkUntilCompacted,
  expectEqual,
  longTalk: 30,
  store: (name, messages) =>
    inside(name, async ({ session }) => {
      for (const message of messages) await session.appendMessage(message);
    }),
});

test("steps of a turn begin with the same prompt, byte for byte, as long as no summary lands", async () => {
  const { name, part } = newThinker("idle");
  const person = await connect(name);
  await person.say(user("u0"));
  await inside(name, (agent) => (agent.board = "Buy oats."));
  const from = part.prompts.length;
  part.script = (_prompt, call) => (call - from < 3 ? { tool: "look", id: `look-${call}` } : "Done.");
  await person.say(user("loop", "Look around."));
  const prompts = part.prompts.slice(from).map((prompt) => prompt.map((message) => told(message)));
  expect(prompts).toHaveLength(4);
  for (const [step, prompt] of prompts.entries()) {
    const before = prompts[step - 1] ?? [];
    expect(before.filter((message, index) => message !== prompt[index])).toEqual([]);
    expect(prompt.length).toBeGreaterThan(before.length);
  }
});

test("a reminder of a context block stands in each prompt once, with a summary and without", async () => {
  const { name, part } = newThinker();
  await talkUntilCompacted(name);
  const person = await connect(name);
  await person.say(user("before", "What is on the board?"));
  await inside(name, (agent) => (agent.board = "Buy oats."));
  const from = part.prompts.length;
  part.script = (_prompt, call) => (call === from ? { tool: "look", id: "look-1" } : "Oats.");
  await person.say(user("after", "And now?"));
  const prompts = part.prompts.slice(from).map((prompt) => told(prompt));
  expect(prompts).toHaveLength(2);
  for (const prompt of prompts) {
    expect(prompt.split("Buy oats.")).toHaveLength(2);
    expect(prompt).toContain(SUMMARY);
  }
});

test("what the author's own hooks return comes first, and they are shown the view", async () => {
  const { name, part } = newThinker("replaced");
  const person = await connect(name);
  await person.say(user("u0"));
  await person.say(user("u1"));
  await inside(name, async (agent) => agent.session.addCompaction("One thing was said.", "u0", "u0").catch(() => null));
  const from = part.prompts.length;
  part.script = (_prompt, call) => (call === from ? { tool: "look", id: "look-1" } : "Done.");
  await person.say(user("u2"));
  for (const prompt of part.prompts.slice(from)) {
    expect(told(prompt)).toContain("Only this.");
    expect(told(prompt)).not.toContain("Please look at");
  }
  expect(await inside(name, ({ seen }) => seen)).toBe(5);
});

test("a turn on another branch is sent the view of that branch", async () => {
  const { name, part } = newThinker();
  const before = await talkUntilCompacted(name);
  const person = await connect(name);
  part.script = () => "Another answer.";
  const after = await person.submit(before.slice(0, -1), "regenerate-message");
  expect(JSON.stringify(after.at(-1))).toContain("Another answer.");
  const prompt = told(part.prompts.at(-1));
  expect(prompt).toContain(SUMMARY);
  expect(prompt).toContain("Please look at u11.");
  expect(prompt).not.toContain(JSON.stringify(before.at(-1)?.parts.find(({ type }) => type === "text")));
  await expectEqual(name);
  // The index follows the branch, so the answer that was taken back is not in the view.
  const view = await inside(name, async ({ palimpsest }) => (await palimpsest.session().getView()).messages);
  expect(view.map(({ id }) => id)).not.toContain(before.at(-1)?.id);
});

test("onCompaction of Think's session: its function summarises in the background, and the transcript stays whole", async () => {
  const { name, part } = newThinker("own");
  const seen = await talkUntilCompacted(name);
  expect(await inside(name, ({ asked }) => asked)).toBeGreaterThan(0);
  const person = await connect(name);
  const whole = await person.say(user("last", "And now?"));
  expect(told(whole.slice(0, seen.length))).toBe(told(seen));
  expect(told(part.prompts.at(-1))).toContain("Summed up by hand.");
  expect(told(part.prompts.at(-1))).not.toContain("Please look at u2.");
  await inside(name, async ({ session }) => {
    const [first] = await session.getCompactions();
    expect(first).toMatchObject({ summary: "Summed up by hand.", fromMessageId: seen[0]?.id });
    expect(JSON.stringify(await session.getHistory())).not.toContain("Summed up by hand.");
  });
});

test("reactive: a turn that the provider refused as too long waits for a summary, and is answered", async () => {
  const { name, part } = newThinker("reactive");
  const person = await connect(name);
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  expect(await inside(name, ({ palimpsest }) => palimpsest.runs.list("", { limit: 5 }))).toEqual([]);
  part.script = (prompt) => {
    if (!told(prompt).includes(SUMMARY)) throw new Error("prompt is too long");
    return "Now it fits.";
  };
  const whole = await person.say(user("last", "And now?"));
  expect(JSON.stringify(whole.at(-1))).toContain("Now it fits.");
  expect(whole).toHaveLength(26);
  expect((await ended(name))[0]).toMatchObject({ trigger: "overflow", outcome: { kind: "applied" } });
});

test("a long loop never exceeds its limit, and each of its steps is told the whole question", async () => {
  const { name, part } = newThinker();
  const person = await connect(name);
  await inside(name, (agent) => void (agent.maxSteps = 61));
  const from = part.prompts.length;
  part.script = (_prompt, call) =>
    call - from < 60 ? { tool: "look", id: `look-${call}`, input: { n: 1_000 + call } } : "Done.";
  const question = `Answer in German. ${"Look at every berth. ".repeat(20)}And end with a list.`;
  await person.say(user("loop", question));
  const prompts = part.prompts.slice(from).map((prompt) => told(prompt));
  expect(prompts.length).toBeGreaterThan(8);
  for (const prompt of prompts) expect(prompt).toContain(question);
  const sizes = prompts.map(estimateTokens);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4_000);
});

test("proactive: a loop that comes near the window waits for a summary, and its next step is sent that and all it has brought", async () => {
  const { name, part } = newThinker("proactive");
  const person = await connect(name);
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  const from = part.prompts.length;
  part.script = (_prompt, call) => (call - from < 2 ? { tool: "look", id: `look-${call}` } : "Done.");
  const whole = await person.say(user("loop", "Look around."));
  const prompts = part.prompts.slice(from).map((prompt) => told(prompt));
  expect(prompts[0]).not.toContain(SUMMARY);
  expect(prompts[1]).toContain(SUMMARY);
  expect(prompts[1]).not.toContain("Please look at u3.");
  expect(prompts[1]).toContain(`look-${from}`);
  expect(prompts[2]).toContain(`look-${from + 1}`);
  expect(whole).toHaveLength(26);
  expect(JSON.stringify(whole)).not.toContain(SUMMARY);
});

test("a skill that the model activated holds after a compaction, word for word, and it may activate it again", async () => {
  const { name, part } = newThinker("skilled");
  const person = await connect(name);
  part.script = (_prompt, call) =>
    call === 0 ? { tool: "activate_skill", id: "skill-1", input: { name: "counting" } } : `Answer ${call}.`;
  await person.say(user("count", "Count the ledgers."));
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  await ended(name);
  await person.say(user("last", "And now?"));
  const prompt = told(part.prompts.at(-1));
  expect(prompt).toContain(SUMMARY);
  expect(prompt).toContain(SKILL.trim());
  expect(toolsIn(part.prompts.at(-1)).calls).toEqual([]);
  const from = part.prompts.length;
  part.script = (_prompt, call) =>
    call === from ? { tool: "activate_skill", id: "skill-2", input: { name: "counting" } } : "Counted.";
  const whole = await person.say(user("again", "Count again."));
  expect(JSON.stringify(whole.at(-1))).toContain("Counted.");
  expect(toolsIn(part.prompts.at(-1)).results).toEqual(["skill-2"]);
  await expectEqual(name);
});

test.each([1, 2])("an agent %i levels under its root compacts like any other", async (generations) => {
  const path = Array.from({ length: generations }, (_, each) => `plain-lineage${generations}-${each}`);
  const stub = env.Lineage.get(env.Lineage.idFromName(`idle-lineage${generations}`));
  scriptModel(path.at(-1) ?? "", (prompt) => summaryOf(prompt, SUMMARY));
  await stub.store(path, talk(0, 40));
  const runs = await until(async () => {
    const list = (await stub.runsOf(path)) as RunRecord[];
    return list.length > 0 && list.every(({ outcome }) => outcome !== null) ? list : undefined;
  });
  expect(runs[0]?.outcome).toMatchObject({ kind: "applied" });
  const [view, whole] = await stub.lookAt(path);
  expect(view).toContain(SUMMARY);
  expect(view).not.toContain("Message 10:");
  expect(whole).not.toContain(SUMMARY);
  expect(whole).toContain("Message 10:");
});

test("media that Think moves to files changes messages under a summary, and the summary holds", async () => {
  const { name } = newThinker("idle");
  const image = `data:image/png;base64,${"A".repeat(60_000)}`;
  await inside(name, async (agent) => {
    const messages = talk(0, 40).map((message) =>
      message.id === "m2"
        ? { ...message, parts: [...message.parts, { type: "file" as const, mediaType: "image/png", url: image }] }
        : message,
    );
    // The summary is added before the media are old enough to move. A summary that is added while they move is refused as changed.
    for (const message of messages.slice(0, 8)) await agent.session.appendMessage(message);
    const overlay = await agent.session.addCompaction("They spoke of files.", "m1", "m6");
    for (const message of messages.slice(8)) await agent.session.appendMessage(message);
    // oxlint-disable-next-line eslint/no-underscore-dangle -- what its queue calls
    await agent._cfEvictAgedMedia();
    expect(JSON.stringify(await agent.session.getMessage("m2"))).toContain("evicted");
    const session = agent.palimpsest.session();
    expect((await session.getCompactions())[0]).toMatchObject({ id: overlay.id, state: "active" });
    expect(JSON.stringify(await session.expand(overlay.id))).toContain("preserved at");
    // An edit of the person's is one all the same.
    await agent.session.updateMessage({ id: "m2", role: "user", parts: [{ type: "text", text: "Other." }] });
    expect((await session.getCompactions())[0]?.state).toBe("invalidated");
  });
  await expectEqual(name);
});

test("clear: nothing of what was said is left on our side", async () => {
  const { name, part } = newThinker();
  await talkUntilCompacted(name);
  const person = await connect(name);
  person.send({ type: "cf_agent_chat_clear" });
  await until(async () => ((await messagesOf(name)).length === 0 ? true : undefined));
  await expectEqual(name);
  expect(await inside(name, async ({ session }) => session.getCompactions())).toEqual([]);
  await person.submit([user("again", "A new beginning.")]);
  expect(told(part.prompts.at(-1))).not.toContain(SUMMARY);
});

test("hydration: messages that are not in memory are read where they are, for views, originals and summaries", async () => {
  const { name, stub, part } = newThinker("narrow");
  quiet("warn");
  await inside(name, async ({ session }) => {
    for (const message of talk(0, 40)) await session.appendMessage(message);
  });
  await ended(name);
  await evictDurableObject(stub);
  await inside(name, async (agent) => {
    expect(agent.messages.length).toBeLessThan(20);
    const session = agent.palimpsest.session();
    const [overlay] = await session.getCompactions();
    expect((await session.expand(overlay?.id ?? "")).length).toBeGreaterThan(10);
  });
  const person = await connect(name);
  await person.say(user("last", "And now?"));
  expect(told(part.prompts.at(-1))).toContain(SUMMARY);
  await expectEqual(name);
});

test("a threshold that cannot be is told on the console, and the chat goes on with the whole conversation", async () => {
  const { name, part } = newThinker("broken");
  const said = quiet("warn");
  const person = await connect(name);
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  expect(told(part.prompts.at(-1))).toContain("Please look at u1.");
  expect(said()).toMatch(/invalid_options.*thresholdTokens/);
});

test("compact by hand: Think's session waits for the summary and says what it covers; null where nothing is configured", async () => {
  const { name } = newThinker("proactive");
  const person = await connect(name);
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`));
  await inside(name, async ({ session }) => {
    expect(await session.compact()).toMatchObject({
      summary: expect.stringContaining(SUMMARY) as string,
      toMessageId: expect.any(String) as string,
    });
  });
  const idle = newThinker("idle");
  await inside(idle.name, async ({ session }) => {
    for (const message of talk(0, 10)) await session.appendMessage(message);
    expect(await session.compact()).toBeNull();
  });
});

const ADDED = ["palimpsest", "compactionStep", "watchCompactions", "compaction"];

test("no name that compaction adds is a name of Think; its class has these and the calls that were opened", async () => {
  const table = tableOf([]);
  const open = Object.keys(table).filter((name) => new ClientAccess(DEFAULT_CLIENTS, table).opens(name));
  const stock = namesOf(Think.prototype);
  const stub = env.StockThink.get(env.StockThink.idFromName("names"));
  await runInDurableObject(stub, async (agent) => {
    // oxlint-disable-next-line eslint/no-underscore-dangle -- the SDK's name
    await agent.__unsafe_ensureInitialized();
    for (const name of namesOf(agent)) stock.add(name);
  });
  expect(stock.size).toBeGreaterThan(300);
  expect([...ADDED, ...open].filter((name) => stock.has(name))).toEqual([]);
  const { name } = newThinker("idle");
  // Fields that a test's own class has are no business of ours.
  const own = new Set(["board", "asked", "is", "seen", "contextOverflow"]);
  const ours = await inside(name, (agent) => namesOf(agent));
  const added = [...ours].filter((each) => !stock.has(each) && !own.has(each));
  const instanceOf = [...ADDED.filter((each) => each !== "compaction"), ...open];
  expect(added.toSorted()).toEqual(instanceOf.toSorted());
});

test("a class that is not Think, and Think given to another door, are refused with the way to go", () => {
  expect(() => withCompaction(class extends Agent {} as never)).toThrow(
    /invalid_options.*withCompaction of palimpsest\./,
  );
  class LostHook extends Think {}
  Object.setPrototypeOf(LostHook.prototype, { getModel() {}, configureSession() {}, beforeTurn() {} });
  expect(() => withCompaction(LostHook)).toThrow(/invalid_options.*no beforeStep: @cloudflare\/think has changed/);
  expect(() => withPlainCompaction(Think as never)).toThrow(/invalid_options.*palimpsest\/think/);
});

test("by cost, older outputs are shortened for the model alone, as Think does it, and the person sees everything", async () => {
  const { name, part } = newThinker("auto");
  const person = await connect(name);
  part.script = (_prompt, call) =>
    call % 2 === 0 ? { tool: "look", id: `look-${call}`, input: { n: 1_000 + call } } : "Seen.";
  for (let n = 0; n < 12; n++) await person.say(user(`u${n}`, "Look."));
  expect(toolsIn(part.prompts.at(-1)).results).toHaveLength(12);
  expect(told(part.prompts.at(-1))).toContain("Shortened to save context");
  expect(told(await messagesOf(name))).not.toContain("Shortened to save context");
  await expectEqual(name);
});

test("data of a message is said as the caller's `convertDataPart` says it", async () => {
  const { name, part } = newThinker("idle");
  const person = await connect(name);
  await person.say({ id: "u0", role: "user", parts: [{ type: "data-selection", data: "the north berth" }] });
  expect(told(part.prompts.at(-1))).toContain("Selected: the north berth");
});

test(
  "a turn of hundreds of steps never exceeds its limit, tells the whole request, and keeps its beginning",
  { timeout: 240_000 },
  async () => {
    // A threshold of 4,500 makes a limit of twice as much.
    const { name } = newThinker("reactive", () => "never");
    const { model, tools: own, expectHeld } = longTurn();
    given.set(name, { model, tools: own });
    await inside(name, (agent) => void (agent.maxSteps = 600));
    const person = await connect(name);
    await person.say({ id: "ask", role: "user", parts: [{ type: "text", text: REQUEST }] });
    const runs = await inside(name, ({ palimpsest }) => palimpsest.runs.list("", { limit: 50 }));
    expectHeld(9_000, runs.length);
  },
);

test("thoughts that a provider binds to all before them: none is refused, with a summary", async () => {
  const { name } = newThinker("idle");
  const { model, told: seen, steps } = signing(3);
  const look = tool({ inputSchema: z.object({ n: z.number() }), execute: async ({ n }) => `Entry ${n}.` });
  given.set(name, { model, tools: { look } });
  const person = await connect(name);
  for (let n = 0; n < 5; n++) {
    steps(3);
    const ids = (await person.say(user(`u${n}`))).map(({ id }) => id);
    if (n === 2)
      await inside(name, async ({ session }) => session.addCompaction("Looked.", ids[0] ?? "", ids[1] ?? ""));
  }
  expect(seen.refused).toBe(0);
  expect(seen.sent).toBeGreaterThan(60);
});

test("leaving Think: the conversation is as it was, in the object and for a client", async () => {
  const { name, stub } = newThinker();
  await talkUntilCompacted(name);
  expect((await ended(name))[0]?.outcome?.kind).toBe("applied");
  const before = await messagesOf(name);
  await evictDurableObject(stub);
  await runInDurableObject(stub, (_agent, { storage }) => dropPalimpsest(storage.sql));
  await evictDurableObject(stub);
  expect(await messagesOf(name)).toEqual(before);
});
