/** A model of Workers AI, over a Worker's binding. */
import { createWorkersAI } from "workers-ai-provider";
import type { SummaryModel } from "./chosen.ts";

/** Used when no model is named: fast, multilingual, a long window. */
const DEFAULT_MODEL = "@cf/zai-org/glm-4.7-flash";
/** Context windows in tokens of models that fit this job. */
const WINDOWS: Readonly<Record<string, number>> = {
  [DEFAULT_MODEL]: 131_072,
  "@cf/openai/gpt-oss-120b": 128_000,
  "@cf/moonshotai/kimi-k2.7-code": 256_000,
};
/** Assumed window, in tokens, of any other: small enough for most. */
const UNKNOWN_WINDOW = 32_000;

export interface WorkersAiOptions {
  /** Its context window, in tokens. Default: what is known of the model, else 32,000. */
  readonly windowTokens?: number | undefined;
}

/** Makes no request: `workersAi(this.env.AI)`, or with the id of a model. */
export function workersAi(binding: Ai, modelId = DEFAULT_MODEL, options: WorkersAiOptions = {}): WorkersAiModel {
  const model = createWorkersAI({ binding })(modelId);
  const windowTokens = options.windowTokens ?? WINDOWS[modelId] ?? UNKNOWN_WINDOW;
  return { model, name: `workers-ai:${modelId}`, windowTokens };
}

export type WorkersAiModel = SummaryModel & {
  readonly name: string;
  readonly model: ReturnType<ReturnType<typeof createWorkersAI>>;
};
