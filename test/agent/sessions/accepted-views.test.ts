/** The views of a session, and the prompts of its turns, are requests that any provider takes. */
import { runInDurableObject } from "cloudflare:test";
import { convertToModelMessages, generateText, isStepCount, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { Session } from "../../../src/agent/sessions/session.ts";
import { parseSyntheticId } from "../../../src/steps/view/view.ts";
import { keepTurn } from "../../../src/turn/turn.ts";
import { newAgent, skipRetryDelays } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { summaryOf } from "../../scripted-model.ts";
import { settle } from "../runs.ts";

skipRetryDelays();

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const system = (id: string, text: string): UIMessage => ({ id, role: "system", parts: [{ type: "text", text }] });

async function rolesOf(messages: UIMessage[]): Promise<string[]> {
  return (await convertToModelMessages(messages)).map(({ role }) => role);
}

test("user and assistant alternate in a view with a summary, and its messages apart are as they were stored", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  await agent.appendAll({ messages: talk(0, 23) });
  await settle(agent);
  const { messages, elements } = await agent.getView({});
  expect(messages.filter(({ id }) => parseSyntheticId(id)?.kind === "overlay")).toHaveLength(1);
  const roles = await rolesOf(messages);
  for (const [at, role] of roles.entries()) expect(role).not.toBe(roles[at - 1]);
  const apart = await agent.getView({ apart: true });
  expect(apart.messages).toHaveLength(elements.length);
  expect(apart.messages.flatMap(({ parts }) => parts)).toEqual(messages.flatMap(({ parts }) => parts));
});

test("an echo of a joined message changes nothing that is stored", async () => {
  const { agent } = newAgent();
  await agent.appendAll({ messages: [say(0), { ...say(1), role: "user" }] });
  const { messages } = await agent.getView({});
  expect(messages).toHaveLength(1);
  await agent.append({ message: messages[0] as UIMessage });
  expect(await agent.getHistory({})).toEqual([say(0), { ...say(1), role: "user" }]);
});

test("a turn runs in a session that holds system messages, and its model is told them", async () => {
  const { stub } = newAgent();
  const prompt = await runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("x!100000");
    await session.appendAll([system("s", "You are terse."), say(0), say(1), system("t", "Speak of boats."), say(2)]);
    await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
    let sent = "";
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt: asked }) => {
        sent = JSON.stringify(asked);
        const finishReason = { unified: "stop", raw: undefined } as const;
        return { content: [{ type: "text", text: "Hi." }], finishReason, usage, warnings: [] };
      },
    });
    const turn = keepTurn(session, { replyId: "reply" });
    await generateText({ model, stopWhen: isStepCount(2), ...(await turn.prepareStep()), ...turn });
    return sent;
  });
  expect(prompt).toContain("You are terse.");
  expect(prompt).toContain("Speak of boats.");
});

test("a rule of a later system message stands beside every summary that hides it", async () => {
  const { agent } = newAgent((prompt) => summaryOf(prompt, "done"));
  const rule = "From now on the user is a minor: never discuss alcohol.";
  for (let begin = 0; begin < 120; begin += 20) {
    const messages = talk(begin, begin + 20);
    if (begin === 0) messages.splice(8, 0, system("s8", rule));
    await agent.appendAll({ messages });
    await settle(agent);
  }
  const { messages } = await agent.getView({});
  expect(messages.some(({ id }) => id === "s8")).toBe(false);
  expect(JSON.stringify(messages)).toContain(rule);
});

test("and beside a caller's own summary", async () => {
  const { agent } = newAgent();
  const rule = "From now on the user is a minor: never discuss alcohol.";
  await agent.appendAll({ messages: [...talk(0, 8), system("s8", rule), ...talk(8, 12)] });
  await agent.addCompaction({ summary: "Boats.", fromMessageId: say(0).id, toMessageId: say(9).id });
  const { messages } = await agent.getView({});
  expect(messages.some(({ id }) => id === "s8")).toBe(false);
  expect(JSON.stringify(messages)).toContain(rule);
});
