/** All rooms of the deployable Worker, and the calls of an agent with them. */
import type { Calls, InputOf, ResultOf } from "./agent/calls.ts";
import { approval } from "./approval/room.ts";
import { context } from "./context/room.ts";
import type { PriceList } from "./costs/sums.ts";
import { costs } from "./costs/room.ts";
import { events } from "./events/room.ts";
import { transcripts } from "./import/room.ts";
import { inspect } from "./inspect/room.ts";
import { notes } from "./notes/room.ts";
import { ownFunction } from "./own-function/room.ts";
import { recall } from "./recall/room.ts";

// Written out, because the package's declarations would else repeat every call of every room.
export type AllRooms = readonly [
  ReturnType<typeof approval>,
  ReturnType<typeof context>,
  ReturnType<typeof costs>,
  ReturnType<typeof events>,
  ReturnType<typeof inspect>,
  ReturnType<typeof notes>,
  ReturnType<typeof ownFunction>,
  ReturnType<typeof recall>,
  ReturnType<typeof transcripts>,
];

/** With prices, the room of costs tells what conversations cost. */
export function allRooms(prices?: PriceList): AllRooms {
  return [
    approval(),
    context(),
    costs({ prices }),
    events(),
    inspect(),
    notes(),
    ownFunction(),
    recall(),
    transcripts(),
  ];
}

export const ALL_ROOMS = allRooms();

type AllCalls = Calls<AllRooms>;

/** The name of a call. */
export type CallName = keyof AllCalls;

/** The input of a call, which is one object. */
export type CallInput<Name extends CallName> = InputOf<AllCalls[Name]>;

/** The result of a call. */
export type CallResult<Name extends CallName> = ResultOf<AllCalls[Name]>;
