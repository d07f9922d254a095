/** Real transcripts, which are not part of the project. Where one is absent, tests that need it skip and say so. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = process.env["PALIMPSEST_TRANSCRIPTS"] ?? join(import.meta.dirname, "../../../shared/transcripts");

/** The file's text, or null with a line on the console when it is absent. */
export function readTranscript(name: string): string | null {
  const path = join(FOLDER, name);
  if (existsSync(path)) return readFileSync(path, "utf8");
  console.warn(`Skipped: ${name} is not in ${FOLDER}. Set PALIMPSEST_TRANSCRIPTS to a folder that holds it.`);
  return null;
}
