/**
 * The calls of an agent that a connected client may make. A call that is not opened is not registered with the SDK, and is refused here before it.
 *
 * The list applies to connections. A holder of the agent's stub, such as another Worker or a Workflow, may call everything.
 */
import { callable, getCurrentAgent, type Agent, type WSMessage } from "agents";
import { PalimpsestError } from "../errors.ts";
import { MAX_ID_CHARS } from "../limits.ts";
import type { AgentCore } from "./agent-core.ts";
import type { CallContext, Calls, Grant, MethodsOfCalls } from "./calls.ts";
import type { CallTable, Rooms } from "./extension.ts";
import { isAtHome } from "./this-machine.ts";
import { SessionManager } from "./sessions/session-manager.ts";
import { Session } from "./sessions/session.ts";

/** The calls for clients. They are all, none, or exactly the listed ones, by group or by name. */
export type Clients<R extends Rooms = Rooms> = "all" | "none" | readonly (Grant | (keyof Calls<R> & string))[];

/** Open by default. Clients ask for compactions and follow them, and no answer holds a word of the conversation. */
export const DEFAULT_CLIENTS = ["watch"] as const satisfies Clients<readonly []>;

/** The names of a table's calls that a list opens. */
export type Opened<Table, List> = List extends "all"
  ? keyof Table
  : List extends readonly (infer Open)[]
    ? {
        [Name in keyof Table]: Name extends Open
          ? Name
          : Table[Name] extends { readonly group: infer Group }
            ? Group extends Open
              ? Name
              : never
            : never;
      }[keyof Table]
    : never;

/**
 * The client's view of an agent that was declared with this list and these rooms. Use it as `new AgentClient<CompactionClient<["watch",
 * "read"]>>(…)`.
 */
export type CompactionClient<
  List extends "all" | "none" | readonly string[] = typeof DEFAULT_CLIENTS,
  R extends Rooms = readonly [],
> = Pick<MethodsOfCalls<Calls<R>>, Opened<Calls<R>, List>>;

const GRANTS: ReadonlySet<string> = new Set<Grant>(["watch", "read", "write", "steer", "admin", "override"]);

/** A checked list. */
export class ClientAccess {
  readonly #list: "all" | "none" | readonly string[];
  readonly #table: CallTable;

  /** Throws `invalid_options` for a name that is neither a group nor a call of the table. */
  constructor(list: "all" | "none" | readonly string[], table: CallTable) {
    this.#list = list;
    this.#table = table;
    if (list === "all" || list === "none") return;
    const unknown = Array.isArray(list)
      ? list.filter((each) => !GRANTS.has(each) && !Object.hasOwn(table, each))
      : [list];
    if (unknown.length === 0) return;
    throw new PalimpsestError(
      "invalid_options",
      `clients: ${unknown.map((each) => JSON.stringify(each)).join(", ")} is no group and no call. Give "all", "none", or a list of ${[...GRANTS].join(", ")} and names of calls.`,
    );
  }

  /** Whether clients have a whole group, or `override`. */
  grants(grant: Grant): boolean {
    return this.#holds(grant);
  }

  opens(name: string): boolean {
    const group = this.#table[name]?.group;
    return group !== undefined && (this.#holds(group) || this.#holds(name));
  }

  #holds(each: string): boolean {
    return this.#list === "all" || (this.#list !== "none" && this.#list.includes(each));
  }
}

/** The looks that a connection from this machine has, whatever the list opens. They change nothing. */
const LOOKS: ReadonlySet<string> = new Set<Grant>(["watch", "read"]);

/** What a caller at home may do: look at everything, and what the list opens. */
export function mayAtHome(access: ClientAccess): (grant: Grant) => boolean {
  return (grant) => LOOKS.has(grant) || access.grants(grant);
}

/** By agent, the ids of its connections from this machine. */
const atHome = new WeakMap<object, Set<string>>();

/**
 * The context of the call that is being made. A client may do what its access grants, one on this machine may also look at everything, and any
 * other caller may do everything.
 */
export function contextOf(palimpsest: AgentCore, access: ClientAccess): CallContext {
  const { agent, connection } = getCurrentAgent();
  const isHome = agent !== undefined && connection !== undefined && atHome.get(agent)?.has(connection.id) === true;
  return {
    core: palimpsest,
    manager: SessionManager.create({ palimpsest }),
    session: (sessionId) => Session.create({ palimpsest }).forSession(sessionId),
    may: isHome ? mayAtHome(access) : (grant) => connection === undefined || access.grants(grant),
  };
}

type Method = (this: object, input?: unknown) => unknown;

/** By prototype of a class with registered calls, the names that were opened in it. */
const openedIn = new WeakMap<object, ReadonlySet<string>>();

/**
 * Registers the open calls of an agent's class, once. Each class gets methods of its own, because the SDK recognises a callable by its
 * function. A call that one class opens must be open neither in its parent nor in a child that closes it. A method that an author made
 * callable stays callable, except where a call of ours replaced a method of the base class (`shadowed`).
 */
