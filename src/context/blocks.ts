/**
 * The context blocks of one session, and the system prompt that they make.
 *
 * No block is cached, so each read asks its provider. Changes to one block run one after the other, so none starts from a text that another
 * is about to replace. Every check precedes the write. A session that was deleted during a provider's call is not written to any more (S2).
 *
 * The prompt is frozen for the provider's prompt cache. A prompt that lacks a block is never kept. A turn needs no provider to be up,
 * because an unreadable block is marked and reported. Only a refresh throws.
 */
import type { ToolSet, UIMessage } from "ai";
import { errorCode, PalimpsestError } from "../errors.ts";
import type { Db } from "../memory/db.ts";
import type { CountTokens } from "../steps/message/message.ts";
import {
  checkKey,
  checkSize,
  checkText,
  claim,
  declare,
  labelFor,
  makeProvider,
  undeclare,
  type BlockOptions,
  type Declared,
  type Rewrite,
} from "./declared.ts";
import {
  askForText,
  askProvider,
  orReport,
  type SearchProvider,
  type SkillProvider,
  type WritableContextProvider,
} from "./provider.ts";
import { renderPrompt, renderReminder, type ContextBlock, type ReadBlock } from "./render.ts";
import { ContextStatements, copyEntries, sessionScope, sqlitePrompt, type BlockScope } from "./sqlite.ts";
import { contextTools, hideUnloadedSkills, skillName, skillsNotCarried, type BlockEntry } from "./tools.ts";

/** The frozen prompt as failures of its provider name it. */
const PROMPT = "system prompt";

/** Keeps the prompt until the object is evicted. Null means that nothing is frozen. An empty prompt is a prompt. */
function promptInMemory(): WritableContextProvider {
  let frozen: string | null = null;
  return { get: async () => frozen, set: async (prompt) => void (frozen = prompt) };
}

/** Receives the error of each tool call that answered "Not done", and the failures behind an incomplete prompt or reminder. */
export type OnToolError = (error: PalimpsestError, sessionId: string) => void | Promise<void>;

export type PromptProvider = WritableContextProvider | ((scope: BlockScope) => WritableContextProvider);

export class ContextBlocks {
  readonly #host: Contexts;
  readonly #sessionId: string;
  readonly #declared = new Map<string, Declared>();
  #frozen: WritableContextProvider = promptInMemory();
  /** A provider cannot delete a text. Reads ignore the prompt of a deleted session until it is replaced. */
  #isForgotten = false;
  #onToolError: OnToolError = () => undefined;
  /** Number of times the session was deleted. */
  #epoch = 0;

  /** @internal */
  constructor(host: Contexts, sessionId: string) {
    this.#host = host;
    this.#sessionId = sessionId;
  }

  // --- declaring -----------------------------------------------------------------------------------------------------

  /** Declares a block, or replaces its declaration. Reads nothing. Throws `invalid_options`. */
  withContext(label: string, options: BlockOptions = {}): this {
    this.#declared.set(label, this.#declare(label, options));
    return this;
  }

  /** Replaces the handler of tool errors. Errors of the handler are ignored. */
  onToolError(onError: OnToolError): this {
    this.#onToolError = onError;
    return this;
  }

