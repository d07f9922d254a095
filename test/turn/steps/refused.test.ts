/** A prompt that a provider refused is sent once more, without the files, thoughts or items that it refused. */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, streamText, tool, wrapLanguageModel, type ModelMessage } from "ai";
import { expect, test, vi } from "vitest";
import { retryRefused } from "../../../src/turn/refused.ts";

const apiKey = "none";
const file = { type: "file", mediaType: "image/png", filename: "oats.png", data: "iVBORw0KGgo=" } as const;
const words = { type: "text", text: "What is this?" } as const;
const asked = (...content: (typeof file | typeof words)[]): ModelMessage[] => [{ role: "user", content }];

/** Refuses the first request, and answers the others. */
function refusing(status: number, message: string) {
  const bodies: string[] = [];
  const fetch = (async (_url: unknown, init: { body: string }) => {
    if (bodies.push(init.body) === 1)
      return Response.json({ error: { type: "invalid_request_error", message } }, { status });
    if (!init.body.includes('"stream":true'))
      return Response.json({
        choices: [{ message: { role: "assistant", content: "A plate." }, finish_reason: "stop" }],
      });
    const chunk = { choices: [{ index: 0, delta: { role: "assistant", content: "A plate." }, finish_reason: "stop" }] };
    return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  }) as unknown as typeof globalThis.fetch;
  const given = createOpenAICompatible({ baseURL: "http://nowhere", name: "open", apiKey, fetch })("deepseek-chat");
  return { bodies, fetch, model: wrapLanguageModel({ model: given, middleware: retryRefused }) };
}

test.each([
  [400, "Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`"],
  [404, "No endpoints found that support image input"],
  [400, "messages[0].content must be a string"],
  [400, "At most 0 image(s) may be provided in one request."],
  [422, "This model does not support multimodal input"],
  [400, "Error while downloading https://files.example.com/1?X-Amz-Signature=2."],
  [400, "Cannot fetch content from the provided URL."],
])("%i %s", async (status, message) => {
  for (const isStreamed of [false, true]) {
    const { bodies, model } = refusing(status, message);
    const request = { model, messages: asked(words, file), maxRetries: 0 };
    expect(isStreamed ? await streamText(request).text : (await generateText(request)).text).toBe("A plate.");
    expect(bodies).toHaveLength(2);
    expect(bodies[1]).toContain("[File oats.png, image/png: left out, because it was refused]");
    expect(bodies[1]).not.toContain("iVBORw0KGgo");
  }
});

test.each([
  ["of another kind", 400, "temperature must be at most 2", asked(words, file)],
  ["that may pass", 529, "image service overloaded", asked(words, file)],
  ["of a prompt without files", 400, "image_url is no variant", asked(words)],
])("a refusal %s is the caller's", async (_name, status, message, messages) => {
  const { bodies, model } = refusing(status, message);
  await expect(generateText({ model, messages, maxRetries: 0 })).rejects.toThrow(message);
  expect(bodies).toHaveLength(1);
});

test("a PDF of too many pages, in the result of a call", async () => {
  const { bodies, fetch } = refusing(
    400,
    "messages.1.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.",
  );
  const model = wrapLanguageModel({
    model: createAnthropic({ apiKey, fetch })("claude-sonnet-4-5"),
    middleware: retryRefused,
  });
  const value = [{ type: "file", mediaType: "application/pdf", data: { type: "data", data: "JVBERi0xLjQ=" } }];
  const messages = [
    { role: "user", content: "Read." },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "read", input: {} }] },
    {
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "content", value } }],
    },
  ] as unknown as ModelMessage[];
  await generateText({ model, messages, maxRetries: 0 }).catch(() => undefined);
  expect(bodies.map((body) => body.includes("JVBERi0xLjQ="))).toEqual([true, false]);
});

const kept = (fields: object): ModelMessage[] =>
  [
    { role: "user", content: "Count." },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "First the oats.", ...fields },
        { type: "text", text: "I look.", ...fields },
        { type: "tool-call", toolCallId: "ws_1", toolName: "look_up", input: {}, providerExecuted: true, ...fields },
        {
          type: "tool-result",
          toolCallId: "ws_1",
          toolName: "look_up",
          output: { type: "json", value: ["Rye."] },
          ...fields,
        },
        { type: "text", text: "Five.", ...fields },
      ],
    },
    { role: "user", content: "And?" },
  ] as unknown as ModelMessage[];
const openai = (fields: object) => ({ providerOptions: { openai: fields } });

