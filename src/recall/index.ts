/** `palimpsest/recall`: search over what was said, and the originals under the summaries, as a room of an agent. */
export type { RecallRequest } from "../agent/views/recall.ts";
export type { Recall, RecalledMessage } from "../agent/views/recalled.ts";
export type { SearchHit, SearchOptions } from "../memory/search/search.ts";
export { recall, type ManagerRecallMethods, type RecallMethods } from "./room.ts";