  /** Keeps the frozen prompt when the object is evicted. It goes to SQLite, or to a provider (a function makes one per session). */
  withCachedPrompt(provider?: PromptProvider): this {
    const { agentId, statements, transaction } = this.#host;
    const own = sessionScope(this.#sessionId);
    if (provider === undefined) {
      this.#frozen = sqlitePrompt(statements, own);
      return this;
    }
    const label = "_system_prompt";
    const blockId = { scope: own, label };
    const scope = { agentId, sessionId: this.#sessionId, label, blockId, statements, transaction };
    const store = typeof provider === "function" ? makeProvider(label, () => provider(scope)) : provider;
    claim(store, scope);
    makeProvider(label, () => store.init?.(labelFor(scope)));
    this.#frozen = store;
    return this;
  }

  /**
   * Declares a block while the session is in use. The frozen prompt stays until it is refreshed, and the declaration lasts until the object
   * is evicted. Throws `block_exists`, `invalid_options` or `provider_failed`, and then declares nothing.
   */
  async addContext(label: string, options: BlockOptions = {}): Promise<ContextBlock> {
    this.#assertNew(label);
    const declared = this.#declare(label, options);
    try {
      const block = await this.#read(declared);
      this.#assertNew(label);
      this.#declared.set(label, declared);
      return block;
    } catch (error) {
      undeclare(declared);
      throw error;
    }
  }

  /**
   * Removes the block from the prompt and the tools, and its loaded texts from the model's messages. The block's content stays stored.
   * Returns false when there is no such block.
   */
  removeContext(label: string): boolean {
    if (!this.#declared.delete(label)) return false;
    this.#host.statements.unloadSkills(this.#skillId(label));
    return true;
  }

  // --- reading and writing -------------------------------------------------------------------------------------------

  /** Returns the block, or null when none is declared. Throws `provider_failed`. */
  async getContextBlock(label: string): Promise<ContextBlock | null> {
    const declared = this.#declared.get(label);
    return declared === undefined ? null : this.#read(declared);
  }

  /** Returns the blocks in the order of their declaration. Throws `provider_failed`. */
  async getContextBlocks(): Promise<ContextBlock[]> {
    return Promise.all([...this.#declared.values()].map((declared) => this.#read(declared)));
  }

  /** The present texts that summaries carry along. A block whose provider fails, and an empty one, is left out. */
  async carriedTexts(): Promise<{ label: string; text: string }[]> {
    const carried = [...this.#declared.values()].filter(({ config }) => config.carry === true);
    const blocks = await Promise.all(carried.map((declared) => this.#read(declared).catch(() => null)));
    return blocks.flatMap((block) =>
      block === null || block.content.trim() === "" ? [] : [{ label: block.label, text: block.content.trim() }],
    );
  }

  /**
   * Replaces the block's text. Throws `unknown_block`, `readonly_block`, `invalid_input` (for a keyed block or no text), `block_full`,
   * `provider_failed`, `storage_full` where the block is kept in SQLite.
   */
  async replaceContextBlock(label: string, content: string): Promise<ContextBlock> {
    checkText(content);
    return this.#rewrite(label, async () => ({ content, before: null }));
  }

  /**
   * Stores a text from another store in a block that has none yet. Returns null, or the reason why the text was not taken. A text that the block
   * holds already is taken.
   */
  async takeText(label: string, content: string): Promise<string | null> {
    const declared = this.#declared.get(label);
    if (declared === undefined) return "the session declares no block of this label";
    try {
      const own = declared.shape.keyed
        ? ""
        : ((await this.#text(declared, "read", () => declared.provider.get())) ?? "");
      if (own !== "") return own === content ? null : "the block holds another text";
      await this.replaceContextBlock(label, content);
      return null;
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      return String(error);
    }
  }

  /** Adds the text at the end, on a new line. Throws as {@link replaceContextBlock}. */
  async appendContextBlock(label: string, text: string): Promise<ContextBlock> {
    checkText(text);
    return this.#rewrite(label, async (declared) => {
      const before = await this.#read(declared);
      const joint = before.content === "" || text.startsWith("\n") ? "" : "\n";
      return { content: before.content + joint + text, before };
    });
  }

  /** Stores or replaces one entry of a keyed block. Throws as {@link replaceContextBlock}. */
  async setContextEntry(label: string, entry: BlockEntry): Promise<void> {
    const declared = this.#getWritable(label);
    checkText(entry.content);
    if (!declared.shape.keyed) {
      throw new PalimpsestError(
        "invalid_input",
        `Block "${label}" is one text without keys. Write its text, and leave the key out.`,
      );
    }
    checkKey(entry.key);
    await this.#inBlockTurn(declared, async () => {
      const content = entry.content.toWellFormed();
      this.#checkSize(declared, { content, before: null });
      await this.#write(declared, () => {
        const set = (declared.provider as Required<SkillProvider>).set.bind(declared.provider);
        return entry.description === undefined ? set(entry.key, content) : set(entry.key, content, entry.description);
      });
    });
  }

  /** Returns the matches as one text, best first, or null. Throws `unknown_block`, `invalid_input`, `provider_failed`. */
  async searchContext(label: string, query: string): Promise<string | null> {
    const declared = this.#getDeclared(label);
    checkText(query);
    if (!declared.shape.searchable) throw new PalimpsestError("invalid_input", `Block "${label}" cannot be searched.`);
    return this.#text(declared, "search", () => (declared.provider as SearchProvider).search(query));
  }

  // --- skills --------------------------------------------------------------------------------------------------------

  /**
   * Returns the skill's text and marks the skill as loaded. Throws `unknown_block`, `unknown_skill`, `invalid_input`, `provider_failed`.
   */
  async loadSkill(label: string, key: string): Promise<string> {
    const declared = this.#getDeclared(label);
    if (declared.shape.kind !== "loadable") {
      throw new PalimpsestError("invalid_input", `Block "${label}" has nothing to load.`);
    }
    checkKey(key);
    const epoch = this.#epoch;
    const text = await this.#text(declared, "load", () => (declared.provider as SkillProvider).load(key));
    if (text === null) {
      throw new PalimpsestError(
        "unknown_skill",
        `There is no "${key}" in "${label}". Its keys are listed in the system prompt.`,
      );
    }
    this.#checkEpoch(epoch);
    this.#host.statements.loadSkill(this.#skillId(label), key);
    return text;
  }

  /** Returns false when the skill was not loaded. */
  async unloadSkill(label: string, key: string): Promise<boolean> {
    checkKey(key);
    return this.#host.statements.unloadSkill(this.#skillId(label), key);
  }

  /** Returns `label:key` for each loaded skill. */
  async getLoadedSkillKeys(): Promise<Set<string>> {
    const loaded = [...this.#skills()].filter(([, isLoaded]) => isLoaded);
    return new Set(loaded.map(([name]) => name));
  }

  /** Returns the model's messages with each loaded text once and no unloaded text. */
  hideUnloadedSkills(messages: readonly UIMessage[]): UIMessage[] {
    return hideUnloadedSkills(messages, this.#skills());
  }

  /** Returns the names of the skills that a summary does not carry. */
  skillsNotCarried(behind: readonly UIMessage[]): ReadonlySet<string> {
    return skillsNotCarried(behind, this.#skills());
  }

  // --- the prompt ----------------------------------------------------------------------------------------------------

  /**
   * Returns the same string until {@link refreshSystemPrompt}. When a provider is down, the prompt says so in place of its block and is not
   * frozen, and the {@link onToolError} handler is called. The conversation thus continues through an outage.
   */
  async freezeSystemPrompt(): Promise<string> {
    return this.#inPromptTurn(async (epoch) => {
      const frozen = await this.#orReport(() => this.#readFrozen());
      if (typeof frozen === "string") return frozen;
      const blocks = await this.#readOrMark([...this.#declared.values()]);
      this.#checkEpoch(epoch);
      const prompt = renderPrompt(blocks);
      const isWhole = frozen === null && !blocks.some((block) => block.unavailable);
      if (isWhole) await this.#orReport(() => this.#freeze(prompt));
      return prompt;
    });
  }

  /** Renders the current blocks and freezes the result. Throws `provider_failed`, and then the old prompt stays. */
  async refreshSystemPrompt(): Promise<string> {
    return this.#inPromptTurn(async (epoch) => {
      const prompt = renderPrompt(await this.getContextBlocks());
      this.#checkEpoch(epoch);
      await this.#freeze(prompt);
      return prompt;
    });
  }

  /**
   * Returns a text for the end of the conversation that must not be stored. It holds the content of `whenChanged: "remind"` blocks that the
   * frozen prompt lacks. Null when there is no difference or no frozen prompt. The text names a block whose provider is down, and
   * {@link onToolError} is called. All providers are asked at once, so the wait is at most one provider's time limit.
   */
  async reminder(): Promise<string | null> {
    const reminding = [...this.#declared.values()].filter(({ config }) => config.whenChanged === "remind");
    if (reminding.length === 0) return null;
    const frozen = this.#orReport(() => this.#readFrozen());
    const [prompt, blocks] = await Promise.all([frozen, this.#readOrMark(reminding)]);
    return typeof prompt === "string" ? renderReminder(prompt, blocks) : null;
  }

  /**
   * Tools for the declared blocks. Each failure becomes an answer, so no tool throws a provider's error. Each call uses the blocks that
   * `current()` then returns.
   */
  tools(current: () => ContextBlocks = () => this): ToolSet {
    return contextTools([...this.#declared.values()], { blocks: current, onError: (failed) => this.#report(failed) });
  }

  /** Called when the session's rows were deleted. Work that is still running will not write. */
  forget(): void {
    this.#epoch++;
    this.#isForgotten = true;
  }

  // --- how -----------------------------------------------------------------------------------------------------------

  #declare(label: string, options: BlockOptions): Declared {
    return declare(this.#sessionId, { ...options, label }, this.#host);
  }

  /** An error of the handler, immediate or later, never prevents an answer. */
  #report(failed: PalimpsestError): void {
    void (async () => this.#onToolError(failed, this.#sessionId))().catch(() => undefined);
  }

  #inPromptTurn<T>(work: (epoch: number) => Promise<T>): Promise<T> {
    return this.#inTurn(`prompt ${this.#sessionId}`, work);
  }

  #inBlockTurn<T>({ scope }: Declared, work: (epoch: number) => Promise<T>): Promise<T> {
    return this.#inTurn(`block ${scope.blockId.scope} ${scope.label}`, work);
  }

  #inTurn<T>(name: string, work: (epoch: number) => Promise<T>): Promise<T> {
    const epoch = this.#epoch;
    return this.#host.turns.run(name, () => {
      this.#checkEpoch(epoch);
      return work(epoch);
    });
  }

  async #readFrozen(): Promise<string | null> {
    return this.#isForgotten ? null : askForText(this.#call(PROMPT, "read", () => this.#frozen.get()));
  }

  async #freeze(prompt: string): Promise<void> {
    await askProvider(this.#call(PROMPT, "write", () => this.#frozen.set(prompt)));
    this.#isForgotten = false;
  }

  async #readOrMark(blocks: readonly Declared[]): Promise<ReadBlock[]> {
    return Promise.all(
      blocks.map(
        async (each) =>
          (await this.#orReport(() => this.#read(each))) ?? { ...this.#describe(each, ""), unavailable: true },
      ),
    );
  }

  #orReport<T>(work: () => Promise<T>): Promise<T | undefined> {
    return orReport(work, (failed) => this.#report(failed));
  }

  async #rewrite(label: string, make: (declared: Declared) => Promise<Rewrite>): Promise<ContextBlock> {
    const declared = this.#getWritable(label);
    if (declared.shape.keyed) {
      throw new PalimpsestError(
        "invalid_input",
        `Block "${label}" is written entry by entry: give the key of the entry, and its whole text.`,
      );
    }
    return this.#inBlockTurn(declared, async (epoch) => {
      const rewrite = await make(declared);
      const content = rewrite.content.toWellFormed();
      this.#checkSize(declared, { content, before: rewrite.before });
      this.#checkEpoch(epoch);
      await this.#write(declared, () => (declared.provider as WritableContextProvider).set(content));
      return this.#describe(declared, content);
    });
  }

  async #read(declared: Declared): Promise<ContextBlock> {
    return this.#describe(
      declared,
      (await this.#text(declared, "read", () => declared.provider.get())) ?? declared.config.defaultContent ?? "",
    );
  }

  #text({ config }: Declared, verb: string, call: () => Promise<string | null>): Promise<string | null> {
    return askForText(this.#call(config.label, verb, call));
  }

  #write({ config }: Declared, call: () => Promise<void>): Promise<void> {
    return askProvider(this.#call(config.label, "write", call));
  }

  #call<T>(label: string, verb: string, call: () => Promise<T>) {
    return { label, verb, call, limitMs: this.#host.limitMs };
  }

  #describe({ config, shape }: Declared, content: string): ContextBlock {
    const { label, description, maxTokens, whenChanged } = config;
    return {
      label,
      ...(description === undefined ? {} : { description }),
      content,
      tokens: this.#count(content),
      ...(maxTokens === undefined ? {} : { maxTokens }),
      kind: shape.kind,
      writable: shape.writable,
      remind: whenChanged === "remind",
    };
  }

  #skillId(label: string): { scope: string; label: string } {
    // Loaded texts are in a session's messages, also when the block is shared.
    return { scope: sessionScope(this.#sessionId), label };
  }

  #skills(): Map<string, boolean> {
    const rows = this.#host.statements.skills(sessionScope(this.#sessionId));
    return new Map(rows.map(({ label, key, loaded }) => [skillName(label, key), loaded === 1]));
  }

  #getDeclared(label: string): Declared {
    const declared = this.#declared.get(label);
    if (declared !== undefined) return declared;
    const known = [...this.#declared.keys()].map((each) => `"${each}"`).join(", ");
    throw new PalimpsestError(
      "unknown_block",
      `There is no block "${label}". ${known === "" ? "None is declared." : `There are: ${known}.`}`,
    );
  }

  #getWritable(label: string): Declared {
    const declared = this.#getDeclared(label);
    if (declared.shape.writable) return declared;
    throw new PalimpsestError(
      "readonly_block",
      `Block "${label}" can only be read. Write to one that the set_context tool names.`,
    );
  }

  #assertNew(label: string): void {
    if (!this.#declared.has(label)) return;
    throw new PalimpsestError(
      "block_exists",
      `There already is a block "${label}". Remove it first, or choose another label.`,
    );
  }

  #count(content: string): number {
    return this.#host.counterOf(this.#sessionId)(content);
  }

  #checkSize(declared: Declared, rewrite: Rewrite): void {
    checkSize(declared, { ...rewrite, tokens: this.#count(rewrite.content) });
  }

  #checkEpoch(epoch: number): void {
    if (epoch === this.#epoch) return;
    throw new PalimpsestError("invalid_state", "The session was deleted meanwhile. Nothing was written.");
  }
}

