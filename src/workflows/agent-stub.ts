/**
 * The workflow's way to its agent, which survives the agent.
 *
 * The SDK resolves one stub per run(), and a stub is dead for ever once its object was reset: by a deploy, a move, an
 * exception. Every retry of every later step would then fail alike. So each call here makes a fresh stub, which costs
 * nothing by itself; the platform starts the object again if it must. One call is one request and plain data, so there
 * is no remote object that could be left undisposed.
 */
import { NonRetryableError } from "cloudflare:workflows";
import type { Outcome } from "../memory/runs/runs.ts";
import { PORT_METHODS, type CompactionPort, type PortMethod } from "./port.ts";

/** Where the agent is. Part of a run's params. */
export interface AgentAddress {
  /** Of the agent, or of the root that it was made under. */
  readonly binding: string;
  readonly name: string;
  /** From the root down to a sub-agent, both ends included. Absent for an agent that is bound itself. */
  readonly path?: readonly AgentStep[];
}

/** One agent of a path. */
export interface AgentStep {
  readonly className: string;
  readonly name: string;
}

/** What a workflow needs of an agent class: the one method that its port's calls go through. */
interface PortHost extends Rpc.DurableObjectBranded {
  compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown>;
}

/** The SDK's own way to a sub-agent, which has no binding. It declares no other that a Workflow could use. */
interface Descent {
  _cf_invokeAgentPath(path: readonly AgentStep[], method: string, args: readonly unknown[]): Promise<unknown>;
}

/** What a run of a sub-agent that was deleted ends with: its ledger went with it, so nobody else can say it. */
const GONE = "The sub-agent of this run was deleted";

export function openPort(env: object, address: AgentAddress, runId: string): CompactionPort {
  const namespace = (env as Record<string, DurableObjectNamespace<PortHost> | undefined>)[address.binding];
  if (namespace === undefined) {
    throw new Error(
      `There is no Durable Object binding "${address.binding}": deploy this Workflow with its agent's binding.`,
    );
  }
  const { name, path } = address;
  const call =
    (method: PortMethod) =>
    async (...args: readonly unknown[]): Promise<unknown> => {
      const stub = namespace.get(namespace.idFromName(name));
      if (path === undefined) return stub.compactionStep(runId, method, args);
      try {
        // oxlint-disable-next-line eslint/no-underscore-dangle -- the SDK's name
        return await (stub as unknown as Descent)._cf_invokeAgentPath(path, "compactionStep", [runId, method, args]);
      } catch (error) {
        if (!(error instanceof Error) || !/sub-agent .* no longer exists/.test(error.message)) throw error;
        // No retry brings it back.
        throw new NonRetryableError(`${GONE}: ${path.map((step) => `${step.className} "${step.name}"`).join(" / ")}.`);
      }
    };
  return Object.fromEntries(PORT_METHODS.map((method) => [method, call(method)])) as unknown as CompactionPort;
}

/** The outcome of a run whose sub-agent is gone; null for any other error. The engine hands on an error's words alone. */
export function outcomeWithoutAgent(error: unknown): Outcome | null {
  if (!(error instanceof Error) || !error.message.includes(GONE)) return null;
  return { kind: "failed", reason: error.message.slice(error.message.indexOf(GONE)), code: "agent-gone" };
}
