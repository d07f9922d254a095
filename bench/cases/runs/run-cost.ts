/** What a run costs its object and its workflow as the span grows. docs/costs.md uses these figures. */
import type { Case } from "../../case.ts";
import type { Finding } from "../../report/finding.ts";
import type { Lab, Subject } from "../../lab/lab.ts";
import type { RunCost } from "../../objects/ours.ts";

/** High enough that no run begins by itself. The tail is 20,000 tokens, as with a threshold of 60,000. */
const THRESHOLD_TOKENS = 1_000_000;
/** Those of a threshold of 19,200, so that few messages make many chunks. */
const CHUNK_TOKENS = 48_000;
/** Messages of some hundred tokens each that leave so many chunks between head and tail. An outline ends before eight chunks. */
export const STORED = [
  { chunks: 1, messages: 460 },
  { chunks: 2, messages: 960 },
  { chunks: 4, messages: 1_960 },
  { chunks: 6, messages: 2_950 },
] as const;

/** Rows that a run of one chunk may write, the SDK's own included, and rows that each further chunk may add. */
const MOST_WRITTEN = 20;
const MOST_FURTHER = 10;

export const runCost: Case = { name: "run-cost", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const sizes = lab.quick ? STORED.slice(0, 2) : STORED;
  const costs: RunCost[] = [];
  for (const { chunks, messages } of sizes) costs.push(await countRunOf(lab, { chunks, messages }));
  const [one] = costs;
  if (one === undefined) throw new Error("Nothing was counted.");
  return {
    title: "What a run costs, by its chunks",
    about: [
      "One compaction, from asking for it to its workflow's end.",
      `Chunks are of ${CHUNK_TOKENS.toLocaleString("en-US")} tokens, messages of some hundred.`,
      "Requests are the workflow's calls to the object.",
      "Rows are all that the object read and wrote meanwhile, the SDK's own included.",
    ],
    tables: [
      {
        columns: ["chunks", "messages", "steps", "model calls", "requests", "rows read", "rows written"],
        rows: costs.map(({ chunks, steps, modelCalls, requests, rows }, at) => [
          chunks,
          sizes[at]?.messages ?? 0,
          steps,
          modelCalls,
          requests,
          rows.read,
          rows.written,
        ]),
      },
    ],
    checks: [
      { claim: "rows written by a run of one chunk", measured: one.rows.written, target: MOST_WRITTEN },
      ...costs.slice(1).map(({ chunks, rows }) => ({
        claim: `rows written by a run of ${chunks} chunks, over one of one chunk, a further chunk`,
        measured: Math.ceil((rows.written - one.rows.written) / (chunks - 1)),
        target: MOST_FURTHER,
      })),
    ],
    unmeasured: [
      "times",
      "repairs, halved chunks and calls that fail: each is a step of its own, with its rows and requests",
      "a mend, a rebuild and a split, which plan otherwise",
      "an update of notes, which is a run as well",
      "what the messages themselves cost as they were stored",
    ],
  };
}

/** An agent in which no run begins by itself. */
export function prepareRuns(lab: Lab, name: string): Subject {
  return lab.subject("Ours", `${name}?threshold=${THRESHOLD_TOKENS}&chunk=${CHUNK_TOKENS}`);
}

/** Runs one compaction of so many chunks in an agent of its own. Throws when the run was another one. */
export async function countRunOf(
  lab: Lab,
  { chunks, messages }: { chunks: number; messages: number },
): Promise<RunCost> {
  const subject = prepareRuns(lab, `cost-${chunks}`);
  await subject.fill(messages);
  const cost = await subject.countRun();
  if (cost.outcome?.kind !== "applied" || cost.chunks !== chunks) {
    throw new Error(
      `A run of ${cost.chunks} chunks ended in ${JSON.stringify(cost.outcome)}, instead of one of ${chunks}.`,
    );
  }
  return cost;
}
