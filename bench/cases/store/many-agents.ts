/** Many agents that compact at the same moment. */
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import { median, quantile } from "../../report/stats.ts";

const AGENTS = 200;
const QUICK_AGENTS = 20;
const ALONE = 5;
const STORED = 20;
const THRESHOLD_TOKENS = 2_000;
/** Long enough that all of them wait for their summariser at the same time (ms). */
const DELAY_MS = 1_000;
/** Steps of a run of one chunk. */
const STEPS = 5;

export const manyAgents: Case = { name: "many-agents", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const name = (group: string, n: number): string => `${group}-${n}?delay=${DELAY_MS}`;
  const prepare = async (group: string, count: number): Promise<string[]> => {
    const names = Array.from({ length: count }, (_, n) => `${name(group, n)}&threshold=${THRESHOLD_TOKENS}`);
    for (const each of names) await lab.subject("Ours", each).fill(STORED);
    return names;
  };
  const alone: number[] = [];
  const [warm = "", ...singles] = await prepare("alone", 1 + (lab.quick ? 1 : ALONE));
  await lab.client().runFleet([warm]);
  for (const single of singles) alone.push(...(await lab.client().runFleet([single])).runs);
  const fleet = await prepare("fleet", lab.quick ? QUICK_AGENTS : AGENTS);
  const idle = await lab.client().appendToEach(fleet);
  const together = await lab.client().runFleet(fleet);
  const floor = await lab.client().timeEmptyFleet(fleet, STEPS);
  const own = median(alone);
  const [middle, worst] = [median(together.runs), Math.max(...together.runs)];
  return {
    title: "Many agents at once",
    about: `${fleet.length} agents are asked for a run at the same moment, each with a summariser that takes ${DELAY_MS / 1_000} s, all on one thread of one machine, where Cloudflare would give them many: what is above the second of a run alone is this thread's work for ${fleet.length} runs. The floor is as many empty workflows at once, whose ${STEPS} steps call an agent each. Appends go to one after the other meanwhile, one every five milliseconds. A run takes from asking to its outcome.`,
    tables: [
      {
        columns: [
          "agents",
          "applied",
          "one alone ms",
          "median ms",
          "worst ms",
          "worst over alone",
          "engine's floor ms",
        ],
        rows: [[fleet.length, together.outcomes["applied"] ?? 0, own, middle, worst, worst / own, floor]],
      },
      {
        caption: "Appends",
        columns: ["", "appends", "p50 ms", "p99 ms", "slowest ms"],
        rows: [
          ["nothing at work", ...describe(idle)],
          ["runs at work", ...describe(together.appends)],
        ],
      },
    ],
    checks: [
      {
        claim: "runs that did not end applied",
        measured: fleet.length - (together.outcomes["applied"] ?? 0),
        target: 0,
        exact: true,
      },
      {
        claim: "worst run, over its second of summarising and the engine's floor",
        measured: worst / (DELAY_MS + floor),
        target: 3,
      },
      { claim: "p50 of appends while all are at work, ms", measured: median(together.appends), target: 10 },
    ],
    unmeasured: [
      "Cloudflare's own limits on instances that are created in a second",
      "agents on several machines",
      "one summariser for all, with a limit of calls at a time: here each agent's answers in its second, whoever else asks",
      "the memory that so many runs take at once",
    ],
  };
}

function describe(ms: readonly number[]): number[] {
  return [ms.length, quantile(ms, 0.5), quantile(ms, 0.99), Math.max(...ms)];
}
