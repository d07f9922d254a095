/**
 * The room of context blocks. It adds blocks, the system prompt made of them, and the tools with which a model changes them.
 */
import type { ToolSet } from "ai";
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import type { Methods, Extension, Installed, ManagerState } from "../agent/extension.ts";
import type { Core } from "../agent/core.ts";
import {
  checkGiven,
  flag,
  given,
  isWellFormed,
  label,
  NOT_WELL_FORMED,
  ofSession,
  sessionId,
  wholeNumber,
  words,
  type FieldsOf,
} from "../agent/inputs.ts";
import { missingRoom } from "../agent/missing-room.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { BuilderCall } from "../agent/settings.ts";
import { PalimpsestError } from "../errors.ts";
import { MAX_ENTRY_KEY_CHARS } from "../limits.ts";
import { Contexts, type ContextBlocks, type ContextsOptions, type OnToolError, type PromptProvider } from "./blocks.ts";
import { checkBlock, type BlockOptions } from "./declared.ts";
import { providerShapeOf, type SearchProvider, type WritableContextProvider } from "./provider.ts";
import type { ContextBlock } from "./render.ts";
import type { BlockScope } from "./sqlite.ts";

const call = callOf<ContextMethods>();
/** A block's text. The block decides its largest size. */
const content = z.string().refine(isWellFormed, NOT_WELL_FORMED);

/** Characters of a description, which is one line of the prompt. */
const MAX_DESCRIPTION_CHARS = 1_000;

const withContent = z.strictObject({ sessionId, label, content });

/** Fields of a block that is kept in SQLite. A provider is code, so a caller brings none. */
const declared = {
  description: words(MAX_DESCRIPTION_CHARS).optional(),
  maxTokens: wholeNumber.positive().optional(),
  whenChanged: z.enum(["wait", "remind"]).optional(),
  defaultContent: content.optional(),
  readonly: flag,
  shared: flag,
  carry: flag,
} satisfies FieldsOf<Omit<BlockOptions, "provider">>;

export const contextCalls = {
  /** Declares a context block that is kept in SQLite, until the agent is evicted. */
  addContext: call({
    group: "admin",
    input: z.strictObject({ sessionId, label, ...declared }),
    run: ({ session }, { sessionId, label, ...options }) => session(sessionId).addContext(label, options),
  }),
  /** Removes a context block from the prompt and the tools, and keeps its stored text. */
  removeContext: call({
    group: "admin",
    input: z.strictObject({ sessionId, label }),
    run: ({ session }, { sessionId, label }) => session(sessionId).removeContext(label),
  }),
  /** Removes a loaded skill's text from the model's context. */
  unloadSkill: call({
    group: "admin",
    input: z.strictObject({ sessionId, label, key: words(MAX_ENTRY_KEY_CHARS).min(1) }),
    run: ({ session }, { sessionId, label, key }) => session(sessionId).unloadSkill(label, key),
  }),
  /** Lists the loaded skills, each as its block's label and its key. */
  getLoadedSkillKeys: call({
    group: "admin",
    input: ofSession,
    run: async ({ session }, { sessionId }) => [...(await session(sessionId).getLoadedSkillKeys())],
  }),
  /** Reads the context blocks of the system prompt. */
  getContextBlocks: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).getContextBlocks(),
  }),
  /** Reads one context block, or null when none of this label is declared. */
  getContextBlock: call({
    group: "admin",
    input: z.strictObject({ sessionId, label }),
    run: ({ session }, { sessionId, label }) => session(sessionId).getContextBlock(label),
  }),
  /** Replaces the text of a context block. */
  replaceContextBlock: call({
    group: "admin",
    input: withContent,
    run: ({ session }, { sessionId, label, content }) => session(sessionId).replaceContextBlock(label, content),
  }),
  /** Adds to the end of a context block. */
  appendContextBlock: call({
    group: "admin",
    input: withContent,
    run: ({ session }, { sessionId, label, content }) => session(sessionId).appendContextBlock(label, content),
  }),
  /** Reads the system prompt, which is the same string at every call until it is refreshed. */
  freezeSystemPrompt: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).freezeSystemPrompt(),
  }),
  /** Rebuilds the system prompt from the present context blocks. */
  refreshSystemPrompt: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).refreshSystemPrompt(),
  }),
  /** Reads the changes since the system prompt was frozen, or null when there are none. */
  reminder: call({
    group: "admin",
    input: ofSession,
    run: ({ session }, { sessionId }) => session(sessionId).reminder(),
  }),
};

