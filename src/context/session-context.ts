/** The methods that the room of context blocks adds to a session and to a manager of sessions. */
import type { Methods } from "../agent/compose.ts";
import type { Core } from "../agent/core.ts";
import type { BuilderCall } from "../agent/settings.ts";
import type { ManagerState } from "../agent/extension.ts";
import { checkGiven, given } from "../agent/inputs.ts";
import { missingRoom } from "../agent/missing-room.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { PalimpsestError } from "../errors.ts";
import type { ContextBlocks, OnToolError } from "./blocks.ts";
import type { Contexts } from "./contexts.ts";
import { checkBlock, type BlockOptions } from "./declared.ts";
import { providerShapeOf, type SearchProvider, type WritableContextProvider } from "./provider.ts";
import type { ContextBlock } from "./render.ts";
import type { BlockScope } from "./scope.ts";

type Tell = (call: BuilderCall) => void;
type PromptProvider = Parameters<ContextBlocks["withCachedPrompt"]>[0];

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
  readonly #tellSession: Tell;

  /** @internal */
  constructor(contexts: Contexts, tell: Tell) {
    this.#contexts = contexts;
    this.#tellSession = tell;
  }

  withContext(label: string, options: BlockOptions = {}): this {
    checkBlock(label, options);
    return this.#tell((blocks) => blocks.withContext(label, options));
  }

  withCachedPrompt(provider?: PromptProvider): this {
    return this.#tell((blocks) => blocks.withCachedPrompt(provider));
  }

  onToolError(onError: OnToolError): this {
    return this.#tell((blocks) => blocks.onToolError(onError));
  }

  #tell(apply: (blocks: ContextBlocks) => unknown): this {
    this.#tellSession({ apply: (sessionId) => void apply(this.#contexts.session(sessionId)) });
    return this;
  }
}

export class SessionContext extends ContextSettings {
  readonly #state: SessionState;
  readonly #contexts: Contexts;

  /** @internal */
  constructor(state: SessionState, contexts: Contexts) {
    super(contexts, (call) => state.tell(call));
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
export class ManagerContext extends ContextSettings {
  readonly #core: Core;

  /** @internal */
  constructor({ core, tell }: ManagerState, contexts: Contexts) {
    super(contexts, tell);
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
