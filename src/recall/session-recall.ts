/** The methods that the room of recall adds to a session and to a manager of sessions. */
import { tool, type ToolSet } from "ai";
import { z } from "zod";
import type { Core, RecalledVersion } from "../agent/core.ts";
import type { Methods } from "../agent/compose.ts";
import type { ManagerState } from "../agent/extension.ts";
import { defined, parseInput } from "../agent/inputs.ts";
import { pauseOf } from "../agent/let-others-in.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { MeaningSearch, Near } from "./by-meaning.ts";
import { meaningAsked, recall as recallIn, type RecallRequest } from "./recall.ts";
import type { Recall } from "../agent/recalled.ts";
import { HiddenMessages } from "./hidden-messages.ts";
import type { MessageSearch } from "./search/search.ts";
import { type SearchHit, type SearchOptions } from "./search/search.ts";
import { inSlices, type Slices } from "../steps/text/text.ts";
import { recallInputs } from "./inputs.ts";
import { answerSearch } from "./session-search.ts";

/** The searches of one agent. */
export interface Searches {
  readonly words: MessageSearch;
  /** Null where the room was added without embeddings. */
  readonly meaning: MeaningSearch | null;
}

export class SessionRecall {
  readonly #state: SessionState;
  readonly #search: MessageSearch;
  readonly #meaning: MeaningSearch | null;

  /** @internal */
  constructor(state: SessionState, { words, meaning }: Searches) {
    this.#state = state;
    this.#search = words;
    this.#meaning = meaning;
  }

  /**
   * Finds original messages by their words, by reference or id, around one message, or under one overlay, or a version of the notes.
   * Returns a text for a model within `maxTokens`. What is not found here is looked for in the sessions that this one continues after a
   * split. Throws `invalid_input`.
   */
  async recall(request: RecallRequest): Promise<Recall> {
    const checked = parseInput(recallInputs.recall, request);
    this.#state.apply();
    const { id, core } = this.#state;
    const { memory } = core;
    const countTokens = core.settings.counterOf(id);
    const search = this.#search;
    const ask = function* (sessionId: string, near: Near | undefined): Slices<Recall> {
      yield* search.catchUp(sessionId);
      const { summaries } = core.rooms;
      const version = summaries === undefined ? null : (asked: RecalledVersion) => summaries.recall(sessionId, asked);
      const places = new HiddenMessages(memory.session(sessionId).tree, search);
      return yield* recallIn({ places, version, near }, checked, countTokens);
    };
    const pause = pauseOf(core);
    const near = await this.#near(id, checked);
    const own = await this.#state.read(async () => inSlices(ask(id, near), pause));
    if (own.kind === "found") return own;
    const { sessions } = memory;
    for (let earlier = sessions.earlierOf(id); earlier !== null; earlier = sessions.earlierOf(earlier)) {
      const answer = await inSlices(ask(earlier, await this.#near(earlier, checked)), pause);
      if (answer.kind === "found") return answer;
    }
    return own;
  }

  /** Asked before the answer is chosen, because the model may take a while. Undefined where words alone are searched. */
  async #near(sessionId: string, request: RecallRequest): Promise<Near | undefined> {
    const meaning = this.#meaning;
    if (meaning === null) return undefined;
    const { core } = this.#state;
    const { tree } = core.memory.session(sessionId);
    const asked = await core.read(sessionId, () => meaningAsked(new HiddenMessages(tree, this.#search), request));
    return asked === null ? undefined : meaning.near(sessionId, asked);
  }

  /**
   * Messages of this session that hold all the words or, where none does, most of them. Takes `"phrases"` and `prefix*`. No query is a
   * syntax error.
   */
  async search(query: string, options: { limit?: number | undefined } = {}): Promise<SearchHit[]> {
    const checked = defined(parseInput(recallInputs.search, { ...options, query }));
    const { id } = this.#state;
    return this.#state.read(async () => {
      await inSlices(this.#search.catchUp(id), pauseOf(this.#state.core));
      return this.#search.find(checked.query, { ...checked, sessionId: id });
    });
  }
}

export class ManagerRecall {
  readonly #core: Core;
  readonly #search: MessageSearch;

  /** @internal */
  constructor({ core }: ManagerState, search: MessageSearch) {
    this.#core = core;
    this.#search = search;
  }

  /** Messages of every session, or of one, that hold every word of the query or, where none does, most of them. Throws `invalid_input`. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    const checked = defined(parseInput(recallInputs.searchSessions, { ...options, query }));
    await inSlices(this.#search.catchUp(checked.sessionId), pauseOf(this.#core));
    return this.#search.find(checked.query, checked);
  }

  /** `session_search`: lets a model look for what was said in any of this agent's conversations. */
  tools(): ToolSet {
    return {
      session_search: tool({
        description:
          'Searches all past conversations, this one included. Finds what holds all the words or, where nothing does, most of them, and says which are missing; "quoted words" side by side; begin* finds beginnings.',
        inputSchema: z.object({ query: z.string().min(1).describe("The words to look for.") }),
        execute: async ({ query }) =>
          (await answerSearch(this.#search, this.#core, query)) ?? "Nothing matches. Try fewer or other words.",
      }),
    };
  }
}

/** What the room adds to a session. */
export interface RecallMethods extends Methods<SessionRecall> {}

/** What it adds to a manager of sessions. */
export interface ManagerRecallMethods extends Methods<ManagerRecall> {}
