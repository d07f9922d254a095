/** Checks the options of `embeddings` at once. */
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { MAX_NAME_CHARS } from "../limits.ts";

/** What a text is, because some models read a question in another way than the texts that may answer it. */
export interface EmbedCall {
  readonly purpose: "query" | "passage";
  /** Aborted when the call takes too long. */
  readonly signal: AbortSignal;
}

/** Returns a vector for each text, all of one length. Any error means that the model did not answer. */
export type Embed = (
  texts: readonly string[],
  call: EmbedCall,
) => Promise<readonly (readonly number[] | Float32Array)[]>;

/** A model that turns texts into vectors. */
export interface EmbeddingModel {
  /** Its name. Vectors of another name are never compared with its own, and are made again. */
  readonly model: string;
  readonly embed: Embed;
}

export interface EmbeddingsOptions extends EmbeddingModel {
  /** Most tokens that the model reads in one agent and UTC day, by estimate. Default 5,000,000. */
  readonly dayTokens?: number | undefined;
}

/** {@link EmbeddingsOptions}, checked. */
export type CheckedOptions = Required<EmbeddingsOptions> & { readonly dayTokens: number };

/** Default tokens a day, some 20,000 messages of two hundred words. */
export const DEFAULT_EMBEDDING_TOKENS = 5_000_000;

/** Throws `invalid_options`. */
export function checkOptions(options: EmbeddingsOptions): CheckedOptions {
  checkFields("embeddings", options, { model: true, embed: true, dayTokens: true });
  const given: Partial<EmbeddingsOptions> | undefined = options;
  const { model, embed, dayTokens = DEFAULT_EMBEDDING_TOKENS } = given ?? {};
  if (typeof model !== "string" || model === "" || model.length > MAX_NAME_CHARS) {
    throw invalid(`embeddings: model is the model's name, a text of 1 to ${MAX_NAME_CHARS} characters.`);
  }
  if (typeof embed !== "function") {
    throw invalid("embeddings: embed is a function that takes texts and returns a vector for each.");
  }
  if (!Number.isSafeInteger(dayTokens) || dayTokens < 0) {
    throw invalid(`embeddings: dayTokens is ${inWords(dayTokens)}: give a whole number of at least 0.`);
  }
  return { model, embed, dayTokens };
}

function invalid(message: string): PalimpsestError {
  return new PalimpsestError("invalid_options", message);
}
