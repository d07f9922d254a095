/** The bodies of requests that the providers' own packages make of a view. A fetch keeps each, and nothing is sent. */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { convertToModelMessages, generateText, jsonSchema, tool, type ToolSet, type UIMessage } from "ai";
import { forModel } from "../../../../src/turn/readable.ts";
import { toolName, toolPart } from "../../../../src/steps/message/message.ts";

(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;

type Body = Record<string, unknown>;
type Make = (fetch: typeof globalThis.fetch) => LanguageModelV4;
interface Asked {
  readonly make: Make;
  readonly options: SharedV4ProviderOptions;
}

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
} satisfies Record<string, Asked>;

export type Provider = keyof typeof PROVIDERS;
export const providers = Object.keys(PROVIDERS) as Provider[];

/**
 * The body of the request for these messages, as a turn with this model sends them. Throws where the package refuses them before it asks. `own`
 * are tools of the provider.
 */
export async function bodyFor(provider: Provider | Asked, messages: UIMessage[], own: ToolSet = {}): Promise<Body> {
  const tools = { ...toolsOf(messages), ...own };
  return bodyOf(provider, async (model, providerOptions) =>
    generateText({
      model,
      messages: await forModel(await convertToModelMessages(structuredClone(messages)), model, tools),
      maxRetries: 0,
      providerOptions,
      ...(Object.keys(tools).length > 0 && { tools }),
    }),
  );
}

/** The body of the first request that `ask` makes of the provider's model. */
export async function bodyOf(
  provider: Provider | Asked,
  ask: (model: LanguageModelV4, options: SharedV4ProviderOptions) => Promise<unknown>,
): Promise<Body> {
  let body: Body | null = null;
  const keep = (async (_url: unknown, init: { body: string | Uint8Array }) => {
    body ??= JSON.parse(typeof init.body === "string" ? init.body : new TextDecoder().decode(init.body)) as Body;
    throw new Error("kept");
  }) as unknown as typeof fetch;
  const { make, options } = typeof provider === "string" ? PROVIDERS[provider] : provider;
  try {
    await ask(make(keep), options);
  } catch (error) {
    if (body === null) throw error;
  }
  return body ?? {};
}

/** What the provider's model calls itself. */
export function nameOf(provider: Provider): Pick<LanguageModelV4, "provider" | "modelId"> {
  return PROVIDERS[provider].make(fetch);
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
