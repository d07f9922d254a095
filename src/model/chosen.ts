/**
 * The models of a run, as its Workflow is given them.
 *
 * Boundary: knows no provider. Providers are rooms of their own (workers-ai.ts, openai-compatible.ts), and a Worker bundles
 * the ones that it imports.
 */
import type { LanguageModel } from "ai";
import { extractiveModel } from "./extractive.ts";

export interface ChosenModel {
  readonly model: LanguageModel;
  /** `provider:model`, for ledgers and digests. */
  readonly name: string;
  /** Context window, in tokens. */
  readonly windowTokens: number;
  /** Asked where the first one gave no sound answer. */
  readonly fallback?: ChosenModel;
}

/** The extractive model reads any length; this bounds the CPU time of one call. In tokens. */
const EXTRACTIVE_WINDOW = 1_000_000;

/** What a Workflow summarises with that was given no model: it needs neither an account nor a network. */
export function withoutModel(): ChosenModel & { readonly model: ReturnType<typeof extractiveModel> } {
  const model = extractiveModel();
  return { model, name: `${model.provider}:${model.modelId}`, windowTokens: EXTRACTIVE_WINDOW };
}
