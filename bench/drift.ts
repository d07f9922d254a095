/**
 * What is left of a conversation after many compactions: `node bench/drift.ts`. Prints the tables and the plots of
 * docs/decisions/0007-a-stack-of-overlays.md, and draws docs/images/drift.svg.
 *
 * The real transcript is not part of the project: PALIMPSEST_TRANSCRIPTS names its folder. Without it only the generated
 * conversation is measured, and the picture stays as it is.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { lineChart } from "../scripts/report/chart.ts";
import { createPaint, wantsColor } from "../scripts/report/paint.ts";
import { importTranscript } from "../src/import/import.ts";
import { readTranscript } from "../test/steps/transcripts.ts";
import { makeConversation } from "./drift/conversation.ts";
import { CONDITIONS, mean, measureDrift, type Drift } from "./drift/measure.ts";
import { drawPanels } from "./drift/plot.ts";

const PICTURE = join(import.meta.dirname, "../docs/images/drift.svg");
const STYLES = ["red", "blue", "green"] as const;

async function main(): Promise<void> {
  const generated = measure("A generated session, threshold 60,000", makeConversation(1_200, 1), 60_000);
  const text = readTranscript("pi-coding-session.jsonl");
  const [session] = text === null ? [] : importTranscript(text).conversations;
  if (session === undefined) return;
  const real = measure("A coding session, threshold 20,000", session.messages, 20_000);
  const panels = [real, generated].map(({ title, drifts }) => ({
    title,
    lines: drifts.map(({ name, alive }) => ({ name, values: alive })),
  }));
  await writeFile(PICTURE, drawPanels(panels, "compactions"));
}

function measure(title: string, messages: readonly UIMessage[], thresholdTokens: number) {
  const drifts = measureDrift(messages, { ...CONDITIONS, thresholdTokens });
  console.log(`\n${title} (${drifts[0]?.alive.length ?? 0} compactions)\n`);
  for (const line of tableOf(drifts)) console.log(line);
  console.log("");
  const series = drifts.map(({ name, alive }, at) => ({
    name: `${name}, %`,
    values: alive.map((share) => share * 100),
    ...(STYLES[at] === undefined ? {} : { style: STYLES[at] }),
  }));
  const paint = createPaint(wantsColor(process.env, process.stdout.isTTY));
  for (const line of lineChart({ series, width: 90, height: 12, end: "compactions", paint })) console.log(line);
  return { title, drifts };
}

function tableOf(drifts: readonly Drift[]): string[] {
  const rows = drifts.map((each) => [
    each.name,
    percent(each.alive.at(-1) ?? 0),
    percent(mean(each.alive)),
    percent(each.aliveOldest),
    percent(each.aliveRules),
    Math.round(mean(each.tokens)).toLocaleString("en"),
    percent(each.prefixKept),
    String(each.generation),
  ]);
  return [
    "| | facts alive at the end | mean of all | of the first fifth | rules | tokens, mean | prefix kept | written at most |",
    "|---|---|---|---|---|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ];
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

await main();