/** The room as an agent is declared with it. */
export interface ContextExtension extends Extension<ContextMethods, ManagerContextMethods, typeof contextCalls> {}

/** Adds context blocks to each session, as in `withCompaction(Base, { rooms: [context()] })`. */
export function context(): ContextExtension {
  return { name: "context", calls: contextCalls, install };
}

function install(core: Core): Installed<ContextMethods, ManagerContextMethods> {
  const counterOf: ContextsOptions["counterOf"] = (sessionId) => (text) => core.settings.counterOf(sessionId)(text);
  const contexts = new Contexts(core.db, { agentId: core.platform.agentId, counterOf });
  return {
    // A builder's method returns the handle that it was called on.
    session: (state) => new SessionContext(state, contexts),
    manager: (state) => new ManagerContext(state, contexts),
    cleared: (sessionId) => contexts.forgetLoaded(sessionId),
    deleted: (sessionId) => contexts.forgetSession(sessionId),
    copied: (fromId, toId) => contexts.copySession(fromId, toId),
    // Removes texts that were loaded into the context and unloaded again.
    shown: (sessionId, messages) => contexts.session(sessionId).hideUnloadedSkills(messages),
    leavesOut: (sessionId, behind) => contexts.session(sessionId).skillsNotCarried(behind),
    tools: (sessionId, newest): ToolSet => contexts.session(sessionId).tools(() => contexts.session(newest())),
    reminder: (sessionId) => contexts.session(sessionId).reminder(),
    carriedTexts: (sessionId) => contexts.session(sessionId).carriedTexts(),
    takeText: async (sessionId, label, text) => contexts.session(sessionId).takeText(label, text),
    declareText: (sessionId, label, { description, get }) =>
      void contexts.session(sessionId).withContext(label, { description, provider: { get } }),
  };
}

type Collect = (call: BuilderCall) => void;

/** Declarations of blocks that come before a session is used. */
export interface ContextBuilder {
  /**
   * Declares a context block, which by default is writable and kept in SQLite. Throws `invalid_options`.
   *
   * Some errors show only once the session is known, such as a writable provider object of another session or a provider that cannot be
   * made. Every use of the session then throws them. A manager refuses a writable provider object at once, because sessions would share its
   * content (S1).
   */
  withContext(label: string, options?: BlockOptions): this;
  /** Keeps the frozen system prompt across hibernation, in SQLite or with a provider. A manager makes one provider for each session. */
  withCachedPrompt(provider?: PromptProvider): this;
  /**
   * Sets a handler for failures of context tools, which receives the error and the session. The model is told the same. Errors of the
   * handler are ignored.
   */
  onToolError(onError: OnToolError): this;
}

class ContextSettings implements ContextBuilder {
  readonly #contexts: Contexts;
  readonly #collectCall: Collect;

  /** @internal */
  constructor(contexts: Contexts, collect: Collect) {
    this.#contexts = contexts;
    this.#collectCall = collect;
  }

  withContext(label: string, options: BlockOptions = {}): this {
    checkBlock(label, options);
    return this.#collect((blocks) => blocks.withContext(label, options));
  }

  withCachedPrompt(provider?: PromptProvider): this {
    return this.#collect((blocks) => blocks.withCachedPrompt(provider));
  }

  onToolError(onError: OnToolError): this {
    return this.#collect((blocks) => blocks.onToolError(onError));
  }

  #collect(apply: (blocks: ContextBlocks) => unknown): this {
    this.#collectCall({ apply: (sessionId) => void apply(this.#contexts.session(sessionId)) });
    return this;
  }
}

class SessionContext extends ContextSettings {
  readonly #state: SessionState;
  readonly #contexts: Contexts;

  /** @internal */
  constructor(state: SessionState, contexts: Contexts) {
    super(contexts, (call) => state.collect(call));
    this.#state = state;
    this.#contexts = contexts;
  }

