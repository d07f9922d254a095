/**
 * The page's one connection to an agent: typed calls, what is known of runs, and the truth about the socket.
 *
 * Job: open it, with a ticket where the Worker asks for credentials (door.ts); say how it stands; open it again when it
 * drops. Boundary: knows no view. Safe because whoever shows an answer can tell from `link` and `openings` whether it may be
 * out of date, and because nothing is kept to be sent later: a call is made now, or it is refused and never made.
 */
import { AgentClient } from "agents/client";
import { RUN_EVENT, runEvent, type RunEvent } from "../src/agent/events.ts";
import { writeAgentName } from "../src/doors/agent-name.ts";
import type { CallInput, CallName, CallResult } from "../src/rooms.ts";
import { AGENT, askForTicket, findOddSecret, keepSecret } from "./door.ts";
import { forgetLive, learn, liveIds, type KnownRuns } from "./runs/known-runs.ts";

/** `lost`: was open, or should be, and is being opened again. `locked`: the Worker wants the secret. `refused`: not here. */
export type Link = "connecting" | "open" | "lost" | "locked" | "refused";

/** How long one call may take (ms): a search that indexes a long session first is the slowest. */
const CALL_MS = 60_000;
/** How long one attempt to open it may take (ms), its ticket and its socket each: an agent that must wake on a busy machine needs seconds. */
const OPEN_MS = 15_000;
/** Between two attempts (ms), the first and the longest: somebody is looking on. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 4_000;

/** A call that was made, and that nobody answered: it may have been done or not. */
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
      name: writeAgentName(name),
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
      // Of an attempt, the door said why it may not come about.
      if (this.#link === "open") this.#say("lost");
      else if (this.#link === "connecting" || this.#link === "lost") this.#say("lost", this.#why);
    });
    // A network that is gone closes no socket for minutes: the browser knows at once. Whether it is right, a new socket shows.
    const { signal } = this.#closed;
    globalThis.addEventListener("offline", () => this.#open("lost"), { signal });
    globalThis.addEventListener("online", () => this.retry(), { signal });
    this.#client.addEventListener("message", (event: MessageEvent) => this.#hear(event.data));
  }

  get link(): Link {
    return this.#link;
  }

  /** Why it is not open, in words, where that is known. */
  get why(): string | null {
    return this.#why;
  }

  /** How often it came up: what was asked before the newest opening may be out of date. */
  get openings(): number {
    return this.#openings;
  }

  /** Each run that is live, as the ledger told last, and each that moved since the page was opened. */
  get runs(): KnownRuns {
    return this.#runs;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /**
   * Rejects with the agent's own error; at once, without having been sent, while the connection is down; with
   * {@link Unanswered} when it is lost, or takes too long, before the answer came. While it is being opened, waits for what
   * comes of that: whoever asked is told that it is asked.
   */
  async call<Name extends CallName>(name: Name, input: CallInput<Name>): Promise<CallResult<Name>> {
    if (this.#link === "connecting") await this.#attempt();
    if (this.#link !== "open" || this.#client.readyState !== WebSocket.OPEN) {
      throw new Error("Nothing was sent: the connection is down. Ask again when it is back.");
    }
    try {
      return await this.#client.call<CallResult<Name>>(name, [input], { timeout: CALL_MS });
    } catch (error) {
      // The SDK's client has no other sign of what did not come from the agent.
      if (!(error instanceof Error) || !/^(?:Connection closed$|RPC call to )/.test(error.message)) throw error;
      throw new Unanswered(
        "No answer came, so this may have been done or not: what is shown once the connection is back says which.",
      );
    }
  }

  /** Keeps the secret for this tab and tries again. Answers why it cannot be one, and does nothing then. */
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
   * Asked before each opening: a ticket opens one socket. Where nobody answers, no socket is tried, and this is asked again
   * after a while. Bounded, because no attempt begins before this one has ended.
   */
  async #admission(): Promise<Record<string, string>> {
    const door = await askForTicket(this.name, OPEN_MS);
    if (door.kind === "open") {
      this.#why = "The Worker lets the page in, but the agent does not answer.";
      return door.ticket === null ? {} : { ticket: door.ticket };
    }
    // No further attempt would change these, until a person does something.
    if (door.kind !== "shut") this.#client.close();
    this.#say(door.kind === "shut" ? "lost" : door.kind, door.why);
    throw new Error("No ticket was given.");
  }

  /** Each run that was live and no longer is has ended while nobody listened: how, its record says. */
  async #askForRuns(): Promise<void> {
    const unsure = this.#unsure;
    try {
      const live = await this.call("liveRuns", {});
      this.#learn(live);
      const gone = unsure.filter((id) => !live.some(({ runId }) => runId === id));
      await Promise.all(gone.map((runId) => this.#askHowEnded(runId)));
      this.#unsure = this.#unsure.filter((id) => !unsure.includes(id));
    } catch {
      // Lost again: asked at the next opening.
    }
  }

  async #askHowEnded(runId: string): Promise<void> {
    try {
      const run = await this.call("getRun", { runId });
      this.#learn([runEvent(run, run.endedAt ?? run.createdAt)]);
    } catch (error) {
      // A run that is gone went with its session.
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

  /** Resolves when the attempt to open it has come to something, which it does within its bound. */
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
