/** `ToolLoopAgent` and `pruneMessages` of the AI SDK with a kept turn, as docs/chat.md shows them. */
import { runInDurableObject } from "cloudflare:test";
import { isStepCount, pruneMessages, ToolLoopAgent } from "ai";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { keepTurn } from "../../src/turn/turn.ts";
import { newAgent } from "../agents.ts";
import { looker, tools } from "../agent/looker.ts";

const STEPS = 4;

async function answered(how: "generate" | "stream", prunes: boolean) {
  const { stub } = newAgent();
  return runInDurableObject(stub, async (agent) => {
    const session = Session.create(agent).forSession("long!100000");
    await session.appendMessage({ id: "question", role: "user", parts: [{ type: "text", text: "Look it all up." }] });
    await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
    const model = looker(STEPS);
    const turn = keepTurn(session, { replyId: "reply", tools });
    const prepareStep: typeof turn.prepareStep = async (step) => {
      const { messages } = await turn.prepareStep(step);
      return { messages: prunes ? pruneMessages({ messages, toolCalls: "before-last-2-messages" }) : messages };
    };
    const loop = new ToolLoopAgent({ model, tools, stopWhen: isStepCount(50), ...turn, prepareStep });
    const first = await turn.prepareStep();
    const said = how === "generate" ? (await loop.generate(first)).text : await (await loop.stream(first)).text;
    turn.mustBeKept();
    const calls = how === "generate" ? model.doGenerateCalls : model.doStreamCalls;
    return {
      said,
      prompts: calls.map(({ prompt }) => JSON.stringify(prompt)),
      reply: await session.getMessage("reply"),
    };
  });
}

test.each(["generate", "stream"] as const)(
  "a ToolLoopAgent's turn is sent the view at each step, and is stored whole (%s)",
  async (how) => {
    const { said, prompts, reply } = await answered(how, false);
    expect(said).toBe("Done.");
    expect(prompts).toHaveLength(STEPS + 1);
    for (const [step, prompt] of prompts.entries()) {
      for (let n = 0; n < STEPS; n++) expect(prompt.includes(`"call-${n}"`)).toBe(n < step);
    }
    expect(reply?.parts.filter(({ type }) => type === "tool-look")).toHaveLength(STEPS);
    expect(reply?.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
  },
);

test("pruneMessages leaves old calls out of a prompt, and the stored reply keeps them", async () => {
  const { prompts, reply } = await answered("generate", true);
  const last = prompts.at(-1) ?? "";
  expect([0, 1, 2, 3].map((n) => last.includes(`"call-${n}"`))).toEqual([false, false, false, true]);
  expect(reply?.parts.filter(({ type }) => type === "tool-look")).toHaveLength(STEPS);
});
