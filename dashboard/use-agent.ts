/**
 * The connection as React sees it: what was asked, what came, and whether it may still be believed.
 *
 * Boundary: no markup. An answer stays while the next one is fetched, so nothing flickers; `stale` says that the socket is
 * down, and every answer is fetched again when it is back.
 */
import { createContext, useCallback, useContext, useEffect, useState, useSyncExternalStore } from "react";
import { errorCode } from "../src/errors.ts";
import type { RunEvent } from "../src/agent/events.ts";
import type { CallInput, CallName, CallResult } from "../src/rooms.ts";
import { Unanswered, type Connection, type Link } from "./connection.ts";

export const ConnectionContext = createContext<Connection | null>(null);

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === null) throw new Error("There is no connection here: render inside <ConnectionContext>.");
  return connection;
}

export function useLink(): Link {
  const connection = useConnection();
  return useSyncExternalStore(connection.subscribe, () => connection.link);
}

/** Why it is not open, in words, where that is known. */
export function useWhy(): string | null {
  const connection = useConnection();
  return useSyncExternalStore(connection.subscribe, () => connection.why);
}

/** How often the connection came up. */
export function useOpenings(): number {
  const connection = useConnection();
  return useSyncExternalStore(connection.subscribe, () => connection.openings);
}

/** What is known of the runs of a session, or of all: the one account of what is live (runs/known-runs.ts). Last moved, first named. */
export function useRunEvents(sessionId?: string): readonly RunEvent[] {
  const connection = useConnection();
  const runs = useSyncExternalStore(connection.subscribe, () => connection.runs);
  const events = [...runs.values()].filter((event) => sessionId === undefined || event.sessionId === sessionId);
  return events.toSorted((a, b) => b.at - a.at);
}

export type Asked<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T; readonly stale: boolean }
  | { readonly kind: "failed"; readonly error: string };

interface Held<T> {
  readonly key: string;
  readonly asked: { kind: "ready"; value: T } | { kind: "failed"; error: string };
}

/** Asks, and asks again whenever the input or the `revision` is another, or the connection is back. Null asks nothing. */
export function useCall<Name extends CallName>(
  name: Name,
  input: CallInput<Name> | null,
  revision: unknown = null,
): Asked<CallResult<Name>> {
  const connection = useConnection();
  const link = useLink();
  const openings = useOpenings();
  const key = JSON.stringify([connection.name, name, input]);
  const [held, setHeld] = useState<Held<CallResult<Name>> | null>(null);
  const again = JSON.stringify(revision);
  useEffect(() => {
    const [, , asked] = JSON.parse(key) as [string, string, CallInput<Name> | null];
    // Asked at the next opening, which is another number.
    if (asked === null || isLoss(connection)) return undefined;
    let current = true;
    connection.call(name, asked).then(
      (value) => current && setHeld({ key, asked: { kind: "ready", value } }),
      // What came before is worth more than "the connection was lost": its staleness is told by the link.
      (error: unknown) => current && !isLoss(connection) && setHeld(failedAt(key, error)),
    );
    return () => {
      current = false;
    };
    // The last two are not read: they say that the answer may be another one.
    // oxlint-disable-next-line react/exhaustive-effect-dependencies
  }, [connection, name, key, again, openings]);
  if (held === null || held.key !== key) return { kind: "loading" };
  return held.asked.kind === "failed" ? held.asked : { ...held.asked, stale: link !== "open" };
}

function isLoss(connection: Connection): boolean {
  return connection.link !== "open";
}

function failedAt<T>(key: string, error: unknown): Held<T> {
  const advice =
    error instanceof Unanswered ? "No answer came in time. Reload the page to ask again." : adviceOf(error);
  return { key, asked: { kind: "failed", error: advice } };
}

/** What a person is told: the agent's advice without its code. */
export function adviceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return errorCode(error) === undefined ? message : message.replace(/^(?:\w*Error: )?\[\w+\] /, "");
}

export interface Act {
  readonly busy: boolean;
  /** What came of the last one: advice when it failed, a sentence when it did something worth saying. */
  readonly told: { readonly kind: "done" | "failed"; readonly text: string } | null;
  readonly run: (work: (connection: Connection) => Promise<string | null>) => Promise<void>;
}

/** Runs one thing at a time that a person asked for, and keeps what came of it. */
export function useAct(): Act {
  const connection = useConnection();
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<Act["told"]>(null);
  const run = useCallback<Act["run"]>(
    async (work) => {
      setBusy(true);
      try {
        const text = await work(connection);
        setTold(text === null ? null : { kind: "done", text });
      } catch (error) {
        setTold({ kind: "failed", text: adviceOf(error) });
      } finally {
        setBusy(false);
      }
    },
    [connection],
  );
  return { busy, told, run };
}

/** The moment (epoch ms), told again every so often: for "3 min ago". */
export function useNow(ms = 30_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return now;
}

/** Rises every so often while the page is looked at: for what changes without an event. */
export function useTick(ms: number): number {
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setTick((before) => before + 1);
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
  return tick;
}
