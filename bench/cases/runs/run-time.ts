/** What a compaction costs beside its model, as time over an empty workflow's and as counts. */
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { ratios, spread } from "../../report/stats.ts";

/** Enough rounds that one busy second of the machine does not move the median. */
const ROUNDS = 40;
const QUICK_ROUNDS = 3;
const WARM_UP_ROUNDS = 2;
const STORED = 20;
/** A threshold in tokens at which the visible messages between head and tail are one chunk. */
const THRESHOLD_TOKENS = 2_000;

export const runTime: Case = { name: "run-time", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const cost = await countOne(lab);
  const { steps } = cost;
  const times = { run: [] as number[], empty: [] as number[], calling: [] as number[] };
  const rounds = lab.quick ? QUICK_ROUNDS : ROUNDS;
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    const agent = `run-${round}?threshold=${THRESHOLD_TOKENS}`;
    await lab.subject("Ours", agent).fill(STORED);
    const empty = await lab.client().timeEmpty({ steps, agent: null });
    const calling = await lab.client().timeEmpty({ steps, agent });
    const run = await lab.client().timeRun(agent);
    if (round < 0) continue;
    times.empty.push(empty);
    times.calling.push(calling);
    times.run.push(run);
  }
  const row = (name: string, ms: readonly number[]) => [name, steps, spread(ms), ratios(ms, times.empty)];
  return {
    title: "A run of one chunk, with a model that answers at once",
    about: [
      `The time from asking for a run to its workflow's end, over that of workflows of as many steps on the same engine, in turn, ${rounds} times.`,
      `One run makes ${cost.requests} calls to the object and ${cost.modelCalls} model call, with ${cost.inputTokens} tokens in and ${cost.outputTokens} out.`,
      `The object reads ${cost.rows.read} rows for it and writes ${cost.rows.written}, the SDK's own included.`,
    ],
    tables: [
      {
        columns: ["workflow", "steps", "ms", "over empty"],
        rows: [
          row("empty", times.empty),
          row("empty, one call to the object a step", times.calling),
          row("ours", times.run),
        ],
      },
    ],
    checks: [
      { claim: "a run's time over an empty workflow's", measured: ratios(times.run, times.empty).median, target: 1.5 },
      { claim: "model calls of a run of one chunk", measured: cost.modelCalls, target: 1, exact: true },
      { claim: "rows written by a run of one chunk", measured: cost.rows.written, target: 20, exact: true },
    ],
    unmeasured: [
      "a model that takes its time, and the network to it: most of a real run",
      "Cloudflare's engine: both the run and its floor are of the local one",
      "a run of more chunks: its counts are under “What a run costs, by its chunks”",
    ],
  };
}

async function countOne(lab: Lab) {
  const subject = lab.subject("Ours", `count?threshold=${THRESHOLD_TOKENS}`);
  await subject.fill(STORED);
  const cost = await subject.countRun();
  if (cost.outcome?.kind !== "applied") throw new Error(`The run ended in ${JSON.stringify(cost.outcome)}.`);
  return cost;
}
