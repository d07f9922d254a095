/** Any conversation, through each door of our own sessions and each provider's package: the provider takes every request of the turn. */
import type { LanguageModelV4Content } from "@ai-sdk/provider";
import { convertToModelMessages, generateText, isStepCount, jsonSchema, tool, type ToolSet, type UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { readable } from "../../src/turn/readable.ts";
import { stepParts } from "../../src/turn/step-parts.ts";
import { keepTurn, viewBeforeStep } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { newAgent } from "../agents.ts";
import type { FullSession } from "../rooms.ts";
import { anyConversation, anyStep } from "../steps/view/any-conversation.ts";
import { providers, type Provider } from "../steps/view/providers/bodies.ts";
import { tries } from "../tries.ts";
import { judging } from "./judging-model.ts";

type Door = "keepTurn" | "viewBeforeStep" | "getView";

const any = (name: string): ToolSet[string] =>
  tool({
    description: name,
    inputSchema: jsonSchema({ type: "object" }),
    execute: async () => (name === "read" ? { content: [{ type: "text", text: "found" }] } : "found"),
  });

interface Talk {
  readonly messages: readonly UIMessage[];
  readonly steps: readonly LanguageModelV4Content[][];
  readonly summary: readonly [number, number] | null;
  readonly maxTokens: number | undefined;
  readonly provider: Provider;
}

async function turn(session: FullSession, door: Door, { messages, steps, summary, maxTokens, provider }: Talk) {
  for (const message of messages) await session.appendMessage(message);
  if (summary !== null) {
    const [from, to] = summary.map((at) => messages[at % (messages.length - 1)]?.id ?? "") as [string, string];
    await session.addCompaction("## State\n- Done.", from, to).catch(() => undefined);
  }
  const { model, refused } = judging(provider, (request) => steps[request] ?? [{ type: "text", text: "Done." }]);
  const tools = { read: any("read"), grep: any("grep") };
  await session.appendMessage({ id: "reply", role: "assistant", parts: [] });
  const limit = maxTokens === undefined ? {} : { maxTokens };
  const base = { model, tools, maxRetries: 0, stopWhen: isStepCount(8) };
  if (door === "keepTurn") {
    const kept = keepTurn(session, { replyId: "reply", tools, ...limit });
    await generateText({ ...base, ...(await kept.prepareStep()), ...kept });
    kept.mustBeKept();
    return refused;
  }
  const add = session.editor("reply");
  await generateText({
    ...base,
    prompt: "-",
    prepareStep:
      door === "viewBeforeStep"
        ? viewBeforeStep(session, { tools, ...limit })
        : async () => ({
            messages: readable(await convertToModelMessages((await session.getView(limit)).messages, { tools }), model),
          }),
    onStepEnd: async (step) => {
      const parts = await stepParts(step, tools);
      add?.((stored) => [...stored, ...parts]);
    },
  });
  return refused;
}

const talk: fc.Arbitrary<Talk> = fc.record({
  messages: anyConversation.map((all) => all.filter(({ id }) => !id.startsWith("palimpsest"))),
  steps: fc.array(anyStep, { maxLength: 4 }),
  summary: fc.option(fc.tuple(fc.nat(8), fc.nat(8)), { freq: 1 }),
  maxTokens: fc.constantFrom(undefined, undefined, 200, 800),
  provider: fc.constantFrom(...providers),
});

test.each<Door>(["keepTurn", "viewBeforeStep", "getView"])("%s", { timeout: 240_000 }, async (door) => {
  const agent = newAgent();
  await inside(agent, async (manager) => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(talk, async (each) => {
        const session = manager.getSession(`${door}${n++}!1000000`);
        expect(await turn(session, door, each)).toEqual([]);
        await manager.delete(session.id);
      }),
      { numRuns: tries(1_000) },
    );
  });
});
