/** Replays conversations under a policy, one after the other, and adds up all their costs. */
import type { UIMessage } from "ai";
import type { Policy, Spent, Terms } from "../policies/host.ts";
import { weigh } from "../policies/weigh.ts";
import { priceOf } from "../prices.ts";
import { mean, median } from "../report/stats.ts";
import { Requests, type Sent } from "./requests.ts";

export interface Cost {
  readonly policy: string;
  /** Tokens of all messages. */
  readonly stored: number;
  readonly sent: Sent;
  readonly spent: Spent;
  /** Tokens of the view right after each compaction. */
  readonly after: readonly number[];
  /** US dollars after so many messages of the first conversation. */
  readonly bills: readonly (readonly [messages: number, dollars: number])[];
}

/** Messages between two points of the bill. */
const BILL_EVERY = 10;

export async function replayUnder(
  policy: Policy,
  conversations: readonly (readonly UIMessage[])[],
  terms: Terms,
): Promise<Cost> {
  const costs: Cost[] = [];
  for (const messages of conversations) costs.push(await replayOne(policy, messages, terms));
  const sum = (of: (cost: Cost) => number): number => costs.reduce((total, cost) => total + of(cost), 0);
  return {
    policy: policy.name,
    stored: sum((cost) => cost.stored),
    sent: {
      requests: sum(({ sent }) => sent.requests),
      tokens: sum(({ sent }) => sent.tokens),
      cached: sum(({ sent }) => sent.cached),
      written: sum(({ sent }) => sent.written),
      answered: sum(({ sent }) => sent.answered),
      peak: Math.max(...costs.map(({ sent }) => sent.peak)),
    },
    spent: {
      calls: sum(({ spent }) => spent.calls),
      inputTokens: sum(({ spent }) => spent.inputTokens),
      cachedTokens: sum(({ spent }) => spent.cachedTokens ?? 0),
      outputTokens: sum(({ spent }) => spent.outputTokens),
    },
    after: costs.flatMap(({ after }) => after),
    bills: costs[0]?.bills ?? [],
  };
}

async function replayOne(policy: Policy, messages: readonly UIMessage[], terms: Terms): Promise<Cost> {
  const host = await policy.open(terms);
  const requests = new Requests();
  const after: number[] = [];
  const bills: [number, number][] = [[0, 0]];
  try {
    for (const [at, message] of messages.entries()) {
      requests.add(message);
      const { compacted, tokens } = await host.append(message);
      if (compacted) {
        requests.look(await host.view());
        after.push(tokens);
      }
      if ((at + 1) % BILL_EVERY === 0) bills.push([at + 1, billOf(requests.sent, await host.spent()).total]);
    }
    const spent = await host.spent();
    return { policy: policy.name, stored: weigh(messages), sent: requests.sent, spent, after, bills };
  } finally {
    await host.close();
  }
}

/** US dollars. */
export function billOf(sent: Sent, spent: Spent) {
  const agent = priceOf({ cacheRead: sent.cached, cacheWrite: sent.written, output: sent.answered });
  const { inputTokens, cachedTokens = 0, outputTokens } = spent;
  const summariser = priceOf({ input: inputTokens - cachedTokens, cacheRead: cachedTokens, output: outputTokens });
  return { agent, summariser, total: agent + summariser };
}

/** Mean and median of the view after a compaction. Both are 0 where there was none. */
export function viewAfter({ after }: Pick<Cost, "after">) {
  return after.length === 0 ? { mean: 0, median: 0 } : { mean: mean(after), median: median(after) };
}
