/**
 * The page's one connection to an agent: typed calls, run events, and the truth about the socket.
 *
 * Job: open it, with a ticket where the Worker asks for credentials; say how it stands; open it again when it drops.
 * Boundary: knows no view. Safe because the secret goes into a header and the session's storage of this tab, never into a
 * URL, and because whoever shows an answer can tell from `link` and `openings` whether it may be out of date.
 */
import { AgentClient } from "agents/client";
import { RUN_EVENT, type RunEvent } from "../agent/events.ts";
import type { Answer, CallName, Inputs } from "./calls.ts";

/** `lost`: was open, or should be, and is being opened again. `locked`: the Worker wants the secret. `refused`: not here. */
export type Link = "connecting" | "open" | "lost" | "locked" | "refused";

const AGENT = "palimpsest-agent";
const SECRET_KEY = "palimpsest:secret";
/** How long one call may take (ms): a search that indexes a long session first is the slowest. */
const CALL_MS = 60_000;
/** How long one attempt to open it may take (ms), its ticket and its socket each: an agent that must wake on a busy machine needs seconds. */
const OPEN_MS = 15_000;
/** Between two attempts (ms), the first and the longest: somebody is looking on. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 4_000;
/** Refusals that no further attempt would change, until a person does something. */
const FINAL: Readonly<Record<number, Link>> = { 401: "locked", 403: "refused", 404: "refused" };

export class Connection {
  readonly name: string;
  readonly #client: AgentClient;
  readonly #listeners = new Set<() => void>();
  #link: Link = "connecting";
  #openings = 0;
  #runs: ReadonlyMap<string, RunEvent> = new Map();
  readonly #closed = new AbortController();

  constructor(name: string) {
    this.name = name;
    const { host, protocol } = globalThis.location;
    this.#client = new AgentClient({
      agent: AGENT,
      name,
      host,
      protocol: protocol === "https:" ? "wss" : "ws",
      query: () => this.#admission(),
      connectionTimeout: OPEN_MS,
      minReconnectionDelay: FIRST_WAIT_MS,
      maxReconnectionDelay: LONGEST_WAIT_MS,
    });
    this.#client.addEventListener("open", () => {
      this.#openings++;
      // What became of them nobody told: they are asked for again. One that has ended stays so.
      this.#runs = new Map([...this.#runs].filter(([, { outcome }]) => outcome !== null));
      this.#say("open");
    });
    this.#client.addEventListener("close", () => {
      if (this.#link === "open" || this.#link === "connecting") this.#say("lost");
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

  /** How often it came up: what was asked before the newest opening may be out of date. */
  get openings(): number {
    return this.#openings;
  }

  /** The newest event of each run that moved since the page was opened. */
  get runs(): ReadonlyMap<string, RunEvent> {
    return this.#runs;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Rejects with the agent's own error, or when the connection is lost meanwhile. */
  call<Name extends CallName>(name: Name, input: Inputs[Name]): Promise<Answer<Name>> {
    return this.#client.call<Answer<Name>>(name, [input], { timeout: CALL_MS });
  }

  /** Keeps the secret for this tab and tries again. */
  unlock(secret: string): void {
    sessionStorage.setItem(SECRET_KEY, secret);
    this.retry();
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
    const secret = sessionStorage.getItem(SECRET_KEY);
    const headers = secret === null ? {} : { Authorization: `Bearer ${secret}` };
    const path = `/agents/${AGENT}/${encodeURIComponent(this.name)}/ticket`;
    const asked = { method: "POST", headers, signal: AbortSignal.timeout(OPEN_MS) };
    const answer = await fetch(path, asked).catch(() => null);
    const final = answer === null ? undefined : FINAL[answer.status];
    if (final !== undefined) {
      this.#client.close();
      this.#say(final);
    }
    if (answer?.ok === true) {
      const { ticket } = await answer.json<{ ticket: string | null }>();
      return ticket === null ? {} : { ticket };
    }
    if (final === undefined) this.#say("lost");
    throw new Error("No ticket was given.");
  }

  #hear(data: unknown): void {
    if (typeof data !== "string" || !data.includes(RUN_EVENT)) return;
    const event = JSON.parse(data) as RunEvent;
    if (event.type !== RUN_EVENT) return;
    this.#runs = new Map(this.#runs).set(event.runId, event);
    this.#tell();
  }

  #say(link: Link): void {
    if (this.#closed.signal.aborted) return;
    this.#link = link;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
