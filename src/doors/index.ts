/** `palimpsest/doors`: the door of a Worker in front of its agents, and what a connection may send. */
export { createWorker, type KnownCaller, type WorkerEnv, type WorkerOptions } from "./create-worker.ts";
export { guardConnections, type GuardEnv } from "./guard.ts";
export type { AgentPlace } from "./tickets.ts";
