/** The prompts of the chat example's model, call by call. The example's Worker is bundled and reached over HTTP and WebSockets. */
import { resolve } from "node:path";
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness, unstable_readConfig } from "wrangler";
import { ALIAS } from "../config.ts";
import { connect, pagesRead, storedMessages, type RecordedChat } from "./client.ts";

const example = resolve(import.meta.dirname, "../../../examples/chat/wrangler.jsonc");
// The harness takes the content of a file. The parsed configuration also holds this default, which a file cannot.
const { triggers: _, ...config } = unstable_readConfig({ config: example });
const recorder = {
  ...config,
  main: resolve(import.meta.dirname, "recorder.ts"),
  alias: ALIAS,
};
const server = createTestHarness({ workers: [{ config: recorder }] });
beforeAll(async () => void (await server.listen()));
afterAll(() => server.close());

const newChat = (name: string) => connect<RecordedChat>(server, name);

/** The agent's real bucket, on this machine. */
async function bucket(): Promise<R2Bucket> {
  return ((await server.getWorker().getEnv()) as { SKILLS: R2Bucket }).SKILLS;
}

/** What the last tool call of a prompt was answered with. */
function lastResult(prompt: LanguageModelV4Prompt | undefined): string {
  const results = (prompt ?? []).flatMap(({ role, content }: LanguageModelV4Message) =>
    role === "tool" ? content.filter((part) => part.type === "tool-result") : [],
  );
  return JSON.stringify(results.at(-1)?.output);
}

/** Names of the tools that a prompt shows calls of, in order. */
function toolsCalled(prompt: LanguageModelV4Prompt | undefined): string[] {
  return (prompt ?? []).flatMap(({ role, content }) =>
    role === "assistant" ? content.flatMap((part) => (part.type === "tool-call" ? [part.toolName] : [])) : [],
  );
}

function count(word: string, prompt: unknown): number {
  return JSON.stringify(prompt).split(word).length - 1;
}

/** The prompt as sent, without its closing characters. A later prompt begins with it. */
function opening(prompt: LanguageModelV4Prompt): string {
  return JSON.stringify(prompt).slice(0, -1);
}

const SKILL_LINE = "also where the spelling is old";
const SIGNED = "Your obedient clerk.";

test("a skill is read from the bucket, stays in the prompts until it is put away, and in the stored message for good (C1, M1)", async () => {
  const chat = await newChat("skills");
  await chat.chat("Please use the letters skill.");
  const [asked, loaded] = await chat.received();
  expect(count("- letters: How to answer letters", asked)).toBe(1);
  expect(count(SKILL_LINE, asked)).toBe(0);
  expect(lastResult(loaded)).toContain(SKILL_LINE);

  expect((await chat.chat("Please read page 2.")).text).toContain(SIGNED);
  const withSkill = await chat.received();
  expect(withSkill.map((prompt) => count(SKILL_LINE, prompt))).toEqual([1, 1]);

  await chat.chat("Please put away the letters skill.");
  const [before, after] = await chat.received();
  expect(count(SKILL_LINE, before)).toBe(1);
  expect(lastResult(after)).toContain('Unloaded \\"letters\\".');
  expect((await chat.chat("Please read page 3.")).text).not.toContain(SIGNED);
  const withoutSkill = await chat.received();
  for (const prompt of [after, ...withoutSkill]) {
    expect(count(SKILL_LINE, prompt)).toBe(0);
    expect(count("was unloaded and is not shown here", prompt)).toBe(1);
  }
  expect(count(SKILL_LINE, await storedMessages(chat))).toBe(1);
});

test("a skill of your own, put in the bucket, is listed and read; what you changed there stays when an agent starts", async () => {
  const skills = await bucket();
  await skills.put("skills/tides", "High water is 50 minutes later each day.", {
    customMetadata: { description: "How to reckon tides" },
  });
  await skills.put("skills/oil-audit/SKILL.md", "A lamp burns 14 pints now.");
  const chat = await newChat("own-skills");
  await chat.chat("Please use the tides skill.");
  await chat.chat("Please use the oil-audit skill.");
  const prompts = await chat.received();
  expect(count("- tides: How to reckon tides", prompts[0])).toBe(1);
  expect(lastResult(prompts[1])).toContain("50 minutes later");
  expect(lastResult(prompts[3])).toContain("14 pints now");
});

test("a loaded skill and the system prompt are the same after the object was evicted", async () => {
  const chat = await newChat("evicted");
  await chat.chat("Please use the letters skill.");
  const [asked] = await chat.received();
  await chat.chat("Remember: I like tea.");
  await server.getWorker().evictDurableObject("ChatAgent", { name: "evicted", webSockets: "hibernate" });
  expect((await chat.chat("Please read page 2.")).text).toContain(SIGNED);
  const [prompt] = await chat.received();
  expect(prompt?.[0]).toEqual(asked?.[0]);
  expect(count(SKILL_LINE, prompt)).toBe(1);
  await chat.chat("Please put away the letters skill.");
  expect(count(SKILL_LINE, (await chat.received()).at(-1))).toBe(0);
});

