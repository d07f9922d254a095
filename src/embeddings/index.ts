/** `palimpsest/embeddings`: finds what was said in other words, beside the full-text search of the room of recall. */
export type { ByMeaning } from "../agent/recalled.ts";
export type { Embeddings } from "../recall/room.ts";
export {
  workersAiEmbeddings,
  type Embed,
  type EmbedCall,
  type EmbeddingBinding,
  type EmbeddingModel,
  type EmbeddingsOptions,
} from "./provider.ts";
export { embeddings } from "./search.ts";
