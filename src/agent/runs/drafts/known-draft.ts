/**
 * Looks for a paid draft before any model is asked (R3).
 *
 * It looks in two places. A sound draft stands under the key of its exact source. A refused answer is named in the record of the step that
 * asked. A step that runs again, because its own result was lost, gets that refused answer and does not ask for another. A refusal leads to
 * a repair, which has a step of its own.
 */
import { STAND_IN_NAME } from "../../../steps/draft/fallback.ts";
import { PROMPT_OVERHEAD_TOKENS } from "../../../limits.ts";
import type { DraftReceipt } from "../../../workflows/port.ts";
import type { StepCall } from "../../core.ts";
import type { Found } from "./askable.ts";
import { receiptOf, verdictOf } from "./receipt.ts";
import { mustDraft } from "./sources.ts";

/** Closes the step with the draft that was paid for. Where there is none, notes what the call that follows will cost, and returns null. */
export function reuseDraft(
  call: StepCall,
  { key: soundKey, tokens, model }: Pick<Found<unknown>, "key" | "tokens" | "model">,
): DraftReceipt | null {
  const { core, run, step } = call;
  const refused = step?.refused;
  const sound = core.memory.drafts.get(run.sessionId, soundKey);
  const draft = sound ?? (refused?.soundKey === soundKey ? mustDraft(core, run, refused.key) : null);
  if (draft === null) {
    const cost = { inputTokens: tokens + PROMPT_OVERHEAD_TOKENS, outputTokens: run.policy.summaryTokens };
    const summariser = { ...cost, estimatedTokens: cost.inputTokens + cost.outputTokens };
    if (model !== STAND_IN_NAME) call.ask({ model, summariser });
    return null;
  }
  // A draft that this very step paid for counts as its own, and not as reused in place of a call.
  const receipt = { ...receiptOf(core, run, draft), soundKey };
  call.close({
    reused: !step?.calls,
    verdict: verdictOf(receipt),
  });
  return receipt;
}
