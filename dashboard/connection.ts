/**
 * The page's one connection to an agent, with typed calls, the known runs and the state of the socket.
 *
 * It opens the socket, with a ticket where the Worker asks for credentials (door.ts). It reports its state and opens the socket again when
 * it drops. It knows no view. `link` and `openings` tell whether an answer may be out of date. No call is queued, so a call is either sent
 * now or refused and never sent.
 */
import { AgentClient } from "agents/client";
import { RUN_EVENT, runEvent, type RunEvent } from "../src/agent/events.ts";
import { explainCall } from "../src/explain-call.ts";
import type { PageCall } from "../src/page/page-calls.ts";
import type { CallInput, CallResult } from "../src/rooms.ts";
import { askForTicket, findOddSecret, keepSecret } from "./door.ts";
import { AGENT, agentPath } from "./agent-address.ts";
import { forgetLive, learn, liveIds, type KnownRuns } from "./runs/known-runs.ts";

/**
 * `lost` was open, or should be, and is being opened again. `locked` means that the Worker wants the secret. `closed` means that it
 * lets nobody in. `refused` means that it has no such agent, or not for this caller.
 */
export type Link = "connecting" | "open" | "lost" | "locked" | "closed" | "refused";

/** Time limit of one call (ms). The slowest is a search that first indexes a long session. */
const CALL_MS = 60_000;
/**
 * Time limit (ms) of an attempt to open the connection, for its ticket and its socket each. An agent that wakes on a busy machine needs
 * seconds.
 */
const OPEN_MS = 15_000;
/** Shortest and longest wait between two attempts (ms). They are short, because a person is watching. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 4_000;

/** A call without an answer. The agent may have executed it or not. */
export class Unanswered extends Error {
  override readonly name = "Unanswered";
}

export class Connection {
  readonly name: string;
  readonly #client: AgentClient;
  readonly #listeners = new Set<() => void>();
  #link: Link = "connecting";
  #why: string | null = null;
  #openings = 0;
  #runs: KnownRuns = new Map();
  /** Runs that were live when the connection was lost. */
  #unsure: readonly string[] = [];
  readonly #closed = new AbortController();

