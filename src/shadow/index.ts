/** `palimpsest/shadow`, second summaries that nobody is shown, graded beside the real ones, as a room of an agent. */
export type {
  ShadowComparison,
  ShadowedCompaction,
  ShadowScore,
  ShadowSum,
  ShadowTotals,
  SummaryScore,
} from "./compare.ts";
export type { RealSummary, ShadowOutcome, Spent } from "./record.ts";
export { shadow, type ShadowExtension } from "./room.ts";
export type { ManagerShadowMethods, ShadowBuilder, ShadowMethods, ShadowSummary } from "./session-shadows.ts";
export type { ShadowOptions, ShadowPolicy } from "./settings.ts";
