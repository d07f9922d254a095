/** The number of characters of a file that are read before the agent answers other calls. */
import { Pace } from "../steps/text/slices.ts";

/** Characters of an import that are read at once, some ten milliseconds' worth. The second number is added for each entry. */
const IMPORT_PIECE_CHARS = 200_000;
const IMPORT_ENTRY_CHARS = 200;

export function importPace(): Pace {
  return new Pace(IMPORT_PIECE_CHARS, IMPORT_ENTRY_CHARS);
}
