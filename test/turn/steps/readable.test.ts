/** What another provider made is sent in a form that the step's provider takes. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { tool, type ModelMessage, type ToolSet } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Part } from "../../../src/steps/message/message.ts";
import { repairMessages } from "../../../src/steps/view/repair.ts";
import { forModel, readable } from "../../../src/turn/readable.ts";
import { say, text } from "../../steps/conversations.ts";
import { bodyFor } from "../../steps/view/providers/bodies.ts";

const of = (provider: string, modelId = "m") => ({ provider, modelId });
const picture = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo" } as const;
const drawn: ModelMessage[] = [{ role: "assistant", content: [picture] }];
const shot = {
  type: "tool-result",
  toolCallId: "c1",
  toolName: "shot",
  output: {
    type: "content",
    value: [
      { type: "text", text: "A form." },
      { ...picture, data: { type: "data", data: "iVBORw0KGgo" } },
    ],
  },
};
const seen = [{ role: "tool", content: [shot] }] as unknown as ModelMessage[];
const ran = (toolCallId: string, fields: object = {}): ModelMessage[] =>
  [
    {
      role: "assistant",
      content: [
        {
          type: "tool-call",
          toolCallId,
          toolName: "web_search",
          input: { q: "oats" },
          providerExecuted: true,
          ...fields,
        },
        {
          type: "tool-result",
          toolCallId,
          toolName: "web_search",
          output: { type: "json", value: ["Oats are grown."] },
        },
        { type: "text", text: "Oats." },
      ],
    },
  ] as unknown as ModelMessage[];

const told = (messages: ModelMessage[], provider: string): string => JSON.stringify(readable(messages, of(provider)));

describe("a file", () => {
  test("that an assistant made is Gemini's own, and a line for any other model", () => {
    expect(readable(drawn, of("google.generative-ai"))[0]).toBe(drawn[0]);
    expect(readable(drawn, of("gateway", "google/gemini-3-pro-image"))[0]).toBe(drawn[0]);
    for (const provider of ["anthropic.messages", "openai.responses", "mistral.chat", "workersai.chat"])
      expect(told(drawn, provider)).toContain("[File image/png: this model takes none here]");
  });

  test("in a result is a line for chat completions, which would send its bytes as a text", () => {
    for (const provider of ["workersai.chat", "openai.chat", "mistral.chat", "groq.chat"]) {
      expect(told(seen, provider)).toContain("[File image/png: this model takes none here]");
      expect(told(seen, provider)).toContain("A form.");
      expect(told(seen, provider)).not.toContain("iVBORw0KGgo");
    }
    for (const provider of ["anthropic.messages", "openai.responses", "google.vertex.chat", "amazon-bedrock"])
      expect(readable(seen, of(provider))[0]).toBe(seen[0]);
  });

  test("of the user stays, whoever is asked", async () => {
    const given: ModelMessage[] = [{ role: "user", content: [picture] }];
    expect((await forModel(given, of("mistral.chat")))[0]).toBe(given[0]);
  });
});

test("a thought is not sent to a model of Mistral's that does not think, nor to Groq, Cerebras, and models of Bedrock but Claude", () => {
  const thought: ModelMessage[] = [
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "First the ledger." },
        { type: "text", text: "Yes." },
      ],
    },
  ];
  for (const provider of ["mistral.chat", "groq.chat", "cerebras.chat"])
    expect(told(thought, provider)).not.toContain("First the ledger.");
  for (const modelId of ["amazon.nova-2-lite-v1:0", "openai.gpt-oss-120b-1:0", "deepseek.v3-v1:0"])
    expect(JSON.stringify(readable(thought, of("amazon-bedrock", modelId)))).not.toContain("First the ledger.");
  for (const modelId of [
    "us.anthropic.claude-sonnet-4-6",
    "arn:aws:bedrock:us-east-1:1:application-inference-profile/a",
  ])
    expect(readable(thought, of("amazon-bedrock", modelId))[0]).toBe(thought[0]);
  expect(readable(thought, of("mistral.chat", "magistral-medium-latest"))[0]).toBe(thought[0]);
  expect(readable(thought, of("anthropic.messages"))[0]).toBe(thought[0]);
});

describe("a call that a provider ran itself", () => {
  const item = { providerOptions: { openai: { itemId: "ws_1" } } };
  test.each<[string, ModelMessage[], string, string]>([
    ["Anthropic", ran("srvtoolu_01AbC"), "anthropic.messages", "openai.responses"],
    ["Anthropic, on Vertex", ran("srvtoolu_01AbC"), "vertex.anthropic.messages", "google.vertex.chat"],
    ["OpenAI", ran("ws_68aa00112233445566778899"), "openai.responses", "anthropic.messages"],
    ["OpenAI, by its item", ran("call_1", item), "azure.responses", "amazon-bedrock"],
    ["nobody who is known", ran("call_1"), "gateway", "workersai.chat"],
  ])("of %s, is sent to it, and is words for any other", async (_name, messages, own, other) => {
    expect(readable(messages, of(own))[0]).toBe(messages[0]);
    expect((await forModel(messages, of(other)))[0]).not.toBe(messages[0]);
    expect(told(messages, other)).toContain("Oats are grown.");
    expect(told(messages, other)).not.toContain("tool-call");
    expect(told(messages, other)).not.toContain("tool-result");
  });
});

const called = (...before: object[]): ModelMessage[] =>
  [
    {
      role: "assistant",
      content: [...before, { type: "tool-call", toolCallId: "c1", toolName: "read", input: {} }],
    },
  ] as unknown as ModelMessage[];

test("Kimi and DeepSeek get a thought before each call, where none is left", () => {
  for (const [provider, modelId] of [
    ["moonshotai.chat", "kimi-k2.5"],
    ["deepseek.chat", "deepseek-reasoner"],
    ["openrouter.chat", "deepseek/deepseek-v4"],
  ] as const) {
    expect(JSON.stringify(readable(called(), of(provider, modelId)))).toMatch(/"reasoning".*not kept.*"tool-call"/);
    const own = called({ type: "reasoning", text: "First the ledger." });
    expect(readable(own, of(provider, modelId))[0]).toBe(own[0]);
  }
  expect(readable(called(), of("openai.responses"))[0]).not.toContain("reasoning");
  expect(JSON.stringify(readable(called(), of("groq.chat", "moonshotai/kimi-k2")))).not.toContain("reasoning");
});

test("Kimi and DeepSeek behind an endpoint of Anthropic's form are sent each thought, although nobody signed it", async () => {
  const kimi = {
    make: (fetch: typeof globalThis.fetch) => createAnthropic({ apiKey: "none", fetch })("kimi-k2.6"),
    options: {},
  };
  const call = { type: "tool-read", toolCallId: "c1", state: "output-available", input: {}, output: "x" } as const;
  for (const thought of [[], [{ type: "reasoning", text: "First the ledger." } as const]]) {
    const asked = [say("u", "user", text("Read.")), say("a", "assistant", ...thought, call)];
    const body = JSON.stringify(await bodyFor(kimi, asked));
    expect(body).toMatch(/"thinking":"[^"]+","signature":""\},\{"type":"tool_use"/);
    expect(body.includes("First the ledger.")).toBe(thought.length === 1);
  }
});

const found = (...names: string[]): Part =>
  ({
    type: "tool-find",
    toolCallId: "srvtoolu_1",
    state: "output-available",
    providerExecuted: true,
    input: { pattern: "read" },
    output: names.map((toolName) => ({ type: "tool_reference", toolName })),
  }) as unknown as Part;
const references = (names: readonly string[]): ModelMessage[] => {
  const value = names.map((toolName) => ({
    type: "custom",
    providerOptions: { anthropic: { type: "tool-reference", toolName } },
  }));
  const result = { type: "tool-result", toolCallId: "c1", toolName: "find", output: { type: "content", value } };
  return [{ role: "tool", content: [result] }] as unknown as ModelMessage[];
};

describe("a tool that a search found and that the request no longer has", () => {
  const anthropic = createAnthropic({ apiKey: "none" });
  const tools: ToolSet = {
    find: anthropic.tools.toolSearchRegex_20251119(),
    read: tool({ inputSchema: z.object({}) }),
  };
  test("is not referred to by Anthropic's own search", async () => {
    const messages = [
      say("u", "user", text("?")),
      say("a", "assistant", found("read", "gone"), text("Yes.")),
      say("v", "user", text("?")),
    ];
    const body = JSON.stringify(await bodyFor("anthropic", messages, tools));
    expect(body).toContain('"tool_references":[{"type":"tool_reference","tool_name":"read"}]');
  });

  test("is a text in the result of the agent's own search, and each one is for a model of others", async () => {
    const [read, gone] = [references(["read"]), references(["read", "gone"])];
    expect((await forModel(read, of("anthropic.messages"), tools))[0]).toBe(read[0]);
    const shown = JSON.stringify(await forModel(gone, of("anthropic.messages"), tools));
    expect(shown).toContain('"toolName":"read"}}},{"type":"text","text":"[Tool gone]"}');
    for (const provider of ["amazon-bedrock", "openai.responses", "mistral.chat"])
      expect(JSON.stringify(await forModel(read, of(provider), tools))).toContain(
        '[{"type":"text","text":"[Tool read]"}]',
      );
  });
});

test("a call of another model is marked for Gemini behind chat completions, and its own keeps its signature", () => {
  const own = { providerOptions: { gemini: { thoughtSignature: "SIGNED" } } };
  const calls = [{ role: "assistant", content: ran("c1", own)[0]?.content.slice(0, 1) }] as ModelMessage[];
  const client = called();
  for (const provider of ["google.chat", "open.chat"]) {
    const by = of(provider, "gemini-3-flash");
    expect(JSON.stringify(readable(client, by))).toContain("skip_thought_signature_validator");
    expect(JSON.stringify(readable(calls, by))).not.toContain("skip_thought_signature_validator");
  }
  for (const provider of ["google.vertex.chat", "google.generative-ai"])
    expect(readable(client, of(provider, "gemini-3-flash"))[0]).toBe(client[0]);
});

const signed = (name: string): ModelMessage[] => [
  {
    role: "assistant",
    content: [
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "read",
        input: {},
        providerOptions: { [name]: { thoughtSignature: "SIGNED", kept: 1 } },
      },
    ],
  },
];

test("Google's own API and Vertex are not sent each other's signatures, and each one's own stay", () => {
  for (const [own, name, other] of [
    ["google.vertex.chat", "googleVertex", "google.generative-ai"],
    ["google.generative-ai", "google", "google.vertex.chat"],
  ] as const) {
    const calls = signed(name);
    expect(readable(calls, of(own, "gemini-3-flash"))[0]).toBe(calls[0]);
    expect(readable(calls, of("gateway", "google/gemini-3-flash"))[0]).toBe(calls[0]);
    expect(readable(calls, of(other, "gemini-3-flash"))).toMatchObject([
      { content: [{ providerOptions: { [name]: { kept: 1 } } }] },
    ]);
    expect(told(calls, other)).not.toContain("SIGNED");
  }
});

const texts = (fields: object): ModelMessage[] => [
  {
    role: "user",
    content: [
      { type: "text", text: "One." },
      { type: "text", text: "Two.", ...fields },
    ],
  },
];

test("the user's texts are one for chat completions, unless a cache is marked at one of them", () => {
  for (const fields of [{}, { providerOptions: { openai: { itemId: "msg_1" } } }])
    expect(readable(texts(fields), of("deepseek.chat"))).toEqual([{ role: "user", content: "One.\n\nTwo." }]);
  const marked = texts({ providerOptions: { openrouter: { cacheControl: { type: "ephemeral" } } } });
  expect(readable(marked, of("openrouter.chat"))[0]).toBe(marked[0]);
  expect(readable(marked, of("openai.responses"))[0]).toBe(marked[0]);
});

test("a reply that goes on behind its own words has the user's word behind it, where a model may refuse it otherwise", async () => {
  const words: ModelMessage[] = [
    { role: "user", content: "Tell." },
    { role: "assistant", content: "Once" },
  ];
  for (const [provider, modelId] of [
    ["llama.chat", "qwen3"],
    ["anthropic.messages", "claude-sonnet-5"],
    ["gateway", "anthropic/claude-sonnet-5"],
    ["google.generative-ai", "gemini-3-pro"],
    ["google.vertex.chat", "gemini-3-pro"],
    ["amazon-bedrock", "amazon.nova-pro-v1:0"],
    ["amazon-bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"],
  ] as const)
    expect((await forModel(words, of(provider, modelId))).at(-1)).toEqual({ role: "user", content: "[Go on.]" });
  expect(await forModel(words, of("openai.responses"))).toEqual(words);
});

test("words of the assistant stand between a result and a reminder, where a model refuses the user's right behind it", () => {
  const reminded: ModelMessage[] = [
    { role: "user", content: "Plan." },
    ...called(),
    ...seen,
    { role: "user", content: "The plan changed." },
  ];
  const roles = (provider: string, modelId: string): string[] =>
    readable(reminded, of(provider, modelId)).map(({ role }) => role);
  for (const [provider, modelId] of [
    ["mistral.chat", "mistral-large-latest"],
    ["open.chat", "devstral-small"],
    ["amazon-bedrock", "meta.llama4-maverick-17b-instruct-v1:0"],
  ] as const)
    expect(roles(provider, modelId)).toEqual(["user", "assistant", "tool", "assistant", "user"]);
  for (const [provider, modelId] of [
    ["anthropic.messages", "claude-sonnet-5"],
    ["amazon-bedrock", "anthropic.claude-sonnet-4-5"],
    ["amazon-bedrock", "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc"],
    ["openrouter.chat", "anthropic/claude-sonnet-5"],
    ["openai.responses", "gpt-5"],
  ] as const)
    expect(roles(provider, modelId)).toEqual(["user", "assistant", "tool", "user"]);
});

test.each([
  ["adviser that was stopped", "advisor", { state: "input-available" }],
  ["adviser that failed", "advisor", { state: "output-error", errorText: "overloaded" }],
  ["search that returned nothing", "web_search", { state: "output-available", output: null }],
  ["search that returned a text", "web_search", { state: "output-available", output: "Oats." }],
  ["page of another form", "web_fetch", { state: "output-available", output: { url: "https://a.example" } }],
])(
  "Anthropic's own %s, on which its package throws or leaves a call alone, is told in words",
  async (_name, called, fields) => {
    const { webSearch_20250305: search, webFetch_20250910: fetched } = createAnthropic({ apiKey: "none" }).tools;
    const tools: ToolSet = { web_search: search(), web_fetch: fetched() };
    const own = {
      type: `tool-${called}`,
      toolCallId: "srvtoolu_1",
      providerExecuted: true,
      input: { url: "Rye." },
      ...fields,
    };
    const messages = [
      say("u", "user", text("?")),
      say("a", "assistant", own as Part, text("Yes.")),
      say("v", "user", text("?")),
    ];
    const body = JSON.stringify(await bodyFor("anthropic", repairMessages(messages), tools));
    expect(body).toContain("Rye.");
    expect(body).not.toContain("srvtoolu_1");
  },
);

test.each([
  ["report.v1.pdf", "report.v2.pdf"],
  ["Invoice 2026.01.pdf", "Invoice 2026.02.pdf"],
  ["Report  final.pdf", "Report final.pdf"],
  ["报告.pdf", "合同.pdf"],
  ["report.pdf", "report.pdf"],
])("Bedrock is sent %s and %s under two names", async (...names) => {
  const url = "data:application/pdf;base64,JVBERi0xLjQK";
  const files = names.map((filename): Part => ({ type: "file", mediaType: "application/pdf", url, filename }));
  const body = await bodyFor("bedrock", [say("u", "user", ...files)]);
  const sent = [...JSON.stringify(body).matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name);
  expect(new Set(sent).size).toBe(2);
});

test("words and a call are apart for models of Bedrock that refuse them in one message", () => {
  const call = { type: "tool-call", toolCallId: "c1", toolName: "look", input: {} } as const;
  const said: ModelMessage[] = [{ role: "assistant", content: [{ type: "text", text: "I look." }, call] }];
  const apart = readable(said, of("amazon-bedrock", "us.meta.llama3-3-70b-instruct-v1:0"));
  expect(apart.map(({ role, content }) => [role, typeof content === "string" ? content : content.length])).toEqual([
    ["assistant", 1],
    ["user", "[Go on.]"],
    ["assistant", 1],
  ]);
  expect(readable(said, of("amazon-bedrock", "anthropic.claude-sonnet-4-5"))).toEqual(said);
});
