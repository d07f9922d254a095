/**
 * The models of a run, as its Workflow is given them.
 *
 * Boundary: knows no provider. Providers are rooms of their own (workers-ai.ts, openai-compatible.ts), and a Worker bundles
 * the ones that it imports.
 */
import type { LanguageModel } from "ai";
import { PalimpsestError } from "../errors.ts";
import { extractiveModel } from "./extractive.ts";

/** Smallest window, in tokens, in which a prompt, a chunk and an answer have room. */
export const MIN_WINDOW_TOKENS = 2_000;

/** A model to summarise with: any `LanguageModel` of the AI SDK, and its window. */
export interface SummaryModel {
  readonly model: LanguageModel;
  /** Context window, in tokens. */
  readonly windowTokens: number;
  /** What ledgers, bills and the digests of drafts call it. Default: `provider:model`. */
  readonly name?: string;
  /** Asked where this one gave no sound answer. */
  readonly fallback?: SummaryModel;
  /** Summarises the parts of a long span, where a cheaper model will do. This one then merges them. */
  readonly chunks?: SummaryModel;
}

/** What a Workflow is asked for a model for. */
export interface ModelRequest {
  /** The session's choice, by name: `compactAfter(60_000, { model: "cheap" })`. Null where it made none. */
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

/** Throws `invalid_options`. */
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

/** The extractive model reads any length; this bounds the CPU time of one call. In tokens. */
const EXTRACTIVE_WINDOW = 1_000_000;

/** What a Workflow summarises with that was given no model: it needs neither an account nor a network. */
export function withoutModel(): SummaryModel & { readonly model: ReturnType<typeof extractiveModel> } {
  return { model: extractiveModel(), windowTokens: EXTRACTIVE_WINDOW };
}
