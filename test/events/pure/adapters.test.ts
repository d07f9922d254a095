/** Every model format. Results are valid as the provider checks them, paired as a model needs them, and the same after a round trip. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { modelMessageSchema, type ModelMessage, type UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { errorCode } from "../../../src/errors.ts";
import {
  type ModelFormatAdapter,
  aiSdkAdapter,
  anthropicAdapter,
  type AnthropicPrompt,
  openAiAdapter,
  workersAiAdapter,
  type ChatMessage,
} from "../../../src/events/formats.ts";
import { eventsToMessages, messageToEvents } from "../../../src/events/event.ts";
import { importTranscript } from "../../../src/import/import.ts";
import { truncateOlderMessages } from "../../../src/fit/truncate.ts";
import type { Part } from "../../../src/steps/message/message.ts";
import { conversation } from "../../steps/conversations.ts";
import { anyMessage } from "./messages.ts";
import { tries } from "../../tries.ts";

// What the providers document, and nothing beside it.
const toolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.strictObject({ name: z.string().min(1), arguments: z.string() }),
});
const userPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("image_url"), image_url: z.strictObject({ url: z.url() }) }),
  z.strictObject({
    type: z.literal("file"),
    file: z.strictObject({ file_data: z.string().startsWith("data:"), filename: z.string() }),
  }),
]);
const openAi = z.array(
  z.discriminatedUnion("role", [
    z.strictObject({ role: z.literal("system"), content: z.string() }),
    z.strictObject({ role: z.literal("user"), content: z.union([z.string(), z.array(userPart).min(1)]) }),
    z.strictObject({
      role: z.literal("assistant"),
      content: z.string().min(1).nullable(),
      tool_calls: z.array(toolCall).min(1).optional(),
    }),
    z.strictObject({ role: z.literal("tool"), tool_call_id: z.string(), content: z.string() }),
  ]),
);
const workersAi = z.array(
  z.discriminatedUnion("role", [
    z.strictObject({ role: z.literal("system"), content: z.string() }),
    z.strictObject({
      role: z.literal("user"),
      content: z.union([z.string(), z.array(userPart.options[0].or(userPart.options[1])).min(1)]),
    }),
    z.strictObject({
      role: z.literal("assistant"),
      content: z.string(),
      reasoning: z.string().optional(),
      tool_calls: z.array(toolCall).min(1).optional(),
    }),
    z.strictObject({ role: z.literal("tool"), tool_call_id: z.string(), name: z.string(), content: z.string() }),
  ]),
);
const source = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("base64"), media_type: z.string(), data: z.base64() }),
  z.strictObject({ type: z.literal("url"), url: z.url() }),
]);
const callId = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const block = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string().regex(/\S/) }),
  z.strictObject({ type: z.literal("image"), source }),
  z.strictObject({ type: z.literal("document"), source }),
  z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().min(1) }),
  z.strictObject({ type: z.literal("redacted_thinking"), data: z.string() }),
  z.strictObject({
    type: z.literal("tool_use"),
    id: callId,
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    type: z.literal("tool_result"),
    tool_use_id: callId,
    content: z.string(),
    is_error: z.boolean().optional(),
  }),
]);
const anthropic = z.strictObject({
  system: z.string().nullable(),
  messages: z.array(z.strictObject({ role: z.enum(["user", "assistant"]), content: z.array(block).min(1) })),
});

interface Case<Prompt> {
  readonly adapter: ModelFormatAdapter<Prompt>;
  readonly schema: z.ZodType;
  /** Call ids and, in order of appearance, what answers them. */
  readonly pairs: (prompt: Prompt) => { calls: string[]; results: string[] };
}

function chatPairs(messages: readonly ChatMessage[]) {
  return {
    calls: messages.flatMap((each) =>
      each.role === "assistant" ? (each.tool_calls ?? []).map((call) => call.id) : [],
    ),
    results: messages.flatMap((each) => (each.role === "tool" ? [each.tool_call_id] : [])),
  };
}

function anthropicPairs({ messages }: AnthropicPrompt) {
  const blocks = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return {
    calls: blocks.flatMap((each) => (each.type === "tool_use" ? [each.id] : [])),
    results: blocks.flatMap((each) => (each.type === "tool_result" ? [each.tool_use_id] : [])),
  };
}

function sdkPairs(messages: readonly ModelMessage[]) {
  type Content = Exclude<ModelMessage["content"], string>[number];
  const parts = messages.flatMap(({ content }): Content[] => (typeof content === "string" ? [] : content));
  return {
    calls: parts.flatMap((each) => (each.type === "tool-call" ? [each.toolCallId] : [])),
    results: parts.flatMap((each) => (each.type === "tool-result" ? [each.toolCallId] : [])),
  };
}

const cases: readonly Case<never>[] = [
  { adapter: openAiAdapter, schema: openAi, pairs: chatPairs },
  { adapter: workersAiAdapter, schema: workersAi, pairs: chatPairs },
  { adapter: anthropicAdapter, schema: anthropic, pairs: anthropicPairs },
  { adapter: aiSdkAdapter, schema: z.array(modelMessageSchema), pairs: sdkPairs },
] as unknown as readonly Case<never>[];

