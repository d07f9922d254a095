/**
 * The room of approvals: each summary waits for a person before it is committed.
 *
 * The core keeps the fence. A commit without the approval that a session asks for is refused there (agent/runs/port.ts).
 */
import type { BuilderCall } from "../agent/settings.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import { addApproval } from "../workflows/approval.ts";
import { askApproval, resolveApproval, type ApprovalOptions } from "./approval.ts";
import { approvalCalls } from "./calls.ts";
import { waitForApproval } from "./wait.ts";

/** The declaration that the room adds to a session and to a manager of sessions. */
export interface ApprovalMethods {
  /** Each summary waits for a person before it is committed. Throws `invalid_options`. */
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

/** The room as an agent is declared with it. */
export interface ApprovalExtension extends Extension<ApprovalMethods, ApprovalMethods, typeof approvalCalls> {}

/** Adds `requireApproval` to each session, and the calls of whom it asks, as in `withCompaction(Base, { rooms: [approval()] })`. */
export function approval(): ApprovalExtension {
  addApproval(waitForApproval);
  return {
    name: "approval",
    calls: approvalCalls,
    install: (): Installed<ApprovalMethods, ApprovalMethods> => ({
      session: (state) => new ApprovalBuilder((call) => state.tell(call)),
      manager: ({ tell }) => new ApprovalBuilder(tell),
      askApproval,
    }),
  };
}
