/**
 * The context blocks of one session: what the system prompt says, and how the model and the caller change it.
 *
 * Nothing of a block is kept in memory: it is what its provider says when asked. Changes to one block wait for each
 * other, so none is computed from a text that another is about to replace. Every check comes before the write, and a
 * session that was deleted while a provider was thinking is not written to any more (S2).
 */
import type { ToolSet, UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import { askForText, askProvider, type Ask } from "./ask.ts";
import { checkKey, checkSize, checkText, type Rewrite } from "./check.ts";
import { declare, undeclare, type BlockOptions, type Declared } from "./declared.ts";
import { frozenInSqlite, frozenWith } from "./frozen.ts";
import type { SearchProvider, SkillProvider, WritableContextProvider } from "./provider.ts";
import type { ContextBlock } from "./render.ts";
import { sessionScope, type BlockScope } from "./scope.ts";
import type { ContextStatements } from "./statements.ts";
import { SystemPrompt } from "./system-prompt.ts";
import { contextTools } from "./tools.ts";
import type { Turns } from "./turns.ts";
import { hideUnloadedSkills, skillName } from "./unloaded.ts";

/** What all sessions of one agent have in common. */
export interface BlocksHost {
  readonly agentId: string;
  readonly statements: ContextStatements;
  readonly transaction: BlockScope["transaction"];
  readonly turns: Turns;
  readonly limitMs: number;
  readonly counterOf: (sessionId: string) => CountTokens;
}

/** Told of what a tool answered with "Not done", and of what a prompt or a reminder had to do without. */
export type OnToolError = (error: PalimpsestError, sessionId: string) => void | Promise<void>;

/** What is written under a key. The description is for providers that list their entries. */
export interface Entry {
  readonly key: string;
  readonly content: string;
  readonly description?: string | undefined;
}

export class ContextBlocks {
  readonly #host: BlocksHost;
  readonly #sessionId: string;
  readonly #declared = new Map<string, Declared>();
  readonly #prompt: SystemPrompt;
  #onToolError: OnToolError = () => undefined;
  /** Counts how often the session was deleted. */
  #epoch = 0;

  constructor(host: BlocksHost, sessionId: string) {
    this.#host = host;
    this.#sessionId = sessionId;
    this.#prompt = new SystemPrompt({
      blocks: () =>
        [...this.#declared.values()].map((declared) => ({
          empty: this.#describe(declared, ""),
          read: () => this.#read(declared),
        })),
      inTurn: (work) => this.#inPromptTurn(work),
      report: (failed) => this.#report(failed),
    });
  }

  // --- declaring -----------------------------------------------------------------------------------------------------

  /** Declares a block, or declares it anew. Reads nothing. Throws `invalid_options`. */
  withContext(label: string, options: BlockOptions = {}): this {
    this.#declared.set(label, this.#declare(label, options));
    return this;
  }

  /** Replaces whoever is told of what a tool could not do. What it throws is swallowed. */
  onToolError(onError: OnToolError): this {
    this.#onToolError = onError;
    return this;
  }

  /** Keeps the frozen prompt when the object is evicted: in SQLite, or with a provider (a function makes one per session). */
  withCachedPrompt(provider?: WritableContextProvider | ((scope: BlockScope) => WritableContextProvider)): this {
    const { agentId, statements, transaction, limitMs } = this.#host;
    const scope = sessionScope(this.#sessionId);
    if (provider === undefined) {
      this.#prompt.keepAt(frozenInSqlite(statements, scope));
      return this;
    }
    const label = "_system_prompt";
    const place = { scope, label };
    const block = { agentId, sessionId: this.#sessionId, label, place, statements, transaction };
    this.#prompt.keepAt(frozenWith(provider, block, limitMs));
    return this;
  }

  /**
   * Declares a block while the session is in use. The frozen prompt stays until it is refreshed, and the declaration
   * until the object is evicted. Throws `block_exists`, `invalid_options`, `provider_failed`; then nothing was declared.
   */
  async addContext(label: string, options: BlockOptions = {}): Promise<ContextBlock> {
    this.#mustNotExist(label);
    const declared = this.#declare(label, options);
    try {
      const block = await this.#read(declared);
      this.#mustNotExist(label);
      this.#declared.set(label, declared);
      return block;
    } catch (error) {
      undeclare(declared);
      throw error;
    }
  }

  /**
   * Takes the block out of prompt and tools, and what was loaded from it out of what the model is sent; its content stays
   * where it is. False when there is none.
   */
  removeContext(label: string): boolean {
    if (!this.#declared.delete(label)) return false;
    this.#host.statements.unloadSkills(this.#skillPlace(label));
    return true;
  }

  // --- reading and writing -------------------------------------------------------------------------------------------

  /** Null when no such block is declared. Throws `provider_failed`. */
  async getContextBlock(label: string): Promise<ContextBlock | null> {
    const declared = this.#declared.get(label);
    return declared === undefined ? null : this.#read(declared);
  }

  /** In the order of their declaration. Throws `provider_failed`. */
  async getContextBlocks(): Promise<ContextBlock[]> {
    return Promise.all([...this.#declared.values()].map((declared) => this.#read(declared)));
  }

  /** Throws `unknown_block`, `readonly_block`, `invalid_input` (keyed, no text), `block_full`, `provider_failed`. */
  async replaceContextBlock(label: string, content: string): Promise<ContextBlock> {
    checkText(content);
    return this.#rewrite(label, async () => ({ content, before: null }));
  }

  /** Adds to the end, on a new line. Throws as {@link replaceContextBlock}. */
  async appendContextBlock(label: string, text: string): Promise<ContextBlock> {
    checkText(text);
    return this.#rewrite(label, async (declared) => {
      const before = await this.#read(declared);
      const joint = before.content === "" || text.startsWith("\n") ? "" : "\n";
      return { content: before.content + joint + text, before };
    });
  }

  /** Stores or replaces one entry of a keyed block. Throws as {@link replaceContextBlock}. */
  async setContextEntry(label: string, entry: Entry): Promise<void> {
    const declared = this.#mustWrite(label);
    checkText(entry.content);
    if (!declared.shape.keyed) {
      throw new PalimpsestError(
        "invalid_input",
        `Block "${label}" is one text without keys. Write its text, and leave the key out.`,
      );
    }
    checkKey(entry.key);
    await this.#inTurn(declared, async () => {
      const content = entry.content.toWellFormed();
      this.#checkSize(declared, { content, before: null });
      await this.#write(declared, () => {
        const set = (declared.provider as Required<SkillProvider>).set.bind(declared.provider);
        return entry.description === undefined ? set(entry.key, content) : set(entry.key, content, entry.description);
      });
    });
  }

  /** Matches as one text, best first, or null. Throws `unknown_block`, `invalid_input`, `provider_failed`. */
  async searchContext(label: string, query: string): Promise<string | null> {
    const declared = this.#mustHave(label);
    checkText(query);
    if (!declared.shape.searchable) throw new PalimpsestError("invalid_input", `Block "${label}" cannot be searched.`);
    return this.#text(declared, "search", () => (declared.provider as SearchProvider).search(query));
  }

  // --- skills --------------------------------------------------------------------------------------------------------

  /** The skill's text; from then on it counts as loaded. Throws `unknown_block`, `unknown_skill`, `invalid_input`, `provider_failed`. */
  async loadSkill(label: string, key: string): Promise<string> {
    const declared = this.#mustHave(label);
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
    this.#host.statements.loadSkill(this.#skillPlace(label), key);
    return text;
  }

  /** False when it was not loaded. */
  async unloadSkill(label: string, key: string): Promise<boolean> {
    return this.#host.statements.unloadSkill(this.#skillPlace(label), key);
  }

  /** `label:key` of each skill that was loaded and not unloaded since. */
  async getLoadedSkillKeys(): Promise<Set<string>> {
    const loaded = [...this.#skills()].filter(([, isLoaded]) => isLoaded);
    return new Set(loaded.map(([name]) => name));
  }

  /** What to send to the model: each loaded text once, and none that was unloaded. See unloaded.ts. */
  hideUnloadedSkills(messages: readonly UIMessage[]): UIMessage[] {
    return hideUnloadedSkills(messages, this.#skills());
  }

  // --- the prompt ----------------------------------------------------------------------------------------------------

  /**
   * The same string at every call until {@link refreshSystemPrompt}. While a provider is down, the prompt says so in place of
   * its block and is not frozen, and whoever {@link onToolError} named is told: a conversation has its turn in an outage.
   */
  async freezeSystemPrompt(): Promise<string> {
    return this.#prompt.freeze();
  }

  /** Renders the blocks as they are now and freezes that. Throws `provider_failed`: then the old prompt stays. */
  async refreshSystemPrompt(): Promise<string> {
    return this.#prompt.refresh();
  }

  /**
   * What blocks with `whenChanged: "remind"` say that the frozen prompt does not, to be sent at the end of the
   * conversation and not stored; null when there is nothing to say or nothing is frozen. Of a block whose provider is down
   * it says that, and {@link onToolError} is told. It takes as long as one provider may, however many there are.
   */
  async reminder(): Promise<string | null> {
    return this.#prompt.reminder();
  }

  /**
   * Tools for what the declared blocks can do. They answer every failure; none throws what a provider threw. They act on
   * `current()`, asked at each call.
   */
  tools(current: () => ContextBlocks = () => this): ToolSet {
    return contextTools([...this.#declared.values()], { blocks: current, onError: (failed) => this.#report(failed) });
  }

  /** Called when the session's rows were deleted: whatever is still under way will not write. */
  forget(): void {
    this.#epoch++;
    this.#prompt.forget();
  }

  // --- how -----------------------------------------------------------------------------------------------------------

  #declare(label: string, options: BlockOptions): Declared {
    return declare(this.#sessionId, { ...options, label }, this.#host);
  }

  /** A handler that throws, at once or later, costs nobody an answer. */
  #report(failed: PalimpsestError): void {
    void (async () => this.#onToolError(failed, this.#sessionId))().catch(() => undefined);
  }

  #inPromptTurn<T>(work: (mustExist: () => void) => Promise<T>): Promise<T> {
    const epoch = this.#epoch;
    return this.#host.turns.run(`prompt ${this.#sessionId}`, () => {
      this.#checkEpoch(epoch);
      return work(() => this.#checkEpoch(epoch));
    });
  }

  async #rewrite(label: string, make: (declared: Declared) => Promise<Rewrite>): Promise<ContextBlock> {
    const declared = this.#mustWrite(label);
    if (declared.shape.keyed) {
      throw new PalimpsestError(
        "invalid_input",
        `Block "${label}" is written entry by entry: give the key of the entry, and its whole text.`,
      );
    }
    return this.#inTurn(declared, async (epoch) => {
      const rewrite = await make(declared);
      const content = rewrite.content.toWellFormed();
      this.#checkSize(declared, { content, before: rewrite.before });
      this.#checkEpoch(epoch);
      await this.#write(declared, () => (declared.provider as WritableContextProvider).set(content));
      return this.#describe(declared, content);
    });
  }

  #inTurn<T>({ scope }: Declared, work: (epoch: number) => Promise<T>): Promise<T> {
    const epoch = this.#epoch;
    return this.#host.turns.run(`block ${scope.place.scope} ${scope.label}`, () => {
      this.#checkEpoch(epoch);
      return work(epoch);
    });
  }

  async #read(declared: Declared): Promise<ContextBlock> {
    return this.#describe(declared, (await this.#text(declared, "read", () => declared.provider.get())) ?? "");
  }

  #text({ config }: Declared, verb: string, call: () => Promise<string | null>): Promise<string | null> {
    return askForText(this.#ask(config.label, verb, call));
  }

  #write({ config }: Declared, call: () => Promise<void>): Promise<void> {
    return askProvider(this.#ask(config.label, "write", call));
  }

  #ask<T>(label: string, verb: string, call: () => Promise<T>): Ask<T> {
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

  #skillPlace(label: string): { scope: string; label: string } {
    // What is loaded is in a session's messages, also when the block is shared.
    return { scope: sessionScope(this.#sessionId), label };
  }

  #skills(): Map<string, boolean> {
    const rows = this.#host.statements.skills(sessionScope(this.#sessionId));
    return new Map(rows.map(({ label, key, loaded }) => [skillName(label, key), loaded === 1]));
  }

  #mustHave(label: string): Declared {
    const declared = this.#declared.get(label);
    if (declared !== undefined) return declared;
    const known = [...this.#declared.keys()].map((each) => `"${each}"`).join(", ");
    throw new PalimpsestError(
      "unknown_block",
      `There is no block "${label}". ${known === "" ? "None is declared." : `There are: ${known}.`}`,
    );
  }

  #mustWrite(label: string): Declared {
    const declared = this.#mustHave(label);
    if (declared.shape.writable) return declared;
    throw new PalimpsestError(
      "readonly_block",
      `Block "${label}" can only be read. Write to one that the set_context tool names.`,
    );
  }

  #mustNotExist(label: string): void {
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
