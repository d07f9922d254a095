/** Renders verdicts as tables and a picture. A policy is ours when its name begins with "ours". All others are rivals. */
import type { Cell, Table } from "../finding.ts";
import type { Panel, Plot } from "../plot.ts";
import { mean, median } from "../stats.ts";
import { askedAt, askedOverAll, cellOf, NONE, policiesOf, shareAt, tracksOf, whole, type Contest } from "./contest.ts";
import { count, findWorst, shareOf, type Counting, type Matter, type Worst } from "./tally.ts";

const KINDS: readonly Matter[] = [
  "path",
  "url",
  "id",
  "date",
  "quantity",
  "version",
  "error",
  "symbol",
  "env",
  "command",
];
/** Measures that a table shows at each depth beside names. */
const BESIDE: readonly (readonly [name: string, matter: Matter])[] = [
  ["rules", "rule"],
  ["open tasks", "task"],
  ["failures", "failure"],
  ["rare words", "word"],
];
const MOST_MISSING = 5;
const MISSING_CHARS = 48;

/** At each depth that any policy reached, the share in view and with recall, the other measures, and the worst place. */
export function tablesOf(contest: Contest, asked: readonly number[]): Table[] {
  const { conversation, summariser, over, draws } = contest;
  const drawn = draws.length > 1 ? `, ${draws.length} ${over}` : "";
  const depths = asked.filter((depth) =>
    draws.some(({ tracks }) => tracks.some(({ verdicts }) => verdicts.length >= depth)),
  );
  const of = `${conversation}, summariser ${summariser}${drawn}`;
  return [
    {
      caption: `${of}: of the names replaced that user or agent say again, the share that is in view, and in view or in one answer of recall`,
      columns: [
        "policy",
        "view, tokens",
        ...depths.map((depth) => `view, after ${depth}`),
        ...depths.map((depth) => `view or recall, after ${depth}`),
      ],
      rows: policiesOf(contest).map((policy) => namesRow(contest, policy, depths)),
    },
    {
      caption: `${of}: of what else matters, the share that is in view`,
      columns: ["what", "policy", ...depths.map((depth) => `after ${depth}`)],
      rows: BESIDE.flatMap(([what, matter]) => besideRows(contest, depths, [what, matter])),
    },
    {
      caption: `${of}: in view over all compactions, and where it was worst`,
      columns: [
        "policy",
        "compactions",
        "written",
        "anywhere",
        "rare words",
        "rules",
        "rules, least",
        "open",
        "least, after",
      ],
      rows: policiesOf(contest).map((policy) => wholeRow(contest, policy)),
    },
    {
      caption: `${of}: what was not in view there`,
      columns: ["policy", "missing"],
      rows: policiesOf(contest).map((policy) => [policy, missingIn(worstOf(contest, policy))]),
    },
  ];
}

/** Names in view by kind, over all compactions of all contests. */
export function kindsOf(contests: readonly Contest[]): Table {
  const policies = [...new Set(contests.flatMap((contest) => policiesOf(contest)))];
  const counts = (policy: string, matter: Matter) =>
    contests
      .flatMap((contest) => tracksOf(contest, policy))
      .flatMap(({ verdicts }) => verdicts.map((verdict) => count(verdict, whole(matter))));
  const told = KINDS.filter((kind) => policies.some((policy) => counts(policy, kind).some(({ of }) => of > 0)));
  return {
    caption: "Written names in view by kind, over all of the above",
    columns: ["kind", ...policies],
    rows: told.map((kind) => [kind, ...policies.map((policy) => shareOf(counts(policy, kind)))]),
  };
}

/** A panel for each contest. Several draws show their median at each compaction. */
export function plotOf(file: string, contests: readonly Contest[]): Plot {
  return {
    file,
    title: "Share of the replaced names that user or agent say again and that are in view, after each compaction",
    panels: contests.map((contest): Panel => {
      const { conversation, summariser, over, draws } = contest;
      return {
        title: `${summariser}, ${conversation}${draws.length > 1 ? `, median of ${draws.length} ${over}` : ""}`,
        x: { label: "compactions", scale: "linear", unit: "count" },
        y: { label: "names in view", scale: "linear", unit: "percent" },
        lines: policiesOf(contest).map((policy) => ({ name: policy, points: pointsOf(contest, policy) })),
      };
    }),
  };
}

