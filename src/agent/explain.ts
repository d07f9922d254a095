/** A plan in words: what would be cut, why each boundary is where it is, and what it would save. */
import type { Outline } from "../steps/outline.ts";
import type { BoundaryMove, Plan } from "../steps/plan.ts";
import type { Policy } from "../steps/policy.ts";

export interface PlanReport {
  readonly plan: Plan;
  readonly policy: Policy;
  /** The view now, overhead included. */
  readonly viewTokens: number;
  /** The view after a run that uses its whole summary budget; `viewTokens` when there is nothing to do. */
  readonly expectedTokens: number;
  /** Source tokens that the summariser would read. */
  readonly modelTokens: number;
  /** One sentence each, in reading order. */
  readonly lines: readonly string[];
}

const WHY = {
  "tool-pair": "a tool call and its result stay together",
  group: "messages of one model response stay together",
  "user-turn": "the kept part starts with a user's turn",
  "min-tail": "the newest messages are kept whatever they weigh",
  "min-span": "a smaller span would not be worth a model call",
  "inside-message": "one message is larger than the budget, so the cut falls between its steps",
} as const satisfies Record<BoundaryMove["why"], string>;

export function explainPlan(outline: Outline, policy: Policy, plan: Plan): PlanReport {
  const head = `The view is ${outline.tokens} tokens in ${outline.rows.length} elements; the threshold is ${policy.thresholdTokens}.`;
  if (plan.kind === "nothing") {
    const lines = [head, `Nothing to do (${plan.reason}): ${plan.detail}`];
    return { plan, policy, viewTokens: outline.tokens, expectedTokens: outline.tokens, modelTokens: 0, lines };
  }
  const expectedTokens = outline.tokens - plan.spanTokens + Math.min(policy.summaryTokens, plan.spanTokens);
  const modelTokens = plan.chunks.reduce((sum, chunk) => sum + chunk.tokens, 0);
  const lines = [
    head,
    `${plan.headTokens} tokens at the start and ${plan.tailTokens} at the end are kept; ${plan.spanTokens} between them are replaced.`,
    `The summariser reads ${modelTokens} tokens in ${plan.chunks.length} ${plan.chunks.length === 1 ? "chunk" : "chunks"}${plan.overlayIds.length > 0 ? ", and updates the earlier summary" : ""}.`,
    `The view would be at most ${expectedTokens} tokens afterwards.`,
    ...plan.moves.map((move) => `The ${move.boundary} boundary moved by ${move.tokens} tokens: ${WHY[move.why]}.`),
  ];
  return { plan, policy, viewTokens: outline.tokens, expectedTokens, modelTokens, lines };
}
