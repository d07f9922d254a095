/** The steps of a running turn fit behind the view, whatever they hold, and their beginning changes seldom. */
import type { ModelMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fitSteps } from "../../src/fit/fit-steps.ts";
import { valueTokens } from "../../src/steps/message/message.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { tries } from "../tries.ts";

const words = (chars: number): string => "The ledger keeps its promise. ".repeat(Math.ceil(chars / 30)).slice(0, chars);

function step(n: number, chars: number, said = ""): ModelMessage[] {
  const call = { type: "tool-call" as const, toolCallId: `look-${n}`, toolName: "look", input: { n } };
  const text = said === "" ? [] : [{ type: "text" as const, text: said }];
  const output = { type: "text" as const, value: words(chars) };
  return [
    { role: "assistant", content: [...text, call] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: call.toolCallId, toolName: "look", output }] },
  ];
}

const tokensOf = (messages: readonly ModelMessage[]): number => valueTokens(messages, estimateTokens);
const options = { room: 8_000, view: 8_000, request: 300, countTokens: estimateTokens };

const sizes = fc.array(fc.oneof(fc.nat(400), fc.nat(4_000), fc.nat(60_000)), { minLength: 1, maxLength: 60 });

test("any steps fit into what they reserve, each call with its result, the newest always", () => {
  fc.assert(
    fc.property(sizes, fc.constantFrom(3_000, 8_000, 50_000), fc.nat(20_000), (list, room, request) => {
      const own = list.flatMap((chars, n) => step(n, chars, n % 3 === 0 ? words(chars % 700) : ""));
      const { messages, tokens, reserved, note } = fitSteps(own, { ...options, room, view: room, request });
      expect(tokens).toBeLessThanOrEqual(reserved);
      const shown = tokensOf(messages) + (note === null ? 0 : estimateTokens(note));
      expect(Math.abs(tokens - shown)).toBeLessThanOrEqual(own.length);
      expect(reserved).toBeLessThanOrEqual(room * 0.65);
      const text = JSON.stringify(messages);
      expect(text.match(/"tool-call"/g)?.length).toBe(text.match(/"tool-result"/g)?.length);
      expect(text).toContain(`look-${list.length - 1}`);
    }),
    { numRuns: tries(300) },
  );
});

test.each([300, 1_500, 6_000])(
  "a loop of 300 steps with results of %s characters changes its beginning once a stride",
  (chars) => {
    const own: ModelMessage[] = [];
    let before: readonly ModelMessage[] = [];
    let reservedBefore = 0;
    let changes = 0;
    for (let n = 0; n < 300; n++) {
      own.push(...step(n, chars));
      const { messages, reserved } = fitSteps(own, options);
      const begins = before.every((message, at) => JSON.stringify(message) === JSON.stringify(messages[at]));
      if (!begins || reserved !== reservedBefore) changes++;
      before = messages;
      reservedBefore = reserved;
    }
    expect(changes).toBeLessThanOrEqual(tokensOf(own) / (options.room * 0.3) + 1);
  },
);

test("the oldest results are cut first, then steps are counted in a note, and the user's words stay", () => {
  const steering: ModelMessage = { role: "user", content: "Only the north berths." };
  const own = [...step(0, 2_000), steering, ...Array.from({ length: 40 }, (_, n) => step(n + 1, 2_000)).flat()];
  const { messages, note } = fitSteps(own, options);
  expect(messages).toContain(steering);
  expect(note).toMatch(/^\[\d+ steps of this turn left out to fit, with calls: look \d+\]$/);
  const results = messages.filter(({ role }) => role === "tool").map((message) => JSON.stringify(message).length);
  expect(results.at(-1)).toBeGreaterThan(2_000);
  expect(results[0]).toBeLessThan(500);
});

test("the newest step is whole beside a long request, also where it takes half of the room", () => {
  const own = [0, 0, 72, 125, 1_878].flatMap((chars, n) => step(n, chars, n % 3 === 0 ? words(chars) : ""));
  const { messages } = fitSteps(own, { ...options, room: 3_000, view: 3_000, request: 863 });
  expect(JSON.stringify(messages)).toContain(words(1_878));
});

test("a step that is cut is no reference to the provider's own copy, and its reasoning goes", () => {
  const providerOptions = { openai: { itemId: "fc_1" } };
  const [, result] = step(0, 20_000) as [ModelMessage, ModelMessage];
  const thinking: ModelMessage = {
    role: "assistant",
    content: [
      { type: "reasoning", text: "", providerOptions: { openai: { itemId: "rs_1" } } },
      { type: "tool-call", toolCallId: "look-0", toolName: "look", input: { n: 0 }, providerOptions },
    ],
  };
  const own = [thinking, result, ...Array.from({ length: 9 }, (_, n) => step(n + 1, 2_000)).flat()];
  const text = JSON.stringify(fitSteps(own, options).messages);
  expect(text).not.toMatch(/rs_1|fc_1/);
});

test("without a limit all steps are as they are", () => {
  const own = step(0, 100_000);
  expect(fitSteps(own, { ...options, room: Infinity })).toMatchObject({ messages: own, note: null });
});
