/** The agent asks for a summary itself, in the middle of a turn. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { generateText, isStepCount, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { Session } from "../../src/agent/sessions/session.ts";
import { compactTool } from "../../src/turn/compact-tool.ts";
import { keepTurn } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { tools as others } from "../agent/looker.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { talk } from "../conversation.ts";
import type { FullSession } from "../rooms.ts";
import { summaryOf } from "../scripted-model.ts";
import type { BareAgent } from "../worker.ts";

skipRetryDelays();

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
type Use = readonly [name: string, input: object];

/** Makes these calls, one a step, and then says "Done.". Returns its prompts. */
async function turn(session: FullSession, uses: readonly Use[], before?: (step: number) => Promise<unknown>) {
  const prompts: string[] = [];
  const model = new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const step = prompts.push(JSON.stringify(prompt)) - 1;
      await before?.(step);
      const [toolName, input] = uses[step] ?? [];
      return {
        content: [
          toolName === undefined
            ? { type: "text", text: "Done." }
            : { type: "tool-call", toolCallId: `call_${step}`, toolName, input: JSON.stringify(input) },
        ],
        finishReason: { unified: toolName === undefined ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
  await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: "Look it all up." }] });
  await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
  const tools: ToolSet = { ...others, compact: compactTool(session) };
  const kept = keepTurn(session, { replyId: "reply", tools });
  await generateText({ model, tools, stopWhen: isStepCount(20), ...(await kept.prepareStep()), ...kept });
  kept.mustBeKept();
  return prompts;
}

const look: Use = ["look", { n: 1 }];

test("a run is started with the model's focus, a second call joins it, and a later step of the turn is sent the summary", async () => {
  const agent = newAgent((prompt) => summaryOf(prompt, "The shelves were counted."));
  await inside(agent, async (manager) => {
    const session = manager.getSession("x!5000");
    await session.appendAll(talk(0, 24));
    const again: Use = ["compact", { reason: "Once more." }];
    const uses: Use[] = [look, ["compact", { focus: "The shelves.", reason: "Counting is done." }], again, look, look];
    const prompts = await turn(session, uses, async (step) => {
      if (step === 4) await Promise.all((await session.runs()).map(({ id }) => session.ended(id)));
    });
    const runs = await session.runs();
    expect(runs.map(({ trigger, focus, outcome }) => [trigger, focus, outcome?.kind])).toEqual([
      ["manual", "The shelves.", "applied"],
    ]);
    expect(prompts.map((prompt) => prompt.includes("The shelves were counted."))).toEqual([
      ...Array.from({ length: 5 }, () => false),
      true,
    ]);
    expect(prompts[2]).toContain("A summary is being made. ");
    expect(prompts[3]).toContain("A summary is being made already.");
    expect(prompts.at(-1)).toContain("Look it all up.");
  });
  expect(JSON.stringify(agent.calls)).toContain("The shelves.");
});

test("where nothing can be summarised, the model is told what to do instead", async () => {
  const stub = env.BareAgent.get(env.BareAgent.idFromName("without-a-threshold"));
  await runInDurableObject(stub, async (agent: BareAgent) => {
    const session = Session.create(agent);
    const ask = () =>
      compactTool(session).execute?.({ focus: " " }, { toolCallId: "c", messages: [], context: undefined });
    expect(await ask()).toMatch(/^Not done\. .*no messages yet/);
    await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: "Go." }] });
    expect(await ask()).toMatch(/^Not done\. .*compactAfter/);
  });
});
