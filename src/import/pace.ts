/** How much of a file is read before others are let in. */
import { Pace } from "../steps/text/pieces.ts";

/** Characters of an import that are read at once, some ten milliseconds' worth; and what each entry counts besides. */
const IMPORT_PIECE_CHARS = 200_000;
const IMPORT_ENTRY_CHARS = 200;

export function importPace(): Pace {
  return new Pace(IMPORT_PIECE_CHARS, IMPORT_ENTRY_CHARS);
}
