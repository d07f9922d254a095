/** What the calls and methods of the room of recall take. */
import { z } from "zod";
import { isWellFormed, NOT_WELL_FORMED, sessionId, wholeNumber, words, type FieldsOf } from "../agent/inputs.ts";
import { recallInput, type RecallRequest } from "./recall.ts";
import { MAX_FOCUS_CHARS, MAX_ID_CHARS, MAX_SEARCH_HITS, MAX_SESSION_ID_CHARS, RECALL_HITS } from "../limits.ts";
import type { SearchOptions } from "./search/search.ts";

/** A query of any length. Only its first words are searched. */
const query = z.string().refine(isWellFormed, NOT_WELL_FORMED);
const hits = wholeNumber.positive().max(MAX_SEARCH_HITS).optional();

const searchOptions = {
  sessionId: words(MAX_SESSION_ID_CHARS).optional(),
  limit: hits,
} satisfies FieldsOf<SearchOptions>;

/** The fields of a request. The model's tool ignores unknown fields, because a model should not repeat its call for one. */
const recallFields = {
  ...recallInput.shape,
  query: words(MAX_FOCUS_CHARS).optional(),
  section: words(MAX_FOCUS_CHARS).optional(),
  ids: z.array(words(MAX_ID_CHARS)).max(RECALL_HITS).optional(),
  around: words(MAX_ID_CHARS).optional(),
  overlayId: words(MAX_ID_CHARS).optional(),
} satisfies FieldsOf<RecallRequest>;

/** What methods take as an object. */
export const recallInputs = {
  search: z.strictObject({ query, limit: hits }),
  searchSessions: z.strictObject({ query, ...searchOptions }),
  recall: z.strictObject(recallFields),
};

/** What calls take, which is the same and the session's id. */
export const searchInSession = z.strictObject({ sessionId, query, limit: hits });
export const recallInSession = z.strictObject({ sessionId, ...recallFields });
