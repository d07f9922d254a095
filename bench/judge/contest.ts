/**
 * All policies over one kind of conversation with one summariser, as often as chance was drawn; and what they show after so many
 * compactions. Pure.
 */
import type { Cell } from "../finding.ts";
import { spread } from "../stats.ts";
import type { Track } from "./follow.ts";
import { count, shareOf, type Count, type Counting, type Matter } from "./tally.ts";

/** One conversation with one seed. */
export interface Draw {
  /** What tells it from the others: "seed 2". */
  readonly name: string;
  /** A track for each policy: the same policies, in the same order, in every draw. */
  readonly tracks: readonly Track[];
}

export interface Contest {
  readonly conversation: string;
  readonly summariser: string;
  /** What the draws are, in the plural: "seeds". */
  readonly over: string;
  readonly draws: readonly Draw[];
}

/** In a cell for which there is nothing to tell. */
export const NONE = "–";

export function whole(matter: Matter): Counting {
  return { matter, use: "written", way: "view" };
}

export function policiesOf({ draws }: Contest): readonly string[] {
  return draws[0]?.tracks.map(({ policy }) => policy) ?? [];
}

/** One policy's tracks, a draw each. */
export function tracksOf({ draws }: Contest, policy: string): readonly Track[] {
  return draws.flatMap(({ tracks }) => tracks.filter((track) => track.policy === policy));
}

export function isOurs(policy: string): boolean {
  return policy.startsWith("ours");
}

/** Null where it was not compacted so often, nothing of that was wanted then, or there is no such way for it. */
export function countAt({ verdicts, recalls }: Track, depth: number, counting: Counting): Count | null {
  if (counting.way === "view or recall" && !recalls) return null;
  const verdict = verdicts[depth - 1];
  const counted = verdict === undefined ? null : count(verdict, counting);
  return counted === null || counted.of === 0 ? null : counted;
}

/** See {@link countAt}. */
export function shareAt(track: Track, depth: number, counting: Counting): number | null {
  const counted = countAt(track, depth, counting);
  return counted === null ? null : shareOf([counted]);
}

/** What is the same in every draw is one number. */
export function cellOf(values: readonly number[]): Cell {
  if (values.length === 0) return NONE;
  const all = spread(values);
  return all.least === all.most ? all.median : all;
}

/** The share over all draws that have one, and of how many: as in "0.94 (0.91–0.97) of 130–136". */
export function askedAt(tracks: readonly Track[], depth: number, counting: Counting): string {
  const counts = tracks.flatMap((track) => countAt(track, depth, counting) ?? []);
  return shareWithOf(
    counts.map((each) => shareOf([each])),
    counts.map((each) => each.of),
  );
}

/** The share over all compactions, and of how many at one of them: those at which nothing was wanted are no part of either. */
export function askedOverAll(tracks: readonly Track[], counting: Counting): string {
  const wanted = tracks
    .map(({ verdicts }) => verdicts.map((verdict) => count(verdict, counting)).filter(({ of }) => of > 0))
    .filter((counts) => counts.length > 0);
  return shareWithOf(
    wanted.map((counts) => shareOf(counts)),
    wanted.flatMap((counts) => counts.map(({ of }) => of)),
  );
}

function shareWithOf(shares: readonly number[], ofs: readonly number[]): string {
  if (shares.length === 0) return NONE;
  const [share, of] = [spread(shares), spread(ofs)];
  return `${ranged(share.median, share, (value) => value.toFixed(2))} of ${of.least === of.most ? of.least : `${of.least}–${of.most}`}`;
}

function ranged(
  median: number,
  { least, most }: { readonly least: number; readonly most: number },
  write: (value: number) => string,
): string {
  return least === most ? write(median) : `${write(median)} (${write(least)}–${write(most)})`;
}
