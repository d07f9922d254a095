/**
 * The typical runs that the crash matrix disturbs, and the state that must be the same afterwards.
 *
 * A shape's summariser answers with words made of its prompt. So the end of a disturbed run can be compared to the letter with the end of
 * another agent's undisturbed run.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { APICallError } from "@ai-sdk/provider";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import type { ParsedPrompt } from "../../../src/steps/draft/prompt.ts";
import { newAgent, stubOf } from "../../agents.ts";
import { say, talk } from "../../conversation.ts";
import { scriptModel, summaryOf } from "../../scripted-model.ts";
import { wordFor } from "../../word-for.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { planFault, planOf, type Fault, type FaultPlan } from "./faulty-run.ts";
import { rowsOf } from "../../rows.ts";

export interface Shape {
  readonly name: string;
  readonly sessionId: string;
  /** The natural failure of a prompt, which throws or is an answer that is no summary. Null for none. */
  readonly weakness?: (prompt: ParsedPrompt) => string | null;
  /** Whether there is a fallback model. */
  readonly fallback?: boolean;
  /** Whether the session is split. */
  readonly splits?: boolean;
  /** Messages that are compacted before the disturbed run. */
  readonly before?: number;
  /** Starts the run. */
  start(agent: PalimpsestAgent, sessionId: string): Promise<unknown>;
}

/** Appends messages so that the session crosses its threshold. */
function append(from: number, to: number): Shape["start"] {
  return (agent, sessionId) => agent.appendAll({ sessionId, messages: talk(from, to) });
}

function refuse(status: number): never {
  throw new APICallError({ message: "no", url: "", requestBodyValues: {}, statusCode: status });
}

const LONG = "long!6000";

export const SHAPES: readonly Shape[] = [
  { name: "one chunk", sessionId: "", start: append(0, 17) },
  { name: "three chunks and a merge", sessionId: LONG, start: append(0, 49) },
  { name: "a summary that is carried on", sessionId: "", before: 17, start: append(17, 27) },
  {
    name: "a repair",
    sessionId: "",
    weakness: (prompt) => (prompt.kind === "repair" ? null : summaryOf(prompt, "- done in src/made/up/file-4711.ts")),
    start: append(0, 17),
  },
  {
    name: "an answer that is no summary",
    sessionId: "",
    weakness: ({ problems }) => (problems.length > 0 ? null : "We talked about files for a while."),
    start: append(0, 17),
  },
  {
    name: "a chunk told in halves",
    sessionId: "wide!6000",
    weakness: ({ transcript }) => ((transcript ?? "").length > 12_000 ? refuse(413) : null),
    start: append(0, 56),
  },
  { name: "the fallback model", sessionId: "", weakness: () => refuse(401), fallback: true, start: append(0, 17) },
  { name: "no model at all", sessionId: "", weakness: () => refuse(401), start: append(0, 17) },
  {
    name: "a mend after an edit",
    sessionId: LONG,
    before: 49,
    start: (agent, sessionId) => agent.update({ sessionId, message: say(20, "NEW WORDS. ") }),
  },
  {
    name: "a rebuild",
    sessionId: LONG,
    before: 49,
    start: (agent, sessionId) => agent.compact({ sessionId, rebuild: true }),
  },
  {
    name: "a split",
    sessionId: "",
    splits: true,
    start: async (agent, sessionId) => {
      await agent.appendAll({ sessionId, messages: talk(0, 13) });
      return agent.compactAndSplit({ sessionId });
    },
  },
];

/** The state after a run, and a record of the run. */
export interface Ending {
  readonly plan: FaultPlan;
  /** Everything that the run stored, without ids and times that differ from run to run. */
  readonly state: unknown;
  readonly run: RunRecord;
  /** Counts of model calls, refused ones included, and of their answers. `twice` counts the answers whose exact text was already stored. */
  readonly paid: { readonly asked: number; readonly answers: number; readonly unsound: number; readonly twice: number };
}

