/**
 * Compares compactions from notes with compactions by a model. The deployable Worker replays one conversation turn by turn, once with notes
 * and once without. The offline summariser is made as slow as a quick model.
 */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { DemoAgent } from "../../../scripts/demo/agent.ts";
import { freePort, LocalWorker } from "../../../scripts/demo/local-worker.ts";
import { replay } from "../../../scripts/demo/replay.ts";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import type { Case } from "../../case.ts";
import type { Cell, Check, Finding } from "../../report/finding.ts";
import { makeReturning } from "../../talk/coding-session.ts";
import type { Lab } from "../../lab/lab.ts";
import { median } from "../../report/stats.ts";
import { ABSENT, readConversations } from "../../talk/transcripts.ts";

const SESSION = { sessionId: "" };
const MOST_RUNS = 500;
/** A cell without a figure. */
const NONE = "–";
/** Notes take one call a compaction, and no more calls than without. */
const TARGET_CALLS = 1;
/** Most tokens of a compaction with notes, over those of one without. */
const TARGET_TOKENS = 1.5;

interface Conditions {
  readonly messages: readonly UIMessage[];
  readonly thresholdTokens: number;
  readonly modelDelayMs: number;
}

interface Measured {
  readonly runs: readonly RunRecord[];
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
    about: `${session === undefined ? "A generated session" : "A coding session"} of ${conditions.messages.length} messages, turn by turn, threshold ${threshold}, in the deployable Worker, with the offline summariser made ${conditions.modelDelayMs} ms slow.`,
    tables: [{ columns: ["", "with notes", "without"], rows: rowsOf(tell(noted), tell(plain)) }],
    checks: checksOf(tell(noted), tell(plain)),
    unmeasured: [
      "what a reader knows from notes: that is asked under minds",
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
  const runs = await agent.call("runs", { ...SESSION, limit: MOST_RUNS });
  agent.close();
  return { runs };
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
}

function tell({ runs }: Measured): Told {
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
  ];
}

/** Infinite where nothing was compacted. */
function perCompaction(told: Told, what: "calls" | "tokens"): number {
  return told.compactions === 0 ? Infinity : told[what] / told.compactions;
}

function checksOf(noted: Told, plain: Told): Check[] {
  return [
    {
      claim: "model calls a compaction with notes, over those without",
      measured: perCompaction(noted, "calls") / perCompaction(plain, "calls"),
      target: TARGET_CALLS,
      exact: true,
    },
    {
      claim: "model tokens a compaction with notes, over those without",
      measured: perCompaction(noted, "tokens") / perCompaction(plain, "tokens"),
      target: TARGET_TOKENS,
      exact: true,
    },
  ];
}
