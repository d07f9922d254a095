/** The calls, sessions and session managers of the agents under test, which have every room of the deployable Worker. */
import { tableOf, type Calls } from "../src/agent/calls.ts";
import type { ManagerOf } from "../src/agent/sessions/session-manager.ts";
import type { SessionOf } from "../src/agent/sessions/session.ts";
import { ALL_ROOMS, type AllRooms, type CallName } from "../src/rooms.ts";

export const calls = tableOf(ALL_ROOMS) as unknown as Calls<AllRooms>;
export const CALL_NAMES = Object.keys(calls) as readonly CallName[];

export type FullSession = SessionOf<AllRooms>;
export type FullManager = ManagerOf<AllRooms>;