/** Time limit of a context provider (ms). A person waits for this turn, and an object store answers in well under a second. */
const PROVIDER_LIMIT_MS = 10_000;

export interface ContextsOptions {
  /** The agent that owns the blocks. Default "", for a single agent. */
  readonly agentId?: string | undefined;
  /** Time limit of a provider (ms). */
  readonly limitMs?: number | undefined;
  /** Returns the token counter of a session. */
  readonly counterOf: (sessionId: string) => CountTokens;
}

/** The blocks of all sessions of one agent, and what they share. */
export class Contexts {
  readonly agentId: string;
  readonly limitMs: number;
  readonly counterOf: ContextsOptions["counterOf"];
  readonly statements: ContextStatements;
  readonly transaction: BlockScope["transaction"];
  readonly turns = new Turns();
  readonly #sessions = new Map<string, ContextBlocks>();

  /** @internal */
  constructor(db: Db, { agentId = "", limitMs = PROVIDER_LIMIT_MS, counterOf }: ContextsOptions) {
    this.agentId = agentId;
    this.limitMs = limitMs;
    this.counterOf = counterOf;
    this.statements = new ContextStatements(db);
    this.transaction = <T>(work: () => T): T => db.transaction<unknown>(work) as T;
  }

  /** Returns a session's blocks, always the same object. `""` is the default session. Reads nothing. */
  session(sessionId: string): ContextBlocks {
    const known = this.#sessions.get(sessionId);
    if (known !== undefined) return known;
    const blocks = new ContextBlocks(this, sessionId);
    this.#sessions.set(sessionId, blocks);
    return blocks;
  }

