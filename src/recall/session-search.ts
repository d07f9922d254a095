/** What a model's own search over all of an agent's conversations answers. */
import type { Needs } from "../agent/core.ts";
import { pauseOf } from "../agent/let-others-in.ts";
import type { MessageSearch, SearchHit } from "./search/search.ts";
import { inSlices } from "../steps/text/text.ts";

/** Hits that the model's own search returns, and characters of each: a few hundred tokens, enough to know what to read. */
const SESSION_SEARCH_HITS = 10;
const SESSION_SEARCH_CHARS = 400;

/** Null when nothing matches. */
export async function answerSearch(
  search: MessageSearch,
  { memory, ...core }: Needs<"memory" | "uses">,
  query: string,
): Promise<string | null> {
  await inSlices(search.catchUp(), pauseOf(core));
  const hits = search.find(query, { limit: SESSION_SEARCH_HITS });
  if (hits.length === 0) return null;
  const named = (id: string): string => memory.sessions.get(id)?.name ?? id;
  return hits.map((hit) => describe(hit, named(hit.sessionId))).join("\n\n");
}

function describe({ sessionId, id, role, createdAt, snippet, missing }: SearchHit, where: string): string {
  const day = new Date(createdAt).toISOString().slice(0, 10);
  const less = missing.length === 0 ? "" : `, without ${missing.map((word) => JSON.stringify(word)).join(", ")}`;
  return `${day}, ${role}, in "${where}" (session ${sessionId}, message ${id}${less}):\n${snippet.slice(0, SESSION_SEARCH_CHARS)}`;
}
