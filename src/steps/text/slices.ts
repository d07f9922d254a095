/**
 * Splits long work into slices, so that it blocks nobody for longer than one slice.
 *
 * The work is a generator that yields after each slice. Its driver decides how to use the time in between. A script continues
 * at once ({@link atOnce}), and an agent answers other requests first ({@link inSlices}).
 */

export type Slices<T> = Generator<undefined, T, undefined>;

/** Tells when a slice of work is done. It counts characters instead of time, so it stops at the same places each time. */
export class Pace {
  readonly #slice: number;
  readonly #entry: number;
  #left: number;

  /** `chars` is the size of a slice. `entry` is the fixed size that each entry adds to its characters. */
  constructor(chars: number, entry = 0) {
    this.#slice = chars;
    this.#entry = entry;
    this.#left = chars;
  }

  isOver(chars: number): boolean {
    this.#left -= chars;
    if (this.#left > 0) return false;
    this.#left = this.#slice;
    return true;
  }

  isOverEntry(chars: number): boolean {
    return this.isOver(chars + this.#entry);
  }
}

/** Runs all slices without a pause. */
export function atOnce<T>(work: Slices<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Runs one slice after the other, with `pause` in between. */
export async function inSlices<T>(work: Slices<T>, pause: () => Promise<unknown>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}
