/**
 * The models of a run as its Workflow receives them.
 *
 * This module knows no provider. Providers have modules of their own (src/providers), and a Worker bundles only those
 * that it imports.
 */
import type { LanguageModel, UIMessage } from "ai";
import { checkWhole } from "../known-fields.ts";
import type { Prices } from "../steps/decide/decide.ts";
import type { PromptInput } from "../steps/draft/prompt.ts";
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
  /** Summarises the chunks where a summary takes several calls. This model merges them, and makes a summary of one call alone. */
  readonly chunks?: SummaryModel;
  /** The agent's own model, where it may continue the prompt that the agent last sent. See `palimpsest/prompt-cache`. */
  readonly continues?: Continues;
}

/** The prompt that the agent last sent to a model, whose cache still holds it. */
export interface SentPrompt {
  /** The request as JSON. */
  readonly request: string;
  /** The session's prices, by which ways to ask are compared. */
  readonly prices: Prices;
}

/** A summary to ask for, with the prompt of the plain call. */
export interface Question {
  readonly sent: SentPrompt;
  readonly messages: readonly UIMessage[];
  readonly input: PromptInput;
  readonly plain: { readonly system: string; readonly prompt: string };
  readonly answerTokens: number;
}

/** A way to ask that continues the prompt which the agent last sent. */
export interface Continues {
  /** The model, as `provider:model`, and its name in ledgers. */
  readonly id: string;
  readonly name: string;
  /** Null where the plain call is to be made. `before` is the text that the call continues. */
  ask(question: Question): {
    readonly model: ChosenModel;
    readonly system: string;
    readonly prompt: string;
    readonly before: string;
  } | null;
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
  readonly continues?: Continues;
}

/** Checks a summariser and its further models. Throws `invalid_options`. */
export function checkModel({ model, windowTokens, name, fallback, chunks, continues }: SummaryModel): ChosenModel {
  checkWhole("windowTokens of a summariser", windowTokens, MIN_WINDOW_TOKENS);
  return {
    model,
    windowTokens,
    name: name ?? (typeof model === "string" ? model : `${model.provider}:${model.modelId}`),
    ...(fallback !== undefined && { fallback: checkModel(fallback) }),
    ...(chunks !== undefined && { chunks: checkModel(chunks) }),
    ...(continues !== undefined && { continues }),
  };
}

/** The extractive model reads a text of any length. This window, in tokens, bounds the CPU time of one call. */
const EXTRACTIVE_WINDOW = 1_000_000;

/** Summariser of a Workflow that was given no model. It needs neither an account nor a network. */
export function withoutModel(): SummaryModel & { readonly model: ReturnType<typeof extractiveModel> } {
  return { model: extractiveModel(), windowTokens: EXTRACTIVE_WINDOW };
}
