/**
 * The Agents SDK and the Workflows engine, as a {@link Platform}.
 *
 * Creating an instance with a taken id throws, which means that it exists. `get` throws for a missing instance. Instances are created and
 * controlled through their binding, by run id. The SDK's own record of workflows would be a second ledger, which may lag, and would outlive
 * the run and its session (S2).
 */
import type { Agent } from "agents";
import { PalimpsestError } from "../errors.ts";
import { checkWhole } from "../known-fields.ts";
import { WATCHDOG_SECONDS } from "../limits.ts";
import type { RunRecord } from "../memory/runs/runs.ts";
import type { AgentLocation, AgentStep } from "../workflows/agent-stub.ts";
import type { CompactionParams } from "../workflows/workflow.ts";
import type { Instance, InstanceStatus, Platform } from "./core.ts";
import { eventWithoutWords } from "./events.ts";
import { Telemetry, type TelemetryEnv } from "./reports/telemetry.ts";

/** The binding of the Workflow for every run. */
const BINDING = "COMPACTION_WORKFLOW";
const ADVICE = `There is no Workflow binding "${BINDING}", so each run fails. Export CompactionWorkflow from your Worker and add { "name": "<your worker>-compaction", "binding": "${BINDING}", "class_name": "CompactionWorkflow" } under "workflows" in wrangler.jsonc.`;

/** The part of a Worker's environment that sets the watchdog. */
export interface WatchdogEnv {
  /** Seconds between two looks at live runs, which is the longest rest of a run whose engine died. Default 15. */
  readonly PALIMPSEST_WATCHDOG_SECONDS?: string;
}

/** An agent with the method that its watchdog's schedule calls. */
export type Watched = Agent & { watchCompactions(): Promise<void> };

export interface AgentEnvironment {
  readonly ctx: DurableObjectState;
  readonly env: Cloudflare.Env;
  /** Whether every client may read the conversation. */
  readonly clientsRead: boolean;
}

export function agentPlatform(agent: Watched, { ctx, env, clientsRead }: AgentEnvironment): Platform {
  let armed = false;
  let missed = false;
  const telemetry = new Telemetry(agent, env as TelemetryEnv);
  return {
    agentId: ctx.id.toString(),
    now: () => Date.now(),
    newRunId: (kind) => `${kind}-${crypto.randomUUID()}`,
    background: (work) => ctx.waitUntil(work),
    broadcast: (event) => {
      agent.broadcast(JSON.stringify(clientsRead ? event : eventWithoutWords(event)));
      telemetry.emit(event);
    },
    record: (run) => telemetry.record(run),
    hookFailed: (failure) => telemetry.emitHookFailure(failure, Date.now()),
    lacksWorkflow: () => findWorkflow(env) === null,
    needWorkflow: () => {
      if (missed || findWorkflow(env) !== null) return;
      missed = true;
      telemetry.emitMissingBinding(BINDING, Date.now());
      console.error(`[not_configured] ${agent.constructor.name}: ${ADVICE}`);
    },
    createInstance: (run) => createInstance(agent, { ctx, env, run }),
    instance: async (runId) => openInstance(mustFindWorkflow(env), runId),
    armWatchdog: async () => {
      if (armed) return;
      await agent.scheduleEvery(watchdogSeconds(env as WatchdogEnv), "watchCompactions");
      armed = true;
    },
    disarmWatchdog: async () => {
      const schedules = await agent.listSchedules();
      for (const schedule of schedules) {
        if (schedule.callback === "watchCompactions") await agent.cancelSchedule(schedule.id);
      }
      armed = false;
    },
  };
}

function watchdogSeconds(env: WatchdogEnv): number {
  const raw = env.PALIMPSEST_WATCHDOG_SECONDS?.trim();
  if (!raw) return WATCHDOG_SECONDS;
  const seconds = Number(raw);
  checkWhole("PALIMPSEST_WATCHDOG_SECONDS", seconds, 1, 999);
  return seconds;
}

async function createInstance(
  agent: Watched,
  { ctx, env, run }: { ctx: DurableObjectState; env: Cloudflare.Env; run: RunRecord },
): Promise<"created" | "joined"> {
  const workflow = mustFindWorkflow(env);
  const { model } = run.policy;
  const address = addressOf(agent, { ctx, env });
  const params: CompactionParams = {
    runId: run.id,
    kind: run.kind,
    agent: address,
    ...(model !== undefined && { model }),
  };
  try {
    await workflow.create({ id: run.id, params });
    return "created";
  } catch (error) {
    if (!(error instanceof Error) || !/already[ _]exists/.test(error.message)) throw error;
    return "joined";
  }
}

