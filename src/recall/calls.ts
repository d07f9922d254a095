/** The calls that the room of recall adds. */
import { callOf } from "../agent/calls.ts";
import { defined } from "../agent/inputs.ts";
import { recallInputs, recallInSession, searchInSession } from "./inputs.ts";
import type { ManagerRecallMethods, RecallMethods } from "./room.ts";

const call = callOf<RecallMethods, ManagerRecallMethods>();

export const recallCalls = {
  search: call({
    group: "read",
    does: "Finds messages of a session that hold all the words of a query, or most of them where none holds all.",
    input: searchInSession,
    run: ({ session }, { sessionId, query, limit }) => session(sessionId).search(query, { limit }),
  }),
  searchSessions: call({
    group: "read",
    does: "Finds messages of every session, or of one, that hold all the words of a query, or most of them where none holds all.",
    input: recallInputs.searchSessions,
    run: ({ manager }, { query, ...options }) => manager.search(query, defined(options)),
  }),
  recall: call({
    group: "read",
    does: "Reads originals under the summaries, by words, by reference, or by place, as text within a budget.",
    input: recallInSession,
    run: ({ session }, { sessionId, ...request }) => session(sessionId).recall(request),
  }),
};
