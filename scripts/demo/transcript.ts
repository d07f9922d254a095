/** Reads and parses the demo's transcript before anything is started. */
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { errorCode, PalimpsestError } from "../../src/errors.ts";
import { importTranscript, type Conversation } from "../../src/import/import.ts";
import type { DemoOptions } from "./options.ts";

export interface Transcript {
  readonly name: string;
  readonly conversations: readonly Conversation[];
}

const BUNDLED = resolve(import.meta.dirname, "../../examples/transcripts/palimpsest-session.jsonl");

/** Throws `invalid_options` for a file or an index that does not exist, and `import_failed` for a file that cannot be parsed. */
export async function readConversations(options: Pick<DemoOptions, "file" | "index">): Promise<Transcript> {
  const file = options.file ?? BUNDLED;
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new PalimpsestError("invalid_options", adviceFor(file, error), { cause: error });
  });
  return { name: basename(file), conversations: choose(read(file, text), options.index) };
}

function read(file: string, text: string): readonly Conversation[] {
  try {
    return importTranscript(text).conversations.filter(({ messages }) => messages.length > 0);
  } catch (error) {
    if (errorCode(error) === undefined || !(error instanceof Error)) throw error;
    const why = error.message.replace(/^\[\w+\] /, "").replaceAll("\n", "; ");
    throw new PalimpsestError("import_failed", `${file} cannot be replayed: ${why}`, { cause: error });
  }
}

function choose(all: readonly Conversation[], index: number | null): readonly Conversation[] {
  if (index === null) return all;
  const chosen = all[index];
  if (chosen !== undefined) return [chosen];
  const choice = all.length === 1 ? "holds only one: leave --index out" : `has them from 0 to ${all.length - 1}`;
  throw new PalimpsestError("invalid_options", `There is no conversation ${index}; the file ${choice}.`);
}

function adviceFor(file: string, error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return `There is no file ${file}: give the path of a transcript, or none for the bundled one.`;
  if (code === "EISDIR") return `${file} is a directory: give the path of one transcript in it.`;
  return `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}
