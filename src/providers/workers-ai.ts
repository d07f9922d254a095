/** A model of Workers AI, over a Worker's binding. */
import { createWorkersAI } from "workers-ai-provider";
import type { SummaryModel } from "../model/chosen.ts";

/** The default model. It is fast and multilingual and has a long window. */
const DEFAULT_MODEL = "@cf/zai-org/glm-4.7-flash";
/** Context windows, in tokens, of models that suit this job. */
const WINDOWS: Readonly<Record<string, number>> = {
  [DEFAULT_MODEL]: 131_072,
  "@cf/openai/gpt-oss-120b": 128_000,
  "@cf/moonshotai/kimi-k2.7-code": 256_000,
};
/** Window, in tokens, that is assumed for any other model. It is small enough for most. */
const UNKNOWN_WINDOW = 32_000;

export interface WorkersAiOptions {
  /** The model's context window, in tokens. Default: the known window of the model, else 32,000. */
  readonly windowTokens?: number | undefined;
}

/** Creates the model without a request, as in `workersAi(this.env.AI)` or with the id of a model. */
export function workersAi(binding: Ai, modelId = DEFAULT_MODEL, options: WorkersAiOptions = {}): WorkersAiModel {
  const model = createWorkersAI({ binding })(modelId);
  const windowTokens = options.windowTokens ?? WINDOWS[modelId] ?? UNKNOWN_WINDOW;
  return { model, name: `workers-ai:${modelId}`, windowTokens };
}

export type WorkersAiModel = SummaryModel & {
  readonly name: string;
  readonly model: ReturnType<ReturnType<typeof createWorkersAI>>;
};
