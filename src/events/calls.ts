/** The calls that the room of events adds. */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import { leafId, ofEvents, sessionId } from "../agent/inputs.ts";
import { MAX_BATCH_MESSAGES } from "../limits.ts";
import type { EventMethods } from "./session-events.ts";
import { event, turn, eventOptions } from "./inputs.ts";

const call = callOf<EventMethods>();

export const eventCalls = {
  /** Reads the newest events of a session as a log. */
  loadEvents: call({
    group: "read",
    input: z.strictObject({ sessionId, ...eventOptions }),
    run: ({ session }, { sessionId, ...options }) => session(sessionId).loadEvents(options),
  }),
  /** Reads what a turn begins with, which is the leaf of a branch and its messages for a model. */
  buildWorkingContext: call({
    group: "read",
    input: z.strictObject({ sessionId, leafId }),
    run: async ({ session }, { sessionId, leafId }) => {
      const context = await session(sessionId).buildWorkingContext(leafId === undefined ? {} : { leafId });
      return { leafId: context.leafId, messages: context.messages };
    },
  }),
  /** Appends events to a session that exists, all or none, where a known event changes nothing. */
  appendEvents: call({
    group: "write",
    input: z.strictObject({ sessionId, events: z.array(event).max(MAX_BATCH_MESSAGES) }),
    // A caller's mistake in an id must not begin a conversation.
    run: ({ session }, { sessionId, events }) => session(sessionId).appendEvents(events, { mustExist: true }),
  }),
  /** Stores a whole turn behind the messages that came meanwhile, all or nothing. */
  persistTurn: call({
    group: "write",
    input: z.strictObject({ sessionId, ...turn }),
    run: ({ session }, { sessionId, ...turn }) => session(sessionId).persistTurn(turn),
  }),
  /** Deletes events, and the result of each deleted call. */
  deleteEvents: call({
    group: "admin",
    input: ofEvents,
    run: ({ session }, { sessionId, ids }) => session(sessionId).deleteEvents(ids),
  }),
};
