/**
 * What pinning is worth: `node bench/pinned.ts`. Prints the tables of docs/decisions/0006-pinned-facts.md.
 *
 * Needs the real transcripts, which are not part of the project: PALIMPSEST_TRANSCRIPTS names their folder.
 */
import { readTranscript } from "../test/steps/transcripts.ts";
import { importTranscript } from "../src/import/import.ts";
import { byFrequency, byWorth, LONG, MEDIUM, replay, replayPinned, SHORT, type Stage } from "./pinned/replay.ts";

const USES = ["written", "anywhere"] as const;

function main(): void {
  const [session] = conversations("pi-coding-session.jsonl");
  if (session !== undefined) {
    printTable("A coding session, threshold 60,000", replay(session, LONG), [0, 500, 1_000, 2_000, 4_000]);
    printTable("The same, threshold 30,000", replay(session, MEDIUM), [0, 250, 500, 1_000, 2_000]);
  }
  const halves = Object.groupBy(conversations("tau-airline-100.json"), (_, index) =>
    index % 2 === 0 ? "even" : "odd",
  );
  for (const [half, those = []] of Object.entries(halves)) {
    const stages = those.flatMap((messages) => replay(messages, SHORT));
    printTable(`Customer service, threshold 4,000, ${half} conversations`, stages, [0, 50, 100, 200, 400]);
  }
}

function conversations(file: string): Parameters<typeof replay>[0][] {
  const text = readTranscript(file);
  return text === null ? [] : importTranscript(text).conversations.map(({ messages }) => messages);
}

function printTable(title: string, stages: readonly Stage[], budgets: readonly number[]): void {
  console.log(`\n${title} (${stages.length} compactions)`);
  console.log("| budget | written: frequency | ours | anywhere: frequency | ours |\n|---|---|---|---|---|");
  for (const budget of budgets) {
    const cells = USES.flatMap((use) =>
      [byFrequency(budget), byWorth(budget)].map((pin) => replayPinned(stages, pin, use).toFixed(2)),
    );
    console.log(`| ${budget} | ${cells.join(" | ")} |`);
  }
}

main();
