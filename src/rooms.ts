/** Every room that there is, as the deployable Worker has them, and the calls of an agent with them all. */
import type { Calls, InputOf, ResultOf } from "./agent/calls.ts";
import { context } from "./context/room.ts";
import { events } from "./events/room.ts";
import { transcripts } from "./import/room.ts";
import { recall } from "./recall/room.ts";

export const ALL_ROOMS = [context(), events(), recall(), transcripts()] as const;

export type AllRooms = typeof ALL_ROOMS;

type AllCalls = Calls<AllRooms>;

/** The name of a call. */
export type CallName = keyof AllCalls;

/** What a call takes: one object. */
export type CallInput<Name extends CallName> = InputOf<AllCalls[Name]>;

/** What a call answers. */
export type CallResult<Name extends CallName> = ResultOf<AllCalls[Name]>;
