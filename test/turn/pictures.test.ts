/** A picture that a tool took is counted as a picture, and the step after it sees the whole. */
import { generateText, isStepCount, tool, type ToolSet, type UIMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { keepTurn } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { settle } from "../agent/runs.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { makeGate, openGates, summaryOf } from "../scripted-model.ts";

skipRetryDelays();

afterEach(openGates);

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const picture = `iVBORw0KGgo${"AbCd".repeat(150_000)}`;

function look(
  output: object,
  own?: (output: never) => string,
): Promise<{ prompts: string[]; tokens: number; runs: number }> {
  return inside(newAgent(), async (manager) => {
    const session = manager.getSession("x!60000");
    await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: "What is on the page?" }] });
    await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
    const shot = tool({
      inputSchema: z.object({}),
      execute: async () => output,
      ...(own !== undefined && { toModelOutput: ({ output: got }) => ({ type: "text", value: own(got as never) }) }),
    });
    const tools: ToolSet = { shot };
    const prompts: string[] = [];
    const model = new MockLanguageModelV4({
      doGenerate: async ({ prompt }) => {
        const first = prompts.push(JSON.stringify(prompt)) === 1;
        return {
          content: first
            ? [{ type: "tool-call", toolCallId: "c1", toolName: "shot", input: "{}" }]
            : [{ type: "text", text: "A form." }],
          finishReason: { unified: first ? "tool-calls" : "stop", raw: undefined },
          usage,
          warnings: [],
        };
      },
    });
    const turn = keepTurn(session, { replyId: "reply", tools });
    await generateText({ model, tools, stopWhen: isStepCount(3), ...(await turn.prepareStep()), ...turn });
    turn.mustBeKept();
    const { tokens } = await session.getView();
    return { prompts, tokens, runs: (await session.runs()).length };
  });
}

test.each<[string, object]>([
  ["MCP", { content: [{ type: "image", mimeType: "image/png", data: picture }] }],
  ["the SDK", { type: "content", value: [{ type: "image-data", mediaType: "image/png", data: picture }] }],
])("in contents of %s it is a picture for the model", async (_name, output) => {
  const { prompts, tokens, runs } = await look(output);
  expect([tokens < 10_000, runs]).toEqual([true, 0]);
  expect(prompts[1]).toContain(picture);
  expect(prompts[1]).toContain('"type":"content"');
});

test("in a field it is a line for the model, because a model cannot read it there", async () => {
  const { prompts, tokens } = await look({ title: "Form", shot: `data:image/png;base64,${picture}` });
  expect(tokens).toBeLessThan(10_000);
  expect(prompts[1]).not.toContain("AbCdAbCd");
  expect(prompts[1]).toContain("[image/png, 440 KB, left out]");
});

test("a tool's own form of it is sent, made of the whole", async () => {
  const { prompts } = await look({ shot: picture }, ({ shot }: { shot: string }) => `${shot.length} characters`);
  expect(prompts[1]).toContain(`${picture.length} characters`);
});

const large = (n: number): string => `iVBORw0KGgo${String(n).padStart(4, "0")}${"AbC1".repeat(250_000)}`;

describe("forty megabytes of pictures", () => {
  test(
    "are a view that providers and RPC take, with a line for each that was left out",
    { timeout: 120_000 },
    async () => {
      // The run that they start is at work while the view is read.
      const gate = makeGate();
      const { agent } = newAgent(async (prompt) => {
        await gate.pass();
        return summaryOf(prompt, "done");
      });
      const sessionId = "x!1000000";
      for (let n = 0; n < 40; n++) {
        const file = {
          type: "file",
          mediaType: "image/png",
          filename: `${n}.png`,
          url: `data:image/png;base64,${large(n)}`,
        } as const;
        await agent.appendAll({ sessionId, messages: [{ id: `u${n}`, role: "user", parts: [file] }] });
      }
      const report = await agent.plan({ sessionId });
      expect(report?.policy.thresholdTokens, "planned as the run is").toBeLessThan(100_000);
      for (const options of [{}, { apart: true }, { maxTokens: 500_000 }]) {
        const { messages } = await agent.getView({ sessionId, ...options });
        const told = JSON.stringify(messages);
        expect(told.length).toBeLessThan(19_000_000);
        expect(told).toContain("[File 0.png (image/png) left out to fit.]");
        expect(told).toContain(large(39));
      }
    },
  );

  test(
    "start a run by their bytes, at a twentieth of the threshold in tokens, and its view holds what a request takes",
    { timeout: 120_000 },
    async () => {
      const { agent } = newAgent((prompt) => summaryOf(prompt, "looked at the pages"));
      const sessionId = "wide x!200000";
      const newest: number[] = [];
      for (let n = 0; n < 40; n++) {
        const url = `data:image/png;base64,${large(n)}`;
        const file = { type: "file", mediaType: "image/png", filename: `${n}.png`, url } as const;
        const asked = { type: "text", text: `Page ${n}. ${"It shows the boats of the quay. ".repeat(8)}` } as const;
        const messages: UIMessage[] = [
          { id: `u${n}`, role: "user", parts: [asked, file] },
          {
            id: `a${n}`,
            role: "assistant",
            parts: [{ type: "text", text: `${n} boats. ${"They lie at anchor. ".repeat(8)}` }],
          },
        ];
        await agent.appendAll({ sessionId, messages });
        await settle(agent, sessionId);
        newest.push((await agent.status({ sessionId })).viewTokens);
      }
      const runs = await settle(agent, sessionId);
      expect(new Set(runs.map(({ outcome }) => outcome?.kind))).toEqual(new Set(["applied"]));
      expect(runs).toHaveLength(2);
      expect(Math.max(...newest)).toBeLessThan(200_000 / 5);
      const told = JSON.stringify((await agent.getView({ sessionId })).messages);
      expect(told.length).toBeLessThan(18_000_000);
      expect(told).not.toContain("left out to fit");
      expect(told).toContain(large(39));
    },
  );

  test(
    "of one turn: each step sees the newest, and no prompt has more than providers take",
    { timeout: 120_000 },
    async () => {
      await inside(newAgent(), async (manager) => {
        const session = manager.getSession("x!1000000");
        await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: "Look at each page." }] });
        await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
        let shots = 0;
        const shot = tool({
          inputSchema: z.object({}),
          execute: async () => ({ content: [{ type: "image", mimeType: "image/png", data: large(shots++) }] }),
        });
        let most = 0;
        const model = new MockLanguageModelV4({
          doGenerate: async ({ prompt }) => {
            const told = JSON.stringify(prompt);
            most = Math.max(most, told.length);
            if (shots > 0) expect(told).toContain(large(shots - 1));
            const isDone = shots === 20;
            return {
              content: [
                isDone
                  ? { type: "text", text: "Done." }
                  : { type: "tool-call", toolCallId: `c${shots}`, toolName: "shot", input: "{}" },
              ],
              finishReason: { unified: isDone ? "stop" : "tool-calls", raw: undefined },
              usage,
              warnings: [],
            };
          },
        });
        const kept = keepTurn(session, { replyId: "reply", tools: { shot } });
        const pages = 7;
        for (let n = 0; n < pages; n++) {
          const until = isStepCount(3);
          await generateText({ model, tools: { shot }, stopWhen: until, ...(await kept.prepareStep()), ...kept });
        }
        kept.mustBeKept();
        expect(most).toBeGreaterThan(12_000_000);
        expect(most).toBeLessThan(19_000_000);
      });
    },
  );
});
