/**
 * Sessions with their own compaction function, turned on or off as a deploy may do it.
 *
 * The function goes wrong in every way that a caller's may. It throws, hangs, answers late, returns rubbish or a range that it was not
 * shown.
 */
import type { UIMessage } from "ai";
import type { OwnFunction, OwnSummary } from "../../../src/agent/settings.ts";
import { unreachable } from "../../../src/errors.ts";
import { ownFunctions } from "../../worker.ts";
import type { Operation } from "../operations.ts";
import { marksIn } from "../said.ts";
import { count } from "../tally.ts";
import type { Seat, World } from "../world.ts";

const WAYS = ["sound", "late", "whole", "none", "throws", "hangs", "rubbish", "unshown", "refuses", "wordy"] as const;
type Way = (typeof WAYS)[number];

/** By the simulation's clock, which moves only on demand. The watchdog ends a function that hangs. */
const LIMIT_MS = 300_000;
/** As many as fit the smallest summary. */
const NAMED_MARKS = 8;

export async function bringFunction(world: World, seat: Seat, { way, size }: Operation): Promise<string> {
  const key = `${world.name}/${seat.id}`;
  if (way % 4 === 0) {
    ownFunctions.delete(key);
    await setOwnFunction(world, seat, null);
    world.model.takeAway(seat.id);
    return "no more";
  }
  let calls = 0;
  const compact: OwnFunction = async (messages, context) => {
    const way: Way = world.isEnding ? "sound" : (WAYS[(size + calls++) % WAYS.length] ?? "sound");
    count(world.tally.answers, `own: ${way}`);
    if (way === "late") await world.model.hold(context);
    if (way === "hangs") await world.model.hang(context);
    return answerIn(way, messages);
  };
  const own = { compact, timeoutMs: LIMIT_MS };
  ownFunctions.set(key, own);
  await setOwnFunction(world, seat, own);
  return `beginning with ${WAYS[size % WAYS.length]}`;
}

async function setOwnFunction(
  world: World,
  seat: Seat,
  ownFunction: ReturnType<typeof ownFunctions.get> | null,
): Promise<void> {
  await world.inside(({ palimpsest: { settings } }) =>
    settings.set(seat.id, { ...settings.get(seat.id), ownFunction: ownFunction ?? null }),
  );
}

function answerIn(way: Way, messages: readonly UIMessage[]): OwnSummary | null {
  const [from, to] = way === "whole" ? [0, messages.length - 1] : [1, messages.length - 3];
  const range = { fromMessageId: messages[from]?.id ?? "nobody", toMessageId: messages[to]?.id ?? "nobody" };
  const marks = [...marksIn(JSON.stringify(messages.slice(from, to + 1)))];
  switch (way) {
    case "sound":
    case "late":
    case "hangs":
    case "whole":
      return { summary: `By our own function: ${marks.slice(-NAMED_MARKS).join(", ")}.`, ...range };
    case "none":
      return null;
    case "throws":
      throw new Error(`Cannot summarise ${marks[0]}.`);
    case "rubbish":
      return { summary: 7, ...range } as unknown as OwnSummary;
    case "unshown":
      return { summary: "Of what was not shown.", ...range, fromMessageId: "nobody" };
    case "refuses":
      return { summary: "I'm sorry, I cannot help with that.", ...range };
    case "wordy":
      return { summary: "and so on at length ".repeat(20_000), ...range };
    default:
      return unreachable(way);
  }
}
