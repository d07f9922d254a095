/** What was judged, as tables, promises and a picture: ours is whoever's name begins so, all others are rivals. */
import type { Cell, Check, Table } from "../finding.ts";
import { mean } from "../drift/measure.ts";
import type { Panel, Plot } from "../plot.ts";
import type { Track } from "./follow.ts";
import { count, findWorst, shareOf, type Counting, type Matter, type Way } from "./tally.ts";
import type { Verdict } from "./verdict.ts";

/** All policies over one conversation with one summariser. */
export interface Contest {
  readonly conversation: string;
  readonly summariser: string;
  readonly tracks: readonly Track[];
}

const WAYS: readonly Way[] = ["view", "view or recall"];
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
const MOST_MISSING = 5;
const MISSING_CHARS = 48;
/** In a cell for which there is nothing to tell. */
const NONE = "–";

/** The share at each depth, in view and with recall; what else matters, and where it was worst. */
export function tablesOf(contest: Contest, depths: readonly number[]): Table[] {
  const of = `${contest.conversation}, summariser ${contest.summariser}`;
  return [
    {
      caption: `${of}: of the names replaced that user or agent say again, the share that is in view, and in view or in one answer of recall`,
      columns: ["policy", "view, tokens", ...WAYS.flatMap((way) => depths.map((depth) => `${way}, after ${depth}`))],
      rows: contest.tracks.map((track) => [
        track.policy,
        Math.round(mean(track.viewTokens)),
        ...depths.map((depth) => askedAt(track, depth)),
        ...depths.map((depth) => shareAt(track, depth, "view or recall") ?? NONE),
      ]),
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
      rows: contest.tracks.map(wholeRow),
    },
    {
      caption: `${of}: what was not in view there`,
      columns: ["policy", "missing"],
      rows: contest.tracks.map(({ policy, verdicts }) => [policy, missingIn(verdicts)]),
    },
  ];
}

/** Kinds of names, in view, over all compactions of all contests. */
export function kindsOf(contests: readonly Contest[]): Table {
  const policies = [...new Set(contests.flatMap(({ tracks }) => tracks.map(({ policy }) => policy)))];
  const verdicts = (policy: string): Verdict[] =>
    contests.flatMap(({ tracks }) =>
      tracks.filter((track) => track.policy === policy).flatMap((track) => track.verdicts),
    );
  const counts = (policy: string, matter: Matter) =>
    verdicts(policy).map((verdict) => count(verdict, { matter, use: "written", way: "view" }));
  const told = KINDS.filter((kind) => policies.some((policy) => counts(policy, kind).some(({ of }) => of > 0)));
  return {
    caption: "Written names in view by kind, over all of the above",
    columns: ["kind", ...policies],
    rows: told.map((kind) => [kind, ...policies.map((policy) => shareOf(counts(policy, kind)))]),
  };
}

/** Views of this much more or less tokens count as equal. */
const EQUAL = 1.05;

/** That each of ours is behind no rival at any depth with a view that is no larger, and keeps the rules. */
export function checksOf(contest: Contest, depths: readonly number[]): Check[] {
  const all = contest.tracks.filter(isOurs);
  if (all.length === 0) throw new Error("Ours is not among the policies.");
  return all.flatMap((ours) => checksOfOne(ours, contest, depths));
}

function checksOfOne(ours: Track, contest: Contest, depths: readonly number[]): Check[] {
  const { conversation, summariser, tracks } = contest;
  const where = `${conversation}, ${summariser}`;
  const rivals = tracks.filter((track) => !isOurs(track));
  const rules = Math.min(...ours.verdicts.map((verdict) => shareOf([count(verdict, whole("rule"))])));
  const smallest = Math.min(...tracks.map(({ viewTokens }) => mean(viewTokens)));
  return [
    {
      claim: `${where}: mean view of ${ours.policy}, over the smallest of any policy`,
      measured: mean(ours.viewTokens) / smallest,
      target: EQUAL,
    },
    // A tie is kept: where both reach everything, nobody can lead.
    ...WAYS.map((way) => ({
      claim: `${where}: ${ours.policy} is not behind any rival, its least lead at any depth, ${way}`,
      measured: leastLead(ours, rivals, { depths, way }),
      target: 0,
      better: "more" as const,
    })),
    {
      claim: `${where}: the user's rules in view, ${ours.policy}, the least`,
      measured: rules,
      target: 1,
      better: "more",
    },
  ];
}

