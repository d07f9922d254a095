/**
 * The draft that was paid for already, looked for before any model is asked (R3).
 *
 * Two places: under the key of its exact source, where a sound one stands; and in the record of the very step that asks, whose
 * answer may have been refused. A step that is run again, because its own result was lost, is told of that answer and does
 * not ask for another: what follows a refusal is a repair, and that has a step of its own.
 */
import type { DraftReceipt } from "../../workflows/port.ts";
import type { PortCall } from "./port-call.ts";
import { receiptOf, verdictOf } from "./receipt.ts";
import { mustDraft } from "./sources.ts";

/** Null where nothing was paid for; otherwise the step is closed with it. `soundKey`: of the source that would be read. */
export function reuseDraft(call: PortCall, soundKey: string): DraftReceipt | null {
  const { core, run, mark } = call;
  const refused = run.steps.find(({ name }) => name === mark.step)?.refused;
  const sound = core.drafts.get(run.sessionId, soundKey);
  const draft = sound ?? (refused?.soundKey === soundKey ? mustDraft(core, run, refused.key) : null);
  if (draft === null) return null;
  // What this very step paid for is on its bill: it was used again, but not instead of a call.
  const receipt = { ...receiptOf(core, run, draft), soundKey };
  call.close({
    reused: !run.steps.some(({ name, calls }) => name === mark.step && calls > 0),
    verdict: verdictOf(receipt),
  });
  return receipt;
}
