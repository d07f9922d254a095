/** Compares ours with each rival, draw by draw and depth by depth. Pure. */
import type { Table } from "../finding.ts";
import { countAt, isOurs, policiesOf, whole, type Contest, type Draw } from "./contest.ts";
import type { Track } from "./follow.ts";
import { shareOf, type Count, type Counting } from "./tally.ts";

export interface Compared {
  readonly name: string;
  readonly counting: Counting;
}

/** The measures in which ours should be behind no rival. */
export const COMPARED: readonly Compared[] = [
  { name: "names in view", counting: whole("names") },
  { name: "names in view or recall", counting: { ...whole("names"), way: "view or recall" } },
  { name: "rules in view", counting: whole("rule") },
  { name: "open tasks in view", counting: whole("task") },
  { name: "failures that stand in view", counting: whole("failure") },
  { name: "rare words in view", counting: whole("word") },
];

/** One depth of one draw at which both had something to show. */
export interface Lead {
  readonly draw: string;
  readonly depth: number;
  readonly rival: string;
  readonly own: Count;
  readonly other: Count;
  /** Difference of the shares, below 0 where the rival is ahead. */
  readonly by: number;
}

interface Comparing {
  readonly depths: readonly number[];
  readonly counting: Counting;
}

export function leadsOf({ draws }: Contest, ours: string, { depths, counting }: Comparing): Lead[] {
  return draws.flatMap((draw) =>
    rivalsIn(draw).flatMap((rival) =>
      depths.flatMap((depth) => {
        const own = countAt(trackOf(draw, ours), depth, counting);
        const other = countAt(rival, depth, counting);
        if (own === null || other === null) return [];
        const by = shareOf([own]) - shareOf([other]);
        return [{ draw: draw.name, depth, rival: rival.policy, own, other, by }];
      }),
    ),
  );
}

export function rivalsIn({ tracks }: Draw): readonly Track[] {
  return tracks.filter(({ policy }) => !isOurs(policy));
}

export function trackOf({ name, tracks }: Draw, policy: string): Track {
  const track = tracks.find((each) => each.policy === policy);
  if (track === undefined) throw new Error(`${policy} was not followed with ${name}.`);
  return track;
}

/** Every depth at which a rival shows more than ours, with the rival that is furthest ahead there. */
export function behindOf(contests: readonly Contest[], depths: readonly number[]): Table {
  return {
    caption:
      "Where a rival shows more than ours: in how many of those that were compared, and where it is furthest ahead",
    columns: [
      "conversation",
      "summariser",
      "what",
      "which of ours",
      "after",
      "in",
      "most in",
      "ours",
      "rival",
      "shows",
    ],
    rows: contests.flatMap((contest) =>
      policiesOf(contest)
        .filter(isOurs)
        .flatMap((ours) =>
          COMPARED.flatMap((compared) => depths.flatMap((depth) => behindRow(contest, ours, { ...compared, depth }))),
        ),
    ),
  };
}

function behindRow(contest: Contest, ours: string, at: Compared & { readonly depth: number }): string[][] {
  const leads = leadsOf(contest, ours, { depths: [at.depth], counting: at.counting });
  const behind = leads.filter(({ by }) => by < 0).toSorted((one, other) => one.by - other.by);
  const [worst] = behind;
  if (worst === undefined) return [];
  const { conversation, summariser, over } = contest;
  return [
    [
      conversation,
      summariser,
      at.name,
      ours,
      String(at.depth),
      `${drawsIn(behind)} of ${drawsIn(leads)} ${over}`,
      worst.draw,
      write(worst.own),
      worst.rival,
      write(worst.other),
    ],
  ];
}

function drawsIn(leads: readonly Lead[]): number {
  return new Set(leads.map(({ draw }) => draw)).size;
}

function write(count: Count): string {
  return `${shareOf([count]).toFixed(2)} of ${count.of}`;
}
