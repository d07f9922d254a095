/**
 * Work in pieces: whatever there is to read keeps nobody out for longer than one of them.
 *
 * Boundary: the work itself is a generator that stops after each piece. Whoever drives it decides what happens in between: a script
 * goes straight on ({@link atOnce}), an agent answers others first ({@link inPieces}).
 */

export type Pieces<T> = Generator<undefined, T, undefined>;

/** Tells when a piece of work is done. Counts characters, no clock: it stops at the same places each time. */
export class Pace {
  readonly #piece: number;
  readonly #entry: number;
  #left: number;

  /** `chars` of a piece, and how many each entry counts besides, however short it is. */
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

/** Does all pieces without a pause. */
export function atOnce<T>(work: Pieces<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Does one piece after the other, with `pause` in between. */
export async function inPieces<T>(work: Pieces<T>, pause: () => Promise<unknown>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await pause();
  }
}
