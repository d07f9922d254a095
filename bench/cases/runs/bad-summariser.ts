/** What a failing or useless summariser costs in model calls, in waiting appends and in the size of the view. */
import { HARD_LINE, MAX_WASTED_CALLS } from "../../../src/limits.ts";
import type { Case } from "../../case.ts";
import type { Cell, Check, Finding } from "../../report/finding.ts";
import { CONTENDERS, type ContenderName, type Lab } from "../../lab/lab.ts";
import type { Behind } from "../../objects/rig.ts";
import type { Answers } from "../../objects/summariser.ts";
import { median, quantile } from "../../report/stats.ts";

const BAD: readonly (readonly [Answers, string])[] = [
  ["fails", "fails"],
  ["nothing", "answers nothing"],
  ["unstructured", "one empty sentence"],
  ["over-budget", "twice its budget"],
  ["longer", "more than it was given"],
];

/** How long the summariser is bad while appends go on (ms). */
const FOR_MS = 60_000;
const QUICK_FOR_MS = 2_000;
/** Answers that Palimpsest gives up on at once. It retries a summariser without an answer for most of a minute. */
const QUICK: ReadonlySet<Answers> = new Set(["unstructured", "longer"]);
const EVERY_MS = 250;
/** A provider needs time to fail and time to answer nonsense (ms). */
const DELAY_MS = 100;
const THRESHOLD_TOKENS = 6_000;
/** Messages, a little under the threshold. */
const STORED = 58;
/** One call and four retries of one step. Then the breaker opens and stays open beyond this minute. */
const MOST_CALLS = 5;

/** Two runs until the breaker opens, each with so many answers and their repairs. */
const MOST_UNSOUND = 2 * 2 * MAX_WASTED_CALLS;

export const badSummariser: Case = { name: "bad-summariser", timed: true, measure };

interface Found extends Behind {
  readonly answers: Answers;
  readonly says: string;
  readonly name: ContenderName;
}

async function measure(lab: Lab): Promise<Finding> {
  const times = (lab.quick ? QUICK_FOR_MS : FOR_MS) / EVERY_MS;
  const bad = BAD.filter(([answers]) => !lab.quick || QUICK.has(answers));
  const found: Found[] = await Promise.all(
    bad.flatMap(([answers, says]) =>
      CONTENDERS.map(async (name) => ({ answers, says, name, ...(await append(lab, name, { answers, times })) })),
    ),
  );
  return {
    title: "A summariser that is of no use",
    about: `For ${(times * EVERY_MS) / 1_000} s a message is appended every ${EVERY_MS} ms (unless the one before has not returned) to ${STORED} messages, just under a threshold of ${THRESHOLD_TOKENS.toLocaleString("en-US")} tokens, and every call of the summariser fails or answers so. Theirs through the SDK's own \`createCompactFunction\`. All at the same time in one process: of the times, only their size is meant. The view is looked at when no compaction is at work any more.`,
    tables: [
      {
        columns: [
          "the summariser",
          "store",
          "appends",
          "model calls",
          "p50 ms",
          "p99 ms",
          "worst ms",
          "view, in thresholds",
          "its answer is shown",
        ],
        rows: found.map(render),
      },
    ],
    checks: [...(lab.quick ? [] : checkFailures(found)), checkAnswers(found), ...checkViews(found)],
    unmeasured: [
      "what the SDK's sessions do with a compaction function of one's own that checks, waits and gives up by itself",
      "answers that are well-formed and wrong: no store here tells those from good ones, ours included",
      "how soon a summariser is asked again that has got well: ours leaves it alone for longer than this minute",
    ],
  };
}

function render({ says, name, calls, ms, viewTokens, unsound }: Found): Cell[] {
  const times = [median(ms), quantile(ms, 0.99), Math.max(...ms)];
  return [says, name, ms.length, calls, ...times, viewTokens / THRESHOLD_TOKENS, unsound ? "yes" : "no"];
}

/** What a minute costs in which every call fails. */
function checkFailures(found: readonly Found[]): Check[] {
  const failing = found.filter(({ answers }) => answers === "fails");
  const [ours = Number.NaN, ...theirs] = CONTENDERS.map((name) => failing.find((each) => each.name === name)?.calls);
  const exact = true;
  return [
    { claim: "model calls of ours in a minute in which each fails", measured: ours, target: MOST_CALLS, exact },
    {
      claim: "model calls of either version of the SDK meanwhile, over those of ours",
      measured: Math.min(...theirs.map((calls = Number.NaN) => calls)) / ours,
      target: 20,
      better: "more",
      exact,
    },
  ];
}

/** What answers cost that hold text but nothing of use. The SDK's sessions accept the first of them. */
function checkAnswers(found: readonly Found[]): Check {
  const answered = found.filter(({ name, answers }) => name === "Ours" && answers !== "fails" && answers !== "nothing");
  const measured = Math.max(...answered.map(({ calls }) => calls));
  return { claim: "model calls of ours where each answer is unsound", measured, target: MOST_UNSOUND, exact: true };
}

function checkViews(found: readonly Found[]): Check[] {
  const ours = found.filter(({ name }) => name === "Ours");
  const largest = Math.max(...ours.map(({ viewTokens }) => viewTokens));
  return [
    {
      claim:
        "the largest view of ours afterwards, in thresholds: at the hard line an extractive summary is made without a model",
      measured: largest / THRESHOLD_TOKENS,
      target: HARD_LINE,
      exact: true,
    },
    {
      claim: "views of ours that show its answer",
      measured: ours.filter(({ unsound }) => unsound).length,
      target: 0,
      exact: true,
    },
  ];
}

async function append(
  lab: Lab,
  name: ContenderName,
  { answers, times }: { readonly answers: Answers; readonly times: number },
): Promise<Behind> {
  const subject = lab.subject(name, `bad-${name}?answers=${answers}&delay=${DELAY_MS}`);
  await subject.fill(STORED);
  return subject.appendBehind({ thresholdTokens: THRESHOLD_TOKENS, times, everyMs: EVERY_MS });
}