/** Runs the shape on a new agent, with at most one fault. */
export async function happen(shape: Shape, fault: Fault | null = null, at = 0): Promise<Ending> {
  const { name } = newAgent();
  const paid = { asked: 0, answers: 0, unsound: 0, twice: 0 };
  const sound = (prompt: ParsedPrompt): string => {
    const source = [prompt.kind, prompt.transcript ?? "", prompt.previous ?? "", ...prompt.drafts, ...prompt.problems];
    const text = summaryOf(prompt, `- told of ${wordFor(...source)}`);
    paid.answers++;
    const plan = planOf(name);
    if (plan?.stored.has(text)) paid.twice++;
    plan?.answered.add(text);
    return text;
  };
  const unsound = (text: string): string => {
    paid.unsound++;
    return text;
  };
  const { sessionId, weakness, before = 0 } = shape;
  scriptModel(name, (prompt) => {
    paid.asked++;
    const unfit = weakness?.(prompt) ?? null;
    return unfit === null ? sound(prompt) : unsound(unfit);
  });
  if (shape.fallback) {
    scriptModel(`${name}/fallback`, (prompt) => {
      paid.asked++;
      return sound(prompt);
    });
  }
  if (before > 0) {
    await stubOf(name).appendAll({ sessionId, messages: talk(0, before) });
    await ended(name, sessionId, 1);
    paid.asked = paid.answers = 0;
  }
  const plan = planFault(name, { fault, at });
  const n = before > 0 ? 2 : 1;
  await persist(async () => shape.start(stubOf(name), sessionId));
  const run = await ended(name, sessionId, n);
  await persist(async () => untilQuiet(run, plan));
  return { plan, run, state: await stateOf(name, sessionId), paid };
}

/** Calls again on a new stub, as a client does whose call was lost in a reset of the agent. */
async function persist<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (tries === 20) throw error;
      await scheduler.wait(1);
    }
  }
}

async function ended(name: string, sessionId: string, n: number): Promise<RunRecord> {
  for (;;) {
    const run = await persist(async () => {
      const found = (await stubOf(name).runs({ sessionId })).find((each) => each.n === n);
      return found && stubOf(name).waitForRun({ runId: found.id });
    });
    if (run !== undefined && run.outcome !== null) return run;
    await scheduler.wait(1);
  }
}

const ENDED: ReadonlySet<string> = new Set(["complete", "errored", "terminated"]);

/** Waits until the engine is done with the run, and the late call has arrived. */
async function untilQuiet({ id }: RunRecord, plan: FaultPlan): Promise<void> {
  while (!ENDED.has((await (await env.COMPACTION_WORKFLOW.get(id)).status()).status)) await scheduler.wait(2);
  while (plan.late?.done === false) await scheduler.wait(1);
}

async function stateOf(name: string, sessionId: string): Promise<unknown> {
  const agent = stubOf(name);
  await agent.watchCompactions();
  const [runs, overlays, view, status] = [
    await agent.runs({ sessionId }),
    await agent.getCompactions({ sessionId }),
    await agent.getView({ sessionId }),
    await agent.status({ sessionId }),
  ];
  const stub = env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(name));
  const inside = await runInDurableObject(stub, async (instance: PalimpsestAgent, { storage }) => ({
    schedules: (await instance.listSchedules()).length,
    drafts: rowsOf(storage, "palimpsest_drafts").map(({ key, text }) => ({ key, text })),
    stored: storage.sql.exec("SELECT count(*) AS n FROM palimpsest_messages").one(),
  }));
  const [outcome] = runs.map((run) => run.outcome);
  const child = outcome?.kind === "split" ? outcome.childId : null;
  const told = {
    runs: runs.map(({ id, n, state, trigger, leafId, plan, planDigest, chunkDigests, outcome, ...rest }) => {
      const steps = rest.steps.map((step) => step.name).toSorted();
      return { id, n, state, trigger, leafId, plan, planDigest, chunkDigests, outcome, steps };
    }),
    overlays: overlays.map(({ changes, ...rest }) => ({ ...rest, changes: changes.length })),
    view,
    status,
    originals: await agent.exportTranscript({ sessionId }),
    child: child && (await agent.getView({ sessionId: child })),
    sessions: (await agent.listSessions({})).length,
    ...inside,
  };
  return anonymous(told, [...runs.map(({ id }) => id), ...overlays.map(({ id }) => id), ...(child ? [child] : [])]);
}

/** Replaces ids that differ from run to run by their place. */
function anonymous(told: unknown, ids: readonly string[]): unknown {
  const text = ids.reduce((all, id, place) => all.replaceAll(id, `id-${place}`), JSON.stringify(told));
  return JSON.parse(text.replaceAll(/"createdAt":\d+/g, '"createdAt":0')) as unknown;
}
