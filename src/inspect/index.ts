/** `palimpsest/inspect`: forecasts, health, and the sources of summaries, as a room of an agent. */
export type { BreakerHealth, HealthReport, RunHealth } from "./health.ts";
export type { PlanQuestion, PlanReport, SummariserCost } from "./plan.ts";
export { inspect, type CompactionDiff, type InspectExtension, type InspectMethods } from "./room.ts";
