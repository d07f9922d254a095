/** A conversation of another provider goes on with Mistral, whose API refuses the ids of its calls. */
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import { wantsNineChars } from "../../src/turn/nine-char-ids.ts";
import { keepTurn } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { looker, tools } from "../agent/looker.ts";
import { newAgent } from "../agents.ts";

test("every call and its result have one id of nine letters and digits, and each prompt begins with the one before", async () => {
  await inside(newAgent(), async (manager) => {
    const session = manager.getSession("moved!100000");
    const call = { type: "tool-look", toolCallId: "toolu_01AbCdEfGhIjKlMn", state: "output-available" } as const;
    await session.appendAll([
      { id: "q0", role: "user", parts: [{ type: "text", text: "Look." }] },
      {
        id: "a0",
        role: "assistant",
        parts: [
          { ...call, input: { n: 9 }, output: "Nine." },
          { type: "text", text: "Nine." },
        ],
      },
      { id: "q", role: "user", parts: [{ type: "text", text: "Look on." }] },
      { id: "reply", role: "assistant", parts: [] },
    ]);
    const inner = looker(3);
    const model = new MockLanguageModelV4({
      provider: "mistral.chat",
      modelId: "mistral-large",
      doGenerate: inner.doGenerate.bind(inner),
    });
    const kept = keepTurn(session, { replyId: "reply", tools });
    await generateText({ model, tools, stopWhen: isStepCount(9), ...(await kept.prepareStep()), ...kept });
    kept.mustBeKept();
    const prompts = model.doGenerateCalls.map(({ prompt }) => prompt);
    const ids = (prompts.at(-1) ?? []).flatMap(({ content }) =>
      typeof content === "string" ? [] : content.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : [])),
    );
    expect(ids).toHaveLength(8);
    expect(ids.filter((id) => !/^[a-z0-9]{9}$/i.test(id))).toEqual([]);
    expect(new Set(ids).size).toBe(4);
    for (const [at, prompt] of prompts.entries())
      if (at > 0) expect(JSON.stringify(prompt)).toContain(JSON.stringify(prompts[at - 1]).slice(1, -1));
  });
});

test("a model is known by its provider or by its name", () => {
  expect(wantsNineChars({ provider: "openrouter", modelId: "mistralai/devstral-small" })).toBe(true);
  expect(wantsNineChars("mistral/magistral-medium")).toBe(true);
  expect(wantsNineChars({ provider: "anthropic.messages", modelId: "claude" })).toBe(false);
  expect(wantsNineChars(undefined)).toBe(false);
});
