/**
 * A provider that binds each thought to all before it, through every door of our own sessions and any change of what stands before. No request
 * is refused, and a thought is only left out where it would be.
 */
import { generateText, isStepCount, tool, type ToolSet, convertToModelMessages } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { keepTurn, viewBeforeStep } from "../../src/turn/turn.ts";
import { stepParts } from "../../src/turn/step-parts.ts";
import { inside } from "../agent/inside.ts";
import { newAgent, skipRetryDelays } from "../agents.ts";
import type { FullSession } from "../rooms.ts";
import { summaryOf } from "../scripted-model.ts";
import { everything } from "../tries.ts";
import { signing } from "./signing-provider.ts";

skipRetryDelays();

type Door = "keepTurn" | "viewBeforeStep" | "getView";
type Change = "nothing" | "summary" | "rollback" | "edit" | "fit" | "tools" | "instructions" | "remind";
interface Turn {
  readonly steps: number;
  readonly before: Change;
  readonly middle: Change;
  readonly at: number;
}

const look = (onLook: (n: number) => Promise<unknown>, description: string): ToolSet => ({
  look: tool({
    description,
    inputSchema: z.object({ n: z.number() }),
    execute: async ({ n }) => {
      await onLook(n);
      return { entry: n, text: "The ledger keeps its promise. ".repeat(4) };
    },
  }),
});

/** A conversation through one door. Returns what the provider saw. */
async function converse(session: FullSession, door: Door, turns: readonly Turn[]) {
  const { model, told, steps } = signing(0);
  let [asked, told2, description, instructions] = [0, 0, "Looks.", "You keep a ledger."];
  const isFitted = { value: false };
  const change = async (what: Change): Promise<void> => {
    const path = await session.getHistory();
    const own = path.filter(({ id }) => id.startsWith("q") || id.startsWith("reply"));
    const [first, last] = [own.at(0), own.at(-4)];
    if (what === "summary" && first !== undefined && last !== undefined && first !== last)
      await session.addCompaction(`Until ${asked}.`, first.id, last.id).catch(() => undefined);
    if (what === "rollback") {
      const [newest] = (await session.getCompactions()).filter(({ state }) => state === "active").toReversed();
      if (newest !== undefined) await session.rollback(newest.id);
    }
    if (what === "edit" && first?.role === "user")
      await session.updateMessage({ ...first, parts: [{ type: "text", text: `Edited ${asked}.` }] });
    if (what === "fit") isFitted.value = true;
    if (what === "tools") description = `Looks again ${asked}.`;
    if (what === "instructions") instructions = `You keep ledger ${asked}.`;
    if (what === "remind") await session.replaceContextBlock("memory", `Note ${told2++}.`);
  };
  for (const { steps: many, before, middle, at } of turns) {
    const n = asked++;
    await change(before);
    const isOurs = door !== "getView";
    const tools = look(
      async (entry) => entry === at && isOurs && (await change(middle)),
      isOurs ? description : "Looks.",
    );
    steps(many);
    await session.appendMessage({ id: `q${n}`, role: "user", parts: [{ type: "text", text: `Question ${n}.` }] });
    const limit = isFitted.value ? { maxTokens: 700 } : {};
    const system = isOurs ? instructions : "You keep a ledger.";
    const base = { model, tools, instructions: system, stopWhen: isStepCount(20) };
    if (door === "keepTurn") {
      await session.appendMessage({ id: `reply${n}`, role: "assistant", parts: [] });
      const kept = keepTurn(session, { replyId: `reply${n}`, tools, ...limit });
      await generateText({ ...base, ...(await kept.prepareStep()), ...kept });
      kept.mustBeKept();
      continue;
    }
    await session.appendMessage({ id: `reply${n}`, role: "assistant", parts: [] });
    const add = session.editor(`reply${n}`);
    const onStepEnd = async (step: Parameters<typeof stepParts>[0]): Promise<void> => {
      const parts = await stepParts(step, tools);
      add?.((stored) => [...stored, ...parts]);
    };
    if (door === "viewBeforeStep") {
      await generateText({
        ...base,
        prompt: "-",
        prepareStep: viewBeforeStep(session, { tools, ...limit }),
        onStepEnd,
      });
      continue;
    }
    const prepareStep = async () => {
      const { messages } = await session.getView(limit);
      return { messages: await convertToModelMessages(messages, { tools }) };
    };
    await generateText({ ...base, prompt: "-", prepareStep, onStepEnd });
  }
  return { ...told, isFitted: isFitted.value };
}

const change = fc.constantFrom<Change>(
  "nothing",
  "nothing",
  "nothing",
  "summary",
  "rollback",
  "edit",
  "fit",
  "tools",
  "instructions",
  "remind",
);
const turn = fc.record({ steps: fc.nat(4), before: change, middle: change, at: fc.nat(3) });

/** Requests that a run of all tests makes. */
const REQUESTS = everything ? 10_000 : 1_500;

test.each<Door>(["keepTurn", "viewBeforeStep", "getView"])(
  "%s: none refused, and none left out without need",
  { timeout: 1_200_000 },
  async (door) => {
    const agent = newAgent((prompt) => summaryOf(prompt, "done"));
    const counted = { requests: 0, sent: 0 };
    for (let seed = 1; counted.requests < REQUESTS / 3; seed++) {
      await inside(agent, async (manager) => {
        for (const turns of fc.sample(fc.array(turn, { minLength: 2, maxLength: 7 }), { numRuns: 40, seed })) {
          const session = manager
            .getSession(`${door}${counted.requests}!100000`)
            .withContext("memory", { whenChanged: "remind" });
          if (door !== "getView") await session.freezeSystemPrompt();
          const { refused, needless, made, sent: told, isFitted } = await converse(session, door, turns);
          expect({ refused, needless: isFitted ? 0 : needless, turns }).toEqual({ refused: 0, needless: 0, turns });
          counted.requests += made;
          counted.sent += told;
          await manager.delete(session.id);
        }
      });
    }
    expect(counted.sent).toBeGreaterThan(counted.requests);
  },
);
