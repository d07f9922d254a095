/** A model behind any endpoint that speaks OpenAI's chat completions. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError } from "ai";
import { PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import type { SummaryModel } from "../model/chosen.ts";
import { AnswerTooLongError } from "../model/failures.ts";

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

/** Creates the model without a request. Throws `invalid_options` for a URL that is not http(s), or that holds a password, and for an unknown option. */
export function openAiCompatible(options: EndpointOptions): EndpointModel {
  checkFields<EndpointOptions>("openAiCompatible", options, {
    url: true,
    modelId: true,
    key: true,
    windowTokens: true,
  });
  const { url, modelId, key, windowTokens = UNKNOWN_WINDOW } = options;
  if (typeof modelId !== "string" || modelId === "") {
    throw new PalimpsestError(
      "invalid_options",
      "openAiCompatible: modelId names the model, as its endpoint knows it.",
    );
  }
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
  const endpoint = { name: "endpoint", baseURL: url, includeUsage: true, fetch: fetchEndpoint };
  const provider = createOpenAICompatible(key ? { ...endpoint, apiKey: key } : endpoint);
  return { model: provider.chatModel(modelId), name: `${parsed.host}:${modelId}`, windowTokens };
}

/** Most redirects of one call. They cover an upgrade to https, a moved path, and one to spare. */
export const MAX_REDIRECTS = 3;
/** Most bytes that are read of one response. A streamed token takes some 300 bytes, and a summary has a few thousand tokens. */
export const MAX_RESPONSE_BYTES = 16_000_000;

/** All redirects but 303, which asks for another method. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);
/** Headers that do not identify the caller. */
const PLAIN_HEADERS = ["content-type", "accept"] as const;

/**
 * The `fetch` for a model's endpoint. It follows few redirects and bounds the size of a response. A redirect to another origin must use
 * https, and then carries no header that could hold a credential. Throws an `APICallError` with the redirect's status for a forbidden
 * target.
 */
async function fetchEndpoint(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  let url = new URL(input instanceof Request ? input.url : input);
  let headers = new Headers(init.headers);
  for (let followed = 0; ; followed++) {
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    const location = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || location === null) return answerOf(response, init);
    await response.body?.cancel();
    const next = URL.canParse(location, url.href) ? new URL(location, url) : null;
    if (next === null) throw refusal(response, url, "to nowhere");
    if (followed === MAX_REDIRECTS) throw refusal(response, url, `more than ${MAX_REDIRECTS} times`);
    if (next.origin !== url.origin) {
      if (next.protocol !== "https:") throw refusal(response, url, `to ${next.origin}, which is not https`);
      headers = new Headers(
        PLAIN_HEADERS.flatMap((name) => (headers.has(name) ? [[name, headers.get(name) ?? ""]] : [])),
      );
    }
    url = next;
  }
}

function refusal({ status }: Response, { origin, href }: URL, where: string): APICallError {
  const message = `The model's endpoint at ${origin} redirects ${where}: set PALIMPSEST_MODEL_URL to where it is.`;
  return new APICallError({ message, url: href, requestBodyValues: {}, statusCode: status, isRetryable: false });
}

async function answerOf(response: Response, { body }: RequestInit): Promise<Response> {
  if (response.body === null) return response;
  const bounded = new Response(response.body.pipeThrough(countBytes()), response);
  const isWhole = /\bjson\b/.test(response.headers.get("content-type") ?? "");
  return response.ok && isWhole && asksForStream(body) ? streamed(bounded) : bounded;
}

function countBytes(): TransformStream<Uint8Array, Uint8Array> {
  let read = 0;
  return new TransformStream({
    transform(piece, controller) {
      read += piece.byteLength;
      if (read > MAX_RESPONSE_BYTES)
        throw new AnswerTooLongError(`The answer is larger than ${MAX_RESPONSE_BYTES} bytes.`);
      controller.enqueue(piece);
    },
  });
}

function asksForStream(body: RequestInit["body"]): boolean {
  return typeof body === "string" && (JSON.parse(body) as { stream?: boolean }).stream === true;
}

/** Some endpoints support no streams and answer with one JSON body. That body becomes a stream of one event. */
async function streamed(response: Response): Promise<Response> {
  const text = await response.text();
  const events = `data: ${JSON.stringify(asChunk(text))}\n\ndata: [DONE]\n\n`;
  return new Response(events, { status: response.status, headers: { "content-type": "text/event-stream" } });
}

function asChunk(text: string): object {
  const whole = JSON.parse(text) as { choices?: readonly { message?: unknown }[] };
  if (!Array.isArray(whole.choices)) return whole;
  return { ...whole, choices: whole.choices.map(({ message, ...choice }) => ({ ...choice, delta: message })) };
}
