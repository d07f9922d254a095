/**
 * Chooses the model that summarises from a Worker's bindings and variables. The deployable Worker uses it, as may any Worker that sets its
 * model without code.
 *
 * This module imports every provider, so nothing but the Worker's entry imports it. It makes no request. A wrong setting fails before
 * anything is written, and without any setting the result is the extractive model.
 */
import type { LanguageModelV3, LanguageModelV4, LanguageModelV4Middleware } from "@ai-sdk/provider";
import { wrapLanguageModel } from "ai";
import { PalimpsestError } from "../errors.ts";
import { MIN_WINDOW_TOKENS, withoutModel, type SummaryModel } from "../model/chosen.ts";
import { openAiCompatible } from "./openai-compatible.ts";
import { workersAi } from "./workers-ai.ts";

/** Largest `PALIMPSEST_MODEL_DELAY_MS`, ten minutes. */
const MAX_DELAY_MS = 600_000;

/** The part of a Worker's environment that decides the model. Every variable may be absent or empty. */
export interface ModelEnv {
  /** Workers AI binding. */
  readonly AI?: Ai;
  /** Model id. With `PALIMPSEST_MODEL_URL` it is a model of the endpoint, else one of Workers AI. */
  readonly PALIMPSEST_MODEL?: string;
  /** Base URL of an OpenAI-compatible endpoint, such as `https://api.example.com/v1`. It takes precedence over the binding. */
  readonly PALIMPSEST_MODEL_URL?: string;
  /** Bearer key for that endpoint. */
  readonly PALIMPSEST_MODEL_KEY?: string;
  /** The model's context window, in tokens. */
  readonly PALIMPSEST_MODEL_WINDOW?: string;
  /** Another model of the same provider. It is asked where the first gave no sound answer. */
  readonly PALIMPSEST_FALLBACK_MODEL?: string;
  /** Delays the model's answer by this many milliseconds, to demonstrate a slow summariser. */
  readonly PALIMPSEST_MODEL_DELAY_MS?: string;
}

/**
 * Returns the summariser, which is the endpoint at `PALIMPSEST_MODEL_URL`, else Workers AI, else the extractive model. `choice` is the id
 * of another model of the same provider, as a session names it. The extractive model has no other.
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

/** A model of the AI SDK 6 or 7. */
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

/** Returns the same model with a delay before each answer. An abort ends the delay at once, as it would end a slow provider's call. */
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