test("a card that the model filed in one conversation is found in another by its words (C1, C2)", async () => {
  const chat = await newChat("cards");
  await chat.chat("File oil: The tank by the north door leaks a pint a week.", "monday");
  await chat.chat("File lens: Polished with vinegar, never with sand.", "monday");
  await chat.received();
  await chat.chat("Look up leaks north", "tuesday");
  const [asked, answered] = await chat.received();
  expect(count("[searchable]", asked)).toBe(1);
  expect(count("a pint a week", asked)).toBe(0);
  expect(toolsCalled(answered)).toEqual(["search_context"]);
  expect(lastResult(answered)).toContain("[oil]\\nThe tank by the north door leaks a pint a week.");
  expect(lastResult(answered)).not.toContain("vinegar");
});

test("a fact of another conversation is found with session_search, under that conversation's title (S1)", async () => {
  const chat = await newChat("conversations");
  await chat.chat("The brass key hangs behind the barometer.", "keys");
  await chat.chat("Good evening.", "supper");
  await chat.received();
  await chat.chat("Please search our conversations for brass key.", "question");
  const [asked, answered] = await chat.received();
  expect(count("barometer", asked)).toBe(0);
  expect(toolsCalled(answered)).toEqual(["session_search"]);
  const result = lastResult(answered);
  expect(result).toContain('user, in \\"The brass key hangs behind the barometer.\\" (session keys');
  expect(result).toContain("behind the barometer");

  await chat.renameSession({ sessionId: "keys", name: "Keys" });
  const named = (await chat.listSessions({})).map(({ id, name }) => [id, name]);
  expect(Object.fromEntries(named)).toEqual({
    keys: "Keys",
    supper: "Good evening.",
    question: "Please search our conversations for brass key.",
  });
  const listed = await server.fetch("/agents/chat-agent/conversations");
  expect(await listed.text()).toContain("?session=keys Keys\n");
});

test("a refused prompt is what makes the turn compact: it is sent again smaller, and answered in the same turn", async () => {
  const chat = await newChat("refused");
  await chat.chat("Please read pages 1 to 14.");
  await chat.received();
  // Wide columns. The estimate counts little for spaces, and the provider counts each.
  const pasted = `Measured:\n${`oil${" ".repeat(600)}pints\n`.repeat(60)}`;
  const { text } = await chat.chat(pasted);
  const [refused, answered, ...more] = await chat.received();
  expect(more).toEqual([]);
  expect(opening(answered!).length).toBeLessThan(opening(refused!).length - 10_000);
  expect(answered!.at(-1)).toEqual(refused!.at(-1));
  expect(count("Page 1. At", refused)).toBe(1);
  expect(text).toContain("You said: ");
  // Newest first. The provider's count afterwards may have started another run.
  expect((await chat.runs({})).at(-1)).toMatchObject({ trigger: "overflow", outcome: { kind: "applied" } });
});

test("in a turn of fifty steps, each prompt begins with the one before, but where a compaction landed: there it is smaller (M1)", async () => {
  const chat = await newChat("fifty");
  expect((await chat.chat("Please read pages 1 to 49.")).text).toBe("I have read up to page 49.");
  const prompts = await chat.received();
  expect(prompts).toHaveLength(50);
  const landed = prompts.flatMap((prompt, at) => {
    const before = prompts[at - 1];
    return before === undefined || opening(prompt).startsWith(opening(before)) ? [] : [at];
  });
  expect(landed).toHaveLength((await chat.runs({})).length);
  expect(landed.length).toBeGreaterThan(1);
  for (const at of landed) {
    const [before, after] = [prompts[at - 1]!, prompts[at]!];
    expect(opening(after).length).toBeLessThan(opening(before).length / 2);
    // Both begin with the system prompt and the question. A summary behind it is a part of the same message.
    expect(after[0]).toEqual(before[0]);
    expect(after[1]).toMatchObject({ role: "user" });
    expect(after[1]?.content[0]).toEqual(before[1]?.content[0]);
    // The newest page is still there as it was read.
    expect(lastResult(after)).toContain(`Page ${at}. `);
  }
  expect(count("Page 1. At", prompts.at(-1))).toBe(0);
  expect(count("Page 1. At", await storedMessages(chat))).toBe(1);
  expect(await chat.usage()).toMatchObject([{ calls: 50 }]);
});

