/** The calls that the room of recall adds. */
import { callOf } from "../agent/calls.ts";
import { defined } from "../agent/inputs.ts";
import { recallInputs, recallInSession, searchInSession } from "./inputs.ts";
import type { ManagerRecallMethods, RecallMethods } from "./session-recall.ts";

const call = callOf<RecallMethods, ManagerRecallMethods>();

export const recallCalls = {
  /** Finds messages of a session that hold all the words of a query, or most of them where none holds all. */
  search: call({
    group: "read",
    input: searchInSession,
    run: ({ session }, { sessionId, query, limit }) => session(sessionId).search(query, { limit }),
  }),
  /** Finds messages of every session, or of one, that hold all the words of a query, or most of them where none holds all. */
  searchSessions: call({
    group: "read",
    input: recallInputs.searchSessions,
    run: ({ manager }, { query, ...options }) => manager.search(query, defined(options)),
  }),
  /** Reads originals under the summaries, by words, by reference, or by place, as text within a budget. */
  recall: call({
    group: "read",
    input: recallInSession,
    run: ({ session }, { sessionId, ...request }) => session(sessionId).recall(request),
  }),
};
