/**
 * Chooses the model that summarises, from a Worker's bindings and variables: for the deployable Worker, and for whoever
 * wants to set a model without code.
 *
 * Boundary: imports every provider, so nothing but the Worker's entry imports it. Safe because it makes no request: a wrong
 * setting is told before anything is written, and with no setting at all the answer is the extractive model.
 */
import type { LanguageModelV3, LanguageModelV4, LanguageModelV4Middleware } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { PalimpsestError } from "../errors.ts";
import { MIN_WINDOW_TOKENS, withoutModel, type SummaryModel } from "./chosen.ts";
import { openAiCompatible } from "./openai-compatible.ts";
import { workersAi } from "./workers-ai.ts";

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

/**
 * The model to summarise with: the endpoint at `PALIMPSEST_MODEL_URL`, else Workers AI, else the extractive model.

 * `choice` is the id of another model of the same provider, as a session names it; the extractive model has no other.
 *
 * @throws `invalid_options` for a URL that is not http(s) or comes without a model, or a number that is not one.
 */
export function chooseModel(env: ModelEnv, choice: string | null = null): SummaryModel {
  const windowTokens = readNumber(env, "PALIMPSEST_MODEL_WINDOW", { min: MIN_WINDOW_TOKENS, max: 100_000_000 });
  const delayMs = readNumber(env, "PALIMPSEST_MODEL_DELAY_MS", { min: 0, max: MAX_DELAY_MS });
  const first = chooseProvider(env, choice ?? env.PALIMPSEST_MODEL?.trim());
  const second = env.PALIMPSEST_FALLBACK_MODEL?.trim();
  const finish = ({ model, ...chosen }: Provided): SummaryModel => ({
    ...chosen,
    windowTokens: windowTokens ?? chosen.windowTokens,
    model: delayMs === undefined || delayMs === 0 ? model : delayed(model, delayMs),
  });
  return second ? { ...finish(first), fallback: finish(chooseProvider(env, second)) } : finish(first);
}

/** Of the AI SDK 6 or 7. */
type AnyModel = LanguageModelV3 | LanguageModelV4;
type Provided = Omit<SummaryModel, "model" | "fallback" | "chunks"> & { readonly model: AnyModel };

function chooseProvider(env: ModelEnv, id: string | undefined): Provided {
  const url = env.PALIMPSEST_MODEL_URL?.trim();
  if (url) {
    if (id) return openAiCompatible({ url, modelId: id, key: env.PALIMPSEST_MODEL_KEY?.trim() });
    throw new PalimpsestError(
      "invalid_options",
      "PALIMPSEST_MODEL_URL is set without PALIMPSEST_MODEL: name the model that the endpoint should use.",
    );
  }
  return env.AI ? workersAi(env.AI, id || undefined) : withoutModel();
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
function delayed(model: AnyModel, delayMs: number): LanguageModelV4 {
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
