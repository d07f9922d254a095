/** The calls of the room of approvals. */
import { z } from "zod";
import { callOf, showRun, type CallContext } from "../agent/calls.ts";
import { id, summary, words } from "../agent/inputs.ts";
import { MAX_REASON_CHARS } from "../limits.ts";
import { approveRun, findProposal, rejectRun, type Decided } from "./approval.ts";

const call = callOf<object>();

export const approvalCalls = {
  /** Reads the summary that waits for a person, or null when the run waits for nobody or its messages changed. */
  getProposal: call({
    group: "read",
    input: z.strictObject({ runId: id }),
    run: ({ core }, { runId }) => findProposal(core, core.runs.mustGet(runId)),
  }),
  /** Approves the summary that a run proposes, or another text in its place. */
  approveRun: call({
    group: "steer",
    input: z.strictObject({ runId: id, summary: summary.optional() }),
    run: async (context, { runId, summary }) => showDecided(context, await approveRun(context.core, runId, summary)),
  }),
  /** Rejects the summary that a run proposes, which ends the run without effect. */
  rejectRun: call({
    group: "steer",
    input: z.strictObject({ runId: id, reason: words(MAX_REASON_CHARS).optional() }),
    run: async (context, { runId, reason }) => showDecided(context, await rejectRun(context.core, runId, reason)),
  }),
};

function showDecided(context: CallContext, decided: Decided): Decided {
  return decided.kind === "unsound" ? decided : { ...decided, run: showRun(context, decided.run) };
}
