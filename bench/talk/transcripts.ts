/** The real conversations that cases replay. They are not part of the project. Where they are absent, a case says so and does without. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { importTranscript } from "../../src/import/import.ts";

const FILES = { coding: "pi-coding-session.jsonl", service: "tau-airline-100.json" } as const;

function folder(): string {
  return process.env["PALIMPSEST_TRANSCRIPTS"] ?? join(import.meta.dirname, "../../../shared/transcripts");
}

/** One long session with a coding agent, or a hundred short ones with customers. Empty where the file is absent. */
export function readConversations(which: keyof typeof FILES): (readonly UIMessage[])[] {
  const path = join(folder(), FILES[which]);
  if (!existsSync(path)) return [];
  return importTranscript(readFileSync(path, "utf8")).conversations.map(({ messages }) => messages);
}

/** Real sessions of many sources as lines of messages, one per file. A file's name begins with its source. Empty where they are absent. */
export function listSessions(): readonly { readonly name: string; readonly text: string }[] {
  const sessions = join(folder(), "sessions");
  const files = existsSync(sessions) ? readdirSync(sessions).filter((file) => file.endsWith(".jsonl")) : [];
  return files
    .toSorted()
    .map((file) => ({ name: file.replace(/\.jsonl$/, ""), text: readFileSync(join(sessions, file), "utf8") }));
}

/** For `unmeasured` of a case that did without them. */
export const ABSENT = "real conversations (set PALIMPSEST_TRANSCRIPTS to the folder that holds them)";

/** Where to find the same conversations. */
export const SOURCES =
  "The coding session is `packages/coding-agent/test/fixtures/before-compaction.jsonl` of badlogic/pi-mono (MIT), with two host names replaced; the service conversations are the first 100 of `historical_trajectories/gpt-4o-airline.json` of sierra-research/tau-bench (MIT). They are not part of this project: put them into a folder as `pi-coding-session.jsonl` and `tau-airline-100.json`, and name it in `PALIMPSEST_TRANSCRIPTS`.";
