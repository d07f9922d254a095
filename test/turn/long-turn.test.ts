/** A turn of hundreds of steps, in the doors of our own sessions. */
import { generateText, isStepCount } from "ai";
import { expect, test } from "vitest";
import { keepTurn, viewBeforeStep } from "../../src/turn/turn.ts";
import { stepParts } from "../../src/turn/step-parts.ts";
import { inside } from "../agent/inside.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import { talk } from "../conversation.ts";
import type { FullSession } from "../rooms.ts";
import { summaryOf } from "../scripted-model.ts";
import { LIMIT, longTurn, REQUEST, STEPS } from "./long-turn.ts";

skipRetryDelays();

async function ask(session: FullSession): Promise<void> {
  await session.appendAll(talk(0, 8));
  await session.appendMessage({ id: "ask", role: "user", parts: [{ type: "text", text: REQUEST }] });
  await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
}

const stopWhen = isStepCount(STEPS + 1);

test("keepTurn", { timeout: 240_000 }, async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("long!10000000");
    await ask(session);
    const { model, tools, expectHeld } = longTurn();
    const kept = keepTurn(session, { replyId: "reply", tools, maxTokens: LIMIT });
    await generateText({ model, tools, stopWhen, ...(await kept.prepareStep()), ...kept });
    kept.mustBeKept();
    expectHeld();
    expect((await session.getMessage("reply"))?.parts.filter(({ type }) => type === "tool-look")).toHaveLength(STEPS);
  });
});

test("viewBeforeStep, whose caller stores each step", { timeout: 240_000 }, async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("stored!10000000");
    await ask(session);
    const { model, tools, expectHeld } = longTurn();
    const add = session.editor("reply");
    await generateText({
      model,
      tools,
      prompt: "-",
      stopWhen,
      prepareStep: viewBeforeStep(session, { tools, maxTokens: LIMIT }),
      onStepEnd: async (step) => {
        const parts = await stepParts(step, tools);
        add?.((stored) => [...stored, ...parts]);
      },
    });
    expectHeld();
  });
});

test(
  "keepTurn, with summaries that land in the middle: they are used, and no prompt is over its limit",
  { timeout: 240_000 },
  async () => {
    const agent = newAgent((prompt) => summaryOf(prompt, "Entries were looked up."));
    await inside(agent, async (manager) => {
      const session = manager.getSession("x!6000");
      await ask(session);
      const { model, tools, expectHeld, seen } = longTurn(Math.min(STEPS, 150));
      const kept = keepTurn(session, { replyId: "reply", tools, maxTokens: LIMIT });
      const wait = async (): Promise<void> => {
        for (const run of await session.runs()) await session.ended(run.id);
      };
      await generateText({
        model,
        tools,
        stopWhen,
        ...(await kept.prepareStep()),
        ...kept,
        prepareStep: async (step) => {
          await wait();
          return kept.prepareStep(step);
        },
      });
      kept.mustBeKept();
      const runs = await session.runs({ limit: 100 });
      expect(runs.filter(({ outcome }) => outcome?.kind === "applied").length).toBeGreaterThan(3);
      expect(seen.summaries).toBeGreaterThan(50);
      expectHeld(LIMIT, runs.length);
    });
  },
);
