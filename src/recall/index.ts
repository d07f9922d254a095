/** `palimpsest/recall`: search over what was said, and the originals under the summaries, as a room of an agent. */
export type { Embeddings } from "./by-meaning.ts";
export type { RecallRequest } from "./recall.ts";
export type { ByMeaning, Recall, RecalledMessage } from "../agent/recalled.ts";
export type { SearchHit, SearchOptions } from "./search/search.ts";
export { recall, type RecallOptions, type RecallExtension } from "./room.ts";
export type { ManagerRecallMethods, RecallMethods } from "./session-recall.ts";
