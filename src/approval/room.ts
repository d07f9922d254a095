/** The room of approvals: a person decides on each summary before it comes into force. */
import { callOf, showRun, type CallContext } from "../agent/calls.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import { id, summary, words } from "../agent/inputs.ts";
import type { BuilderCall } from "../agent/settings.ts";
import { MAX_REASON_CHARS } from "../limits.ts";
import { z } from "zod";
import {
  approveRun,
  findProposal,
  rejectRun,
  resolveApproval,
  type ApprovalOptions,
  type Decided,
} from "./approval.ts";

/** The declaration that the room adds to a session and to a manager of sessions. */
export interface ApprovalMethods {
  /** Each summary waits for a person before it comes into force. Throws `invalid_options`. */
  requireApproval(options?: ApprovalOptions): this;
}

class ApprovalBuilder implements ApprovalMethods {
  readonly #tell: (call: BuilderCall) => void;

  /** @internal */
  constructor(tell: (call: BuilderCall) => void) {
    this.#tell = tell;
  }

  requireApproval(options: ApprovalOptions = {}): this {
    const resolved = resolveApproval(options);
    this.#tell({ settings: (settings) => ({ ...settings, approval: resolved }) });
    return this;
  }
}

const call = callOf<object>();

export const approvalCalls = {
  /** Reads the summary that waits for a person, or null when the run proposes none. */
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

/** The room as an agent is declared with it. */
export interface ApprovalExtension extends Extension<ApprovalMethods, ApprovalMethods, typeof approvalCalls> {}

/** Adds `requireApproval` to each session, and the calls of whom it asks, as in `withCompaction(Base, { rooms: [approval()] })`. */
export function approval(): ApprovalExtension {
  return {
    name: "approval",
    calls: approvalCalls,
    install: (): Installed<ApprovalMethods, ApprovalMethods> => ({
      session: (state) => new ApprovalBuilder((call) => state.tell(call)),
      manager: ({ tell }) => new ApprovalBuilder(tell),
    }),
  };
}
