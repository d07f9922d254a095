/** The order of places on a path. */
import type { Place } from "../statements.ts";

/** Negative when `a` comes before `b` on their path. */
export function comparePlaces(a: Place, b: Place): number {
  return a.seq - b.seq || a.step - b.step;
}
