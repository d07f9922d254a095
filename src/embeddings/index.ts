/** `palimpsest/embeddings`: finds what was said in other words, beside the full-text search of the room of recall. */
export type { Embeddings } from "../recall/by-meaning.ts";
export type { ByMeaning } from "../agent/recalled.ts";
export { embeddings } from "./embeddings.ts";
export type { Embed, EmbedCall, EmbeddingModel, EmbeddingsOptions } from "./options.ts";
export { workersAiEmbeddings, type EmbeddingBinding } from "./binding.ts";
