/**
 * Which of an agent's calls a connected client may make: what is not opened is not registered with the SDK, which then
 * refuses it.
 *
 * The list is about connections. Whoever holds the agent's stub (another Worker, a Workflow) may call everything.
 */
import { callable } from "agents";
import { PalimpsestError } from "../errors.ts";
import { CALL_NAMES, calls, type CallMethods, type CallName, type Grant } from "./calls.ts";

/** What clients may do: everything, nothing, or exactly what is listed, by group or by name. */
export type Clients = "all" | "none" | readonly (Grant | CallName)[];

/** Open unless told otherwise: compactions are asked for and followed, and no answer holds a word of what was said. */
export const DEFAULT_CLIENTS = ["watch"] as const satisfies Clients;

/** The names of the calls that a list opens. */
export type OpenCalls<List extends Clients> = List extends "all"
  ? CallName
  : List extends readonly (infer Open)[]
    ? {
        [Name in CallName]: Name extends Open ? Name : (typeof calls)[Name]["group"] extends Open ? Name : never;
      }[CallName]
    : never;

/**
 * What a client sees of an agent that was declared with this list: `new AgentClient<CompactionClient<["watch", "read"]>>(…)`.
 */
export type CompactionClient<List extends Clients = typeof DEFAULT_CLIENTS> = Pick<CallMethods, OpenCalls<List>>;

const GRANTS: ReadonlySet<string> = new Set<Grant>(["watch", "read", "write", "steer", "admin", "override"]);

/** A checked list. */
export class Doors {
  readonly #list: Clients;

  /** Throws `invalid_options` for what is neither a group nor a call. */
  constructor(list: Clients) {
    this.#list = list;
    const unknown = Array.isArray(list)
      ? list.filter((each) => !GRANTS.has(String(each)) && !Object.hasOwn(calls, String(each)))
      : list === "all" || list === "none"
        ? []
        : [list];
    if (unknown.length === 0) return;
    throw new PalimpsestError(
      "invalid_options",
      `clients: ${unknown.map((each) => JSON.stringify(each)).join(", ")} is no group and no call. Give "all", "none", or a list of ${[...GRANTS].join(", ")} and names of calls.`,
    );
  }

  /** Whether clients may do all that a group holds, or `override`. */
  grants(grant: Grant): boolean {
    return this.#list === "all" || (this.#list !== "none" && this.#list.includes(grant));
  }

  opens(name: CallName): boolean {
    return (
      this.grants(calls[name].group) || (this.#list !== "none" && this.#list !== "all" && this.#list.includes(name))
    );
  }
}

type Method = (this: object, ...args: unknown[]) => unknown;

/** Classes whose doors are hung, and the methods that were registered for one. */
const hung = new WeakSet<object>();
const registered = new WeakSet<Method>();

/**
 * Registers the open calls of an agent's class, once. Each class gets methods of its own: the SDK knows what is callable by
 * the function, and a parent's opened call must not be open in a child that closed it.
 */
export function hangDoors(agent: object, doors: Doors): void {
  const prototype = Object.getPrototypeOf(agent) as Record<string, Method>;
  if (hung.has(prototype)) return;
  hung.add(prototype);
  for (const name of CALL_NAMES) {
    const inherited = prototype[name];
    if (inherited === undefined) continue;
    const isOpen = doors.opens(name);
    if (!isOpen && !registered.has(inherited)) continue;
    const { [name]: own } = {
      [name](this: object, ...args: unknown[]) {
        return inherited.apply(this, args);
      },
    } as Record<string, Method>;
    if (own === undefined) continue;
    Object.defineProperty(prototype, name, { value: own, writable: true, configurable: true });
    if (!isOpen) continue;
    registered.add(own);
    callable({ description: calls[name].does })(own as never, {} as ClassMethodDecoratorContext);
  }
}
