/** Conversations of every shape that providers refuse: ids reused and malformed, blank texts, calls without results, items that stand twice. */
import type { LanguageModelV4Content } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { summaryMessage } from "../../../src/facts/render.ts";
import type { Part } from "../../../src/steps/message/message.ts";
import { say, stepStart, text } from "../conversations.ts";

const item = (itemId: string) => ({ providerMetadata: { openai: { itemId } } });

const meta = (itemId: string) =>
  fc.constantFrom<object>({}, item(`${itemId}_1`), item(`${itemId}_2`), {
    providerMetadata: { anthropic: { signature: "s" } },
  });

const PICTURE = `iVBORw0KGgo${"AbC1".repeat(60)}`;
const words = fc.constantFrom("Read the ledger.", "", " \n", "x\ud83d", "The fence holds. ".repeat(60));
const id = fc.constantFrom("call_0", "call_1", "a~b", "", "toolu_01AbCdEfGhIjKlMn", "z".repeat(70));
const name = fc.constantFrom("read", "grep", "multi.tool", "");
const state = fc.constantFrom<object>(
  { state: "output-available", output: "found" },
  { state: "output-available", output: { lines: ["a", "b\ude00"] } },
  { state: "output-available", output: "" },
  { state: "output-error", errorText: "ENOENT" },
  { state: "output-denied", approval: { id: "p", approved: false } },
  { state: "input-available" },
  { state: "input-streaming", input: undefined },
  { state: "output-available", output: "r", input: undefined },
  { state: "output-available", output: null },
  { state: "output-available", output: { content: [{ type: "image", mimeType: "image/png", data: PICTURE }] } },
  { state: "output-available", output: { shot: `data:image/png;base64,${PICTURE}` } },
  { state: "output-available", output: { content: [] } },
  { state: "output-error", errorText: "" },
  { state: "output-error", input: undefined, rawInput: "{not json", errorText: "Invalid input" },
  { state: "approval-requested", approval: { id: "p" } },
  { state: "approval-responded", approval: { id: "p", approved: true } },
  { state: "approval-responded", approval: { id: "p", approved: false, reason: "No." } },
  { state: "output-available", output: { found: "there" }, providerExecuted: true },
  { state: "output-error", errorText: "gone", providerExecuted: true },
);
const part: fc.Arbitrary<Part> = fc.oneof(
  fc
    .record({ value: words, meta: meta("msg") })
    .map(({ value, meta: fields }): Part => ({ ...text(value), ...fields })),
  fc
    .record({ value: words, meta: meta("rs") })
    .map(({ value, meta: fields }): Part => ({ type: "reasoning", text: value, ...fields })),
  fc
    .record({ id, name, state, input: fc.constantFrom<unknown>({ q: 1 }, "text", null) })
    .map(
      ({ id: toolCallId, name: toolName, state: fields, input }) =>
        ({ type: "dynamic-tool", toolName, toolCallId, input, ...fields }) as Part,
    ),
  fc.constant(stepStart),
  fc.constant(stepStart),
  fc.constantFrom<Part>(
    { type: "file", mediaType: "image/png", url: `data:image/png;base64,${PICTURE}` },
    { type: "file", mediaType: "image/png", url: "not an address" },
    { type: "file", mediaType: "image/png" } as unknown as Part,
    { type: "file", mediaType: "image/png", url: "blob:https://a.example/1" },
    { type: "file", mediaType: "image/svg+xml", url: "data:image/svg+xml,<svg/>" },
    { type: "file", mediaType: "text/plain", url: "data:text/plain,oats%20and%20rye" },
    { type: "file", mediaType: "image/jpg", url: `data:image/jpg;base64,${PICTURE}` },
    { type: "file", mediaType: "image/png", url: "", providerReference: { anthropic: "file_011" } } as unknown as Part,
    { type: "data-chart", data: {} },
    { type: "source-url", sourceId: "s", url: "https://example.com" },
    { type: "reasoning", text: "", providerMetadata: { anthropic: { redactedData: "r" } } },
    { type: "steering-message", id: "s", parts: [text("Faster.")] } as unknown as Part,
    { type: "custom", kind: "openai.compaction", providerMetadata: { openai: { itemId: "cmp_1" } } } as unknown as Part,
  ),
);
const summary = fc
  .nat(3)
  .map((n) => summaryMessage({ overlayId: `o${n}`, summary: "## State\n- Done.", spanMessages: 2 }));
export const anyMessage = fc
  .record({
    role: fc.constantFrom<UIMessage["role"]>("user", "assistant", "assistant", "system"),
    parts: fc.array(part, { maxLength: 7 }),
  })
  .map(({ role, parts }): UIMessage => ({ id: "", role, parts }));
export const anyConversation = fc
  .array(fc.oneof({ weight: 5, arbitrary: anyMessage }, { weight: 1, arbitrary: summary }), { maxLength: 9 })
  .map((all) => [
    ...all.map((each, n) => (each.id === "" ? { ...each, id: `m${n}` } : each)),
    say("end", "user", text("Go on.")),
  ]);

/** What a model says in one step, and what it should not. */
export const anyStep: fc.Arbitrary<LanguageModelV4Content[]> = fc.array(
  fc.oneof(
    words.map((value): LanguageModelV4Content => ({ type: "text", text: value })),
    fc.tuple(words, fc.boolean()).map(([value, isSigned]): LanguageModelV4Content => ({
      type: "reasoning",
      text: value,
      ...(isSigned && { providerMetadata: { anthropic: { signature: "s" } } }),
    })),
    fc
      .tuple(id, name, fc.constantFrom('{"q":1}', "{not json", "[1]", "", '{"q":"\\ud83d"}'))
      .map(([toolCallId, toolName, input]): LanguageModelV4Content => ({
        type: "tool-call",
        toolCallId,
        toolName,
        input,
      })),
  ),
  { minLength: 1, maxLength: 4 },
);
