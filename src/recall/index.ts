/** `palimpsest/recall`: search over what was said, and the originals under the summaries, as a room of an agent. */
export type { Embeddings } from "../agent/views/by-meaning.ts";
export type { RecallRequest } from "../agent/views/recall.ts";
export type { ByMeaning, Recall, RecalledMessage } from "../agent/views/recalled.ts";
export type { SearchHit, SearchOptions } from "../memory/search/search.ts";
export { recall, type ManagerRecallMethods, type RecallMethods, type RecallOptions } from "./room.ts";
