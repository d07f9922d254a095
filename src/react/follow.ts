/**
 * A client's state of an agent's compactions. It is loaded when the connection opens, and updated by events.
 *
 * Knows no React. Safe because a reopening loads everything again, so a missed event loses nothing. An answer that is older than a later
 * event is dropped.
 */
import type { CompactOptions } from "../agent/inputs.ts";
import type { CompactReceipt, SessionStatus } from "../agent/sessions/session.ts";
import { readRunEvent, type RunEvent } from "../client.ts";
import { explainCall } from "../explain-call.ts";
import type { RunRecord } from "../memory/runs/runs.ts";

/** Runs that are searched for the newest summary that can be undone. */
const LOOKED_BACK = 50;

/** A connection of the Agents SDK, as `useAgent` and `AgentClient` give it. */
export interface AgentConnection {
  readonly readyState: number;
  call(method: string, args?: unknown[]): Promise<unknown>;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
}

/** The current state. Each change makes a new object. */
export interface CompactionState {
  /** The session's status. Null until the first answer. */
  readonly status: SessionStatus | null;
  /** Tokens of the view over the threshold. Null without a threshold. */
  readonly fullness: number | null;
  /** Live runs, newest first. Each names its step, and its steps done and in all. */
  readonly live: readonly RunEvent[];
  /** The last run that ended while somebody listened. */
  readonly last: RunEvent | null;
  /** The error of the last refresh. Null once one succeeds. */
  readonly error: Error | null;
}

const NOTHING: CompactionState = { status: null, fullness: null, live: [], last: null, error: null };

const OPEN = 1;

export class CompactionFollower {
  readonly #agent: AgentConnection;
  readonly #sessionId: string;
  readonly #listeners = new Set<() => void>();
  readonly #undone = new Set<string>();
  #state = NOTHING;
  /** Counts events and refreshes, so that an outdated answer is recognised. */
  #at = 0;

  constructor(agent: AgentConnection, sessionId: string) {
    this.#agent = agent;
    this.#sessionId = sessionId;
  }

  readonly state = (): CompactionState => this.#state;

  /** The first listener starts the subscription, and the last one ends it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) this.#listen();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#deafen();
    };
  };

  /** Loads everything again. Never throws, because an error is part of the state. */
  readonly refresh = async (): Promise<void> => {
    const at = ++this.#at;
    try {
      const [status, live] = await Promise.all([
        this.#call<SessionStatus>("status", {}),
        this.#ask<RunEvent[]>("liveRuns", {}),
      ]);
      if (at !== this.#at) return;
      const ours = live.filter(({ sessionId }) => sessionId === this.#sessionId);
      this.#change({ ...withStatus(status), live: ours, error: null });
    } catch (error) {
      if (at === this.#at) this.#change({ error: error instanceof Error ? error : new Error(String(error)) });
    }
  };

  /** Asks for a compaction now. Throws the agent's refusal. */
  readonly compact = (options: CompactOptions = {}): Promise<CompactReceipt> => this.#call("compact", { ...options });

  /** Ends a live run without effect. */
  readonly cancel = (runId: string): Promise<RunRecord> => this.#ask("cancelRun", { runId });

  /**
   * Takes a summary out of the view, so that the messages under it show again. Without an id it takes the newest that a run brought into
   * force and that was not undone from here. Returns its id, or null where there is none. The agent must open `rollback`.
   */
  readonly undo = async (overlayId?: string): Promise<string | null> => {
    const id = overlayId ?? (await this.#newest());
    if (id === null) return null;
    await this.#call("rollback", { overlayId: id });
    this.#undone.add(id);
    await this.refresh();
    return id;
  };

  async #newest(): Promise<string | null> {
    const runs = await this.#call<RunRecord[]>("runs", { limit: LOOKED_BACK });
    for (const { outcome } of runs) {
      if (outcome?.kind !== "applied") continue;
      if (!this.#undone.has(outcome.overlayId)) return outcome.overlayId;
    }
    return null;
  }

  #listen(): void {
    this.#agent.addEventListener("open", this.#opened);
    this.#agent.addEventListener("message", this.#onMessage);
    if (this.#agent.readyState === OPEN) void this.refresh();
  }

  #deafen(): void {
    this.#agent.removeEventListener("open", this.#opened);
    this.#agent.removeEventListener("message", this.#onMessage);
  }

  readonly #opened = (): void => void this.refresh();

  readonly #onMessage = (event: Event): void => {
    const run = readRunEvent((event as { readonly data?: unknown }).data);
    if (run === null || run.sessionId !== this.#sessionId) return;
    const others = this.#state.live.filter(({ runId }) => runId !== run.runId);
    if (run.outcome === null) {
      this.#at++;
      this.#change({ live: [run, ...others].toSorted((a, b) => b.n - a.n) });
      return;
    }
    this.#change({ live: others, last: run });
    // The view has changed.
    void this.refresh();
  };

  #call<Result>(method: string, input: Record<string, unknown>): Promise<Result> {
    return this.#ask(method, { sessionId: this.#sessionId, ...input });
  }

  async #ask<Result>(method: string, input: Record<string, unknown>): Promise<Result> {
    try {
      return (await this.#agent.call(method, [input])) as Result;
    } catch (error) {
      throw explainCall(error);
    }
  }

  #change(change: Partial<CompactionState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

function withStatus(status: SessionStatus): Pick<CompactionState, "status" | "fullness"> {
  const { viewTokens, thresholdTokens } = status;
  return { status, fullness: thresholdTokens === null ? null : viewTokens / thresholdTokens };
}