test.each<[string, "anthropic" | "openai", boolean, object]>([
  ["Item with id 'msg_1' not found.", "openai", true, openai({ itemId: "msg_1" })],
  [
    "The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    "openai",
    false,
    openai({ itemId: "rs_1", reasoningEncryptedContent: "gAAA" }),
  ],
  ["Expected container_id: cntr_1", "openai", true, openai({ itemId: "ci_1" })],
  [
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "anthropic",
    true,
    { providerOptions: { anthropic: { signature: "gAAA" } } },
  ],
])("%s", async (message, name, store, fields) => {
  const { bodies, fetch } = refusing(400, message);
  const given =
    name === "openai"
      ? createOpenAI({ apiKey, fetch }).responses("gpt-5")
      : createAnthropic({ apiKey, fetch })("claude-sonnet-5");
  const model = wrapLanguageModel({ model: given, middleware: retryRefused });
  const request = { model, messages: kept(fields), maxRetries: 0, providerOptions: { openai: { store } } };
  await generateText(request).catch(() => undefined);
  expect(bodies).toHaveLength(2);
  expect(bodies[0]).toMatch(/item_reference|gAAA/);
  expect(bodies[1]).not.toMatch(/item_reference|gAAA|First the oats|[mrc][siw]g?_1"/);
  for (const said of ["I look.", "Rye.", "Five."]) expect(bodies[1]).toContain(said);
});

test("calls of the history become words where a gateway refuses them without tools", async () => {
  const { bodies, model } = refusing(
    400,
    "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified.",
  );
  const messages = [
    { role: "user", content: "Read." },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "c1", toolName: "read", input: { path: "oats" } }],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "text", value: "Rolled." } },
      ],
    },
  ] as unknown as ModelMessage[];
  expect((await generateText({ model, messages, maxRetries: 0 })).text).toBe("A plate.");
  expect(bodies.map((body) => body.includes("tool_calls"))).toEqual([true, false]);
  expect(bodies[1]).toMatch(/Call of tool read.*oats.*Result of tool read.*Rolled/);
});

const link = (name: string, mediaType = "image/png") => ({
  type: "file" as const,
  mediaType,
  filename: `${name}.png`,
  data: new URL(`https://files.example.com/${name}?X-Amz-Expires=3600`),
});
const call = { type: "tool-call", toolCallId: "c1", toolName: "read", input: {} };
const linked = [
  { role: "user", content: [words, link("gone"), link("page"), link("kept")] },
  { role: "assistant", content: [call] },
  {
    role: "tool",
    content: [
      {
        ...call,
        type: "tool-result",
        output: {
          type: "content",
          value: [{ ...link("gone-too"), data: { type: "url", url: link("gone-too").data } }],
        },
      },
    ],
  },
] as unknown as ModelMessage[];

test.each([
  [
    "Kimi",
    (fetch: typeof globalThis.fetch) => createOpenAICompatible({ baseURL: "http://kimi", name: "k", fetch })("k2"),
  ],
  ["Mistral", (fetch: typeof globalThis.fetch) => createMistral({ apiKey, fetch })("mistral-large-latest")],
  [
    "Bedrock",
    (fetch: typeof globalThis.fetch) =>
      createAmazonBedrock({ region: "us-east-1", apiKey, fetch })("amazon.nova-2-lite-v1:0"),
  ],
])("a link that has expired does not end the turns of %s, which takes no links", async (_name, make) => {
  const answers = new Map([
    ["/page", () => new Response("<html>Gone.</html>", { headers: { "content-type": "text/html" } })],
    ["/kept", () => new Response(Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10]))],
  ]);
  const download = vi.fn(
    async (url: string | URL) => answers.get(new URL(url).pathname)?.() ?? new Response("", { status: 403 }),
  );
  vi.stubGlobal("fetch", download);
  try {
    const { bodies, fetch } = refusing(400, "");
    const model = wrapLanguageModel({ model: make(fetch), middleware: retryRefused });
    const tools = { read: tool({ inputSchema: jsonSchema<object>({ type: "object" }), execute: () => "" }) };
    await generateText({ model, messages: linked, tools, maxRetries: 0 }).catch(() => undefined);
    expect(download).toHaveBeenCalledTimes(4);
    expect(bodies).toHaveLength(1);
    for (const name of ["gone", "page", "gone-too"])
      expect(bodies[0]).toContain(`[File ${name}.png, image/png: left out, because it could not be loaded]`);
    expect(bodies[0]).toContain("iVBORw0KGgo=");
    expect(bodies[0]).not.toContain("files.example.com");
  } finally {
    vi.unstubAllGlobals();
  }
});

test("a link that the provider loads itself is sent as it is", async () => {
  const { bodies, fetch } = refusing(400, "Unable to download the file. Please verify the URL and try again.");
  const model = wrapLanguageModel({
    model: createAnthropic({ apiKey, fetch })("claude-sonnet-5"),
    middleware: retryRefused,
  });
  const messages: ModelMessage[] = [{ role: "user", content: [words, link("gone")] }];
  await generateText({ model, messages, maxRetries: 0 }).catch(() => undefined);
  expect(bodies.map((body) => body.includes("files.example.com/gone"))).toEqual([true, false]);
});
