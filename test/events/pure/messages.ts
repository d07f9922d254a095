/** Messages with every part that the AI SDK produces, well-formed or not. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import type { Part } from "../../../src/steps/message/message.ts";

const words = fc.string({ unit: "binary", maxLength: 12 });
const json = fc.jsonValue().map((value) => structuredClone(value) as unknown);
/** The input of a call. A model without input gives an empty object. */
const input = json.map((value) => value ?? {});
const metadata = fc.record({ provider: fc.dictionary(words, words) });

const callId = fc.constantFrom("c1", "c2", "c3");
const state = fc.oneof(
  fc.record({ state: fc.constantFrom("input-streaming", "input-available"), input }),
  fc.record({ state: fc.constant("output-available"), input, output: json }),
  fc.record({ state: fc.constant("output-available"), input, output: json, preliminary: fc.constant(true) }),
  fc.record({ state: fc.constant("output-available"), output: json }),
  fc.record({ state: fc.constant("output-error"), input, errorText: words }),
  fc.record({ state: fc.constant("output-error"), rawInput: input, errorText: words }),
  fc.record({ state: fc.constant("output-error"), errorText: words, resultProviderMetadata: metadata }),
  fc.record({ state: fc.constant("approval-requested"), input, approval: fc.record({ id: words }) }),
  fc.record({
    state: fc.constantFrom("approval-responded", "output-denied"),
    input,
    approval: fc.record({ id: words, approved: fc.boolean(), reason: words }),
  }),
);
const naming = fc.oneof(
  fc.record({ type: fc.constant("dynamic-tool"), toolName: fc.constantFrom("look", "read") }),
  fc.record({ type: fc.constantFrom("tool-look", "tool-read") }),
);
const extras = fc.record(
  { providerExecuted: fc.boolean(), callProviderMetadata: metadata, title: words },
  { requiredKeys: [] },
);
const toolPart = fc
  .tuple(naming, callId, state, extras)
  .map(([name, toolCallId, each, more]) => ({ ...name, toolCallId, ...each, ...more }) as unknown as Part);

const other = fc.oneof(
  fc.record({ type: fc.constant("text"), text: words }),
  fc.record({ type: fc.constant("reasoning"), text: words, providerMetadata: metadata }),
  fc.record({ type: fc.constant("file"), mediaType: fc.constant("image/png"), url: words }),
  fc.record({ type: fc.constant("source-url"), sourceId: words, url: words }),
  fc.record({ type: fc.constant("data-any"), data: json }),
) as fc.Arbitrary<Part>;
const step = fc.constantFrom<Part>({ type: "step-start" }, { type: "step-start", mark: 1 } as unknown as Part);

export const anyMessage: fc.Arbitrary<UIMessage> = fc
  .tuple(
    fc.uuid(),
    fc.constantFrom(
      "assistant" as const,
      "assistant" as const,
      "assistant" as const,
      "user" as const,
      "system" as const,
    ),
    fc.array(fc.oneof(toolPart, toolPart, other, step), { maxLength: 10 }),
    fc.option(fc.record({ metadata: json, createdAt: fc.nat() }, { requiredKeys: [] }), { nil: {} }),
  )
  .map(([id, role, parts, rest]) => ({ id, role, parts, ...rest }));
