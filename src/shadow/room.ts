/**
 * The room of shadows. A shadow is a second summary of a compaction, by another model, template or policy. It is made after the real one is
 * committed, nobody is shown it, and the same hindsight grades both.
 */
import type { Core } from "../agent/core.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import { addFollowUp } from "../workflows/run-steps.ts";
import { shadowCalls } from "./calls.ts";
import { summarizeShadows } from "./workflow.ts";
import { Shadows } from "./port.ts";
import { ShadowStatements } from "./statements.ts";
import { ShadowsOfAgent, SessionShadows, type ShadowMethods, type ManagerShadowMethods } from "./session-shadows.ts";

/** The room as an agent is declared with it. */
export interface ShadowExtension extends Extension<ShadowMethods, ManagerShadowMethods, typeof shadowCalls> {}

/** Second summaries that nobody is shown, as in `withCompaction(Base, { rooms: [shadow()] })`. */
export function shadow(): ShadowExtension {
  addFollowUp(summarizeShadows);
  return { name: "shadow", calls: shadowCalls, install };
}

function install(core: Core): Installed<ShadowMethods, ManagerShadowMethods> {
  const sql = new ShadowStatements(core.db);
  return {
    session: (state) => new SessionShadows(state, sql),
    manager: ({ tell }) => new ShadowsOfAgent(tell),
    followUps: new Shadows(core, sql),
  };
}