function ids(): () => string {
  let n = 0;
  return () => `id${n++}`;
}

const pixel = "data:image/png;base64,iVBORw0KGgo=";
const talk: UIMessage[] = [
  { id: "s", role: "system", parts: [{ type: "text", text: "Be brief." }] },
  {
    id: "u",
    role: "user",
    parts: [
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", url: pixel },
    ],
  },
  {
    id: "a",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", text: "Look first.", providerMetadata: { anthropic: { signature: "sig" } } },
      { type: "text", text: "Looking." },
      { type: "tool-look", toolCallId: "c1", state: "output-available", input: { q: 1 }, output: { found: 2 } },
      { type: "tool-look", toolCallId: "c2", state: "output-error", input: { q: 2 }, errorText: "ENOENT" },
      { type: "step-start" },
      { type: "text", text: "A pixel." },
    ],
  },
];

function look(id: string, q: number) {
  return { id, type: "function", function: { name: "look", arguments: `{"q":${q}}` } };
}

/** The messages without what most formats do not carry. */
function carried(messages: readonly UIMessage[]): UIMessage[] {
  return messages.map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.filter((part) => !("approval" in part)).map(asOwnCall),
  }));
}

/** A call that the provider ran is an own call in these formats. */
function asOwnCall(part: Part): Part {
  if (!("providerExecuted" in part)) return part;
  const { providerExecuted: _own, ...rest } = part;
  return rest;
}

describe("a conversation", () => {
  test("in chat completions", async () => {
    const user = [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: pixel } },
    ];
    expect(await openAiAdapter.toModel(talk)).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: user },
      {
        role: "assistant",
        content: "[Reasoning of 11 characters: not sent, this model does not take it]\nLooking.",
        tool_calls: [look("c1", 1), look("c2", 2)],
      },
      { role: "tool", tool_call_id: "c1", content: '{"found":2}' },
      { role: "tool", tool_call_id: "c2", content: "ENOENT" },
      { role: "assistant", content: "A pixel." },
    ]);
    expect((await workersAiAdapter.toModel(talk)).slice(2, 4)).toEqual([
      { role: "assistant", content: "Looking.", reasoning: "Look first.", tool_calls: [look("c1", 1), look("c2", 2)] },
      { role: "tool", tool_call_id: "c1", name: "look", content: '{"found":2}' },
    ]);
  });

  test("in content blocks", async () => {
    expect(await anthropicAdapter.toModel(talk)).toEqual({
      system: "Be brief.",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Look first.", signature: "sig" },
            { type: "text", text: "Looking." },
            { type: "tool_use", id: "c1", name: "look", input: { q: 1 } },
            { type: "tool_use", id: "c2", name: "look", input: { q: 2 } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: '{"found":2}' },
            { type: "tool_result", tool_use_id: "c2", content: "ENOENT", is_error: true },
          ],
        },
        { role: "assistant", content: [{ type: "text", text: "A pixel." }] },
      ],
    });
  });

  test("files and reasoning that a format does not take are named, not dropped, whoever sent them", async () => {
    const file = {
      type: "file" as const,
      mediaType: "audio/wav",
      filename: "voice.wav",
      url: "https://example.com/voice.wav",
    };
    const spoken: UIMessage["parts"] = [
      { type: "text", text: "Here " },
      { type: "text", text: "it is." },
      file,
      { type: "text", text: "Listen." },
    ];
    for (const { adapter } of cases) {
      const sent = async (role: "user" | "assistant", parts: UIMessage["parts"]): Promise<string> =>
        JSON.stringify(await adapter.toModel([{ id: "m", role, parts }]));
      for (const role of ["user", "assistant"] as const) {
        expect(await sent(role, [file]), `${adapter.name}, ${role}`).toContain("voice.wav");
      }
      expect(await sent("assistant", spoken), adapter.name).toContain("voice.wav");
      const thought: UIMessage["parts"] = [
        { type: "reasoning", text: "Hmm." },
        { type: "text", text: "Yes." },
      ];
      expect(await sent("assistant", thought), adapter.name).toMatch(/Reasoning of 4|Hmm/);
    }
    const reply = (await openAiAdapter.toModel([{ id: "a", role: "assistant", parts: spoken }])).at(-1);
    expect(typeof reply?.content === "string" && reply.content.split("\n")).toEqual([
      "Here it is.",
      expect.stringMatching(/^\[File voice\.wav \(audio\/wav\) at https.*not sent/),
      "Listen.",
    ]);
  });
});

/** After it no call of what was said before can be answered any more. */
const goOn: UIMessage = { id: "go-on", role: "user", parts: [{ type: "text", text: "Go on." }] };

/** A question, and a reply whose call is in this state. */
const reply = (state: object): UIMessage[] => {
  const call: object = { type: "dynamic-tool", toolName: "remove", toolCallId: "c1", input: { path: "a" }, ...state };
  const parts = [{ type: "step-start" }, { type: "text", text: "I will." }, call] as UIMessage["parts"];
  return [
    { id: "u", role: "user", parts: [{ type: "text", text: "Remove a." }] },
    { id: "r", role: "assistant", parts },
  ];
};

