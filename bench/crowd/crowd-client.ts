/**
 * One client of many. It counts what it is sent, and follows runs as any client should.
 *
 * It listens, and each time that its connection reopens it asks for the runs of its sessions, because it missed the events of the time
 * between. It asks after reopening, so no end is lost. A run that ends before the answer is in the answer, and a later end arrives as an
 * event.
 */
import { RUN_EVENT, type RunEvent } from "../../src/agent/events.ts";
import type { ClientReport } from "./crowd.ts";

interface Reply {
  readonly type: string;
  readonly id?: string;
  readonly success?: boolean;
  readonly result?: unknown;
  readonly error?: string;
}

type Ledger = readonly { readonly id: string; readonly outcome: object | null }[];

export class CrowdClient {
  readonly #open: () => Promise<WebSocket>;
  readonly #sessionIds: readonly string[];
  readonly #waiting = new Map<string, PromiseWithResolvers<unknown>>();
  readonly #heard = new Set<string>();
  readonly #asked = new Set<string>();
  readonly #firstEvent = Promise.withResolvers<void>();
  #socket: WebSocket | null = null;
  #listens = new AbortController();
  readonly #delays: number[] = [];
  #calls = 0;
  #count = { drops: 0, frames: 0, bytes: 0, events: 0, eventBytes: 0 };

  private constructor(open: () => Promise<WebSocket>, sessionIds: readonly string[]) {
    this.#open = open;
    this.#sessionIds = sessionIds;
  }

  static async join(open: () => Promise<WebSocket>, sessionIds: readonly string[]): Promise<CrowdClient> {
    const client = new CrowdClient(open, sessionIds);
    await client.#connect();
    return client;
  }

  /** Rejects with the agent's own error message. */
  async call<T>(method: string, input: object): Promise<T> {
    const id = `call-${this.#calls++}`;
    const reply = Promise.withResolvers<unknown>();
    this.#waiting.set(id, reply);
    this.#socket?.send(JSON.stringify({ type: "rpc", id, method, args: [input] }));
    return reply.promise as Promise<T>;
  }

  /** Resolves after the first event of a run. */
  untilEvent(): Promise<void> {
    return this.#firstEvent.promise;
  }

  /** Ignores everything from now on, even frames on their way. */
  drop(): void {
    this.#listens.abort();
    this.#socket?.close();
    this.#socket = null;
    this.#count.drops++;
  }

  async comeBack(): Promise<void> {
    await this.#connect();
    await Promise.all(
      this.#sessionIds.map(async (sessionId) => {
        const runs = await this.call<Ledger>("runs", { sessionId });
        for (const { id, outcome } of runs) if (outcome !== null && !this.#heard.has(id)) this.#asked.add(id);
      }),
    );
  }

  report(runIds: readonly string[]): ClientReport {
    return {
      ...this.#count,
      delays: this.#delays,
      heardEnds: this.#heard.size,
      askedEnds: this.#asked.size,
      missed: runIds.filter((id) => !this.#heard.has(id) && !this.#asked.has(id)),
    };
  }

  async #connect(): Promise<void> {
    const socket = await this.#open();
    this.#listens = new AbortController();
    const { signal } = this.#listens;
    socket.addEventListener(
      "message",
      ({ data }) => {
        if (!signal.aborted) this.#hear(String(data));
      },
      { signal },
    );
    this.#socket = socket;
  }

  #hear(frame: string): void {
    const bytes = new TextEncoder().encode(frame).length;
    this.#count.frames++;
    this.#count.bytes += bytes;
    const said = JSON.parse(frame) as Reply | RunEvent;
    if (said.type === RUN_EVENT) {
      const { runId, outcome, at } = said as RunEvent;
      this.#delays.push(Date.now() - at);
      this.#count.events++;
      this.#count.eventBytes += bytes;
      if (outcome !== null) this.#heard.add(runId);
      this.#firstEvent.resolve();
      return;
    }
    const { id = "", success, result, error } = said as Reply;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (success === true) waiting?.resolve(result);
    else waiting?.reject(new Error(error));
  }
}
