/**
 * Reading in pieces: a file of any length keeps nobody out for longer than one of them.
 *
 * The work itself is a generator that stops after each piece. Whoever drives it decides what happens in between: a script
 * goes straight on ({@link atOnce}), an agent answers others first.
 */

/** Characters of an import that are read before others are let in, some ten milliseconds' worth; and what each entry counts besides. */
const IMPORT_PIECE_CHARS = 200_000;
const IMPORT_ENTRY_CHARS = 200;

export type Pieces<T> = Generator<undefined, T, undefined>;

/** Tells when a piece of work is done. Counts characters, no clock: it stops at the same places each time. */
export class Pace {
  #left = IMPORT_PIECE_CHARS;

  isOver(chars: number): boolean {
    this.#left -= chars;
    if (this.#left > 0) return false;
    this.#left = IMPORT_PIECE_CHARS;
    return true;
  }

  /** With what an entry costs besides, however short it is. */
  isOverEntry(chars: number): boolean {
    return this.isOver(chars + IMPORT_ENTRY_CHARS);
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
