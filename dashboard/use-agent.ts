/**
 * React hooks over the connection, for calls, their answers and the state of the socket.
 *
 * It has no markup. An answer stays while the next one is loading, so nothing flickers. `stale` means that the socket is down. Every answer
 * is fetched again when the socket is back.
 */
import { createContext, useCallback, useContext, useEffect, useState, useSyncExternalStore } from "react";
import { errorCode, type ErrorCode } from "../src/errors.ts";
import type { RunEvent } from "../src/agent/events.ts";
import type { PageCall } from "../src/page/page-calls.ts";
import type { CallInput, CallResult } from "../src/rooms.ts";
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

/** Returns why the connection is not open, in words, where that is known. */
export function useWhy(): string | null {
  const connection = useConnection();
  return useSyncExternalStore(connection.subscribe, () => connection.why);
}

/** Returns how often the connection was opened. */
export function useOpenings(): number {
  const connection = useConnection();
  return useSyncExternalStore(connection.subscribe, () => connection.openings);
}

/** Returns the known runs of a session, or of all sessions, the last changed first. runs/known-runs.ts is the only account of live runs. */
export function useRunEvents(sessionId?: string): readonly RunEvent[] {
  const connection = useConnection();
  const runs = useSyncExternalStore(connection.subscribe, () => connection.runs);
  const events = [...runs.values()].filter((event) => sessionId === undefined || event.sessionId === sessionId);
  return events.toSorted((a, b) => b.at - a.at);
}

export type Asked<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T; readonly stale: boolean }
  | { readonly kind: "failed"; readonly error: string; readonly code: ErrorCode | undefined };

interface Held<T> {
  readonly key: string;
  readonly asked: { kind: "ready"; value: T } | Extract<Asked<T>, { kind: "failed" }>;
}

/** Calls the agent. Calls again when the input or the `revision` changes, or when the connection is back. Null makes no call. */
export function useCall<Name extends PageCall>(
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
    // The next opening calls again, because it changes `openings`.
    if (asked === null || isLoss(connection)) return undefined;
    let current = true;
    connection.call(name, asked).then(
      (value) => current && setHeld({ key, asked: { kind: "ready", value } }),
      // An earlier answer is worth more than "the connection was lost". The link shows that the answer is stale.
      (error: unknown) => current && !isLoss(connection) && setHeld(failedAt(key, error)),
    );
    return () => {
      current = false;
    };
    // The last two are not read. A change of theirs means that the answer may have changed.
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
  return { key, asked: { kind: "failed", error: advice, code: errorCode(error) } };
}

/** Returns an error for people, which is the agent's advice without its code. */
export function adviceOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return errorCode(error) === undefined ? message : message.replace(/^(?:\w*Error: )?\[\w+\] /, "");
}

export interface Act {
  readonly busy: boolean;
  /** Result of the last action. It is advice after a failure, or a sentence when there is something to report. */
  readonly told: { readonly kind: "done" | "failed"; readonly text: string } | null;
  readonly run: (work: (connection: Connection) => Promise<string | null>) => Promise<void>;
}

/** Runs a person's actions one at a time, and keeps the last result. */
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

/** Returns the time (epoch ms), updated at an interval, for texts like "3 min ago". */
export function useNow(ms = 30_000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return now;
}

/** Returns a number that rises at an interval while the page is visible, for data that changes without an event. */
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
