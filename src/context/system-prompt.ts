/**
 * The system prompt of one session: made of its blocks, frozen so that a provider's cache of it holds, and what has changed
 * since.
 *
 * Boundary: asks for blocks and keeps a text; how a block is read and a prompt worded is not decided here. Safe because a
 * prompt that lacks a block is never kept, and because a turn needs no provider to be up: what cannot be read is marked as
 * such and reported. Only who asks for a refresh is told by an error.
 */
import type { PalimpsestError } from "../errors.ts";
import { orReport } from "./ask.ts";
import { frozenInMemory, type FrozenPrompt } from "./frozen.ts";
import { renderPrompt, renderReminder, type ContextBlock, type ReadBlock } from "./render.ts";

/** A declared block that is not read yet. */
export interface UnreadBlock {
  /** As it is without its text. */
  readonly empty: ContextBlock;
  /** Throws `provider_failed`. */
  readonly read: () => Promise<ContextBlock>;
}

export interface PromptSource {
  /** In the order of their declaration. */
  blocks(): readonly UnreadBlock[];
  /**
   * Does one piece of work on this prompt after the other. `mustExist` throws `invalid_state` once the session was deleted,
   * and so does this.
   */
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

  /** What is frozen, or else the blocks as they are now: frozen from then on where all of them could be read. */
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

  /** Throws `provider_failed`: then the old prompt stays. */
  async refresh(): Promise<string> {
    return this.#source.inTurn(async (mustExist) => {
      const prompt = renderPrompt(await Promise.all(this.#source.blocks().map((block) => block.read())));
      mustExist();
      await this.#frozen.write(prompt);
      return prompt;
    });
  }

  /** Takes as long as one provider may, however many there are: all are asked at the same time. */
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
