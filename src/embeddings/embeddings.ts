/**
 * Embeddings for the room of recall: `recall({ embeddings: embeddings({ model, embed }) })`.
 *
 * They find what was said in other words. They stand beside the search by words and are never needed: without them, or where the model
 * fails, words alone are searched.
 */
import type { Embeddings } from "../recall/by-meaning.ts";
import { checkOptions, type EmbeddingsOptions } from "./options.ts";
import { Provider } from "./provider.ts";
import { EmbeddingSearch } from "./search.ts";
import { EmbeddingStatements } from "./statements.ts";

/** A search by meaning with this model. Makes no request. Throws `invalid_options`. */
export function embeddings(options: EmbeddingsOptions): Embeddings {
  const checked = checkOptions(options);
  return {
    open: (core, placesOf) => {
      const sql = new EmbeddingStatements(core.db);
      return new EmbeddingSearch(core, { sql, provider: new Provider(core, sql, checked), placesOf });
    },
  };
}
