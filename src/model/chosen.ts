/**
 * The models of a run as its Workflow receives them.
 *
 * This module knows no provider. Providers have modules of their own (workers-ai.ts, openai-compatible.ts), and a Worker bundles only those
 * that it imports.
 */
import type { LanguageModel } from "ai";
import { PalimpsestError } from "../errors.ts";
import { extractiveModel } from "./extractive.ts";

/** Smallest window, in tokens, that holds a prompt, a chunk and an answer. */
export const MIN_WINDOW_TOKENS = 2_000;

/** A summariser, which is any `LanguageModel` of the AI SDK with its window. */
export interface SummaryModel {
  readonly model: LanguageModel;
  /** Context window, in tokens. */
  readonly windowTokens: number;
  /** The model's name in ledgers, in bills and in the digests of drafts. Default: `provider:model`. */
  readonly name?: string;
  /** Model that is asked where this one gave no sound answer. */
  readonly fallback?: SummaryModel;
  /** Summarises the chunks of a long span, where a cheaper model is good enough. This model then merges them. */
  readonly chunks?: SummaryModel;
}

/** The run for which a Workflow chooses its model. */
export interface ModelRequest {
  /** The name of the model that the session chose, as in `compactAfter(60_000, { model: "cheap" })`. Null without a choice. */
  readonly choice: string | null;
  readonly runId: string;
  readonly agentName: string;
}

/** A checked {@link SummaryModel}, with a name. */
export interface ChosenModel {
  readonly model: LanguageModel;
  readonly name: string;
  readonly windowTokens: number;
  readonly fallback?: ChosenModel;
  readonly chunks?: ChosenModel;
}

/** Checks a summariser and its further models. Throws `invalid_options`. */
export function checkModel({ model, windowTokens, name, fallback, chunks }: SummaryModel): ChosenModel {
  if (!Number.isSafeInteger(windowTokens) || windowTokens < MIN_WINDOW_TOKENS) {
    throw new PalimpsestError(
      "invalid_options",
      `windowTokens of a summariser is ${String(windowTokens)}: give its context window, a whole number of at least ${MIN_WINDOW_TOKENS} tokens.`,
    );
  }
  return {
    model,
    windowTokens,
    name: name ?? (typeof model === "string" ? model : `${model.provider}:${model.modelId}`),
    ...(fallback !== undefined && { fallback: checkModel(fallback) }),
    ...(chunks !== undefined && { chunks: checkModel(chunks) }),
  };
}

/** The extractive model reads a text of any length. This window, in tokens, bounds the CPU time of one call. */
const EXTRACTIVE_WINDOW = 1_000_000;

/** Summariser of a Workflow that was given no model. It needs neither an account nor a network. */
export function withoutModel(): SummaryModel & { readonly model: ReturnType<typeof extractiveModel> } {
  return { model: extractiveModel(), windowTokens: EXTRACTIVE_WINDOW };
}
