/** An embedding model of Workers AI, over a Worker's binding. */
import type { EmbeddingModel } from "./options.ts";

/** The default model. It reads a hundred languages. */
const DEFAULT_MODEL = "@cf/baai/bge-m3";

/** A Worker's `AI` binding, as far as it is used here. */
export interface EmbeddingBinding {
  run(model: string, input: { text: string[] }): Promise<unknown>;
}

/** The model of a binding, as in `embeddings(workersAiEmbeddings(env.AI))`. Makes no request. */
export function workersAiEmbeddings(binding: EmbeddingBinding, model = DEFAULT_MODEL): EmbeddingModel {
  return {
    model,
    embed: async (texts) => {
      const answer = await binding.run(model, { text: [...texts] });
      const { data } = (answer ?? {}) as { readonly data?: readonly (readonly number[])[] };
      return data ?? [];
    },
  };
}
