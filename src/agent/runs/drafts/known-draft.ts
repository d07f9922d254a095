/**
 * Looks for a paid draft before any model is asked (R3).
 *
 * It looks in two places. A sound draft stands under the key of its exact source. A refused answer is named in the record of the step that
 * asked. A step that runs again, because its own result was lost, gets that refused answer and does not ask for another. A refusal leads to
 * a repair, which has a step of its own.
 */
import type { DraftReceipt } from "../../../workflows/port.ts";
import type { StepCall } from "../../core.ts";
import { receiptOf, verdictOf } from "./receipt.ts";
import { mustDraft } from "./sources.ts";

/** Null where nothing was paid for. Otherwise closes the step with the draft. `soundKey` is the key of the source that would be read. */
export function reuseDraft(call: StepCall, soundKey: string): DraftReceipt | null {
  const { core, run, mark } = call;
  const refused = run.steps.find(({ name }) => name === mark.step)?.refused;
  const sound = core.memory.drafts.get(run.sessionId, soundKey);
  const draft = sound ?? (refused?.soundKey === soundKey ? mustDraft(core, run, refused.key) : null);
  if (draft === null) return null;
  // A draft that this very step paid for counts as its own, and not as reused in place of a call.
  const receipt = { ...receiptOf(core, run, draft), soundKey };
  call.close({
    reused: !run.steps.some(({ name, calls }) => name === mark.step && calls > 0),
    verdict: verdictOf(receipt),
  });
  return receipt;
}
