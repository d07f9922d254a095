/** The calls that the room adds. */
import { callOf } from "../agent/calls.ts";
import { defined, sessionId } from "../agent/inputs.ts";
import { reportHealth } from "./health.ts";
import { inspectInputs } from "./inputs.ts";
import type { InspectMethods } from "./session-inspection.ts";

const call = callOf<InspectMethods>();

export const inspectCalls = {
  /** Says what a compaction would do now and why, without doing it. */
  plan: call({
    group: "watch",
    input: inspectInputs.plan.extend({ sessionId }),
    run: ({ session }, { sessionId, ...question }) => session(sessionId).plan(question),
  }),
  /** Compares a summary with the ones that it replaced. */
  diffCompaction: call({
    group: "read",
    input: inspectInputs.overlay,
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).diffCompaction(overlayId),
  }),
  /** Reads the source messages of each bullet of a summary. */
  getProvenance: call({
    group: "read",
    input: inspectInputs.overlay,
    run: ({ session }, { sessionId, overlayId }) => session(sessionId).getProvenance(overlayId),
  }),
  /** Reads the health of compaction, which is breakers, spend, calibration, and the results of a page of runs. */
  health: call({
    group: "read",
    input: inspectInputs.health.extend({ sessionId }),
    run: ({ core }, { sessionId, ...page }) => reportHealth(core, sessionId, defined(page)),
  }),
};
