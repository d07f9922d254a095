/** Operations on notes. They turn notes on or off, as a deploy may, ask for an update, or write notes by hand. */
import type { KeepNotesOptions } from "../../../src/notes/settings.ts";
import { keptNotes } from "../../worker.ts";
import type { Operation } from "../operations.ts";
import type { Marks } from "../said.ts";
import { weigh } from "../twin.ts";
import type { Seat, World } from "../world.ts";

/** Small, so that a session of some dozen messages has a few updates. `waitMs` is real time. */
const NOTED = {
  growthTokens: 400,
  maxTokens: 600,
  sectionTokens: 300,
  keep: { minTokens: 300, minTextBlockMessages: 2, maxTokens: 1_200 },
  waitMs: 20,
} as const satisfies KeepNotesOptions;

/** Applies in this life of the object and in later ones. Null keeps no notes. */
export async function setNotes(world: World, seat: Seat, notes: KeepNotesOptions | null): Promise<void> {
  const key = `${world.name}/${seat.id}`;
  if (notes === null) keptNotes.delete(key);
  else keptNotes.set(key, notes);
  await world.inside(({ palimpsest: { settings } }) =>
    settings.set(seat.id, { ...settings.get(seat.id), rooms: { ...settings.get(seat.id).rooms, notes } }),
  );
}

/** A child has its parent's configuration. */
export async function keepNotesAs(world: World, child: Seat, parent: Seat): Promise<void> {
  const notes = keptNotes.get(`${world.name}/${parent.id}`);
  if (notes !== undefined) await setNotes(world, child, notes);
}

export async function keepNotes(world: World, seat: Seat, { way, size }: Operation): Promise<string> {
  if (way % 6 === 0) {
    await setNotes(world, seat, null);
    return "no more";
  }
  await setNotes(world, seat, { ...NOTED, toolCalls: size % 3 });
  return `after ${size % 3} tool calls`;
}

export async function writeNotes(
  world: World,
  seat: Seat,
  { op, marks }: { op: Operation; marks: Marks },
): Promise<string> {
  const { twin } = seat;
  const path = twin.path(twin.leaf);
  const any = path[op.at % Math.max(1, path.length)] ?? "nobody";
  const coveredId = [undefined, null, any, "nobody"][op.way % 4];
  const word = marks.next();
  const sections = [{ title: "Learnings", text: `- a person learned ${word}` }];
  await world.agent.updateNotes({ sessionId: seat.id, sections, ...(coveredId === undefined ? {} : { coveredId }) });
  seat.words.add(word);
  seat.inherited = new Set([...seat.inherited, word]);
  if (coveredId === undefined) return "by hand";
  const claimed = coveredId === null ? path : path.slice(0, path.indexOf(coveredId) + 1);
  for (const id of claimed) for (const mark of weigh(twin.find(id)!).marks) seat.claimed.add(mark);
  return `by hand, up to ${coveredId ?? "the end"}`;
}
