/**
 * Compares compactions from notes with compactions by a model. The deployable Worker replays one conversation turn by turn, once with notes
 * and once without. The offline summariser is made as slow as a quick model.
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { DemoAgent } from "../../scripts/demo/agent.ts";
import { freePort, LocalWorker } from "../../scripts/demo/local-worker.ts";
import { replay } from "../../scripts/demo/replay.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlays.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { Fact } from "../../src/facts/fact.ts";
import { gatherFacts } from "../../src/facts/gather.ts";
import { contains } from "../../src/facts/contains.ts";
import { heatOf } from "../../src/facts/names/table.ts";
import { parseSyntheticId } from "../../src/steps/view/view.ts";
import type { Case } from "../case.ts";
import type { Cell, Check, Finding } from "../report/finding.ts";
import { makeReturning } from "../drift/conversation.ts";
import { mean } from "../drift/measure.ts";
import type { Lab } from "../lab.ts";
import { median } from "../report/stats.ts";
import { ABSENT, readConversations } from "../transcripts.ts";

const SESSION = { sessionId: "" };
const MOST_RUNS = 500;
/** How many of the warmest names are looked for. */
const NAMES_ASKED = 500;
/** A cell without a figure. */
const NONE = "–";
/** Most time of a compaction from notes, as a share of the time of a compaction by a model. */
const TARGET_SHARE_OF_TIME = 0.1;
/** Share of the names kept by compactions by a model that notes may lose. */
const TARGET_LOSS = 0.05;

interface Conditions {
  readonly messages: readonly UIMessage[];
  readonly thresholdTokens: number;
  readonly modelDelayMs: number;
}

interface Measured {
  readonly runs: readonly RunRecord[];
  /** For each overlay of a run, the share of all hidden names and rules that the view right after it keeps. */
  readonly kept: readonly { readonly names: number; readonly rules: number }[];
}

export const notes: Case = { name: "notes", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const [session] = lab.quick ? [] : readConversations("coding");
  const conditions: Conditions = lab.quick
    ? { messages: makeReturning(16, 1), thresholdTokens: 8_000, modelDelayMs: 50 }
    : { messages: session ?? makeReturning(200, 1), thresholdTokens: 60_000, modelDelayMs: 1_000 };
  const [noted, plain] = await playBoth(conditions, lab.quick);
  const threshold = conditions.thresholdTokens.toLocaleString("en");
  return {
    title: "Compactions from notes, beside compactions by a model",
    about: `${session === undefined ? "A generated session" : "A coding session"} of ${conditions.messages.length} messages, turn by turn, threshold ${threshold}, in the deployable Worker, with the offline summariser made ${conditions.modelDelayMs} ms slow. Kept: of the ${NAMES_ASKED} names of most worth, and of all rules, in everything that is hidden, the share that the view's summaries say word for word, pinned facts included; the mean over all compactions. Notes are one overlay with one part pinned beside it, a stack is up to three.`,
    tables: [{ columns: ["", "with notes", "without"], rows: rowsOf(tell(noted), tell(plain)) }],
    checks: checksOf(tell(noted), tell(plain)),
    unmeasured: [
      "what a real model loses: the offline summariser copies sentences and does not invent",
      "any other conversation: names and rules that are kept are of this one",
      "turns that follow one another faster than the runs they set off: each run lands before the next turn begins",
      "dollars: they are under “What a conversation costs”",
      ...(session === undefined ? [ABSENT] : []),
    ],
  };
}

/** Plays with notes and without. They run side by side only where nothing is timed, because they share one machine. */
async function playBoth(conditions: Conditions, together: boolean): Promise<[noted: Measured, plain: Measured]> {
  const workers: LocalWorker[] = [];
  try {
    // One after the other, because two that start at the same moment may be given one port.
    for (const vars of [{ PALIMPSEST_NOTES: "1" }, {}]) {
      const worker = await makeWorker(conditions, vars);
      workers.push(worker);
      await worker.start();
    }
    const [noted, plain] = workers as [LocalWorker, LocalWorker];
    const { messages } = conditions;
    if (together) return await Promise.all([play(noted, messages), play(plain, messages)]);
    return [await play(noted, messages), await play(plain, messages)];
  } finally {
    await Promise.all(workers.map((worker) => worker.close()));
  }
}

async function makeWorker(
  { thresholdTokens, modelDelayMs }: Conditions,
  vars: Readonly<Record<string, string>>,
): Promise<LocalWorker> {
  const stateDir = await mkdtemp(join(tmpdir(), "palimpsest-notes-"));
  const common = {
    PALIMPSEST_THRESHOLD: String(thresholdTokens),
    PALIMPSEST_MODEL_DELAY_MS: String(modelDelayMs),
  };
  return new LocalWorker({ stateDir, port: await freePort(), vars: { ...common, ...vars } });
}

