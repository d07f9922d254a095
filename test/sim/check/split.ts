/**
 * Checks a split session. The parent takes no more messages, and the child begins with its parent's view.
 *
 * A child's messages are taken as found after they were compared with the parent's. From then on its twin is like any other.
 */
import { notesOf } from "../../../src/notes/versions.ts";
import type { OverlayRecord } from "../../../src/memory/overlays/overlay.ts";
import { RECORD_PREFIX } from "../../../src/steps/view/view.ts";
import type { PalimpsestAgent } from "../../worker.ts";
import { inheritBlock } from "../blocks.ts";
import { marksIn } from "../said.ts";
import { count } from "../tally.ts";
import { Twin, weigh } from "../twin.ts";
import { holds, makeSeat, type Seat, type World } from "../world.ts";

/** Gives every new child a seat. Call it inside the object, before any other check. */
export function seatChildren(world: World, { palimpsest }: PalimpsestAgent): void {
  const { memory, runs } = palimpsest;
  // A child may have been split itself. The loop reaches it, because it was added to the seats.
  for (const seat of world.seats) {
    for (const { outcome } of runs.list(seat.id, { limit: 5 })) {
      if (outcome?.kind !== "split" || world.seats.some(({ id }) => id === outcome.childId)) continue;
      if (memory.sessions.get(outcome.childId) === null) continue;
      holds("B4", memory.session(seat.id).hasEnded, () => `${seat.id} was split and still takes messages`);
      const child = makeSeat(outcome.childId, new Twin(), seat.words);
      for (const message of memory.session(child.id).originals()) child.twin.append(message, undefined);
      checkChild(seat, child, memory.session(seat.id).overlays.list());
      const given = memory.session(child.id);
      child.inherited = marksIn(JSON.stringify([given.overlays.list(), notesOf(palimpsest, given).list()]));
      inheritBlock(child, seat);
      world.seats.push(child);
      count(world.tally.checks, "B4");
    }
  }
}

function checkChild(parent: Seat, child: Seat, overlays: readonly OverlayRecord[]): void {
  const { twin } = parent;
  const path = twin.path(twin.leaf);
  const said = new Set(twin.messages(twin.leaf).flatMap((message) => [...weigh(message).marks]));
  let last = -1;
  for (const message of child.twin.messages(child.twin.leaf)) {
    if (message.id.startsWith(RECORD_PREFIX)) {
      const strange = [...marksIn(JSON.stringify(message))].find(
        (mark) => !said.has(mark) && !parent.inherited.has(mark),
      );
      holds(
        "C3",
        strange === undefined,
        () => `the record ${message.id} says ${strange}, which nobody in ${parent.id} says`,
      );
      continue;
    }
    const original = twin.find(message.id);
    const same = original !== undefined && weigh(original).json === weigh(message).json;
    const at = path.indexOf(message.id);
    holds(
      "M1",
      same && at > last,
      () => `${child.id} begins with ${message.id}, which is not what ${parent.id} shows there`,
    );
    last = at;
  }
  for (const { kind, id } of twin.view(twin.leaf, overlays)) {
    holds(
      "B4",
      kind === "overlay" || child.twin.has(id),
      () => `${child.id} goes on without ${id}, which ${parent.id} shows`,
    );
  }
}