  /** The session's blocks with all their methods. */
  get context(): ContextBlocks {
    // Reading the settings first applies the manager's declarations to the session, its blocks included.
    void this.#state.settings;
    return this.#contexts.session(this.#state.id);
  }

  /** Declares a block while the session is in use. Throws `block_exists`, `invalid_options`, `provider_failed`. */
  async addContext(label: string, options: BlockOptions = {}): Promise<ContextBlock> {
    return this.context.addContext(label, options);
  }

  /** Removes a block from the prompt and the tools. Its content stays stored. */
  removeContext(label: string): boolean {
    checkGiven(given.label, { label });
    return this.context.removeContext(label);
  }

  async getContextBlock(label: string): Promise<ContextBlock | null> {
    checkGiven(given.label, { label });
    return this.context.getContextBlock(label);
  }

  async getContextBlocks(): Promise<ContextBlock[]> {
    return this.context.getContextBlocks();
  }

  /** Throws `unknown_block`, `readonly_block`, `block_full`, `provider_failed`. */
  async replaceContextBlock(label: string, content: string): Promise<ContextBlock> {
    checkGiven(given.label, { label });
    return this.context.replaceContextBlock(label, content);
  }

  async appendContextBlock(label: string, content: string): Promise<ContextBlock> {
    checkGiven(given.label, { label });
    return this.context.appendContextBlock(label, content);
  }

  /** Removes a skill's text from the model's context. The stored messages do not change. */
  async unloadSkill(label: string, key: string): Promise<boolean> {
    checkGiven(given.label, { label });
    return this.context.unloadSkill(label, key);
  }

  async getLoadedSkillKeys(): Promise<Set<string>> {
    return this.context.getLoadedSkillKeys();
  }

  /** Returns the same string until {@link refreshSystemPrompt}, so that a provider's prompt cache holds. */
  async freezeSystemPrompt(): Promise<string> {
    return this.context.freezeSystemPrompt();
  }

  async refreshSystemPrompt(): Promise<string> {
    return this.context.refreshSystemPrompt();
  }

  /** Returns the changes since the prompt was frozen, for the end of the conversation and never stored. Null without changes. */
  async reminder(): Promise<string | null> {
    return this.context.reminder();
  }
}

class ManagerContext extends ContextSettings {
  readonly #core: Core;

  /** @internal */
  constructor({ core, collect }: ManagerState, contexts: Contexts) {
    super(contexts, collect);
    this.#core = core;
  }

  override withContext(label: string, options: BlockOptions = {}): this {
    const { provider, shared = false } = options;
    if (typeof provider === "object" && providerShapeOf(provider).writable && !shared) {
      throw new PalimpsestError(
        "invalid_options",
        `Block "${label}": one writable provider object cannot be every session's. Give a function (scope) => provider to make one per session, or say shared: true.`,
      );
    }
    return super.withContext(label, options);
  }

  override withCachedPrompt(provider?: PromptProvider): this {
    if (provider !== undefined && typeof provider !== "function") {
      throw new PalimpsestError(
        "invalid_options",
        "One provider cannot keep every session's prompt (S1). Give a function (scope) => provider, which makes one per session, or nothing, which keeps prompts in SQLite.",
      );
    }
    return super.withCachedPrompt(provider);
  }

  /** Declares a searchable block over all sessions of the agent. Throws `not_configured` without the room that searches. */
  withSearchableHistory(label: string): this {
    const search = this.#core.rooms.searchAll;
    if (search === undefined) throw missingRoom("A search of what was said", "recall");
    const provider: SearchProvider = {
      get: async () => "All past conversations, found with search_context.",
      search,
    };
    return this.withContext(label, { provider });
  }
}

/** The methods that the room adds to a session. */
export interface ContextMethods extends Methods<Omit<SessionContext, keyof ContextBuilder>>, ContextBuilder {}

/** The methods that the room adds to a manager of sessions. */
export interface ManagerContextMethods extends ContextBuilder {
  withCachedPrompt(provider?: (scope: BlockScope) => WritableContextProvider): this;
  /** Declares a searchable block over all sessions of the agent. Throws `not_configured` without `recall()`. */
  withSearchableHistory(label: string): this;
}