async function play(worker: LocalWorker, messages: readonly UIMessage[]): Promise<Measured> {
  const agent = await DemoAgent.connect(worker.url, () => undefined);
  await replay(messages, {
    ...SESSION,
    ahead: 0,
    onProgress: () => undefined,
    onTurn: async () => undefined,
    waitForRun: async (runId) => void (await agent.call("waitForRun", { runId })),
    agent: () => agent,
  });
  const kept = [];
  for (const overlay of await agent.call("getCompactions", SESSION)) kept.push(await keptBy(agent, overlay, messages));
  const runs = await agent.call("runs", { ...SESSION, limit: MOST_RUNS });
  agent.close();
  return { runs, kept };
}

/** Shares of all hidden names and rules that the summaries of that view still say, pinned ones included. */
async function keptBy(agent: DemoAgent, { id, span }: OverlayRecord, messages: readonly UIMessage[]) {
  const view = await agent.call("getView", { ...SESSION, asOf: id, apart: true });
  const summaries = view.messages.filter((message) => parseSyntheticId(message.id)?.kind === "overlay");
  const says = contains(summaries.map(textOf).join("\n"));
  const end = messages.findIndex((message) => message.id === span.toId);
  const { words, rules } = gatherFacts(messages.slice(0, end + 1));
  const warmest = words.rows.toSorted((one, other) => heatOf(other) - heatOf(one));
  const names = warmest.slice(0, NAMES_ASKED).map(([value]) => ({ value }));
  const share = (facts: readonly Pick<Fact, "value">[]): number =>
    facts.length === 0 ? 1 : facts.filter(({ value }) => says(value)).length / facts.length;
  return { names: share(names), rules: share(rules) };
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
}

/** The figures of one way of compacting. Times are milliseconds from trigger to overlay, and null where there is none. */
interface Told {
  readonly compactions: number;
  readonly fromNotes: number;
  readonly notesMs: number | null;
  readonly modelMs: number | null;
  readonly updates: number;
  readonly vain: number;
  readonly calls: number;
  readonly tokens: number;
  readonly viewTokens: number;
  readonly names: number;
  readonly rules: number;
}

function tell({ runs, kept }: Measured): Told {
  const compactions = runs.filter(({ kind, outcome }) => kind === "compaction" && outcome?.kind === "applied");
  const updates = runs.filter(({ kind }) => kind === "notes");
  const times = (path: "notes" | "model"): number | null => {
    const those = compactions.filter((run) => (run.path ?? "model") === path);
    const ms = those.flatMap(({ createdAt, endedAt }) => (endedAt === null ? [] : [endedAt - createdAt]));
    return ms.length === 0 ? null : median(ms);
  };
  return {
    compactions: compactions.length,
    fromNotes: compactions.filter(({ path }) => path === "notes").length,
    notesMs: times("notes"),
    modelMs: times("model"),
    updates: updates.length,
    vain: updates.filter(({ outcome }) => outcome?.kind !== "noted").length,
    calls: runs.reduce((sum, run) => sum + run.modelCalls, 0),
    tokens: runs.reduce((sum, run) => sum + run.inputTokens + run.outputTokens, 0),
    viewTokens: median(
      compactions.flatMap(({ outcome }) => (outcome?.kind === "applied" ? [outcome.tokensAfter] : [])),
    ),
    names: mean(kept.map(({ names }) => names)),
    rules: mean(kept.map(({ rules }) => rules)),
  };
}

function rowsOf(noted: Told, plain: Told): Cell[][] {
  const row = (name: string, pick: (told: Told) => number | null): Cell[] => [
    name,
    pick(noted) ?? NONE,
    pick(plain) ?? NONE,
  ];
  return [
    row("compactions", (told) => told.compactions),
    row("of these from notes", (told) => told.fromNotes),
    row("ms from trigger to overlay, from notes, median", ({ notesMs }) => notesMs),
    row("the same by a model", ({ modelMs }) => modelMs),
    row("updates of the notes", ({ updates }) => updates),
    row("of these in vain", ({ vain }) => vain),
    row("model calls", ({ calls }) => calls),
    row("model tokens, in and out", ({ tokens }) => tokens),
    row("view right after a compaction, tokens, median", ({ viewTokens }) => viewTokens),
    row("names kept", ({ names }) => names),
    row("rules kept", ({ rules }) => rules),
  ];
}

function checksOf(noted: Told, plain: Told): Check[] {
  return [
    {
      claim: "time from trigger to overlay from notes, over that by a model",
      measured: (noted.notesMs ?? Infinity) / (plain.modelMs ?? 1),
      target: TARGET_SHARE_OF_TIME,
    },
    {
      claim: "names kept without notes, less those with them",
      measured: plain.names - noted.names,
      target: TARGET_LOSS,
      exact: true,
    },
    { claim: "rules kept with notes", measured: noted.rules, target: 1, better: "more", exact: true },
  ];
}
