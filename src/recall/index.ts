/** `palimpsest/recall`: search over what was said, and the originals under the summaries, as a room of an agent. */
export type { ByMeaning, Recall, RecalledMessage } from "../agent/recalled.ts";
export type { RecallRequest } from "./recall.ts";
export type { SearchHit, SearchOptions } from "./search.ts";
export {
  recall,
  type Embeddings,
  type ManagerRecallMethods,
  type RecallExtension,
  type RecallMethods,
  type RecallOptions,
} from "./room.ts";
