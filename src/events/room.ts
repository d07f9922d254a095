/** The room of events. It offers a session as a log over the rows of its messages. */
import type { Extension } from "../agent/extension.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { eventCalls } from "./calls.ts";
import { SessionEvents, type EventMethods } from "./session-events.ts";

/** The room as an agent is declared with it. */
export interface EventsExtension extends Extension<EventMethods, object, typeof eventCalls> {}

/** Offers a session's messages as events, singly or by turn, as in `withCompaction(Base, { rooms: [events()] })`. */
export function events(): EventsExtension {
  return {
    name: "events",
    calls: eventCalls,
    install: () => ({ session: (state: SessionState) => new SessionEvents(state) }),
  };
}
