/** Whether an append takes longer during a summariser's call. */
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import type { Case } from "../../case.ts";
import type { Cell, Finding, Spread } from "../../report/finding.ts";
import type { Lab } from "../../lab/lab.ts";
import type { AppendTimes } from "../../objects/client.ts";
import { median, quantile, quantileRatio } from "../../report/stats.ts";

const DELAY_MS = 5_000;
/** Shorter than the summariser's time, with room for the run's start before and the last look after. */
const APPENDING_MS = 4_000;
/** Longest time that a run needs after that (ms), its commit included. */
const TO_END_MS = 20_000;
/** A tenth of a second, which nobody notices in a chat. */
const WORST_MS = 100;
const ROUNDS = 8;
const STORED = 10;
/** The view begins a little under it, so that one of the first appends starts the run. */
const THRESHOLD_TOKENS = 2_000;

export const appendLatency: Case = { name: "append-latency", timed: true, measure };

async function measure(lab: Lab): Promise<Finding> {
  const rows: Cell[][] = [];
  const asked: Sides = { plain: [], busy: [] };
  const first: Sides = { plain: [], busy: [] };
  const whole: Sides[] = [];
  let rowsRead = 0;
  for (let round = 1; round <= (lab.quick ? 1 : ROUNDS); round++) {
    const plain = `plain-${round}`;
    const busy = `busy-${round}?threshold=${THRESHOLD_TOKENS}&delay=${DELAY_MS}`;
    for (const name of [plain, busy]) await lab.subject("Ours", name).fill(STORED);
    const times = await lab.client().appendInTurn(plain, busy, APPENDING_MS);
    const [last] = await lab.subject("Ours", busy).count("append", 1);
    const runs = await lab.subject("Ours", busy).runs();
    if (runs.length !== 1 || runs[0]?.outcome !== null) throw new Error("The summariser was not at work throughout.");
    rowsRead = Math.max(rowsRead, last?.read ?? 0);
    const late = sinceAsked(times, runs[0]);
    rows.push([round, ...compare(late)]);
    add(asked, late);
    add(first, times);
    const rest = await lab.client().appendInTurn(plain, busy, TO_END_MS);
    const outcome = (await lab.subject("Ours", busy).runs()).at(-1)?.outcome?.kind;
    if (outcome !== "applied") throw new Error(`The run ended as ${outcome ?? "none"}.`);
    whole.push({ plain: [...times.plain, ...rest.plain], busy: [...times.busy, ...rest.busy] });
  }
  const ratio = ({ plain, busy }: Sides, share: number): Spread => quantileRatio(busy, plain, share);
  const [middle, slowest] = [ratio(asked, 0.5), ratio(asked, 0.99)];
  const started = [ratio(first, 0.5), ratio(first, 0.99)] as const;
  return {
    title: "Appends while a summariser works",
    about: [
      `Two agents of ours in turn, one of them with a run at work whose summariser takes ${DELAY_MS / 1_000} s; through the agent's callable \`append\`, from inside its process.`,
      "Milliseconds of one machine: only the ratios mean something. Of all rounds together it is told where 95 of 100 such ratios lie when pairs of appends are drawn from them anew.",
      `The first table begins when the run has read what its summariser is to tell, and ends ${APPENDING_MS / 1_000} s after the first append, one right after the other. Its last row but one pools all rounds; the last one adds the appends before, among them that which begins the run and the half a dozen while it reads and plans: they are more than half of the slowest hundredth.`,
      "The second table goes on from there, with a pause of some milliseconds after each pair so that the workflow has its turn, until the run has its outcome: the commit is in it.",
      "Both agents share one thread: what a run does can hold up the other's append as well.",
    ],
    tables: [
      {
        columns: ["round", "appends", "p50 without", "p50 during", "ratio", "p99 without", "p99 during", "ratio"],
        rows: [
          ...rows,
          ["all", ...compare(asked, [middle, slowest])],
          ["all, with the start", ...compare(first, started)],
        ],
      },
      {
        caption: "the whole run, with its commit",
        columns: ["round", "appends", "worst without", "worst during"],
        rows: whole.map(({ plain, busy }, at) => [at + 1, busy.length, Math.max(...plain), Math.max(...busy)]),
      },
    ],
    checks: [
      { claim: "p50 of appends while a summariser works, over appends without", measured: middle.median, target: 1.1 },
      { claim: "p99 of appends while a summariser works, over appends without", measured: slowest.median, target: 1.1 },
      {
        claim: "p99 of appends during a run, its start included, over appends without",
        measured: started[1].median,
        target: 1.1,
      },
      {
        // The slowest append of each run, to either agent, because both agents share a thread. The median of the rounds keeps a single
        // hitch of the machine from deciding.
        claim: "ms of the worst append of a whole run with its commit, to either agent, the median of rounds",
        measured: median(whole.map(({ plain, busy }) => Math.max(...plain, ...busy))),
        target: WORST_MS,
      },
      { claim: "rows read by the last append of a run", measured: rowsRead, target: 2, exact: true },
    ],
    unmeasured: [
      "what an append waits for before it is called: callers and agents share a thread here",
      "ratios of appends with pauses between them, in which the workflow has more of that thread",
      "ratios during the commit itself, which is over before there are appends enough for one",
    ],
  };
}

/** The appends that began after the run had started its first summarize step. */
function sinceAsked({ plain, busy, begunAt }: AppendTimes, { steps }: RunRecord): Sides {
  const askedAt = steps.find(({ name }) => name.startsWith("summarize"))?.startedAt;
  const first = begunAt.findIndex((at) => askedAt !== undefined && at > askedAt);
  if (first === -1) throw new Error("The summariser was not asked while messages were appended.");
  return { plain: plain.slice(first), busy: busy.slice(first) };
}

type Sides = { readonly [Side in "plain" | "busy"]: number[] };

function add(all: Sides, { plain, busy }: Pick<AppendTimes, "plain" | "busy">): void {
  all.plain.push(...plain);
  all.busy.push(...busy);
}

function compare({ plain, busy }: Sides, pooled: readonly Spread[] = []): Cell[] {
  const both = [0.5, 0.99].flatMap((share, at): Cell[] => {
    const [without, during] = [quantile(plain, share), quantile(busy, share)];
    return [without, during, pooled[at] ?? during / without];
  });
  return [busy.length, ...both];
}
