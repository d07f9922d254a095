/**
 * Injects one fault into one run at the place that a test names, and records whether it happened.
 *
 * Stands between the workflow under test and its agent (test/worker.ts) and counts durable places. These are calls of the port, each one
 * request and one transaction, and results of steps. Without a plan it is inactive.
 *
 * Kept on globalThis, because a test and the Worker under test share an isolate but not every module. Sides poll instead of awaiting each
 * other's promises, because they are different requests (see test/scripted-model.ts).
 */
import { env, type WorkflowStep, type WorkflowStepConfig } from "cloudflare:workers";
import type { PalimpsestAgent } from "../../worker.ts";
import type { DraftInput, PortMethod, StepMark } from "../../../src/workflows/port.ts";

/** Faults of a call of the port, or of a step where the fault says so. */
export const FAULTS = [
  /** The call throws, and nothing was written. */
  "throws before",
  /** The call wrote, and its answer is lost. */
  "throws after",
  /** The agent's object is reset, with all its work in progress. */
  "reset before",
  "reset after",
  /** The step is given up and retried. This call of the first attempt arrives when the run is about to commit. */
  "comes late",
  /** The engine forgets the instance's steps and starts it from the beginning. */
  "restart after",
  /** A step's result is lost when its work is done, so the step runs again. */
  "result lost",
] as const;

/** One of {@link FAULTS}, which happens once, or new code before each step, for which the agent's object is reset. */
export type Fault = (typeof FAULTS)[number] | "code updates";

export interface FaultPlan {
  readonly fault: Fault | null;
  /** The call of the port, or the step for `result lost`, counted from 1. */
  readonly at: number;
  /** Calls and steps that happened. They are counted for every plan, so that one without a fault tells the number of places. */
  readonly calls: PortMethod[];
  readonly steps: string[];
  /** Steps before which new code came. */
  readonly updated: Set<string>;
  /** Runs after a call was answered, before the workflow learns of it. */
  behind: ((agent: PalimpsestAgent, method: PortMethod) => Promise<unknown>) | null;
  /** The stored result of each step. */
  readonly results: Map<string, unknown>;
  /** What failed tries of steps threw, which the engine keeps as well. */
  readonly errors: unknown[];
  fired: boolean;
  /** Texts of drafts that are durably stored. */
  readonly stored: Set<string>;
  /** Texts that a model gave, stored or not. */
  readonly answered: Set<string>;
  /** Answers that were not yet stored when the fault happened. They may be asked for again. */
  underWay: number;
  /** The late call, with its step, its paid calls, and whether it was released and has arrived. */
  late: { readonly step: string; readonly calls: number; free: boolean; done: boolean } | null;
  /** Calls of this method do not reach the agent, so many times. */
  away: { readonly method: PortMethod; times: number } | null;
}

const plans = ((globalThis as { palimpsestFaults?: Map<string, FaultPlan> }).palimpsestFaults ??= new Map());

/** From now on the agent's runs are counted, and the fault happens once. */
export function planFault(agentName: string, planned: Pick<FaultPlan, "fault" | "at">): FaultPlan {
  const plan: FaultPlan = {
    ...planned,
    calls: [],
    steps: [],
    updated: new Set(),
    behind: null,
    results: new Map(),
    errors: [],
    fired: false,
    stored: new Set(),
    answered: new Set(),
    underWay: 0,
    late: null,
    away: null,
  };
  plans.set(agentName, plan);
  return plan;
}

export function planOf(agentName: string): FaultPlan | undefined {
  return plans.get(agentName);
}

interface Place {
  readonly agent: PalimpsestAgent;
  readonly ctx: DurableObjectState;
}

interface Call {
  readonly runId: string;
  readonly method: PortMethod;
  readonly args: readonly unknown[];
}

/** A call of the port as it arrives at the agent. */
export async function faultyCall({ agent, ctx }: Place, call: Call, work: () => Promise<unknown>): Promise<unknown> {
  const plan = plans.get(agent.name);
  if (plan === undefined) return work();
  if (plan.away?.method === call.method && plan.away.times-- > 0) throw new Error("the agent is away");
  const { step } = call.args[0] as StepMark;
  if (plan.fault === "code updates" && !plan.updated.has(step)) {
    plan.updated.add(step);
    ctx.abort("new code");
  }
  const hit = plan.calls.push(call.method) === plan.at && plan.fault !== "result lost";
  // Counted again at the next call, because answers are sent until a reset takes effect.
  if (hit || plan.fired)
    plan.underWay = Math.max(plan.underWay, [...plan.answered].filter((text) => !plan.stored.has(text)).length);
  const answer = await befall(hit ? plan.fault : null, { plan, ctx, call, work });
  await plan.behind?.(agent, call.method);
  return answer;
}