interface Compared {
  readonly depths: readonly number[];
  readonly way: Way;
}

function leastLead(ours: Track, rivals: readonly Track[], { depths, way }: Compared): number {
  const leads = rivals.flatMap((rival) =>
    depths.flatMap((depth) => {
      const [own, other] = [shareAt(ours, depth, way), shareAt(rival, depth, way)];
      return own === null || other === null ? [] : [own - other];
    }),
  );
  if (leads.length === 0) throw new Error(`There is no depth at which ${ours.policy} and a rival were both judged.`);
  return Math.min(...leads);
}

/** A panel for each contest. */
export function plotOf(file: string, contests: readonly Contest[]): Plot {
  return {
    file,
    title: "Share of the replaced names that user or agent say again and that are in view, after each compaction",
    panels: contests.map(({ conversation, summariser, tracks }): Panel => ({
      title: `${summariser}, ${conversation}`,
      x: { label: "compactions", scale: "linear", unit: "count" },
      y: { label: "names in view", scale: "linear", unit: "percent" },
      lines: tracks.map(({ policy, verdicts }) => ({
        name: policy,
        points: verdicts.map((verdict, at) => [at + 1, shareOf([count(verdict, whole("names"))])] as const),
      })),
    })),
  };
}

function wholeRow({ policy, verdicts }: Track): Cell[] {
  const all = (counting: Counting): number => shareOf(verdicts.map((verdict) => count(verdict, counting)));
  const rules = verdicts.map((verdict) => shareOf([count(verdict, whole("rule"))]));
  const open = verdicts.flatMap((verdict) => [count(verdict, whole("task")), count(verdict, whole("failure"))]);
  const worst = findWorst(verdicts, "written");
  return [
    policy,
    verdicts.length,
    all(whole("names")),
    all({ ...whole("names"), use: "anywhere" }),
    all(whole("word")),
    all(whole("rule")),
    Math.min(...rules),
    shareOf(open),
    worst === null ? NONE : `${worst.share.toFixed(2)}, ${worst.at}`,
  ];
}

function missingIn(verdicts: readonly Verdict[]): string {
  const missing = findWorst(verdicts, "written")?.missing ?? [];
  const named = missing.slice(0, MOST_MISSING).map(({ kind, value }) => `${kind} ${shorten(value)}`);
  const more = missing.length - named.length;
  return missing.length === 0 ? "nothing" : [...named, ...(more > 0 ? [`${more} more`] : [])].join("; ");
}

/** One line of a table's cell. */
function shorten(value: string): string {
  const line = value.replaceAll(/[\s|`]+/g, " ");
  return line.length <= MISSING_CHARS ? line : `${line.slice(0, MISSING_CHARS - 1)}…`;
}

function shareAt({ verdicts }: Track, depth: number, way: Way): number | null {
  const verdict = verdicts[depth - 1];
  return verdict === undefined ? null : shareOf([count(verdict, { matter: "names", use: "written", way })]);
}

/** The share in view, and of how many. */
function askedAt(track: Track, depth: number): string {
  const [share, verdict] = [shareAt(track, depth, "view"), track.verdicts[depth - 1]];
  if (share === null || verdict === undefined) return NONE;
  return `${share.toFixed(2)} of ${count(verdict, whole("names")).of}`;
}

function whole(matter: Matter): Counting {
  return { matter, use: "written", way: "view" };
}

function isOurs({ policy }: Track): boolean {
  return policy.startsWith("ours");
}
