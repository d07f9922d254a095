/** Places on a path, and their order. */

/** A message and a step in it. Places on one path are ordered by `seq`, then by `step`. */
export interface Place {
  readonly seq: number;
  readonly step: number;
}

/** The ends of a closed range of one path. */
export interface Range {
  readonly from: Place;
  readonly to: Place;
}

/** Negative when `a` comes before `b` on their path. */
export function comparePlaces(a: Place, b: Place): number {
  return a.seq - b.seq || a.step - b.step;
}