interface Happening {
  readonly plan: FaultPlan;
  readonly ctx: DurableObjectState;
  readonly call: Call;
  readonly work: () => Promise<unknown>;
}

function isCommit({ method }: Call): boolean {
  return method === "commit";
}

async function befall(fault: Fault | null, { plan, ctx, call, work }: Happening): Promise<unknown> {
  const { runId, method, args } = call;
  const { step } = args[0] as StepMark;
  if (fault !== null) plan.fired = true;
  if (fault === "throws before") throw new Error("the call was lost");
  if (fault === "reset before") ctx.abort("reset by a test");
  if (fault === "comes late") await comeLate(plan, step, callsOf(call));
  else if (isCommit(call) && plan.late?.step !== step) await letCome(plan);
  const answer = await work();
  // Counted as stored only after a sync, because a reset may still undo it.
  await ctx.storage.sync();
  if (method === "saveDraft") plan.stored.add((args[1] as DraftInput).text);
  if (fault === "throws after") throw new Error("the answer was lost");
  if (fault === "reset after") ctx.abort("reset by a test");
  if (fault === "restart after") await (await env.COMPACTION_WORKFLOW.get(runId)).restart();
  if (plan.late?.step === step) {
    if (fault === "comes late") plan.late.done = true;
    // The commit itself is late and arrives after its second attempt has committed.
    else if (isCommit(call)) plan.late.free = true;
  }
  return answer;
}

function callsOf({ method, args }: Call): number {
  return method === "saveDraft" && (args[1] as DraftInput).cost !== null ? 1 : 0;
}

async function comeLate(plan: FaultPlan, step: string, calls: number): Promise<void> {
  const late = { step, calls, free: false, done: false };
  plan.late = late;
  while (!late.free) await scheduler.wait(1);
}

async function letCome({ late }: FaultPlan): Promise<void> {
  if (late === null) return;
  late.free = true;
  while (!late.done) await scheduler.wait(1);
}

/** The steps of a run, of which some lose a result, and some have a first attempt that is given up and goes on. */
export function faultyStep(agentName: string, step: WorkflowStep): WorkflowStep {
  const plan = plans.get(agentName);
  if (plan === undefined) return step;
  const work =
    (name: string, body: Body): Body =>
    (at) =>
      tryStep(plan, name, () => body(at));
  // Only the methods of a step that a compaction uses. The engine's own step is remote and cannot be wrapped otherwise.
  return {
    do: (name: string, config: WorkflowStepConfig, body: Body) =>
      (step as unknown as Doing).do(name, config, work(name, body)),
    waitForEvent: (name: string, options: Parameters<WorkflowStep["waitForEvent"]>[1]) =>
      step.waitForEvent(name, options),
  } as unknown as WorkflowStep;
}

interface Doing {
  do(name: string, config: WorkflowStepConfig, body: Body): Promise<unknown>;
}

type Body = (at: unknown) => Promise<unknown>;

async function tryStep(plan: FaultPlan, name: string, work: () => Promise<unknown>): Promise<unknown> {
  const working = work();
  if (plan.fault === "comes late" && !plan.fired) return Promise.race([working, givenUp(plan, name, working)]);
  const result = await working.catch((error: unknown) => {
    plan.errors.push(error);
    throw error;
  });
  plan.results.set(name, result);
  if (plan.steps.push(name) === plan.at && plan.fault === "result lost") {
    plan.fired = true;
    throw new Error("the result was lost");
  }
  return result;
}

/** Throws once a call of this step is held, like a timeout without the wait. */
async function givenUp(plan: FaultPlan, name: string, working: Promise<unknown>): Promise<never> {
  const work = { over: false };
  const end = (): void => void (work.over = true);
  void working.then(end, end);
  while (plan.late?.step !== name) {
    if (work.over) return new Promise<never>(() => undefined);
    await scheduler.wait(1);
  }
  throw new Error("timed out");
}
