/**
 * The workflow's way to its agent, which survives the agent.
 *
 * The SDK resolves one stub per run(), and a stub is dead for ever once its object was reset: by a deploy, a move, an
 * exception. Every retry of every later step would then fail alike. So each call here makes a fresh stub, which costs
 * nothing by itself; the platform starts the object again if it must. One call is one request and plain data, so there
 * is no remote object that could be left undisposed.
 */
import { PORT_METHODS, type CompactionPort, type PortMethod } from "./port.ts";

/** Where the agent is. Part of a run's params. */
export interface AgentAddress {
  readonly binding: string;
  readonly name: string;
}

/** What a workflow needs of an agent class: the one method that its port's calls go through. */
interface PortHost extends Rpc.DurableObjectBranded {
  compactionStep(runId: string, method: PortMethod, args: readonly unknown[]): Promise<unknown>;
}

export function openPort(env: object, address: AgentAddress, runId: string): CompactionPort {
  const namespace = (env as Record<string, DurableObjectNamespace<PortHost> | undefined>)[address.binding];
  if (namespace === undefined) {
    throw new Error(
      `There is no Durable Object binding "${address.binding}": deploy this Workflow with its agent's binding.`,
    );
  }
  const call =
    (method: PortMethod) =>
    async (...args: readonly unknown[]): Promise<unknown> =>
      namespace.get(namespace.idFromName(address.name)).compactionStep(runId, method, args);
  return Object.fromEntries(PORT_METHODS.map((method) => [method, call(method)])) as unknown as CompactionPort;
}
