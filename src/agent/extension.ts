/**
 * The interface of optional rooms. It holds the additions of a room to an agent that was declared with it, and the calls that the room
 * receives.
 *
 * The core imports no room. `withCompaction(Base, { rooms: [context(), events()] })` adds two. Their methods stand on each session and their
 * calls in the table of calls. A Worker without rooms has none of their code.
 */
import type { z } from "zod";
import type { Core } from "./core.ts";
import type { Hooks } from "./hooks.ts";
import type { BuilderCall } from "./settings.ts";
import type { SessionState } from "./sessions/session-state.ts";

/**
 * Calls that clients may get together. `watch` asks for compactions and follows them, without a word of the conversation. `read` reads the
 * whole conversation. `write` adds messages, in any role. `steer` decides how summaries are made and which hold. `admin` deletes, and
 * changes what the model is told beside the conversation.
 */
export type Group = "watch" | "read" | "write" | "steer" | "admin";

/** One call of a table, as far as a declaration knows it. See calls.ts. */
export interface CallEntry {
  readonly group: Group;
  readonly input: z.ZodObject;
  run(context: never, input: never): unknown;
}

export type CallTable = Readonly<Record<string, CallEntry>>;

/** The methods that a room adds. A declaration holds nothing else of it. */
export interface Added<SessionMethods extends object, ManagerMethods extends object> {
  /** An object whose methods each session's handle has. */
  readonly session: (state: never) => SessionMethods;
  /** An object whose methods each manager of sessions has. */
  readonly manager?: (state: never) => ManagerMethods;
}

// The access of a room to a manager of all sessions.
export interface ManagerState {
  readonly core: Core;
  readonly collect: (call: BuilderCall) => void;
}

/** An installed room of one agent. */
export interface Installed<SessionMethods extends object, ManagerMethods extends object> extends Hooks {
  readonly session: (state: SessionState) => SessionMethods;
  readonly manager?: (state: ManagerState) => ManagerMethods;
}

export type InstalledRoom = Installed<object, object>;

/** An optional room, as an agent is declared with it. */
export interface Extension<
  SessionMethods extends object = object,
  ManagerMethods extends object = object,
  Table extends CallTable = CallTable,
> {
  readonly name: string;
  readonly calls: Table;
  /** Takes a {@link Core} and returns an {@link Installed}, which are no part of the package's declarations. */
  readonly install: (core: never) => Added<SessionMethods, ManagerMethods>;
}

export type Rooms = readonly Extension[];

type Both<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The additions of a list of rooms to a session, to a manager of sessions, and to the table of calls. */
export type SessionMethodsOf<R extends Rooms> = Both<
  R[number] extends infer Each ? (Each extends Extension<infer Added> ? Added : never) : never
>;
export type ManagerMethodsOf<R extends Rooms> = Both<
  R[number] extends infer Each ? (Each extends Extension<object, infer Added> ? Added : never) : never
>;
export type CallsOf<R extends Rooms> = Both<
  R[number] extends infer Each ? (Each extends Extension<object, object, infer Table> ? Table : never) : never
>;

export function installRooms(core: Core, rooms: Rooms): readonly InstalledRoom[] {
  return rooms.map(({ install }) => (install as (core: Core) => InstalledRoom)(core));
}

/** The public members of a class, for the interface of its whole. */
export type Methods<Part> = { [Name in keyof Part]: Part[Name] };

const namesOf = new WeakMap<object, readonly (readonly [name: string, isGetter: boolean])[]>();

/** Gives `whole` the methods and getters of `part`. A method that returns its part, as a builder does, returns the whole instead. */
export function addMethods(whole: object, part: object): void {
  for (const [name, isGetter] of membersOf(Object.getPrototypeOf(part) as object)) {
    const read = (): unknown => (part as Record<string, unknown>)[name];
    const call = (...args: unknown[]): unknown => {
      const answer = (read() as (...args: unknown[]) => unknown).apply(part, args);
      return answer === part ? whole : answer;
    };
    Object.defineProperty(
      whole,
      name,
      isGetter ? { get: read, configurable: true } : { value: call, configurable: true },
    );
  }
}

function membersOf(prototype: object): readonly (readonly [name: string, isGetter: boolean])[] {
  const known = namesOf.get(prototype);
  if (known !== undefined) return known;
  const found = new Map<string, boolean>();
  for (let each = prototype; each !== Object.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      if (name !== "constructor" && !found.has(name)) found.set(name, "get" in property);
    }
  }
  const members = [...found];
  namesOf.set(prototype, members);
  return members;
}
