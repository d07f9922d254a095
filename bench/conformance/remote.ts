/**
 * A {@link Store} that lives in another object, called over RPC.
 *
 * Holds both ends of the wire. {@link openStore} runs in the Worker that checks facts, {@link Desk} in the object.
 */
import type { Meter, Rows } from "../objects/meter.ts";
import type { SessionStore, Store, Summariser, Verb } from "./store.ts";

type Call = readonly [sessionId: string, verb: Verb, args: readonly unknown[]];

export interface DeskMethods {
  ask(...call: Call): Promise<unknown>;
  count(...call: Call): Promise<Rows>;
  holds(text: string): Promise<boolean>;
  evict(): Promise<void>;
}

/** Asks for a stub at every call, because a stub from before an eviction is dead. */
export function openStore(desk: () => DeskMethods, sessionId = ""): Store {
  const own = {
    session: (id: string) => openStore(desk, id),
    // The object is gone before it can answer, so an error is the expected answer.
    evict: () =>
      desk()
        .evict()
        .catch(() => undefined),
    rows: (verb: Verb, ...args: readonly unknown[]) => desk().count(sessionId, verb, args),
    holds: (text: string) => desk().holds(text),
  };
  return new Proxy(own, {
    get: (methods, name) =>
      Reflect.get(methods, name) ?? ((...args: readonly unknown[]) => desk().ask(sessionId, name as Verb, args)),
  }) as unknown as Store;
}

/** Runs inside the object. Calls an adapter by name and looks at rows below it. */
export class Desk {
  readonly #storage: DurableObjectStorage;
  readonly #meter: Meter;
  readonly #open: (sessionId: string) => SessionStore;
  readonly #sessions = new Map<string, SessionStore>();

  constructor(storage: DurableObjectStorage, meter: Meter, open: (sessionId: string) => SessionStore) {
    this.#storage = storage;
    this.#meter = meter;
    this.#open = open;
  }

  ask(...[sessionId, verb, args]: Call): Promise<unknown> {
    const session = this.#sessions.get(sessionId) ?? this.#open(sessionId);
    this.#sessions.set(sessionId, session);
    const method = session[verb] as (...args: readonly unknown[]) => Promise<unknown>;
    return method.apply(session, [...args]);
  }

  count(...call: Call): Promise<Rows> {
    return this.#meter.count(() => this.ask(...call));
  }

  holds(text: string): boolean {
    const { sql } = this.#storage;
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const decoder = new TextDecoder("latin1");
    return tables
      .filter(({ name }) => !name.startsWith("_cf_"))
      .flatMap(({ name }) => [...sql.exec(`SELECT * FROM "${name}"`).raw()].flat())
      .map((value) => (value instanceof ArrayBuffer ? decoder.decode(value) : String(value)))
      .some((value) => value.includes(text));
  }
}

interface Kept {
  dup?(): never;
}

/** Keeps a function that came over RPC. Without this the function is disposed when its call ends. */
export function keep<F>(given: F): F {
  return (given as Kept).dup?.() ?? given;
}

export function keepSummariser(given: Summariser): Summariser {
  return "model" in given ? { ...given, model: keep(given.model) } : { choose: keep(given.choose) };
}