describe.each(cases)("$adapter.name: a call of the newest message that waits for an answer", ({ adapter, pairs }) => {
  const approval = { id: "a1", signature: "s", requestReason: "It is old." };

  test.each([
    ["asked for", { state: "approval-requested", approval }],
    ["approved", { state: "approval-responded", approval: { ...approval, approved: true } }],
    ["a client's", { state: "input-available" }],
  ])("%s: is sent as a call without a result, and read back as it was", async (_, state) => {
    const messages = reply(state);
    const prompt = await adapter.toModel(messages);
    expect(pairs(prompt)).toEqual({ calls: ["c1"], results: [] });
    const back = adapter.fromModel(prompt, ids());
    expect(await adapter.toModel(back)).toEqual(prompt);
    if (adapter.name === "ai-sdk") expect(back.at(-1)?.parts.at(-1)).toMatchObject(state);
  });

  test("denied: the model is told so, with the reason, also after it was read back", async () => {
    const denied = { ...approval, approved: false, reason: "Keep it." };
    const messages = reply({ state: "approval-responded", approval: denied });
    const prompt = await adapter.toModel(messages);
    expect(pairs(prompt)).toEqual({ calls: ["c1"], results: ["c1"] });
    expect(JSON.stringify(prompt)).toContain("Keep it.");
    expect(await adapter.toModel(adapter.fromModel(prompt, ids()))).toEqual(prompt);
  });

  test("once the conversation went on, it is closed, and the model is told why", async () => {
    const messages = [...reply({ state: "approval-requested", approval }), goOn];
    const prompt = await adapter.toModel(messages);
    expect(pairs(prompt)).toEqual({ calls: ["c1"], results: ["c1"] });
    expect(JSON.stringify(prompt)).toContain("never answered");
  });
});

/** A key that parsers leave out, and that a provider may use all the same. */
const oddlyKeyed: UIMessage = {
  id: "odd",
  role: "assistant",
  parts: [
    {
      type: "dynamic-tool",
      toolName: "look",
      toolCallId: "c1",
      state: "output-available",
      input: 0,
      output: "",
      callProviderMetadata: { provider: JSON.parse('{"__proto__":"kept"}') as Record<string, string> },
    },
  ],
};

/** The coding session that comes with the project. */
function realSession(): UIMessage[] {
  const path = join(import.meta.dirname, "../../../examples/transcripts/palimpsest-session.jsonl");
  return importTranscript(readFileSync(path, "utf8")).conversations.flatMap((each) => each.messages);
}

describe.each(cases)("$adapter.name", ({ adapter, schema, pairs }) => {
  const anything = fc.oneof(conversation, fc.array(anyMessage, { maxLength: 6 }));

  test("V2: sends what the provider accepts, each call with one result, whatever is in a history", async () => {
    await fc.assert(
      fc.asyncProperty(anything, async (messages) => {
        const prompt = await adapter.toModel([...messages, goOn]);
        const parsed = schema.safeParse(prompt);
        expect(parsed.success, parsed.error && z.prettifyError(parsed.error)).toBe(true);
        const { calls, results } = pairs(prompt);
        expect(results.toSorted()).toEqual(calls.toSorted());
      }),
      { numRuns: tries(150) },
    );
  });

  test("reads back what it sent: calls, results and all it can carry", async () => {
    await fc.assert(
      fc.asyncProperty(anything, async (messages) => {
        const sent = await adapter.toModel([...carried(messages), goOn]);
        const again = await adapter.toModel(adapter.fromModel(sent, ids()));
        expect(again).toEqual(sent);
      }),
      { numRuns: tries(150), examples: [[[oddlyKeyed]]] },
    );
    const sent = await adapter.toModel(talk);
    expect(await adapter.toModel(adapter.fromModel(sent, ids()))).toEqual(sent);
  });

  test("V2: carries a real coding session, call by call, also as events and with old outputs shortened", async () => {
    const messages = realSession();
    expect(eventsToMessages(messages.flatMap((message) => messageToEvents(message)))).toEqual(messages);
    for (const each of [messages, truncateOlderMessages(messages)]) {
      const prompt = await adapter.toModel(each);
      expect(schema.safeParse(prompt).error).toBe(undefined);
      const { calls, results } = pairs(prompt);
      expect(calls.length).toBeGreaterThan(20);
      expect(results).toEqual(calls);
      expect(await adapter.toModel(adapter.fromModel(prompt, ids()))).toEqual(prompt);
    }
  });

  test("refuses what is no message of its format", () => {
    const bad: unknown[] = [[1], [{ role: "nobody", content: "x" }], [{ role: "user", content: [{ type: "text" }] }]];
    for (const messages of bad) {
      let code: string | undefined;
      try {
        const prompt = adapter.name === "anthropic" ? { system: null, messages } : messages;
        adapter.fromModel(prompt as never, ids());
      } catch (error) {
        code = errorCode(error);
      }
      expect(code, JSON.stringify(messages)).toBe("invalid_input");
    }
  });
});
