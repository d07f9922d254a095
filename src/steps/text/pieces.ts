/**
 * Splits long work into pieces, so that it blocks nobody for longer than one piece.
 *
 * The work is a generator that yields after each piece. Its driver decides how to use the time in between. A script continues
 * at once ({@link atOnce}), and an agent answers other requests first ({@link inPieces}).
 */

export type Pieces<T> = Generator<undefined, T, undefined>;

/** Tells when a piece of work is done. It counts characters instead of time, so it stops at the same places each time. */
export class Pace {
  readonly #piece: number;
  readonly #entry: number;
  #left: number;

  /** `chars` is the size of a piece. `entry` is the fixed size that each entry adds to its characters. */
  constructor(chars: number, entry = 0) {
    this.#piece = chars;
    this.#entry = entry;
    this.#left = chars;
  }

  isOver(chars: number): boolean {
    this.#left -= chars;
    if (this.#left > 0) return false;
    this.#left = this.#piece;
    return true;
  }

  isOverEntry(chars: number): boolean {
    return this.isOver(chars + this.#entry);
  }
}

/** Runs all pieces without a pause. */
export function atOnce<T>(work: Pieces<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Runs one piece after the other, with `pause` in between. */
export async function inPieces<T>(work: Pieces<T>, pause: () => Promise<unknown>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}
