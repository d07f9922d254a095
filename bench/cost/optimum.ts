/**
 * The least cost of a conversation with summaries, if the future were known. Dynamic programming chooses the moments of compaction in
 * hindsight.
 *
 * A compaction leaves head, summary and tail, like the rent rule's own, and its summariser reads the replaced messages.
 */
import type { Prices } from "../prices.ts";
import type { Step } from "./view.ts";

/** Tokens of one step's outputs in a summariser's prompt, about a thousand characters. */
const SHOWN_OUTPUT_TOKENS = 300;

export interface OptimumTerms {
  readonly prices: Prices;
  readonly tailTokens: number;
  readonly summaryTokens: number;
  readonly promptTokens: number;
  /** The summariser's price as a share of the agent's own model. */
  readonly summariserShare: number;
}

/** US dollars. */
export function cheapest(steps: readonly Step[], terms: OptimumTerms): number {
  const { prices, tailTokens, summaryTokens, promptTokens, summariserShare } = terms;
  const answered = steps.reduce((sum, each) => sum + each.answered, 0) * prices.output;
  const best = new Float64Array(steps.length + 1).fill(Number.POSITIVE_INFINITY);
  let least = Number.POSITIVE_INFINITY;
  best[0] = 0;
  for (const at of [...steps.keys(), steps.length]) {
    const before = best[at] ?? Number.POSITIVE_INFINITY;
    if (before === Number.POSITIVE_INFINITY) continue;
    const start = at === 0 ? 0 : Math.min(tailTokens, sumOf(steps.slice(0, at))) + summaryTokens;
    // Right after a compaction the view is written to the cache anew. Before the first one it is empty.
    let [shown, fresh, paid] = [start, start, before];
    let rendered = start;
    for (let end = at; end < steps.length; end++) {
      const step = steps[end];
      if (step === undefined) break;
      if (step.isRequest) {
        paid += (shown - fresh) * prices.cacheRead + fresh * prices.cacheWrite;
        fresh = 0;
      }
      shown += step.tokens;
      fresh += step.tokens;
      // A summariser gets only the beginning of each output.
      rendered += step.tokens - Math.max(0, step.outputTokens - SHOWN_OUTPUT_TOKENS);
      const read = Math.max(0, rendered - tailTokens);
      const summary = summariserShare * ((read + promptTokens) * prices.input + summaryTokens * prices.output);
      if (shown - tailTokens > 2 * summaryTokens) best[end + 1] = Math.min(best[end + 1] ?? Infinity, paid + summary);
    }
    least = Math.min(least, paid);
  }
  return (least + answered) / 1_000_000;
}

function sumOf(steps: readonly Step[]): number {
  return steps.reduce((sum, { tokens }) => sum + tokens, 0);
}
