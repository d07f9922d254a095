/** Real transcripts, which are not part of the project: tests that need one skip where it is absent, and say so. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = process.env["PALIMPSEST_TRANSCRIPTS"] ?? join(import.meta.dirname, "../../../shared/transcripts");

/** The real sessions, one a file, named by their source; none with a line on the console when they are not here. */
export function listSessions(): readonly { readonly name: string; readonly text: string }[] {
  const folder = join(FOLDER, "sessions");
  if (!existsSync(folder)) {
    console.warn(`Skipped: there is no ${folder}. Set PALIMPSEST_TRANSCRIPTS to a folder that holds sessions/*.jsonl.`);
    return [];
  }
  const files = readdirSync(folder).filter((file) => file.endsWith(".jsonl"));
  return files
    .toSorted()
    .map((file) => ({ name: file.replace(/\.jsonl$/, ""), text: readFileSync(join(folder, file), "utf8") }));
}

/** The file's text, or null with a line on the console when it is not here. */
export function readTranscript(name: string): string | null {
  const path = join(FOLDER, name);
  if (existsSync(path)) return readFileSync(path, "utf8");
  console.warn(`Skipped: ${name} is not in ${FOLDER}. Set PALIMPSEST_TRANSCRIPTS to a folder that holds it.`);
  return null;
}
