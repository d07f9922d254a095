/** Summaries that providers make themselves are counted, kept as they are, and sent to who made them. */
import { convertToModelMessages, type UIMessage } from "ai";
import { expect, test } from "vitest";
import { fitView } from "../../../src/fit/fit-view.ts";
import { measureMessage, type Part } from "../../../src/steps/message/message.ts";
import { madeBy } from "../../../src/steps/view/items.ts";
import { repairMessages } from "../../../src/steps/view/repair.ts";
import { inTurns } from "../../../src/steps/view/turns.ts";
import { readable } from "../../../src/turn/readable.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { say, stepStart, text } from "../conversations.ts";
import { bodyFor } from "./providers/bodies.ts";
import { refusals } from "./providers/refusals.ts";

const words = "The user plans a choir's site. The stage is done. ".repeat(40);
const ofAnthropic: Part = {
  ...text(words),
  providerMetadata: { anthropic: { type: "compaction", signature: "signed" } },
} as Part;
const ofOpenAI = {
  type: "custom",
  kind: "openai.compaction",
  providerMetadata: { openai: { type: "compaction", itemId: "cmp_1", encryptedContent: "Zx9".repeat(2_000) } },
} as Part;
const shown = (messages: UIMessage[]): UIMessage[] => inTurns(repairMessages(messages));
const conversation = (block: Part): UIMessage[] => [
  say("u1", "user", text("Plan the site.")),
  say("a1", "assistant", stepStart, block, text("Done.")),
  say("u2", "user", text("And now?")),
];

test("each is counted, kept, and taken by who made it", async () => {
  for (const block of [ofAnthropic, ofOpenAI]) {
    const view = shown(conversation(block));
    expect(view[1]?.parts).toContain(block);
    expect(measureMessage(conversation(block)[1] as UIMessage, estimateTokens).tokens).toBeGreaterThan(400);
  }
  const anthropic = JSON.stringify(await bodyFor("anthropic", shown(conversation(ofAnthropic))));
  expect(anthropic).toContain('"type":"compaction"');
  expect(anthropic).toContain('"signature":"signed"');
  const openai = JSON.stringify(await bodyFor("openaiWithoutStore", shown(conversation(ofOpenAI))));
  expect(openai).toContain('"type":"compaction"');
  expect(openai).toContain('"id":"cmp_1"');
});

test("no provider refuses what is left for it, and a block alone leaves no empty message", async () => {
  for (const block of [ofAnthropic, ofOpenAI]) {
    const alone = [
      say("u1", "user", text("Plan.")),
      say("a1", "assistant", stepStart, block),
      say("u2", "user", text("Go.")),
    ];
    for (const messages of [conversation(block), alone]) expect(await refusals(shown(messages))).toEqual([]);
  }
});

test("only who made it is sent it", async () => {
  const parts = [ofAnthropic, ofOpenAI, text("Done.")];
  expect(parts.map(madeBy)).toEqual(["anthropic", "openai", null]);
  const said = await convertToModelMessages([say("a", "assistant", ...parts)]);
  const readBy = (provider: string): unknown[] =>
    readable(said, { provider, modelId: "m" })
      .slice(0, 1)
      .flatMap(({ content }) => content as unknown[]);
  const [summary, encrypted, done] = said.flatMap(({ content }) => content as unknown[]);
  expect(readBy("anthropic.messages")).toEqual([summary, done]);
  expect(readBy("openai.responses")).toEqual([encrypted, done]);
  expect(readBy("azure.responses")).toEqual([encrypted, done]);
  expect(readBy("google.generative-ai")).toEqual([done]);
  const own = await convertToModelMessages([say("a", "assistant", text("Done."))]);
  expect(readable(own, { provider: "mistral.chat", modelId: "m" })[0]).toBe(own[0]);
});

test("a step of nothing but what Anthropic notes at its start is left out", () => {
  const start = { type: "custom", kind: "anthropic.message_start" } as unknown as Part;
  const [, answer] = shown([
    say("u1", "user", text("Plan.")),
    say("a1", "assistant", stepStart, start, text("Done."), stepStart, start),
  ]);
  expect(answer?.parts.filter(({ type }) => type !== "step-start")).toEqual([text("Done.")]);
});

test("one that is cut is words of our own, because its signature is of the whole", () => {
  const long = { ...ofAnthropic, text: words.repeat(30) } as Part;
  const rest = Array.from({ length: 12 }, (_, n) => [
    say(`q${n}`, "user", text(`Question ${n}.`)),
    say(`r${n}`, "assistant", text("It matters. ".repeat(40))),
  ]).flat();
  const { messages } = fitView(shown([...conversation(long), ...rest]), { budget: 2_000, countTokens: estimateTokens });
  const left = messages.flatMap(({ parts }) => parts).filter((part) => madeBy(part) !== null);
  expect(left.filter((part) => part.type === "text" && part.text !== (long as { text: string }).text)).toEqual([]);
});
