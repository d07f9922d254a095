/**
 * Checks the invariants of shadows. Nobody is shown one, it costs no more than its tokens of a day, it keeps words only while its overlay is
 * in force, and it holds only what is still said.
 */
import type { ShadowRecord } from "../../../src/shadow/record.ts";
import { rowsOf } from "../../rows.ts";
import { marksIn } from "../said.ts";
import { DAY_TOKENS, SHADOW_WORD } from "../shadow-names.ts";
import { count } from "../tally.ts";
import { weigh } from "../twin.ts";
import { holds, Violation, type Seat, type World } from "../world.ts";

/** A call whose provider reports nothing is estimated by its answer, and an endless answer is read a little too far. */
const RUNAWAY_TOKENS = 1_000;

/** What a person or a model reads of a session has no word of a shadow. */
export function checkUnseen({ id }: Seat, what: string, text: string): void {
  holds("shadows", !text.includes(SHADOW_WORD), () => `${what} of ${id} shows a shadow`);
}

export function checkShadows(world: World, storage: DurableObjectStorage): void {
  for (const seat of world.seats) checkKept(world, seat, storage);
  for (const { tokens } of rowsOf(storage, "palimpsest_shadow_spend"))
    holds(
      "shadows",
      Number(tokens) <= DAY_TOKENS + RUNAWAY_TOKENS,
      () => `shadows cost ${Number(tokens)} tokens in a day`,
    );
  const billed = rowsOf(storage, "palimpsest_shadows").map(recordOf);
  const calls = billed.reduce((sum, record) => sum + record.calls, 0);
  holds("shadows", calls <= world.shadow.calls, () => `${calls} calls are billed, and ${world.shadow.calls} were made`);
  if (billed.length > 0) count(world.tally.checks, "shadows");
}

function checkKept(world: World, seat: Seat, storage: DurableObjectStorage): void {
  const rows = rowsOf(storage, "palimpsest_shadows").filter((row) => row["session_id"] === seat.id);
  const said = new Set(seat.twin.ids.flatMap((id) => [...weigh(seat.twin.find(id)!).marks]));
  for (const row of rows) {
    const overlay = seat.overlays.find(({ id }) => id === row["overlay_id"]);
    const words = row["words"] as string | null;
    holds("shadows", overlay !== undefined, () => `a shadow of ${seat.id} stands beside no overlay of it`);
    const { outcome } = recordOf(row);
    if (outcome !== null) count(world.tally.met, `shadows: ${outcome.kind}`);
    if (words === null) continue;
    holds("shadows", overlay?.state === "active", () => `a shadow of ${seat.id} keeps words beside ${overlay?.id}`);
    for (const word of marksIn(words))
      holds("C3", said.has(word) || seat.inherited.has(word), () => `a shadow of ${seat.id} says ${word}`);
  }
}

/** After the end of the simulation no shadow is unfinished, whatever was killed (R1). */
export async function checkDone(world: World): Promise<void> {
  await world.inside((_, storage) => {
    const open = rowsOf(storage, "palimpsest_shadows").filter((row) => recordOf(row).outcome === null);
    const runs = rowsOf(storage, "palimpsest_shadow_runs");
    if (open.length > 0 || runs.length > 0)
      throw new Violation("R1", `${open.length} shadows of ${runs.length} runs are never done`);
  });
}

function recordOf(row: Record<string, SqlStorageValue>): ShadowRecord {
  return JSON.parse(row["record"] as string) as ShadowRecord;
}
