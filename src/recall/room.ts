/**
 * The room of recall. It has full-text search over what was said, and `recall`, by which a model reads the originals under its
 * summaries.
 *
 * The index is made when it is first searched (memory/search), so an agent that never had the room stores no word twice. An agent
 * that had it once keeps its index, and edits and deletions are taken out of that index all the same.
 */
import type { ToolSet } from "ai";
import type { Core } from "../agent/core.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import { PalimpsestError } from "../errors.ts";
import { SessionState } from "../agent/sessions/session-state.ts";
import type { Embeddings } from "./by-meaning.ts";
import { recallTool } from "./recall.ts";
import { HiddenMessages } from "./hidden-messages.ts";
import { checkFields } from "../known-fields.ts";
import { MessageSearch } from "./search/search.ts";
import { recallCalls } from "./calls.ts";
import { answerSearch } from "./session-search.ts";
import { SessionRecall, ManagerRecall, type RecallMethods, type ManagerRecallMethods } from "./session-recall.ts";

/** Options of {@link recall}. */
export interface RecallOptions {
  /** A search by meaning beside the one by words, from `palimpsest/embeddings`. Default: words alone. */
  readonly embeddings?: Embeddings | undefined;
}

/** The room as an agent is declared with it. */
export interface RecallExtension extends Extension<RecallMethods, ManagerRecallMethods, typeof recallCalls> {}

/** Search, and the originals under the summaries: `withCompaction(Base, { rooms: [recall()] })`. Throws `invalid_options`. */
export function recall(options: RecallOptions = {}): RecallExtension {
  checkFields("recall", options, { embeddings: true });
  const { embeddings = null } = options;
  if (embeddings !== null && typeof (embeddings as Partial<Embeddings>).open !== "function") {
    throw new PalimpsestError(
      "invalid_options",
      'recall: embeddings come from `embeddings({ model, embed })` of "palimpsest/embeddings".',
    );
  }
  return { name: "recall", calls: recallCalls, install: (core: Core) => install(core, embeddings) };
}

function install(core: Core, embeddings: Embeddings | null): Installed<RecallMethods, ManagerRecallMethods> {
  const { memory } = core;
  const search = memory.searchWith(new MessageSearch(core.db, (sessionId, row) => memory.readContent(sessionId, row)));
  const placesOf = (sessionId: string): HiddenMessages => new HiddenMessages(memory.session(sessionId).tree, search);
  const searches = { words: search, meaning: embeddings?.open(core, placesOf) ?? null };
  return {
    session: (state) => new SessionRecall(state, searches),
    manager: (state) => new ManagerRecall(state, search),
    searchAll: async (query) => answerSearch(search, core, query),
    // Where compaction may hide messages or cut notes.
    tools: (sessionId, newest): ToolSet => {
      const settings = core.settings.get(sessionId);
      const isKept = core.rooms.summaries?.isKept(settings) === true;
      if (settings.policy === null && !isKept && memory.statements.lastOverlayNumber(sessionId) === 0) return {};
      return {
        recall: recallTool((request) => new SessionRecall(new SessionState(core, newest()), searches).recall(request)),
      };
    },
  };
}
