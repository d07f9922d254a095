/**
 * Context blocks beside the messages. One text is written by a person and carried along by summaries. It keeps its last value through every
 * reset of the object, survives a clear, and goes with its session (S2).
 */
import type { Operation } from "./operations.ts";
import { marksIn, sentence, type Marks } from "./said.ts";
import { count } from "./tally.ts";
import { holds, type Seat, type World } from "./world.ts";

/** The agent under test declares this block for every session. Each new summary carries its text. */
const LABEL = "todo";

export async function writeBlock(
  world: World,
  seat: Seat,
  { op, marks }: { op: Operation; marks: Marks },
): Promise<string> {
  const text = sentence(marks, 10);
  // Recorded before the call, because a summary carries the text as soon as it is stored, and the answer may be lost.
  remember(seat, text);
  const append = op.way % 3 === 0;
  const input = { sessionId: seat.id, label: LABEL, content: append ? `\n${text}` : text };
  if (append) await world.agent.appendContextBlock(input);
  else await world.agent.replaceContextBlock(input);
  seat.block = append ? `${seat.block}${input.content}` : text;
  return append ? "appended" : "replaced";
}

function remember(seat: Seat, text: string): void {
  const words = marksIn(text);
  for (const word of words) seat.words.add(word);
  seat.blockWords = new Set([...seat.blockWords, ...words]);
  seat.inherited = new Set([...seat.inherited, ...words]);
}

/** Records the known words of a session that begins with another's blocks. */
export function inheritBlock(child: Seat, parent: Seat): void {
  child.block = parent.block;
  child.blockWords = new Set(parent.blockWords);
  child.inherited = new Set([...child.inherited, ...parent.inherited]);
}

export async function checkBlock(world: World, seat: Seat): Promise<void> {
  const block = await world.agent.getContextBlock({ sessionId: seat.id, label: LABEL });
  const found = block?.content ?? "";
  holds("blocks", found === seat.block, () => `the block of ${seat.id} reads "${found}", not "${seat.block}"`);
  count(world.tally.checks, "blocks");
}