  /**
   * For a session that was deleted, and its rows with it (S2). Content that the caller's provider stored elsewhere stays, and so do
   * declarations, because they are code.
   */
  forgetSession(sessionId: string): void {
    this.#sessions.get(sessionId)?.forget();
  }

  /**
   * Copies blocks, entries and loaded skills of one session to a new session. The new prompt is not frozen yet. Shared content needs no
   * copy, and content that the caller's provider stored elsewhere is not copied. Call inside a transaction.
   */
  copySession(fromId: string, toId: string): void {
    const [from, to] = [sessionScope(fromId), sessionScope(toId)];
    this.statements.copyTexts(from, to);
    copyEntries(this.statements, from, to);
  }

  /** Forgets a session's loaded skills. Call it when the session's messages, which held their texts, were deleted. */
  forgetLoaded(sessionId: string): void {
    this.statements.deleteSkills(sessionScope(sessionId));
  }
}

/**
 * Runs work one at a time per name, in the order of the calls.
 *
 * The awaited promise never rejects. Failed work fails for its own caller and not for the next one.
 */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs the work when all earlier work under this name has ended, or at once without any. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(name, ended);
    try {
      await before;
      return await work();
    } finally {
      end();
      if (this.#last.get(name) === ended) this.#last.delete(name);
    }
  }
}
