/** The methods that the room of events adds to a session. */
import type { Methods } from "../agent/compose.ts";
import { checkGiven, given, parseInput } from "../agent/inputs.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { checkFields } from "../known-fields.ts";
import { eventInputs } from "./inputs.ts";
import { buildWorkingContext, type WorkingContext, type WorkingContextOptions } from "./context.ts";
import type { ConversationEvent } from "./event.ts";
import {
  appendEvents,
  deleteEvents,
  loadEvents,
  loadEventsUnder,
  viewEvents,
  type LoadEventsOptions,
  type NewEvent,
} from "./log.ts";
import { persistTurn, persistWorkingContext, type PersistedTurn, type Turn } from "./persist.ts";

export class SessionEvents {
  readonly #state: SessionState;

  /** @internal */
  constructor(state: SessionState) {
    this.#state = state;
  }

  /** Returns the newest events of the view, oldest first. They are a projection of the message rows (see src/events/log.ts). */
  async loadEvents(options: LoadEventsOptions = {}): Promise<ConversationEvent[]> {
    this.#state.apply();
    const { under, ...checked } = parseInput(eventInputs.loadEvents, options);
    const { core, id } = this.#state;
    if (under !== undefined) return loadEventsUnder(core, id, { ...checked, under });
    return this.#state.read(() => loadEvents(core.memory, id, checked));
  }

  /** Builds a working context over the whole view of a branch, by default the active one. Throws `invalid_options`, `unknown_leaf`. */
  async buildWorkingContext(
    options: WorkingContextOptions & { readonly leafId?: string } = {},
  ): Promise<WorkingContext> {
    this.#state.apply();
    const { leafId, ...rest } = options;
    checkGiven(given.leaf, { leafId });
    return buildWorkingContext(await viewEvents(this.#state.core, this.#state.id, leafId), rest);
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
    return this.#state.write(() => appendEvents(this.#state.core.memory, this.#state.id, events));
  }

  /** Returns the number of deleted events. Deleting a call deletes its result too. */
  async deleteEvents(ids: readonly string[]): Promise<number> {
    checkGiven(given.events, { ids });
    return this.#state.write(() => deleteEvents(this.#state.core.memory, this.#state.id, ids));
  }

  /** Stores a whole turn in one transaction, behind messages that came meanwhile. Two requests never see half of each other's turn. */
  async persistTurn(turn: Turn): Promise<PersistedTurn> {
    const checked = parseInput(eventInputs.persistTurn, turn);
    return this.#state.write(() => persistTurn(this.#state.core.memory, this.#state.id, checked));
  }

  /** Stores the messages that were added to a context from {@link loadEvents} and `buildWorkingContext`. */
  async persistWorkingContext(context: WorkingContext): Promise<PersistedTurn> {
    return this.#state.write(() => persistWorkingContext(this.#state.core.memory, this.#state.id, context));
  }
}

/** The methods that the room adds to a session. */
export interface EventMethods extends Methods<SessionEvents> {}
