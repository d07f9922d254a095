/** The room of events: a session as a log, over the same rows as its messages. */
import type { Extension } from "../agent/extension.ts";
import type { Methods } from "../agent/compose.ts";
import { parseInput } from "../agent/inputs.ts";
import type { SessionState } from "../agent/session-state.ts";
import { eventCalls, eventInputs } from "./calls.ts";
import type { WorkingContext } from "./context.ts";
import type { ConversationEvent } from "./event.ts";
import { appendEvents, deleteEvents, loadEvents, type LoadEventsOptions, type NewEvent } from "./log.ts";
import { persistTurn, persistWorkingContext, type PersistedTurn, type Turn } from "./persist.ts";

class SessionEvents {
  readonly #state: SessionState;

  constructor(state: SessionState) {
    this.#state = state;
  }

  /** The newest events of the view, oldest first: a projection of the same rows as messages. See src/events/log.ts. */
  async loadEvents(options: LoadEventsOptions = {}): Promise<ConversationEvent[]> {
    this.#state.apply();
    const checked = parseInput(eventInputs.loadEvents, options);
    return this.#state.read(() => loadEvents(this.#state.core.memory, this.#state.id, checked));
  }

  /** All or none; an event that is there already changes nothing. */
  async appendEvents(events: readonly NewEvent[]): Promise<ConversationEvent[]> {
    return this.#state.write(() => appendEvents(this.#state.core.memory, this.#state.id, events));
  }

  /** Returns how many were deleted; a call takes its result with it. */
  async deleteEvents(ids: readonly string[]): Promise<number> {
    return this.#state.write(() => deleteEvents(this.#state.core.memory, this.#state.id, ids));
  }

  /** A whole turn at once, behind what came meanwhile: two requests never see each other's half turns. */
  async persistTurn(turn: Turn): Promise<PersistedTurn> {
    const checked = parseInput(eventInputs.persistTurn, turn);
    return this.#state.write(() => persistTurn(this.#state.core.memory, this.#state.id, checked));
  }

  /** The same for what was added to a context that {@link loadEvents} and `buildWorkingContext` made. */
  async persistWorkingContext(context: WorkingContext): Promise<PersistedTurn> {
    return this.#state.write(() => persistWorkingContext(this.#state.core.memory, this.#state.id, context));
  }
}

/** What the room adds to a session. */
export interface EventMethods extends Methods<SessionEvents> {}

/** A session's messages as events, one at a time or a turn at once: `withCompaction(Base, { rooms: [events()] })`. */
export function events(): Extension<EventMethods, object, typeof eventCalls> {
  return { name: "events", calls: eventCalls, install: () => ({ session: (state) => new SessionEvents(state) }) };
}