function mustFindWorkflow(env: Cloudflare.Env): Workflow<CompactionParams> {
  const workflow = findWorkflow(env);
  if (workflow !== null) return workflow;
  throw new PalimpsestError("not_configured", ADVICE);
}

function findWorkflow(env: Cloudflare.Env): Workflow<CompactionParams> | null {
  return (env as unknown as Record<string, Workflow<CompactionParams> | undefined>)[BINDING] ?? null;
}

/**
 * The address of the agent itself, or of the root that it was made under with `subAgent()` and the path from there.
 *
 * In a jurisdiction, and for an object that was made without a name, the name leads to another object. The id then stands in the address.
 */
export function addressOf(
  agent: Pick<Agent, "name" | "parentPath" | "selfPath">,
  { ctx: { id }, env }: { readonly ctx: { readonly id: DurableObjectId }; readonly env: Cloudflare.Env },
): AgentLocation {
  const path = agent.parentPath.length === 0 ? [] : agent.selfPath;
  const [root] = path;
  const [binding, namespace] = bindingOf(env, id, root);
  if (root === undefined) {
    const name = nameOf(agent) ?? id.toString();
    return namespace.idFromName(name).equals(id) ? { binding, name } : { binding, name, id: id.toString() };
  }
  const { jurisdiction } = id;
  return { binding, name: root.name, ...(jurisdiction !== undefined && { jurisdiction }), path };
}

/** Null for an object that was made without a name, where the SDK throws. */
function nameOf(agent: Pick<Agent, "name">): string | null {
  try {
    return agent.name;
  } catch {
    return null;
  }
}

/** The binding whose class this object is of. A sub-agent's id belongs to its root's namespace, and no other namespace accepts it. */
function bindingOf(
  env: Cloudflare.Env,
  id: DurableObjectId,
  root?: AgentStep,
): readonly [binding: string, DurableObjectNamespace] {
  for (const [binding, value] of Object.entries(env as unknown as Record<string, unknown>)) {
    if (isNamespace(value) && hasId(value, id)) return [binding, value];
  }
  throw new PalimpsestError(
    "not_configured",
    root === undefined
      ? `No Durable Object binding leads to this agent, ${id.name ?? id.toString()}. Workflows reach it through its binding: bind its class in wrangler.jsonc.`
      : `No Durable Object binding leads to ${root.className}, under which this agent was made. Workflows reach a sub-agent through its root: bind that.`,
  );
}

function hasId(namespace: DurableObjectNamespace, id: DurableObjectId): boolean {
  try {
    return namespace.idFromString(id.toString()).equals(id);
  } catch {
    return false;
  }
}

/** Checked by the platform's name of the class. A service binding claims every property, and calling one would be a request. */
function isNamespace(value: unknown): value is DurableObjectNamespace {
  return typeof value === "object" && value !== null && value.constructor.name === "DurableObjectNamespace";
}

async function openInstance(workflow: Workflow<CompactionParams>, runId: string): Promise<Instance> {
  let found: WorkflowInstance | null = null;
  try {
    found = await workflow.get(runId);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const mustBeThere = (): WorkflowInstance => {
    if (found !== null) return found;
    throw new PalimpsestError("invalid_state", `The engine knows no instance of run "${runId}".`);
  };
  return {
    status: async () => (found === null ? { status: "missing" } : statusOf(found)),
    nudge: async () => mustBeThere().sendEvent({ type: "nudge", payload: {} }),
    pause: async () => mustBeThere().pause(),
    resume: async () => mustBeThere().resume(),
    restart: async (name) => mustBeThere().restart(name === undefined ? undefined : { from: { name } }),
    terminate: async () => mustBeThere().terminate(),
  };
}

async function statusOf(instance: WorkflowInstance): Promise<{ status: InstanceStatus; error?: string }> {
  try {
    const { status, error } = await instance.status();
    return error === undefined || error === null ? { status } : { status, error: error.message };
  } catch (error) {
    if (isMissing(error)) return { status: "missing" };
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && /not[ _.]found/.test(error.message);
}