function pointsOf(contest: Contest, policy: string): (readonly [number, number])[] {
  const tracks = tracksOf(contest, policy);
  const longest = Math.max(...tracks.map(({ verdicts }) => verdicts.length));
  return Array.from({ length: longest }, (_, at) => at + 1).flatMap((depth) => {
    const shares = tracks.flatMap((track) => shareAt(track, depth, whole("names")) ?? []);
    return shares.length === 0 ? [] : [[depth, median(shares)] as const];
  });
}

function namesRow(contest: Contest, policy: string, depths: readonly number[]): Cell[] {
  const tracks = tracksOf(contest, policy);
  const both: Counting = { ...whole("names"), way: "view or recall" };
  return [
    policy,
    cellOf(tracks.map(({ viewTokens }) => Math.round(mean(viewTokens)))),
    ...depths.map((depth) => askedAt(tracks, depth, whole("names"))),
    ...depths.map((depth) => cellOf(tracks.flatMap((track) => shareAt(track, depth, both) ?? []))),
  ];
}

/** Empty where nothing of that kind was wanted at any depth. */
function besideRows(contest: Contest, depths: readonly number[], [what, matter]: (typeof BESIDE)[number]): Cell[][] {
  const rows = policiesOf(contest).map((policy) => [
    what,
    policy,
    ...depths.map((depth) => askedAt(tracksOf(contest, policy), depth, whole(matter))),
  ]);
  return rows.every((row) => row.slice(2).every((cell) => cell === NONE)) ? [] : rows;
}

function wholeRow(contest: Contest, policy: string): Cell[] {
  const tracks = tracksOf(contest, policy);
  const all = (...countings: readonly Counting[]): Cell =>
    cellOf(
      tracks.map(({ verdicts }) =>
        shareOf(verdicts.flatMap((verdict) => countings.map((counting) => count(verdict, counting)))),
      ),
    );
  const least = tracks.map(({ verdicts }) =>
    Math.min(...verdicts.map((verdict) => shareOf([count(verdict, whole("rule"))]))),
  );
  const worst = worstOf(contest, policy);
  return [
    policy,
    cellOf(tracks.map(({ verdicts }) => verdicts.length)),
    all(whole("names")),
    all({ ...whole("names"), use: "anywhere" }),
    askedOverAll(tracks, whole("word")),
    askedOverAll(tracks, whole("rule")),
    cellOf(least),
    all(whole("task"), whole("failure")),
    worst === null ? NONE : [worst.share.toFixed(2), worst.at, ...(worst.draw === null ? [] : [worst.draw])].join(", "),
  ];
}

interface WorstOfAll extends Worst {
  /** Null where there is only one. */
  readonly draw: string | null;
}

/** The worst compaction of the worst draw. */
function worstOf({ draws }: Contest, policy: string): WorstOfAll | null {
  const all = draws.flatMap(({ name, tracks }) =>
    tracks
      .filter((track) => track.policy === policy)
      .flatMap(({ verdicts }) => findWorst(verdicts, "written") ?? [])
      .map((worst) => ({ ...worst, draw: draws.length > 1 ? name : null })),
  );
  return all.toSorted((one, other) => one.share - other.share)[0] ?? null;
}

function missingIn(worst: Worst | null): string {
  const missing = worst?.missing ?? [];
  const named = missing.slice(0, MOST_MISSING).map(({ kind, value }) => `${kind} ${shorten(value)}`);
  const more = missing.length - named.length;
  return missing.length === 0 ? "nothing" : [...named, ...(more > 0 ? [`${more} more`] : [])].join("; ");
}

/** Fits a value into one line of a table's cell. */
function shorten(value: string): string {
  const line = value.replaceAll(/[\s|`]+/g, " ");
  return line.length <= MISSING_CHARS ? line : `${line.slice(0, MISSING_CHARS - 1)}…`;
}
