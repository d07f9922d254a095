/**
 * All policies over one kind of conversation with one summariser, in several draws, and their shares after so many compactions. Pure.
 */
import type { Cell } from "../finding.ts";
import { spread } from "../stats.ts";
import type { Track } from "./follow.ts";
import { count, shareOf, type Count, type Counting, type Matter } from "./tally.ts";

/** One conversation with one seed. */
export interface Draw {
  /** Tells it apart from the others, such as "seed 2". */
  readonly name: string;
  /** A track for each policy. Every draw has the same policies in the same order. */
  readonly tracks: readonly Track[];
}

export interface Contest {
  readonly conversation: string;
  readonly summariser: string;
  /** Names the draws in the plural, such as "seeds". */
  readonly over: string;
  readonly draws: readonly Draw[];
}

/** A cell without a figure. */
export const NONE = "–";

export function whole(matter: Matter): Counting {
  return { matter, use: "written", way: "view" };
}

export function policiesOf({ draws }: Contest): readonly string[] {
  return draws[0]?.tracks.map(({ policy }) => policy) ?? [];
}

/** One policy's tracks, one per draw. */
export function tracksOf({ draws }: Contest, policy: string): readonly Track[] {
  return draws.flatMap(({ tracks }) => tracks.filter((track) => track.policy === policy));
}

export function isOurs(policy: string): boolean {
  return policy.startsWith("ours");
}

/** Null where the track has fewer compactions, nothing of that kind was wanted, or the policy has no recall. */
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

/** One number where all draws agree, otherwise their spread. */
export function cellOf(values: readonly number[]): Cell {
  if (values.length === 0) return NONE;
  const all = spread(values);
  return all.least === all.most ? all.median : all;
}

/** The share over all draws that have one, with the number of wanted facts, as in "0.94 (0.91–0.97) of 130–136". */
export function askedAt(tracks: readonly Track[], depth: number, counting: Counting): string {
  const counts = tracks.flatMap((track) => countAt(track, depth, counting) ?? []);
  return shareWithOf(
    counts.map((each) => shareOf([each])),
    counts.map((each) => each.of),
  );
}

/** The share over all compactions, with the number wanted at one of them. Compactions at which nothing was wanted are left out of both. */
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
