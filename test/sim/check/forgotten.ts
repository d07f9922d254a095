/** Checks that words of messages that were edited or deleted are told by nobody. Reads only. */
import type { OverlayRecord } from "../../../src/memory/overlays/overlay.ts";
import { withholdNotes } from "../../../src/notes/steps/document.ts";
import type { SessionNotes } from "../../../src/notes/versions.ts";
import { tables } from "../../rows.ts";
import { marksIn } from "../said.ts";
import { count } from "../tally.ts";
import { weigh } from "../twin.ts";
import { holds, type Seat, type World } from "../world.ts";

/** Tables that keep what was made of messages out of force, or a person's own words. No answer shows that of the first three. */
const OUT_OF_FORCE = /_(?:drafts|notes|overlays|runs)$/;

interface Told {
  readonly overlays: readonly OverlayRecord[];
  readonly notes: SessionNotes;
  /** Null where the tables are not read this time. */
  readonly storage: DurableObjectStorage | null;
}

/** S3. Summaries and notes in any state tell no word that nobody says any more, and no table has it but those above. */
export function checkForgotten(world: World, seat: Seat, { overlays, notes, storage }: Told): void {
  const said = new Set(seat.twin.ids.flatMap((id) => [...weigh(seat.twin.find(id)!).marks]));
  const isForgotten = (word: string): boolean => seat.words.has(word) && !seat.inherited.has(word) && !said.has(word);
  const versions = withholdNotes(notes.kept()).map(({ sections }) => sections);
  // The focus is a person's.
  const shown = overlays.map((each) => ({ ...each, details: { ...each.details, focus: null } }));
  for (const word of marksIn(JSON.stringify([shown, versions])))
    holds("S3", !isForgotten(word), () => `a summary or version of ${seat.id} tells ${word}, which nobody says now`);
  const elsewhere = new Set(world.seats.filter((each) => each !== seat).flatMap(({ words }) => [...words]));
  for (const [table, text] of storage === null ? [] : tables(storage)) {
    if (OUT_OF_FORCE.test(table)) continue;
    for (const word of marksIn(text))
      holds("S3", !isForgotten(word) || elsewhere.has(word), () => `${table} holds ${word}, which nobody says now`);
  }
  count(world.tally.checks, "S3");
}
