/**
 * The approval of a summary that waits for a person, as the ledger has it.
 *
 * The room of approvals asks, and a session's own function may ask as well. A deploy may take the room out meanwhile.
 */
import type { Approval, LiveRun, Outcome } from "../../memory/runs/record.ts";
import type { Needs } from "../core.ts";

/** Null where the session asks nobody. */
export function beginApproval(core: Needs<"platform" | "settings">, run: LiveRun, key: string): Approval | null {
  const { approval } = core.settings.get(run.sessionId);
  if (approval === null) return null;
  const askedAt = core.platform.now();
  const { timeoutMs, onTimeout } = approval;
  return { key, askedAt, expiresAt: askedAt + timeoutMs, onTimeout, approvedKey: null };
}

/**
 * The approval as it stands now, where silence counts as `onTimeout` says, or the outcome of a run that is not approved. What nobody can
 * approve any more is not committed.
 */
export function decideApproval(core: Needs<"platform" | "rooms">, asked: Approval): Approval | Outcome {
  if (asked.approvedKey !== null) return asked;
  if (core.rooms.askApproval === undefined) {
    return declined("Nobody can approve the summary: the agent has no room approval() any more.");
  }
  if (core.platform.now() < asked.expiresAt) return asked;
  if (asked.onTimeout === "apply") return { ...asked, approvedKey: asked.key };
  return declined("Nobody approved the summary in time.");
}

export function declined(detail: string): Outcome {
  return { kind: "nothing", reason: "declined", detail };
}
