/** Where the recording of the bundled conversation stands, and how it is played. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const HERE = join(import.meta.dirname, "recorded");
export const TRANSCRIPT = join(import.meta.dirname, "../../examples/transcripts/palimpsest-session.jsonl");
export const EXAM = join(HERE, "exam.json");
export const ANSWERS = join(HERE, "answers");
export const SETTINGS = join(HERE, "settings.json");

/** Before the user asks what changed, what was decided and what is open. */
export const UNTIL = 52;
/** Tokens. The conversation is five times as long, so it is compacted several times. */
export const THRESHOLD = 12_000;

/** Who answered, and what came out. */
export interface Recorded {
  /** ISO 8601. */
  readonly date: string;
  readonly judge: string;
  readonly model: string;
  /** By the name of the candidate. */
  readonly scores: Readonly<Record<string, number>>;
}

/** Null before the first recording. */
export function readRecorded(): Recorded | null {
  return existsSync(SETTINGS) ? (JSON.parse(readFileSync(SETTINGS, "utf8")) as Recorded) : null;
}

/** The command that records, without the models, or that replays with those of a recording. */
export function evalLine({ judge, model }: Partial<Pick<Recorded, "judge" | "model">>): string[] {
  const place = ["--exam", EXAM, "--keep", ANSWERS, "--until", String(UNTIL), "--threshold", String(THRESHOLD)];
  const models = [
    ...(judge === undefined ? [] : ["--judge", judge]),
    ...(model === undefined ? [] : ["--model", model]),
  ];
  return ["eval", TRANSCRIPT, ...place, ...models];
}
