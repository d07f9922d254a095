/** `palimpsest/inspect`: forecasts, health, and the sources of summaries, as a room of an agent. */
export type { CompactionDiff } from "./diff.ts";
export type { PlanReport, SummariserCost } from "./explain.ts";
export type { BreakerHealth, HealthReport, RunHealth } from "./health.ts";
export type { PlanQuestion } from "./plan.ts";
export { inspect, type InspectExtension } from "./room.ts";
export type { InspectMethods } from "./session-inspection.ts";