export function registerCalls(
  agent: Agent,
  table: CallTable,
  { access, shadowed }: { access: ClientAccess; shadowed: ReadonlySet<string> },
): void {
  const prototype = Object.getPrototypeOf(agent) as Record<string, Method>;
  if (openedIn.has(prototype)) return;
  const authors = agent.getCallableMethods();
  for (const name of Object.keys(table)) {
    const inherited = prototype[name];
    if (inherited === undefined) continue;
    const own: Method = function (input) {
      return inherited.call(this, input);
    };
    const isAuthors = authors.has(name) && !shadowed.has(name) && !isOpenedAbove(prototype, name);
    if (access.opens(name) || isAuthors) callable()(own, NO_CONTEXT);
    Object.defineProperty(prototype, name, { value: own, writable: true, configurable: true });
  }
  openedIn.set(prototype, new Set(Object.keys(table).filter((name) => access.opens(name))));
}

/**
 * Adds the opened calls to an agent's class, and no other name, for a base class that has many names of its own. A name that the class
 * already has stays unchanged.
 */
export function addOpenCalls(
  agent: Agent,
  table: CallTable,
  { access, run }: { access: ClientAccess; run: (this: object, name: string, input: unknown) => unknown },
): void {
  const prototype = Object.getPrototypeOf(agent) as object;
  for (const name of Object.keys(table)) {
    if (!access.opens(name) || name in prototype) continue;
    const method: Method = function (input) {
      return run.call(this, name, input);
    };
    callable()(method, NO_CONTEXT);
    Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true });
  }
}

/** By agent, what a client is told of a call that it may not make. */
const refusals = new WeakMap<object, (call: string) => string>();

/** What a client of an agent is told of a call that it may not make. */
export function adviceOn(agent: object, call: string): string {
  return refusals.get(agent)?.(call) ?? `This agent has no method ${JSON.stringify(call)} for its clients.`;
}

interface ClosedCalls {
  readonly access: ClientAccess;
  /** Makes a call with the looks of this machine. */
  readonly run: (name: string, input: unknown) => Promise<unknown>;
}

/**
 * Answers the calls that an agent lacks or does not open. A connection from the machine that runs the Worker may look all the same, so that
 * the command line shows summaries and views of an agent under development. The SDK's own answer says only that the method does not exist, and logs a stack.
 * A frame for a sub-agent passes, because its calls are not those of this agent.
 */
export function refuseClosedCalls(agent: Agent, table: CallTable, { access, run }: ClosedCalls): void {
  const open = Object.keys(table).filter((name) => access.opens(name));
  refusals.set(agent, (call) =>
    Object.hasOwn(table, call)
      ? `This agent does not open ${call} to clients. List it where the agent is declared: clients: ["watch", "${call}"].`
      : Object.hasOwn(agent.constructor.prototype as object, call)
        ? `This agent has no method "${call}" for its clients: it is not @callable(), or that is of another copy of "agents" than palimpsest imports (npm ls agents).`
        : `This agent has no method ${JSON.stringify(call)} for its clients. It opens ${open.join(", ") || "none"}. A room may bring it: docs/clients.md.`,
  );
  const own = new Set<string>();
  atHome.set(agent, own);
  const connect = agent.onConnect.bind(agent);
  agent.onConnect = async (connection, context) => {
    if (isAtHome(context.request)) own.add(connection.id);
    return connect(connection, context);
  };
  const close = agent.onClose.bind(agent);
  agent.onClose = async (connection, ...rest) => {
    own.delete(connection.id);
    return close(connection, ...rest);
  };
  const inner = agent.onMessage.bind(agent);
  agent.onMessage = async (connection, message) => {
    const isOpen = (name: string): boolean => access.opens(name) || agent.getCallableMethods().has(name);
    const call = connection.uri?.includes("/sub/") === true ? null : closedCall(message, isOpen);
    if (call === null) return inner(connection, message);
    if (own.has(connection.id) && LOOKS.has(table[call.method]?.group ?? "")) {
      connection.send(JSON.stringify({ type: "rpc", id: call.id, ...(await answerOf(run(call.method, call.input))) }));
      return;
    }
    const { message: error } = new PalimpsestError("not_configured", adviceOn(agent, call.method));
    connection.send(JSON.stringify({ type: "rpc", id: call.id, success: false, error }));
  };
}

/** Methods that a frame may name. A quick look, so that no large frame is parsed twice. */
const METHODS = /"method"\s*:\s*"([^"\\]*)"/g;

/** The call in a frame where its method is not open. */
function closedCall(
  message: WSMessage,
  isOpen: (name: string) => boolean,
): { readonly id: string; readonly method: string; readonly input: unknown } | null {
  if (typeof message !== "string") return null;
  if ([...message.matchAll(METHODS)].every(([, name = ""]) => isOpen(name))) return null;
  try {
    const { type, id, method, args } = JSON.parse(message) as Record<string, unknown>;
    const isCall = type === "rpc" && typeof id === "string" && typeof method === "string";
    const input: unknown = Array.isArray(args) ? args[0] : undefined;
    return isCall && method.length <= MAX_ID_CHARS && !isOpen(method) ? { id, method, input } : null;
  } catch {
    return null;
  }
}

/** As the SDK answers a call. */
async function answerOf(result: Promise<unknown>): Promise<object> {
  try {
    return { success: true, done: true, result: await result };
  } catch (error) {
    return { success: false, error: error instanceof Error ? error.message : String(error) };
  }
}

/** The context argument that decorator syntax passes to `@callable()`, which ignores it. */
const NO_CONTEXT = {} as ClassMethodDecoratorContext;

function isOpenedAbove(prototype: object, name: string): boolean {
  for (let above: unknown = prototype; above !== null; above = Object.getPrototypeOf(above)) {
    if (openedIn.get(above as object)?.has(name) === true) return true;
  }
  return false;
}
