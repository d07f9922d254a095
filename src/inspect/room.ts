/**
 * The room for looking closer: what a compaction would do, where each bullet of a summary comes from, and how compaction fares in an agent.
 *
 * It reads what the core stores and writes nothing.
 */
import type { Extension } from "../agent/extension.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { inspectCalls } from "./calls.ts";
import { SessionInspection, type InspectMethods } from "./session-inspection.ts";

/** The room as an agent is declared with it. */
export interface InspectExtension extends Extension<InspectMethods, object, typeof inspectCalls> {}

/** Forecasts, health, and the sources of summaries, as in `withCompaction(Base, { rooms: [inspect()] })`. */
export function inspect(): InspectExtension {
  return {
    name: "inspect",
    calls: inspectCalls,
    install: () => ({ session: (state: SessionState) => new SessionInspection(state) }),
  };
}
