/**
 * Chooses the model that summarises, from a Worker's bindings and variables.
 *
 * Boundary: the only place, with its neighbours in this folder, that knows a model provider. Safe because it makes no
 * request: a wrong setting is told before anything is written, and with no setting at all the answer is the extractive
 * model, which needs neither an account nor a network.
 */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4Middleware } from "@ai-sdk/provider";
import { wrapLanguageModel, type LanguageModel } from "ai";
import { createWorkersAI } from "workers-ai-provider";
import { PalimpsestError } from "../errors.ts";
import { fetchEndpoint } from "./endpoint-fetch.ts";
import { extractiveModel } from "./extractive.ts";

/** Used with an `AI` binding when `PALIMPSEST_MODEL` is not set: fast, multilingual, a long window. */
const WORKERS_AI_MODEL = "@cf/zai-org/glm-4.7-flash";
/** Context windows in tokens of Workers AI models that fit this job; any other needs `PALIMPSEST_MODEL_WINDOW`. */
const WORKERS_AI_WINDOWS: Readonly<Record<string, number>> = {
  [WORKERS_AI_MODEL]: 131_072,
  "@cf/openai/gpt-oss-120b": 128_000,
  "@cf/moonshotai/kimi-k2.7-code": 256_000,
};
/** Assumed window, in tokens, of a model that nothing is known of: small enough for most. */
const UNKNOWN_WINDOW = 32_000;
/** The extractive model reads any length; this bounds the CPU time of one call. In tokens. */
const EXTRACTIVE_WINDOW = 1_000_000;
/** Smallest window, in tokens, in which a prompt, a chunk and an answer have room. */
const MIN_WINDOW = 2_000;
/** Longest `PALIMPSEST_MODEL_DELAY_MS`: ten minutes. */
const MAX_DELAY_MS = 600_000;

/** What of a Worker's environment decides the model. Every variable may be absent or empty. */
export interface ModelEnv {
  /** Workers AI binding. */
  readonly AI?: Ai;
  /** Model id: of Workers AI with the binding, of the endpoint with `PALIMPSEST_MODEL_URL`. */
  readonly PALIMPSEST_MODEL?: string;
  /** Base URL of an OpenAI-compatible endpoint, such as `https://api.example.com/v1`. Wins over the binding. */
  readonly PALIMPSEST_MODEL_URL?: string;
  /** Bearer key for that endpoint. */
  readonly PALIMPSEST_MODEL_KEY?: string;
  /** The model's context window, in tokens. */
  readonly PALIMPSEST_MODEL_WINDOW?: string;
  /** Another model of the same provider, asked where the first gave no sound answer. */
  readonly PALIMPSEST_FALLBACK_MODEL?: string;
  /** Makes the model answer this many milliseconds later: for demonstrations of a slow summariser. */
  readonly PALIMPSEST_MODEL_DELAY_MS?: string;
}

export interface ChosenModel {
  readonly model: LanguageModel;
  /** `provider:model`, for ledgers and digests. */
  readonly name: string;
  /** Context window, in tokens. */
  readonly windowTokens: number;
  /** Asked where the first one gave no sound answer. */
  readonly fallback?: ChosenModel;
}

/**
 * The model to summarise with: the endpoint at `PALIMPSEST_MODEL_URL`, else Workers AI, else the extractive model.
 *
 * @throws `invalid_options` for a URL that is not http(s) or comes without a model, or a number that is not one.
 */
export function chooseModel(env: ModelEnv): ChosenModel {
  const windowTokens = readNumber(env, "PALIMPSEST_MODEL_WINDOW", { min: MIN_WINDOW, max: 100_000_000 });
  const delayMs = readNumber(env, "PALIMPSEST_MODEL_DELAY_MS", { min: 0, max: MAX_DELAY_MS });
  const first = chooseProvider(env, env.PALIMPSEST_MODEL?.trim());
  const second = env.PALIMPSEST_FALLBACK_MODEL?.trim();
  const finish = (chosen: Provided): ChosenModel => ({
    ...chosen,
    windowTokens: windowTokens ?? chosen.windowTokens,
    model: delayMs === undefined || delayMs === 0 ? chosen.model : delayed(chosen.model, delayMs),
  });
  return second ? { ...finish(first), fallback: finish(chooseProvider(env, second)) } : finish(first);
}

type Provided = ChosenModel & { readonly model: LanguageModelV4 };

function chooseProvider(env: ModelEnv, id: string | undefined): Provided {
  const url = env.PALIMPSEST_MODEL_URL?.trim();
  if (url) return fromEndpoint(url, id, env.PALIMPSEST_MODEL_KEY?.trim());
  if (env.AI) {
    const modelId = id || WORKERS_AI_MODEL;
    const model = createWorkersAI({ binding: env.AI })(modelId);
    return { model, name: `workers-ai:${modelId}`, windowTokens: WORKERS_AI_WINDOWS[modelId] ?? UNKNOWN_WINDOW };
  }
  const model = extractiveModel();
  return { model, name: `${model.provider}:${model.modelId}`, windowTokens: EXTRACTIVE_WINDOW };
}

function fromEndpoint(url: string, modelId: string | undefined, key: string | undefined): Provided {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) {
    throw new PalimpsestError(
      "invalid_options",
      "PALIMPSEST_MODEL_URL is not an http(s) URL: set it to the endpoint's base, such as https://api.example.com/v1.",
    );
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new PalimpsestError(
      "invalid_options",
      "PALIMPSEST_MODEL_URL holds a user name or password: take them out and set PALIMPSEST_MODEL_KEY as a secret.",
    );
  }
  if (!modelId) {
    throw new PalimpsestError(
      "invalid_options",
      "PALIMPSEST_MODEL_URL is set without PALIMPSEST_MODEL: name the model that the endpoint should use.",
    );
  }
  // A stream tells what it used only when asked to, and a session learns its size from that.
  const options = { name: "endpoint", baseURL: url, includeUsage: true, fetch: fetchEndpoint };
  const provider = createOpenAICompatible(key ? { ...options, apiKey: key } : options);
  return { model: provider.chatModel(modelId), name: `${parsed.host}:${modelId}`, windowTokens: UNKNOWN_WINDOW };
}

function readNumber(
  env: ModelEnv,
  name: "PALIMPSEST_MODEL_WINDOW" | "PALIMPSEST_MODEL_DELAY_MS",
  range: { readonly min: number; readonly max: number },
): number | undefined {
  const raw = env[name]?.trim();
  if (!raw) return undefined;
  const value = Number(raw);
  if (Number.isInteger(value) && value >= range.min && value <= range.max) return value;
  throw new PalimpsestError(
    "invalid_options",
    `${name} must be a whole number from ${range.min} to ${range.max}, or be left out; it is ${JSON.stringify(raw)}.`,
  );
}

/** The same model, answering later. An abort ends the wait at once, as it would a slow provider's. */
function delayed(model: LanguageModelV4, delayMs: number): LanguageModelV4 {
  const middleware: LanguageModelV4Middleware = {
    specificationVersion: "v4",
    wrapGenerate: async ({ doGenerate, params }) => {
      await wait(delayMs, params.abortSignal);
      return doGenerate();
    },
    wrapStream: async ({ doStream, params }) => {
      await wait(delayMs, params.abortSignal);
      return doStream();
    },
  };
  return wrapLanguageModel({ model, middleware });
}

function wait(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, delayMs);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
