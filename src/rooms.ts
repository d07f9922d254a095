/** All rooms of the deployable Worker, and the calls of an agent with them. */
import type { Calls, InputOf, ResultOf } from "./agent/calls.ts";
import { context } from "./context/room.ts";
import type { PriceList } from "./costs/prices.ts";
import { costs } from "./costs/room.ts";
import { events } from "./events/room.ts";
import { transcripts } from "./import/room.ts";
import { notes } from "./notes/room.ts";
import { recall } from "./recall/room.ts";

/** With prices, the room of costs tells what conversations cost. */
export function allRooms(prices?: PriceList) {
  return [context(), costs({ prices }), events(), notes(), recall(), transcripts()] as const;
}

export const ALL_ROOMS = allRooms();

export type AllRooms = typeof ALL_ROOMS;

type AllCalls = Calls<AllRooms>;

/** The name of a call. */
export type CallName = keyof AllCalls;

/** The input of a call, which is one object. */
export type CallInput<Name extends CallName> = InputOf<AllCalls[Name]>;

/** The result of a call. */
export type CallResult<Name extends CallName> = ResultOf<AllCalls[Name]>;
