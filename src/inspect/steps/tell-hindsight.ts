/** Hindsight in words, for a person. Pure. */
import type { Hindsight } from "../../facts/hindsight.ts";

/** What is said before anything was said after a compaction. */
export const NOT_KNOWN_YET = "not known yet";

type Counts = Pick<Hindsight, "names" | "inView" | "recalled" | "missed">;

/** One sentence without its period. Null stands for counts that are not known. */
export function tellHindsight(counts: Counts | null): string {
  if (counts === null) return NOT_KNOWN_YET;
  const { names, inView, recalled, missed } = counts;
  if (names === 0) return "no hidden name came up again";
  const came = names === 1 ? "1 hidden name" : `${names} hidden names`;
  return `of ${came} that came up again ${inView} in view, ${recalled} recalled, ${missed} missed`;
}

/** The sum over several overlays. Null where nothing is known of any. */
export function sumHindsight(all: readonly (Hindsight | null)[]): Hindsight | null {
  const known = all.filter((each) => each !== null);
  const [first, ...rest] = known;
  if (first === undefined) return null;
  return rest.reduce(
    (sum, each) => ({
      messages: sum.messages + each.messages,
      unread: sum.unread + each.unread,
      names: sum.names + each.names,
      inView: sum.inView + each.inView,
      recalled: sum.recalled + each.recalled,
      missed: sum.missed + each.missed,
    }),
    first,
  );
}
