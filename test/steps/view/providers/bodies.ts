/** The bodies of requests that the providers' own packages make of a view. A fetch keeps each, and nothing is sent. */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  convertToModelMessages,
  generateText,
  jsonSchema,
  tool,
  type LanguageModel,
  type ToolSet,
  type UIMessage,
} from "ai";
import { toolName, toolPart } from "../../../../src/steps/message/message.ts";

(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;

type Body = Record<string, unknown>;
type Make = (fetch: typeof globalThis.fetch) => LanguageModel;

const apiKey = "none";
const claude = "anthropic.claude-sonnet-4-5-20250929-v1:0";
const thinking = { thinking: { type: "enabled", budgetTokens: 2_000 } };

const PROVIDERS = {
  anthropic: {
    make: (fetch) => createAnthropic({ apiKey, fetch })("claude-sonnet-4-5"),
    options: { anthropic: thinking },
  },
  openai: { make: (fetch) => createOpenAI({ apiKey, fetch }).responses("gpt-5"), options: {} },
  openaiWithoutStore: {
    make: (fetch) => createOpenAI({ apiKey, fetch }).responses("gpt-5"),
    options: { openai: { store: false } },
  },
  google: { make: (fetch) => createGoogle({ apiKey, fetch })("gemini-3-pro-preview"), options: {} },
  bedrock: {
    make: (fetch) => createAmazonBedrock({ region: "us-east-1", apiKey, fetch })(claude),
    options: { bedrock: { reasoningConfig: { type: "enabled", budgetTokens: 2_000 } } },
  },
  mistral: { make: (fetch) => createMistral({ apiKey, fetch })("mistral-large-latest"), options: {} },
  chat: {
    make: (fetch) => createOpenAICompatible({ baseURL: "http://nowhere", name: "open", apiKey, fetch })("open"),
    options: {},
  },
} satisfies Record<string, { make: Make; options: Record<string, Record<string, unknown>> }>;

export type Provider = keyof typeof PROVIDERS;
export const providers = Object.keys(PROVIDERS) as Provider[];

/** The body of the request for these messages. Throws where the package refuses them before it asks. */
export async function bodyFor(provider: Provider, messages: UIMessage[]): Promise<Body> {
  let body: Body | null = null;
  const keep = (async (_url: unknown, init: { body: string | Uint8Array }) => {
    body = JSON.parse(typeof init.body === "string" ? init.body : new TextDecoder().decode(init.body)) as Body;
    throw new Error("kept");
  }) as unknown as typeof fetch;
  const { make, options } = PROVIDERS[provider];
  const tools = toolsOf(messages);
  await generateText({
    model: make(keep),
    messages: await convertToModelMessages(structuredClone(messages)),
    maxRetries: 0,
    providerOptions: options,
    ...(Object.keys(tools).length > 0 && { tools }),
  }).catch((error: unknown) => {
    if (body === null) throw error;
  });
  return body ?? {};
}

function toolsOf(messages: readonly UIMessage[]): ToolSet {
  const names = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      const called = toolPart(part);
      return called === null || called.providerExecuted === true ? [] : [toolName(called)];
    }),
  );
  const inputSchema = jsonSchema({ type: "object" });
  return Object.fromEntries(
    names.map((name) => [name, tool({ description: name, inputSchema })]),
  ) as unknown as ToolSet;
}
