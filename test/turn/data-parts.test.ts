/** The caller's `convertDataPart` holds in the prompts of our own sessions. */
import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, test } from "vitest";
import type { ConvertDataPart } from "../../src/turn/data-parts.ts";
import { saidOfData } from "../../src/turn/data-parts.ts";
import { keepTurn, viewBeforeStep } from "../../src/turn/turn.ts";
import { inside } from "../agent/inside.ts";
import { newAgent } from "../agents.ts";

const convertDataPart: ConvertDataPart = ({ type, data }) =>
  type === "data-selection" ? { type: "text", text: `Selected: ${String(data)}` } : undefined;

test.each(["keepTurn", "viewBeforeStep"])(
  "%s: data is said as the caller says it, in a message of data alone too, and has its size",
  async (door) => {
    await inside(newAgent(), async (manager) => {
      const session = manager.getSession("x!100000");
      await session.appendAll([
        { id: "u0", role: "user", parts: [{ type: "data-selection", data: "the north berth" }] },
        { id: "a0", role: "assistant", parts: [{ type: "text", text: "I see it." }] },
        {
          id: "u1",
          role: "user",
          parts: [
            { type: "text", text: "And this?" },
            { type: "data-selection", data: "wide ".repeat(4_000) },
            { type: "data-page", data: 1 },
          ],
        },
        { id: "reply", role: "assistant", parts: [] },
      ]);
      const model = new MockLanguageModelV4({
        doGenerate: async () => ({
          content: [{ type: "text", text: "Yes." }],
          finishReason: { unified: "stop", raw: undefined },
          usage: {
            inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
            outputTokens: { total: 1, text: 1, reasoning: 0 },
          },
          warnings: [],
        }),
      });
      const options = { convertDataPart, maxTokens: 1_500 };
      const turn =
        door === "keepTurn"
          ? keepTurn(session, { replyId: "reply", ...options })
          : { prepareStep: viewBeforeStep(session, options) };
      await generateText({ model, stopWhen: isStepCount(2), ...(await turn.prepareStep()), ...turn });
      const prompt = JSON.stringify(model.doGenerateCalls[0]?.prompt);
      expect(prompt).toContain("Selected: the north berth");
      expect(prompt).toContain("Selected: wide");
      expect(prompt.length).toBeLessThan(6_000);
    });
  },
);

test.each<[string, unknown]>([
  ["an address", "https://example.com/a.png"],
  ["a URL", new URL("https://example.com/a.png")],
  ["base64", "aGk="],
  ["bytes", new TextEncoder().encode("hi")],
  ["the SDK's own form", { type: "data", data: "aGk=" }],
])("a file in the form of %s is a file of the message", (_name, data) => {
  const { parts } = saidOfData({ id: "u", role: "user", parts: [{ type: "data-file", data: 1 }] }, () => ({
    type: "file",
    mediaType: "image/png",
    data: data as string,
  }));
  const [part] = parts;
  expect(part).toMatchObject({ type: "file", mediaType: "image/png" });
  expect(["https://example.com/a.png", "data:image/png;base64,aGk="]).toContain((part as { url: string }).url);
});