test("an answer that is made again is asked for with the same prompt; both branches can be read, the view follows the newest", async () => {
  const chat = await newChat("again");
  await chat.chat("Good morning.");
  await chat.received();
  const first = await chat.chat("Please read pages 3 to 4.");
  const [firstAsked] = await chat.received();
  const second = await chat.regenerate(first.id);
  const [secondAsked] = await chat.received();
  expect(secondAsked).toEqual(firstAsked);

  const question = (await storedMessages(chat)).at(-2);
  expect((await chat.getBranches({ id: question?.id ?? "" })).map(({ id }) => id)).toEqual([first.id, second.id]);
  for (const { id, text } of [first, second]) {
    const branch = await chat.getHistory({ leafId: id });
    expect(branch).toHaveLength(4);
    expect(branch.at(-1)).toMatchObject({ id });
    expect(branch.at(-1)?.parts.at(-1)).toMatchObject({ type: "text", text });
  }
  expect((await chat.getView({})).messages.at(-1)?.id).toBe(second.id);

  const callIds = (await chat.getMessage({ id: first.id }))?.parts.flatMap((part) =>
    "toolCallId" in part ? [part.toolCallId] : [],
  );
  await chat.chat("Thank you.");
  const [next] = await chat.received();
  expect(callIds).toHaveLength(2);
  for (const id of callIds ?? []) expect(count(id, next)).toBe(0);
  expect(count("read_log", next)).toBe(4);
});

test("what the model remembers is told at the end of its prompts, under a system prompt that stays the same", async () => {
  const chat = await newChat("reminded");
  await chat.chat("Remember: I prefer answers in one line.", "first");
  await chat.chat("Hello.", "first");
  const prompts = await chat.received();
  const [system] = prompts[0]!;
  for (const prompt of prompts) expect(prompt[0]).toEqual(system);
  expect(prompts.map((prompt) => count("I prefer answers", prompt.at(-1)))).toEqual([1, 1, 1]);
  expect(prompts.map((prompt) => prompt.at(-1)?.role)).toEqual(["user", "user", "user"]);
  await chat.chat("Good day.", "second");
  const [begun] = await chat.received();
  expect(count("I prefer answers in one line.", begun?.[0])).toBe(1);
  expect(begun).toHaveLength(2);
});

test("a skill under a summary is in each prompt once while it is loaded, and gone as soon as it is put away (M1)", async () => {
  const chat = await newChat("summarised-skill");
  const asked = async (text: string): Promise<number[]> => {
    await chat.chat(text);
    return (await chat.received()).map((prompt) => count(SKILL_LINE, prompt));
  };
  await asked("Please read pages 1 to 2.");
  await asked("Please use the letters skill.");
  // Several compactions land meanwhile, and the skill's own message is long hidden.
  expect(new Set(await asked("Please read pages 3 to 49."))).toEqual(new Set([1]));
  expect(await asked("Please use the letters skill.")).toEqual([1, 1]);
  expect(await asked("Please put away the letters skill.")).toEqual([1, 0]);
  expect(new Set(await asked("Please read pages 3 to 49."))).toEqual(new Set([0]));
  expect(await asked("Please use the letters skill.")).toEqual([0, 1]);
  expect(new Set(await asked("Please read pages 3 to 49."))).toEqual(new Set([1]));
  // This time the carried text is all there is of it.
  expect(await asked("Please put away the letters skill.")).toEqual([1, 0]);
});

test("an agent whose bucket is down starts and answers, and the model is told what cannot be read", async () => {
  const chat = await newChat("outage");
  expect((await chat.chat("Please read page 2.")).text).toContain("I have read up to page 2.");
  expect((await chat.chat("Please use the letters skill.")).text).not.toBe("");
  const prompts = await chat.received();
  expect(prompts.length).toBeGreaterThan(2);
  for (const prompt of prompts) expect(count("This block could not be read just now", prompt)).toBe(1);
});

test("a conversation that is split in the middle of a turn goes on in the child, by the id that it began with (M1)", async () => {
  const chat = await newChat("split");
  await chat.chat("Please read page 1.");
  await chat.splitAt(10);
  const { id, text, sessionId } = await chat.chat("Please read pages 2 to 30.");
  expect(text).toContain("I have read up to page 30.");
  expect(sessionId).toMatch(/^child-/);
  expect(sessionId).toBe((await chat.newestSession({})).id);
  const pages = pagesRead(await chat.getMessage({ id, sessionId }));
  expect(pages).toEqual(Array.from({ length: 29 }, (_, index) => index + 2));
  const next = await chat.chat("Please read page 31.");
  expect([next.text, next.sessionId]).toEqual([expect.stringContaining("page 31."), sessionId]);
  const roles = (await storedMessages(chat, sessionId)).map((message) => message.role);
  expect(roles.slice(-4)).toEqual(["user", "assistant", "user", "assistant"]);
  const again = await chat.regenerate(id);
  expect(
    (await chat.getBranches({ id: (await chat.getParent({ id, sessionId })) ?? "", sessionId })).map((each) => each.id),
  ).toEqual([id, again.id]);
});
