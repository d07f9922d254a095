/** `palimpsest/doors` guards a Worker's agents and the frames of their connections. */
export { createWorker, type KnownCaller, type WorkerEnv, type WorkerOptions } from "./create-worker.ts";
export { guardConnections, type GuardEnv } from "./guard.ts";
export type { AgentAddress } from "./caller.ts";