  constructor(name: string) {
    this.name = name;
    const { host, protocol } = globalThis.location;
    this.#client = new AgentClient({
      agent: AGENT,
      basePath: agentPath(name),
      host,
      protocol: protocol === "https:" ? "wss" : "ws",
      query: () => this.#admission(),
      connectionTimeout: OPEN_MS,
      minReconnectionDelay: FIRST_WAIT_MS,
      maxReconnectionDelay: LONGEST_WAIT_MS,
    });
    this.#client.addEventListener("open", () => {
      this.#openings++;
      this.#unsure = [...this.#unsure, ...liveIds(this.#runs)];
      this.#runs = forgetLive(this.#runs);
      this.#say("open");
      void this.#askForRuns();
    });
    this.#client.addEventListener("close", () => {
      // During an attempt, the door has already said why it may fail.
      if (this.#link === "open") this.#say("lost");
      else if (this.#link === "connecting" || this.#link === "lost") this.#say("lost", this.#why);
    });
    // A lost network closes no socket for minutes, but the browser knows at once. A new socket shows whether the browser is right.
    const { signal } = this.#closed;
    globalThis.addEventListener("offline", () => this.#open("lost"), { signal });
    globalThis.addEventListener("online", () => this.retry(), { signal });
    this.#client.addEventListener("message", (event: MessageEvent) => this.#hear(event.data));
  }

  get link(): Link {
    return this.#link;
  }

  /** Why the connection is not open, in words, where that is known. */
  get why(): string | null {
    return this.#why;
  }

  /** Number of openings. An answer from before the newest opening may be out of date. */
  get openings(): number {
    return this.#openings;
  }

  /** The last known state of each live run, and of each run that changed since the page was opened. */
  get runs(): KnownRuns {
    return this.#runs;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /**
   * Calls the agent, after a running attempt to open the connection has ended.
   *
   * Rejects with the agent's own error. Rejects without sending while the connection is down. Rejects with {@link Unanswered} when the
   * connection is lost or the time limit passes before the answer.
   */
  async call<Name extends PageCall>(name: Name, input: CallInput<Name>): Promise<CallResult<Name>> {
    if (this.#link === "connecting") await this.#attempt();
    if (this.#link !== "open" || this.#client.readyState !== WebSocket.OPEN) {
      throw new Error("Nothing was sent: the connection is down. Ask again when it is back.");
    }
    try {
      return await this.#client.call<CallResult<Name>>(name, [input], { timeout: CALL_MS });
    } catch (error) {
      // The SDK's client marks its own errors in no other way.
      if (!(error instanceof Error) || !/^(?:Connection closed$|RPC call to )/.test(error.message)) {
        throw explainCall(error);
      }
      throw new Unanswered(
        "No answer came, so this may have been done or not: what is shown once the connection is back says which.",
      );
    }
  }

  /** Stores the secret for this tab and connects again. Returns why the text cannot be a secret, and then does nothing. */
  unlock(secret: string): string | null {
    const odd = findOddSecret(secret);
    if (odd !== null) return odd;
    keepSecret(secret);
    this.retry();
    return null;
  }

  retry(): void {
    this.#open("connecting");
  }

  close(): void {
    this.#closed.abort();
    this.#client.close();
  }

  #open(meanwhile: Link): void {
    this.#say(meanwhile);
    this.#client.reconnect();
  }

  /**
   * Runs before each opening, because a ticket opens one socket. Where nobody answers, no socket is tried, and this runs again after a
   * wait. No attempt begins before the previous one has ended, so attempts are bounded.
   */
  async #admission(): Promise<Record<string, string>> {
    const door = await askForTicket(this.name, OPEN_MS);
    if (door.kind === "open") {
      this.#why = "The Worker lets the page in, but the agent does not answer.";
      return door.ticket === null ? {} : { ticket: door.ticket };
    }
    // Another attempt changes nothing here until a person acts.
    if (door.kind !== "shut") this.#client.close();
    this.#say(door.kind === "shut" ? "lost" : door.kind, door.why);
    throw new Error("No ticket was given.");
  }

  /** A run that was live before and is not now has ended without an event. Its record has the outcome. */
  async #askForRuns(): Promise<void> {
    const unsure = this.#unsure;
    try {
      const live = await this.call("liveRuns", {});
      this.#learn(live);
      const gone = unsure.filter((id) => !live.some(({ runId }) => runId === id));
      await Promise.all(gone.map((runId) => this.#askHowEnded(runId)));
      this.#unsure = this.#unsure.filter((id) => !unsure.includes(id));
    } catch {
      // The connection was lost again. The next opening asks again.
    }
  }

  async #askHowEnded(runId: string): Promise<void> {
    try {
      const run = await this.call("getRun", { runId });
      this.#learn([runEvent(run, run.endedAt ?? run.createdAt)]);
    } catch (error) {
      // The run was deleted with its session.
      if (this.#link !== "open") throw error;
    }
  }

  #hear(data: unknown): void {
    if (typeof data !== "string" || !data.includes(RUN_EVENT)) return;
    const event = JSON.parse(data) as RunEvent;
    if (event.type !== RUN_EVENT) return;
    this.#learn([event]);
  }

  #learn(told: readonly RunEvent[]): void {
    this.#runs = learn(this.#runs, told);
    this.#tell();
  }

  /** Resolves when the attempt to open the connection has ended, within its time limit. */
  #attempt(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.subscribe(() => {
        if (this.#link === "connecting") return;
        stop();
        resolve();
      });
    });
  }

  #say(link: Link, why: string | null = null): void {
    if (this.#closed.signal.aborted) return;
    this.#link = link;
    this.#why = why;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
