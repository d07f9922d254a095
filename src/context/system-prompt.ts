/**
 * The system prompt of one session. It is made of the session's blocks and frozen for the provider's prompt cache. The reminder reports
 * later changes.
 *
 * It reads blocks and keeps a text. Other modules read a block's provider and word the prompt. A prompt that lacks a block is never kept. A
 * turn needs no provider to be up, because an unreadable block is marked and reported. Only a refresh throws an error.
 */
import type { PalimpsestError } from "../errors.ts";
import { orReport } from "./ask.ts";
import { frozenInMemory, type FrozenPrompt } from "./frozen.ts";
import { renderPrompt, renderReminder, type ContextBlock, type ReadBlock } from "./render.ts";

/** A declared block that is not read yet. */
export interface UnreadBlock {
  /** The block without its text. */
  readonly empty: ContextBlock;
  /** Throws `provider_failed`. */
  readonly read: () => Promise<ContextBlock>;
}

export interface PromptSource {
  /** The blocks in the order of their declaration. */
  blocks(): readonly UnreadBlock[];
  /** Runs work on this prompt one piece at a time. It throws `invalid_state` once the session was deleted, and so does `mustExist`. */
  inTurn<T>(work: (mustExist: () => void) => Promise<T>): Promise<T>;
  /** Never throws. */
  report(failed: PalimpsestError): void;
}

export class SystemPrompt {
  readonly #source: PromptSource;
  #frozen: FrozenPrompt = frozenInMemory();

  constructor(source: PromptSource) {
    this.#source = source;
  }

  keepAt(frozen: FrozenPrompt): void {
    this.#frozen = frozen;
  }

  /** Returns the frozen prompt. Without one it renders the current blocks, and freezes the result where all of them could be read. */
  async freeze(): Promise<string> {
    return this.#source.inTurn(async (mustExist) => {
      const frozen = await this.#orReport(() => this.#frozen.read());
      if (typeof frozen === "string") return frozen;
      const blocks = await this.#readOrMark(this.#source.blocks());
      mustExist();
      const prompt = renderPrompt(blocks);
      const isWhole = frozen === null && !blocks.some((block) => block.unavailable);
      if (isWhole) await this.#orReport(() => this.#frozen.write(prompt));
      return prompt;
    });
  }

  /** Throws `provider_failed`, and then the old prompt stays. */
  async refresh(): Promise<string> {
    return this.#source.inTurn(async (mustExist) => {
      const prompt = renderPrompt(await Promise.all(this.#source.blocks().map((block) => block.read())));
      mustExist();
      await this.#frozen.write(prompt);
      return prompt;
    });
  }

  /** All providers are asked at the same time, so the wait is at most one provider's time limit. */
  async reminder(): Promise<string | null> {
    const reminding = this.#source.blocks().filter(({ empty }) => empty.remind);
    if (reminding.length === 0) return null;
    const frozen = this.#orReport(() => this.#frozen.read());
    const [prompt, blocks] = await Promise.all([frozen, this.#readOrMark(reminding)]);
    return typeof prompt === "string" ? renderReminder(prompt, blocks) : null;
  }

  forget(): void {
    this.#frozen.forget();
  }

  async #readOrMark(unread: readonly UnreadBlock[]): Promise<ReadBlock[]> {
    return Promise.all(
      unread.map(async ({ empty, read }) => (await this.#orReport(read)) ?? { ...empty, unavailable: true }),
    );
  }

  #orReport<T>(work: () => Promise<T>): Promise<T | undefined> {
    return orReport(work, (failed) => this.#source.report(failed));
  }
}
