/** A model behind any endpoint that speaks OpenAI's chat completions. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { PalimpsestError } from "../errors.ts";
import type { SummaryModel } from "../model/chosen.ts";
import { fetchEndpoint } from "./endpoint-fetch.ts";

/** Window, in tokens, that is assumed where none was given. It is small enough for most models. */
const UNKNOWN_WINDOW = 32_000;

export interface EndpointOptions {
  /** Base URL, such as `https://api.example.com/v1`. */
  readonly url: string;
  readonly modelId: string;
  /** Bearer key. */
  readonly key?: string | undefined;
  /** The model's context window, in tokens. Default 32,000. */
  readonly windowTokens?: number | undefined;
}

export type EndpointModel = SummaryModel & {
  readonly name: string;
  readonly model: ReturnType<ReturnType<typeof createOpenAICompatible>["chatModel"]>;
};

/** Creates the model without a request. Throws `invalid_options` for a URL that is not http(s), or that holds a password. */
export function openAiCompatible({ url, modelId, key, windowTokens = UNKNOWN_WINDOW }: EndpointOptions): EndpointModel {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw new PalimpsestError(
      "invalid_options",
      "The URL of a model's endpoint must be http(s): give the endpoint's base, such as https://api.example.com/v1. In the deployable Worker this is PALIMPSEST_MODEL_URL.",
    );
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new PalimpsestError(
      "invalid_options",
      "The URL of a model's endpoint holds a user name or password: take them out and give the key by itself. In the deployable Worker this is PALIMPSEST_MODEL_KEY, as a secret.",
    );
  }
  // A stream reports its usage only on request, and a session learns its size from that report.
  const options = { name: "endpoint", baseURL: url, includeUsage: true, fetch: fetchEndpoint };
  const provider = createOpenAICompatible(key ? { ...options, apiKey: key } : options);
  return { model: provider.chatModel(modelId), name: `${parsed.host}:${modelId}`, windowTokens };
}
