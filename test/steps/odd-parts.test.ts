/** Parts with unusual fields are stored unchanged, and can be measured, rendered, repaired and cut. */
import { convertToModelMessages, type UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { eventsToMessages, messageToEvents } from "../../src/events/event.ts";
import { encodeMessage } from "../../src/memory/messages/content.ts";
import { measureMessage, sliceMessage, stepCount, titleOf, type Part } from "../../src/steps/message/message.ts";
import { parseTranscript, renderTranscript } from "../../src/steps/draft/render.ts";
import { repairMessages } from "../../src/steps/view/repair.ts";
import { truncateOlderMessages } from "../../src/fit/truncate.ts";
import { say } from "./conversations.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { tries } from "../tries.ts";

const odd = (part: object): Part => part as unknown as Part;

/** A value that fits a field, one that does not, or the field left out. */
const field = (...fitting: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom(...fitting),
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>(undefined, null, 5, {}, [], "", "x".repeat(12_000), { toString: 5 }, [null, "x", {}]),
  );

const types = [
  ["text", "reasoning", "custom", "step-start", "steering-message", "no-such-type", "data-chart"],
  ["file", "reasoning-file", "source-url", "source-document"],
  ["tool-look", "tool-look", "tool-", "dynamic-tool", "dynamic-tool", "tool-invocation"],
].flat();

const states = [
  ["input-streaming", "input-available", "approval-requested", "approval-responded"],
  ["output-available", "output-error", "output-error", "output-denied"],
].flat();

const { part: oddPart } = fc.letrec<{ part: object; inner: unknown }>((tie) => ({
  inner: fc.oneof({ maxDepth: 2 }, field([]), fc.array(fc.oneof(tie("part"), fc.jsonValue()), { maxLength: 3 })),
  part: fc.record(
    {
      type: fc.constantFrom(...types),
      text: field("words"),
      toolCallId: fc.oneof(fc.constantFrom("a", "b", "c"), field("a")),
      toolName: field("look"),
      state: fc.oneof(fc.constantFrom(...states), field("streaming")),
      input: field({ q: 1 }),
      output: field({ found: 1 }),
      errorText: field("broke"),
      approval: field({ id: "a1", approved: false }, { approved: true }, { id: "a2", reason: 5 }),
      providerExecuted: field(true, false),
      url: field("https://example.com/a.png", "data:image/png;base64,AAAA", "/relative.png"),
      mediaType: field("image/png"),
      filename: field("a.png"),
      title: field("A page"),
      providerReference: field({ openai: "file-1" }),
      providerMetadata: field({ openai: { itemId: "i" } }),
      callProviderMetadata: field({ openai: { itemId: "i" } }),
      parts: tie("inner"),
    },
    { requiredKeys: ["type"] },
  ),
}));

const oddMessages: fc.Arbitrary<UIMessage[]> = fc
  .array(
    fc.record(
      {
        role: fc.constantFrom<UIMessage["role"]>("user", "assistant", "assistant", "system"),
        parts: fc.array(oddPart.map(odd), { maxLength: 5 }),
        metadata: field({ responseId: "r" }),
      },
      { requiredKeys: ["role", "parts"] },
    ),
    { minLength: 1, maxLength: 5 },
  )
  .map((messages) => messages.map((message, n) => ({ id: `m${n}`, ...message })));

const elements = (messages: readonly UIMessage[]) => messages.map((message) => ({ kind: "message" as const, message }));

test("whatever is stored can be measured, rendered, sliced, titled, shortened and told as events", () => {
  fc.assert(
    fc.property(oddMessages, (messages) => {
      for (const message of messages) {
        expect(encodeMessage(message, estimateTokens).tokens).toBe(measureMessage(message, estimateTokens).tokens);
        sliceMessage(message, 0, stepCount(message) - 1);
        titleOf(message);
        expect(eventsToMessages(messageToEvents(message))[0]?.id).toBe(message.id);
      }
      const read = parseTranscript(renderTranscript(elements(messages)));
      expect(read.map(({ role }) => role)).toEqual(messages.map(({ role }) => role));
      const shortened = truncateOlderMessages(messages, { keepRecent: 0, step: 1 });
      expect(truncateOlderMessages(shortened, { keepRecent: 0, step: 1 })).toEqual(shortened);
    }),
    { numRuns: tries(2_000) },
  );
});

test("V2: whatever is stored converts after a repair, and repairing twice is repairing once", async () => {
  await fc.assert(
    fc.asyncProperty(oddMessages, async (messages) => {
      const repaired = repairMessages(messages);
      expect(repairMessages(repaired)).toBe(repaired);
      await convertToModelMessages(repaired);
      await convertToModelMessages(repairMessages(truncateOlderMessages(messages, { keepRecent: 0, step: 1 })));
    }),
    { numRuns: tries(2_000) },
  );
});

test.each<[string, object, string]>([
  [
    "an error without a text",
    { type: "tool-x", toolCallId: "c", state: "output-error", input: {} },
    "[call x]\n{}\n[error]",
  ],
  [
    "an error that is a number",
    { type: "tool-x", toolCallId: "c", state: "output-error", input: {}, errorText: 7 },
    "[call x]\n{}\n[error]\n7",
  ],
  ["a text that is a number", { type: "text", text: 5 }, "5"],
  ["reasoning that is an object", { type: "reasoning", text: { a: 1 } }, '[reasoning]\n{"a":1}'],
  [
    "a tool without a name",
    { type: "dynamic-tool", toolCallId: "c", state: "output-available", input: {}, output: 1 },
    "[call _]\n{}\n[result]\n1",
  ],
  ["a document without a title", { type: "source-document" }, ""],
  ["a file without anything", { type: "file" }, "[file ]"],
  ["words of the user that are no parts", { type: "steering-message", parts: ["stop"] }, "[meanwhile]\nstop"],
])("%s is rendered", (_name, part, rendered) => {
  const message = say("m", "assistant", odd(part));
  expect(renderTranscript([{ kind: "message", message }])).toBe(
    rendered === "" ? "[#1 assistant]" : `[#1 assistant]\n${rendered}`,
  );
});

test("V2: what a model cannot be sent as it is, it is told in words", async () => {
  const repaired = repairMessages([
    say(
      "m",
      "assistant",
      odd({ type: "text", text: 5 }),
      odd({ type: "file", providerReference: null, mediaType: "image/png", url: "/a.png" }),
      odd({ type: "steering-message", id: "s", parts: ["stop", { type: "reasoning", text: "hm" }] }),
    ),
  ]);
  expect(repaired[0]?.parts).toMatchObject([
    { type: "text", text: "5" },
    { type: "text", text: expect.stringContaining("/a.png cannot be sent") },
    {
      parts: [
        { type: "text", text: "stop" },
        { type: "text", text: expect.stringContaining("hm") },
      ],
    },
  ]);
  await convertToModelMessages(repaired);
});
