/** The room of events. It offers a session as a log over the rows of its messages. */
import { chooseByHand } from "../agent/runs/read-beside.ts";
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import type { Methods, Extension } from "../agent/extension.ts";
import {
  checkGiven,
  given,
  id,
  leafId,
  message,
  messages,
  ofEvents,
  page,
  parseInput,
  sessionId,
  type FieldsOf,
} from "../agent/inputs.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { checkFields } from "../known-fields.ts";
import { MAX_BATCH_MESSAGES } from "../limits.ts";
import { buildWorkingContext, type WorkingContext, type WorkingContextOptions } from "./context.ts";
import type { ConversationEvent } from "./event.ts";
import {
  appendEvents,
  deleteEvents,
  loadEvents,
  persistTurn,
  persistWorkingContext,
  viewEvents,
  type LoadEventsOptions,
  type NewEvent,
  type PersistedTurn,
  type Turn,
} from "./log.ts";

/** The schema of events (event.ts) checks the fields of an event. */
const eventObject = z.custom<NewEvent>(
  (value) => typeof value === "object" && value !== null,
  "expected an event object",
);

/** The messages are checked where they are stored. */
const turnFields = { leafId: id.nullable(), messages } satisfies FieldsOf<Turn>;

const eventOptions = {
  limit: page.optional(),
  before: id.optional(),
  leafId,
} satisfies FieldsOf<LoadEventsOptions>;

class SessionEvents {
  readonly #state: SessionState;

  /** @internal */
  constructor(state: SessionState) {
    this.#state = state;
  }

  /** Returns the newest events of the view, oldest first. They are a projection of the message rows (see src/events/log.ts). */
  async loadEvents(options: LoadEventsOptions = {}): Promise<ConversationEvent[]> {
    this.#state.apply();
    const checked = parseInput(z.strictObject(eventOptions), options);
    const { core, id } = this.#state;
    return this.#state.read(() => loadEvents(core.memory, id, checked));
  }

  /** Builds a working context over the whole view of a branch, by default the active one. Throws `invalid_options`, `unknown_leaf`. */
  async buildWorkingContext(
    options: WorkingContextOptions & { readonly leafId?: string } = {},
  ): Promise<WorkingContext> {
    this.#state.apply();
    const { leafId, ...rest } = options;
    checkGiven(given.leaf, { leafId });
    const { core, id } = this.#state;
    return buildWorkingContext(await this.#state.read(() => viewEvents(core.memory, id, leafId)), rest);
  }

  /**
   * Appends all events or none. An event that is already stored changes nothing. With `mustExist`, a session that was never created and has
   * no message is refused as `unknown_session`, unless it is the default one.
   */
  async appendEvents(
    events: readonly NewEvent[],
    options: { readonly mustExist?: boolean } = {},
  ): Promise<ConversationEvent[]> {
    checkFields("appendEvents", options, { mustExist: true });
    if (options.mustExist === true && this.#state.id !== "") this.#state.core.memory.sessions.mustGet(this.#state.id);
    const { core, id } = this.#state;
    return this.#state.write(() => appendEvents(core.memory, id, events, (made) => chooseByHand(core, id, made)));
  }

  /** Returns the number of deleted events. Deleting a call deletes its result too. */
  async deleteEvents(ids: readonly string[]): Promise<number> {
    checkGiven(given.events, { ids });
    return this.#state.write(() => deleteEvents(this.#state.core.memory, this.#state.id, ids));
  }

  /** Stores a whole turn in one transaction, behind messages that came meanwhile. Two requests never see half of each other's turn. */
  async persistTurn(turn: Turn): Promise<PersistedTurn> {
    const checked = parseInput(z.strictObject({ ...turnFields, messages: z.array(message) }), turn);
    return this.#state.write(() => persistTurn(this.#state.core.memory, this.#state.id, checked));
  }

  /** Stores the messages that were added to a context from {@link loadEvents} and `buildWorkingContext`. */
  async persistWorkingContext(context: WorkingContext): Promise<PersistedTurn> {
    return this.#state.write(() => persistWorkingContext(this.#state.core.memory, this.#state.id, context));
  }
}

/** The methods that the room adds to a session. */
export interface EventMethods extends Methods<SessionEvents> {}

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
    input: z.strictObject({ sessionId, events: z.array(eventObject).max(MAX_BATCH_MESSAGES) }),
    // A caller's mistake in an id must not begin a conversation.
    run: ({ session }, { sessionId, events }) => session(sessionId).appendEvents(events, { mustExist: true }),
  }),
  /** Stores a whole turn behind the messages that came meanwhile, all or nothing. */
  persistTurn: call({
    group: "write",
    input: z.strictObject({ sessionId, ...turnFields }),
    run: ({ session }, { sessionId, ...turn }) => session(sessionId).persistTurn(turn),
  }),
  /** Deletes events, and the result of each deleted call. */
  deleteEvents: call({
    group: "admin",
    input: ofEvents,
    run: ({ session }, { sessionId, ids }) => session(sessionId).deleteEvents(ids),
  }),
};

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
