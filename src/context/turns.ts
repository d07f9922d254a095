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
