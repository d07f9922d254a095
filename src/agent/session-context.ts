/**
 * What a model is told beside the conversation: context blocks, the system prompt made of them, and search.
 *
 * Job: give the blocks of this session (src/context) and its search (src/memory) their names on the handle. Nothing is
 * decided here.
 */
import type { ToolSet, UIMessage } from "ai";
import type { BlockOptions } from "../context/declared.ts";
import type { ContextBlocks } from "../context/blocks.ts";
import type { ContextBlock } from "../context/render.ts";
import type { SearchHit } from "../memory/search/search.ts";
import type { PastView } from "../memory/overlays/time-travel.ts";
import { defined, inputs, parseInput } from "./inputs.ts";
import { recall, recallTool, type Recall, type RecallRequest } from "./views/recall.ts";
import { SessionHistory } from "./session-history.ts";

export abstract class SessionContext extends SessionHistory {
  /** The session in which the conversation goes on once this one was split; itself until then. Reads a row for each split. */
  abstract newest(): SessionContext;

  /** The session's blocks, with everything that they can do. */
  get context(): ContextBlocks {
    // Asked for first: that is when a session is told what all sessions are told, its blocks included.
    void this.settings;
    return this.core.contexts.session(this.id);
  }

  /** Without what was loaded into the context and unloaded again. */
  protected override shown(messages: UIMessage[]): UIMessage[] {
    return this.context.hideUnloadedSkills(messages);
  }

  /**
   * The view right after an overlay came into force, of messages as they are now: whatever became of that overlay and of
   * others since. No summary over messages that were edited or deleted since is in it; `changed` names those. Throws
   * `unknown_overlay`.
   */
  async getViewAsOf(overlayId: string): Promise<PastView> {
    const view = await this.read((history) => history.viewAsOf(overlayId));
    return { ...view, messages: this.shown(view.messages) };
  }

  /** Declares a block while the session is in use. Throws `block_exists`, `invalid_options`, `provider_failed`. */
  async addContext(label: string, options: BlockOptions = {}): Promise<ContextBlock> {
    return this.context.addContext(label, options);
  }

  /** Takes a block out of prompt and tools; its content stays where it is. */
  removeContext(label: string): boolean {
    return this.context.removeContext(label);
  }

  async getContextBlock(label: string): Promise<ContextBlock | null> {
    return this.context.getContextBlock(label);
  }

  async getContextBlocks(): Promise<ContextBlock[]> {
    return this.context.getContextBlocks();
  }

  /** Throws `unknown_block`, `readonly_block`, `block_full`, `provider_failed`. */
  async replaceContextBlock(label: string, content: string): Promise<ContextBlock> {
    return this.context.replaceContextBlock(label, content);
  }

  async appendContextBlock(label: string, content: string): Promise<ContextBlock> {
    return this.context.appendContextBlock(label, content);
  }

  /** Frees what a skill took of the context; the stored messages stay as they are. */
  async unloadSkill(label: string, key: string): Promise<boolean> {
    return this.context.unloadSkill(label, key);
  }

  async getLoadedSkillKeys(): Promise<Set<string>> {
    return this.context.getLoadedSkillKeys();
  }

  /** The same string at every call until {@link refreshSystemPrompt}, so that a provider's prompt cache holds. */
  async freezeSystemPrompt(): Promise<string> {
    return this.context.freezeSystemPrompt();
  }

  async refreshSystemPrompt(): Promise<string> {
    return this.context.refreshSystemPrompt();
  }

  /** What changed since the prompt was frozen, to be sent at the end of the conversation and not stored; null when nothing. */
  async reminder(): Promise<string | null> {
    return this.context.reminder();
  }

  /**
   * Tools for the model: `recall` where compaction may hide messages or cut notes, and by what the declared blocks can do
   * set_context, load_context, unload_context, search_context. The set changes only with the configuration, so that a
   * prompt's cached prefix, which begins with the tools, stays valid. They act where the conversation goes on, also when it
   * is split in the middle of a turn.
   */
  async tools(): Promise<ToolSet> {
    const { policy, notes } = this.settings;
    const compacts = policy !== null || notes !== null || this.stored.hasOverlays();
    const recall = recallTool((request) => this.newest().recall(request));
    return { ...this.context.tools(() => this.newest().context), ...(compacts && { recall }) };
  }

  /**
   * Originals by their words, by reference or id, by what stands around one, or under one overlay; or a version of the notes:
   * as text for a model, within `maxTokens`. What is not found here is looked for in the sessions that this one goes on from after a split.
   * Throws `invalid_input`.
   */
  async recall(request: RecallRequest): Promise<Recall> {
    const checked = parseInput(inputs.recall, request);
    this.apply();
    const { memory } = this.core;
    const countTokens = this.core.counterOf(this.id);
    const { sessions } = memory;
    const ask = (sessionId: string): Recall => {
      const history = memory.session(sessionId);
      return recall({ places: history.hiddenMessages(), notes: history.notes }, checked, countTokens);
    };
    const own = await this.read(() => ask(this.id));
    for (let id = sessions.earlierOf(this.id); own.kind === "nothing" && id !== null; id = sessions.earlierOf(id)) {
      const answer = ask(id);
      if (answer.kind === "found") return answer;
    }
    return own;
  }

  /** Messages of this session that hold all the words; "phrases" in quotes, `prefix*`. Never a syntax error. */
  async search(query: string, options: { limit?: number | undefined } = {}): Promise<SearchHit[]> {
    const checked = defined(parseInput(inputs.search, { ...options, query }));
    return this.read(() => this.core.memory.search.find(checked.query, { ...checked, sessionId: this.id }));
  }
}
