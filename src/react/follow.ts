/**
 * What a client knows of an agent's compactions: asked for when the connection opens, and kept up to date by its events.
 *
 * Boundary: knows no React. Safe because nothing is kept from before a reopening: an event that was missed meanwhile is no loss,
 * since everything is asked again, and an answer that is older than what was heard since is dropped.
 */
import type { CompactOptions } from "../agent/inputs.ts";
import type { CompactReceipt, SessionStatus } from "../agent/session.ts";
import { readRunEvent, type RunEvent } from "../client.ts";
import type { RunRecord } from "../memory/runs/runs.ts";

/** Runs that are looked through for the newest summary that can be undone. */
const LOOKED_BACK = 50;

/** A connection of the Agents SDK, as `useAgent` and `AgentClient` give it. */
export interface AgentConnection {
  readonly readyState: number;
  call(method: string, args?: unknown[]): Promise<unknown>;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
}

/** What is known now. A new object each time that something changed. */
export interface CompactionState {
  /** Where the session stands; null until the first answer. */
  readonly status: SessionStatus | null;
  /** How full the view is: its tokens over the threshold. Null without a threshold. */
  readonly fullness: number | null;
  /** Runs at work, newest first; each tells its step, and how many are done of how many. */
  readonly live: readonly RunEvent[];
  /** The run that ended last while somebody listened. */
  readonly last: RunEvent | null;
  /** What the last question failed with; null once one is answered. */
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
  /** Counts what was heard and asked, so that an old answer is known as one. */
  #at = 0;

  constructor(agent: AgentConnection, sessionId: string) {
    this.#agent = agent;
    this.#sessionId = sessionId;
  }

  readonly state = (): CompactionState => this.#state;

  /** The first listener opens the ears, the last one closes them. */
  readonly subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0) this.#listen();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#deafen();
    };
  };

  /** Asks for everything again. Never throws: what went wrong is in the state. */
  readonly refresh = async (): Promise<void> => {
    const at = ++this.#at;
    try {
      const [status, live] = await Promise.all([
        this.#call<SessionStatus>("status", {}),
        this.#agent.call("liveRuns", [{}]) as Promise<RunEvent[]>,
      ]);
      if (at !== this.#at) return;
      const ours = live.filter(({ sessionId }) => sessionId === this.#sessionId);
      this.#change({ ...withStatus(status), live: ours, error: null });
    } catch (error) {
      if (at === this.#at) this.#change({ error: error instanceof Error ? error : new Error(String(error)) });
    }
  };

  /** Asks for a compaction now. Throws what the agent refuses it with. */
  readonly compact = (options: CompactOptions = {}): Promise<CompactReceipt> => this.#call("compact", { ...options });

  /** Ends a live run without effect. */
  readonly cancel = async (runId: string): Promise<RunRecord> =>
    (await this.#agent.call("cancelRun", [{ runId }])) as RunRecord;

  /**
   * Takes a summary out of the view; what lies under it shows again. Without an id, the newest that a run brought into force and
   * that was not undone from here. Answers with its id, null where there is none. The agent must open `rollback`.
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
      if (outcome?.kind !== "applied" && outcome?.kind !== "rebased") continue;
      if (!this.#undone.has(outcome.overlayId)) return outcome.overlayId;
    }
    return null;
  }

  #listen(): void {
    this.#agent.addEventListener("open", this.#opened);
    this.#agent.addEventListener("message", this.#heard);
    if (this.#agent.readyState === OPEN) void this.refresh();
  }

  #deafen(): void {
    this.#agent.removeEventListener("open", this.#opened);
    this.#agent.removeEventListener("message", this.#heard);
  }

  readonly #opened = (): void => void this.refresh();

  readonly #heard = (event: Event): void => {
    const run = readRunEvent((event as { readonly data?: unknown }).data);
    if (run === null || run.sessionId !== this.#sessionId) return;
    const others = this.#state.live.filter(({ runId }) => runId !== run.runId);
    if (run.outcome === null) {
      this.#at++;
      this.#change({ live: [run, ...others].toSorted((a, b) => b.n - a.n) });
      return;
    }
    this.#change({ live: others, last: run });
    // The view is another one now.
    void this.refresh();
  };

  #call<Result>(method: string, input: Record<string, unknown>): Promise<Result> {
    return this.#agent.call(method, [{ sessionId: this.#sessionId, ...input }]) as Promise<Result>;
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
