/** A million tokens that were never compacted, and a summariser that takes 16,000 at a time. */
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { messagesBetween } from "../../objects/messages.ts";
import { weigh } from "../../policies/weigh.ts";

/** Enough messages that the largest view has a million tokens, although the first runs hide some before all are stored. */
const MESSAGES = 12_000;
const MILLION = 1_000_000;
const QUICK_MESSAGES = 1_000;
const THRESHOLD_TOKENS = 60_000;
const WINDOW_TOKENS = 16_000;
/** Steps at the same time, as in a run. */
const AT_ONCE = 4;
/** Most time of a run over the time that an engine needs for as many empty steps. */
const MOST_OVER_FLOOR = 1.5;

export const millionTokens: Case = { name: "million-tokens", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const stored = lab.quick ? QUICK_MESSAGES : MESSAGES;
  const { runs, floor } = await compactAll(lab, stored);
  const sum = (of: (run: (typeof runs)[number]) => number): number => runs.reduce((total, run) => total + of(run), 0);
  const steps = sum((run) => run.steps.length);
  const calls = sum((run) => run.modelCalls);
  const ms = sum(({ createdAt, endedAt }) => (endedAt ?? Number.NaN) - createdAt);
  const asked = Math.max(...runs.flatMap((run) => run.steps.map((step) => step.inputTokens / Math.max(1, step.calls))));
  const last = runs.at(-1)?.outcome;
  const peak = Math.max(...runs.map(({ tokensBefore }) => tokensBefore));
  const after = last?.kind === "applied" ? last.tokensAfter : Number.NaN;
  const exact = true;
  const inAll = weigh(messagesBetween(1, stored));
  return {
    title: "A million tokens, sixteen thousand at a time",
    about: `${stored.toLocaleString("en")} messages of some hundred tokens come in faster than anything is summarised: ${inAll.toLocaleString("en")} tokens in all, ${peak.toLocaleString("en")} of them in the largest view that a run found (the first run begins before all is stored); threshold ${THRESHOLD_TOKENS.toLocaleString("en")}, a summariser of ${WINDOW_TOKENS.toLocaleString("en")} tokens that answers at once. Runs follow one another until the view is under the threshold. The engine's floor are empty workflows of as many steps, ${AT_ONCE} at a time, each of which calls the object once; nothing is stored meanwhile, as it is in the time of the first runs.`,
    tables: [
      {
        columns: [
          "runs",
          "largest view",
          "view after",
          "steps",
          "model calls",
          "tokens in",
          "tokens out",
          "largest prompt",
          "ms",
          "floor ms",
          "over the floor",
        ],
        rows: [
          [
            runs.length,
            peak,
            after,
            steps,
            calls,
            sum((run) => run.inputTokens),
            sum((run) => run.outputTokens),
            asked,
            ms,
            floor,
            ms / floor,
          ],
        ],
      },
    ],
    checks: [
      {
        claim: "runs that did not end applied by a model",
        measured: runs.filter(({ outcome }) => outcome?.kind !== "applied" || outcome.degraded).length,
        target: 0,
        exact,
      },
      { claim: "tokens of the largest prompt", measured: asked, target: WINDOW_TOKENS, exact },
      // A quick lab stores fewer messages and never reaches such a view.
      ...(lab.quick
        ? []
        : [{ claim: "tokens of the largest view", measured: peak, target: MILLION, better: "more" as const, exact }]),
      { claim: "time of all runs over the engine's floor", measured: ms / floor, target: MOST_OVER_FLOOR },
      { claim: "tokens of the view in the end", measured: after, target: THRESHOLD_TOKENS, exact },
    ],
    unmeasured: [
      "how good the summaries are: the summariser answers the same to everything",
      "what a provider's limit of calls a minute does to the time",
    ],
  };
}

/** The runs, oldest first, and the time that the engine takes for as many empty steps (ms). */
async function compactAll(lab: Lab, stored: number) {
  const agent = `million?threshold=${THRESHOLD_TOKENS}&window=${WINDOW_TOKENS}`;
  const subject = lab.subject("Ours", agent);
  await subject.fill(stored);
  await subject.ours.settle();
  const runs = (await subject.runs()).toReversed();
  let floor = 0;
  for (const run of runs) {
    floor += await lab.client().timeEmpty({ steps: run.steps.length, agent, atOnce: AT_ONCE });
  }
  return { runs, floor };
}
