/**
 * One thing at a time per name, in the order of asking.
 *
 * Safe because what is waited for never rejects: a failed piece of work fails for whoever asked for it, not for the next.
 */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Does the work when all earlier work under this name has ended. At once when there is none. */
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
