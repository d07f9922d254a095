/**
 * Pauses long work on the object's thread, so that waiting calls are answered first.
 *
 * A timer alone is not fair: it may not fire while calls follow each other without a gap. So the pause also ends when the agent was called,
 * or its sessions were used, a number of times meanwhile.
 */

/** Uses of sessions and calls that one pause lets in, some ten calls' worth. A piece of work takes about as long as they do. */
const USES_IN_A_PAUSE = 40;
/** What a call of a run counts, which reads or writes as much as a client's. */
export const USES_OF_A_STEP = 4;

interface Pause {
  left: number;
  readonly end: () => void;
}

/** The calls of an agent and the uses of its sessions, as far as long work waits for them. */
export class Yielder {
  readonly #pauses = new Set<Pause>();

  count(uses = 1): void {
    for (const pause of this.#pauses) if ((pause.left -= uses) <= 0) pause.end();
  }

  /** Resolves after one round of waiting calls, or after so many uses. */
  async yieldToCallers(uses: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const pause = { left: uses, end: resolve };
    this.#pauses.add(pause);
    try {
      await Promise.race([scheduler.wait(0), promise]);
    } finally {
      this.#pauses.delete(pause);
    }
  }
}

/** The pause between two pieces of an agent's long work. */
export function yielderOf({ uses }: { readonly uses: Yielder }, most = USES_IN_A_PAUSE): () => Promise<void> {
  return async () => uses.yieldToCallers(most);
}
