/**
 * Compactions from notes beside compactions by a model: `node bench/notes.ts`. Prints the table of
 * docs/decisions/0011-session-notes.md.
 *
 * The deployable Worker replays one real conversation turn by turn, once with notes and once without, with the offline
 * summariser made as slow as a quick model. The transcript is not part of the project: PALIMPSEST_TRANSCRIPTS names its folder.
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { importTranscript } from "../src/import/import.ts";
import type { OverlayRecord } from "../src/memory/overlays.ts";
import type { RunRecord } from "../src/memory/runs.ts";
import { gatherFacts } from "../src/steps/pinned/gather.ts";
import type { Fact } from "../src/steps/pinned/fact.ts";
import { sayingIn } from "../src/steps/pinned/said.ts";
import { rankFacts } from "../src/steps/pinned/worth.ts";
import { parseSyntheticId } from "../src/steps/view.ts";
import { DemoAgent } from "../scripts/demo/agent.ts";
import { freePort, LocalWorker } from "../scripts/demo/local-worker.ts";
import { replay } from "../scripts/demo/replay.ts";
import { readTranscript } from "../test/steps/transcripts.ts";

const SESSION = { sessionId: "" };
const MODEL_DELAY_MS = 1_000;
const MOST_RUNS = 500;
/** Names of most worth that are looked for. */
const NAMES_ASKED = 200;

/** One way of compacting the same conversation. */
interface Policy {
  readonly name: string;
  readonly vars: Readonly<Record<string, string>>;
}

interface Measured {
  readonly runs: readonly RunRecord[];
  /** Of each overlay that a run laid: what the view right after it kept of all that it hides. */
  readonly kept: readonly { readonly names: number; readonly rules: number }[];
}

async function main(): Promise<void> {
  const threshold = process.argv[2] ?? "60000";
  const text = readTranscript("pi-coding-session.jsonl");
  const [conversation] = text === null ? [] : importTranscript(text).conversations;
  if (conversation === undefined) return;
  const common = { PALIMPSEST_THRESHOLD: threshold, PALIMPSEST_MODEL_DELAY_MS: String(MODEL_DELAY_MS) };
  const policies: readonly Policy[] = [
    { name: "with notes", vars: { ...common, PALIMPSEST_NOTES: "1" } },
    { name: "without", vars: common },
  ];
  for (const policy of policies) print(policy, await measure(policy, conversation.messages));
}

async function measure({ vars }: Policy, messages: readonly UIMessage[]): Promise<Measured> {
  const port = await freePort();
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-notes-"));
  const worker = new LocalWorker({ stateDir, port, vars });
  try {
    await worker.start();
    const agent = await DemoAgent.connect(worker.url, () => undefined);
    await replay(messages, {
      ...SESSION,
      ahead: 0,
      onProgress: (done) => process.stderr.write(`\r${done} of ${messages.length} messages`),
      onTurn: async () => undefined,
      waitForRun: async (runId) => void (await agent.call("waitForRun", { runId })),
      agent: () => agent,
    });
    process.stderr.write("\n");
    const overlays = await agent.call("getCompactions", SESSION);
    const kept = [];
    for (const overlay of overlays) kept.push(await keptBy(agent, overlay, messages));
    return { runs: await agent.call("runs", { ...SESSION, limit: MOST_RUNS }), kept };
  } finally {
    await worker.close();
  }
}

/** Shares of the names and rules of everything that is hidden which the summaries in that view still say, pinned ones counted. */
async function keptBy(agent: DemoAgent, { id, span }: OverlayRecord, messages: readonly UIMessage[]) {
  const view = await agent.call("getViewAsOf", { ...SESSION, overlayId: id });
  const summaries = view.messages.filter((message) => parseSyntheticId(message.id)?.kind === "overlay");
  const says = sayingIn(summaries.map(textOf).join("\n"));
  const end = messages.findIndex((message) => message.id === span.toId);
  const { identifiers, rules } = gatherFacts(messages.slice(0, end + 1));
  const share = (facts: readonly Fact[]): number =>
    facts.length === 0 ? 1 : facts.filter(({ value }) => says(value)).length / facts.length;
  return { names: share(rankFacts(identifiers).slice(0, NAMES_ASKED)), rules: share(rules) };
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

function tokensOf(runs: readonly RunRecord[]): number {
  return runs.reduce((sum, run) => sum + run.inputTokens + run.outputTokens, 0);
}

function print({ name }: Policy, { runs, kept }: Measured): void {
  const compactions = runs.filter(({ kind, outcome }) => kind === "compaction" && outcome?.kind === "applied");
  const updates = runs.filter(({ kind }) => kind === "notes");
  const time = (path: RunRecord["path"]): string => {
    const times = compactions.flatMap((run) =>
      (run.path ?? "model") === path && run.endedAt !== null ? [run.endedAt - run.createdAt] : [],
    );
    return times.length === 0 ? "none" : `${Math.round(median(times))} ms (${times.length})`;
  };
  const why = Object.entries(Object.groupBy(compactions, ({ whyModel }) => whyModel?.reason ?? ""));
  console.log(`\n${name}`);
  console.log(`  compactions           ${compactions.length}`);
  console.log(`  trigger to overlay    notes: ${time("notes")}, model: ${time("model")}`);
  console.log(`  why a model           ${why.map(([reason, of]) => `${reason || "-"} ${of?.length ?? 0}`).join(", ")}`);
  console.log(
    `  updates               ${updates.length} (${updates.filter(({ outcome }) => outcome?.kind !== "noted").length} in vain)`,
  );
  console.log(`  model calls           ${runs.reduce((sum, run) => sum + run.modelCalls, 0)}`);
  console.log(
    `  model tokens          ${tokensOf(runs).toLocaleString("en")} (updates ${tokensOf(updates).toLocaleString("en")})`,
  );
  console.log(
    `  view afterwards       ${Math.round(median(compactions.flatMap(({ outcome }) => (outcome?.kind === "applied" ? [outcome.tokensAfter] : []))))} tokens`,
  );
  console.log(`  names kept            ${percent(kept.map(({ names }) => names))}`);
  console.log(`  rules kept            ${percent(kept.map(({ rules }) => rules))}`);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function percent(values: readonly number[]): string {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  return `${(mean * 100).toFixed(1)} %`;
}

await main();
