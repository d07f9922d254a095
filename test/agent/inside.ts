/** Runs a test's code inside the agent's object, with a session manager at hand. */
import { runInDurableObject } from "cloudflare:test";
import { SessionManager } from "../../src/agent/sessions/session-manager.ts";
import type { newAgent } from "../agents.ts";
import type { FullManager } from "../rooms.ts";
import type { PalimpsestAgent } from "../worker.ts";

/** Runs a test inside the agent's object. */
export function inside<T>(
  { stub }: Pick<ReturnType<typeof newAgent>, "stub">,
  work: (manager: FullManager, agent: PalimpsestAgent, storage: DurableObjectStorage) => T | Promise<T>,
): Promise<T> {
  return runInDurableObject(stub, (agent: PalimpsestAgent, { storage }) =>
    work(SessionManager.create(agent), agent, storage),
  );
}
