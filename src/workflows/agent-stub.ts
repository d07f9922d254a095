/**
 * The calls of a workflow to its agent. They keep working when the agent is reset.
 *
 * The SDK resolves one stub per run(), and a stub is dead for ever once a deploy, a move or an exception has reset its object. Every retry
 * of every later step would then fail in the same way. Each call here therefore makes a fresh stub, which costs nothing, and the platform
 * starts the object again if it must. A call is one request with plain data, so there is no remote object to dispose.
 */
import { NonRetryableError } from "cloudflare:workflows";
import type { Outcome } from "../memory/runs/runs.ts";
import { PORT_METHODS, type CompactionPort, type PortMethod } from "./port.ts";

/** The agent's address, which is a part of a run's params. */
export interface AgentLocation {
  /** Binding of the agent, or of the root agent above a sub-agent. */
  readonly binding: string;
  readonly name: string;
  /** The id as a string, where the name leads to another object: in a jurisdiction, and for an object without a name. */
  readonly id?: string;
  /** Where the root of a sub-agent is kept. Its name leads to it there only. */
  readonly jurisdiction?: string;
  /** From the root down to a sub-agent, both ends included. Absent for an agent that is bound itself. */
  readonly path?: readonly AgentStep[];
}

/** One agent on a path of sub-agents. */
export interface AgentStep {
  readonly className: string;
  readonly name: string;
}

/** The one method of an agent class that a workflow calls. All calls of the port go through it. */
interface PortHost extends Rpc.DurableObjectBranded {
  compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown>;
}

/** A stub as it is called. Its second call is the SDK's own into a sub-agent, which has no binding. The SDK declares no other for a Workflow. */
interface AgentStub {
  compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown>;
  _cf_invokeAgentPath(path: readonly AgentStep[], method: string, args: readonly unknown[]): Promise<unknown>;
}

/** Reason of a run whose sub-agent was deleted. The ledger was deleted with it, so only the workflow can report this outcome. */
const GONE = "The sub-agent of this run was deleted";

/** Begins the message of an error of the agent, which may be away. */
const AGENT_FAULT = "The agent did not answer";

/** Whether a step failed because of the agent or on the way to it, and not because of a model. The engine passes on only an error's message. */
export function isAgentFault(error: unknown): boolean {
  return error instanceof Error && (error.message.includes(AGENT_FAULT) || error.message.includes(GONE));
}

export function openPort(env: object, address: AgentLocation, runId: string): CompactionPort {
  const namespace = (env as Record<string, DurableObjectNamespace<PortHost> | undefined>)[address.binding];
  if (namespace === undefined) {
    throw new Error(
      `There is no Durable Object binding "${address.binding}": deploy this Workflow with its agent's binding.`,
    );
  }
  const { path } = address;
  const call =
    (method: PortMethod) =>
    async (...args: readonly unknown[]): Promise<unknown> => {
      const stub = stubOf(namespace, address) as unknown as AgentStub;
      try {
        if (path === undefined) return await stub.compactionStep(runId, method, args);
        // oxlint-disable-next-line eslint/no-underscore-dangle -- the SDK's name
        return await stub._cf_invokeAgentPath(path, "compactionStep", [runId, method, args]);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (path === undefined || !/sub-agent .{0,2000} no longer exists/.test(reason))
          throw new Error(`${AGENT_FAULT}: ${reason}`, { cause: error });
        // A retry cannot bring a deleted sub-agent back.
        throw new NonRetryableError(`${GONE}: ${path.map((step) => `${step.className} "${step.name}"`).join(" / ")}.`);
      }
    };
  return Object.fromEntries(PORT_METHODS.map((method) => [method, call(method)])) as unknown as CompactionPort;
}

function stubOf(
  namespace: DurableObjectNamespace<PortHost>,
  { name, id, jurisdiction }: AgentLocation,
): DurableObjectStub<PortHost> {
  if (id !== undefined) return namespace.get(namespace.idFromString(id));
  const within =
    jurisdiction === undefined ? namespace : namespace.jurisdiction(jurisdiction as DurableObjectJurisdiction);
  return within.get(within.idFromName(name));
}

/** Returns the outcome of a run whose sub-agent is gone, or null for any other error. The engine passes on only an error's message. */
export function outcomeWithoutAgent(error: unknown): Outcome | null {
  if (!(error instanceof Error) || !error.message.includes(GONE)) return null;
  return { kind: "failed", reason: error.message.slice(error.message.indexOf(GONE)), code: "agent-gone" };
}
