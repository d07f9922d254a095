/** Assembles the parts of one agent object. Knows no Agents SDK. The mixin (compacting-agent.ts) provides the {@link Platform}. */
import { Yielder } from "./yielder.ts";
import { PalimpsestError } from "../errors.ts";
import { Db } from "../memory/db.ts";
import { Memory } from "../memory/memory.ts";
import { Health, SpendTable } from "../memory/runs/health.ts";
import { HookOutbox, Runs, type EndedRun, type LiveRun, type Outcome, type RunRecord } from "../memory/runs/runs.ts";
import { ThoughtsTable, UsageTable } from "../memory/runs/usage.ts";
import type { Storage } from "../memory/schema.ts";
import type { Platform, HostedReads } from "./core.ts";
import { type Hooks, joinHooks } from "./hooks.ts";
import { runEvent } from "./events.ts";
import { installRooms, type InstalledRoom, type Rooms } from "./extension.ts";
import { tellAfterCompaction, endRun } from "./runs/end-run.ts";
import { Dispatcher } from "./runs/dispatch.ts";
import { EXTRACTIVE_NAME } from "../steps/draft/fallback.ts";
import { Triggers } from "./runs/trigger.ts";
import { SettingsTable, type SessionSettings } from "./settings.ts";

interface CoreOptions {
  /** Configures a session that no code has named yet. */
  readonly configure: (sessionId: string) => void;
  readonly rooms: Rooms;
}

/** The core of an agent that was declared with these rooms, and this list of calls for clients. */
export type CoreWith<R extends Rooms, Open = unknown> = AgentCore & {
  readonly declared: R;
  /** Never set. It brings the type of the list to the types of a client. */
  readonly open?: Open;
};

/** A {@link Core}, and what only the agent itself needs. */
export class AgentCore {
  /** The rooms as declared. {@link CoreWith} carries their types. */
  readonly declared: Rooms;
  /** @internal */
  readonly db: Db;
  /** @internal */
  readonly memory: Memory;
  /** @internal */
  readonly runs: Runs;
  /** @internal */
  readonly installed: readonly InstalledRoom[];
  /** @internal */
  readonly rooms: Hooks;
  /** @internal */
  readonly usage: UsageTable;
  readonly thoughts: ThoughtsTable;
  /** @internal */
  readonly health: Health;
  /** @internal */
  readonly spend: SpendTable;
  /** @internal */
  readonly settings: SettingsTable;
  /** @internal */
  readonly platform: Platform;
  /** @internal */
  readonly dispatcher: Dispatcher;
  /** @internal */
  readonly trigger: Triggers;
  /** @internal */
  readonly hookOutbox: HookOutbox;
  /** @internal */
  readonly uses = new Yielder();
  /** @internal */
  readonly hosted = new HostedSessions();
  readonly #waiters = new Map<string, ((run: EndedRun) => void)[]>();
  readonly #endListeners: ((run: EndedRun) => void)[] = [];
  /** Sessions whose poor summaries were reported. */
  readonly #poor = new Set<string>();

  /** @internal */
  constructor(storage: Storage, platform: Platform, { configure, rooms }: CoreOptions) {
    this.platform = platform;
    this.declared = rooms;
    this.db = new Db(storage);
    this.memory = new Memory(this.db, {
      now: () => platform.now(),
      // Looked up at each call, because settings may change while memory keeps the counter.
      counterOf: (sessionId) => (text) => this.settings.counterOf(sessionId)(text),
    });
    this.runs = new Runs(this.db, {
      now: () => platform.now(),
      started: (run) => this.dispatcher.dispatch(run),
      proposed: (run) => this.announce(run),
      ended: (run) => this.announceEnd(run),
    });
    this.hookOutbox = new HookOutbox(this.db);
    this.usage = new UsageTable(this.db);
    this.thoughts = new ThoughtsTable(this.db);
    this.health = new Health(this.db);
    this.spend = new SpendTable(this.db);
    this.settings = new SettingsTable(configure, (settings) => this.#lookForWorkflows(settings));
    this.dispatcher = new Dispatcher(this);
    this.trigger = new Triggers(this);
    this.installed = installRooms(this, rooms);
    this.rooms = joinHooks(this.installed);
  }

  /** @internal */
  async read<T>(sessionId: string, work: () => T | Promise<T>): Promise<T> {
    const hosted = this.hosted.get(sessionId);
    return hosted === undefined ? work() : hosted.read(work);
  }

  /** @internal */
  endRun(run: LiveRun, outcome: Outcome): Outcome {
    return endRun(this, run, outcome);
  }

  /** @internal */
  announce(run: RunRecord): void {
    if (run.outcome === null) this.platform.broadcast(runEvent(run, this.platform.now()));
  }

  /** Tells clients and waiting callers how a run ended. {@link Runs} calls it once per run. @internal */
  announceEnd(run: EndedRun): void {
    this.platform.broadcast(runEvent(run, this.platform.now()));
    this.platform.record(run);
    for (const tell of this.#endListeners) tell(run);
    const { afterCompaction } = this.settings.get(run.sessionId);
    if (afterCompaction !== null) this.platform.background(tellAfterCompaction(this, run.id));
    if (run.outcome.kind === "failed") this.#reportFailure(run, run.outcome.reason);
    if (run.outcome.kind === "applied") this.#lookForPoor(run, run.outcome);
    for (const resolve of this.#waiters.get(run.id) ?? []) resolve(run);
    this.#waiters.delete(run.id);
  }

  /** For the start of the object. @internal */
  async wake(): Promise<void> {
    if (this.platform.lacksWorkflow()) {
      try {
        // The default session's configuration tells whether a Workflow is needed at all.
        this.settings.get("");
      } catch {
        // Thrown again at the session's first use.
      }
    }
    await this.dispatcher.wake();
  }

  /** Reports a missing Workflow as soon as a session is configured that needs one, because nobody may read the outcome of a failed run. */
  #lookForWorkflows(settings: SessionSettings): void {
    if (settings.policy === null) return;
    if (settings.ownFunction === null || this.rooms.text?.isKept(settings) === true) this.platform.needWorkflow();
  }

  /** Says once a session and start of the object that its summaries are poor, because no model made them. */
  #lookForPoor(run: EndedRun, { degraded, overlayId }: Outcome & { kind: "applied" }): void {
    const { sessionId } = run;
    const model = this.memory.session(sessionId).overlays.get(overlayId)?.details.model;
    const isOffline = model === EXTRACTIVE_NAME;
    if ((!degraded && !isOffline) || this.#poor.has(sessionId)) return;
    this.#poor.add(sessionId);
    const why = isOffline
      ? "no model is configured, so they only quote the conversation. Give the Workflow a model (docs/models.md)"
      : `no answer of the model could be used${whyRefused(run)}, so they only quote the conversation`;
    const warning = `Summaries of session "${sessionId}" are poor: ${why}.`;
    console.warn(`[palimpsest] ${warning}`);
    if (degraded) this.#reportFailure(run, warning);
  }

  #reportFailure(run: EndedRun, reason: string): void {
    const { onError } = this.settings.get(run.sessionId);
    if (onError === null) {
      if (run.outcome.kind === "failed")
        console.warn(`[palimpsest] A compaction of session "${run.sessionId}" failed: ${reason}`);
      return;
    }
    // A handler that throws must not turn a finished run into an error for its finisher.
    const handled = (async () => onError(new PalimpsestError("model_failed", reason), run))();
    this.platform.background(handled.catch(() => undefined));
  }

  /** @internal */
  onRunEnded(listener: (run: EndedRun) => void): void {
    this.#endListeners.push(listener);
  }

  /** @internal */
  ended(runId: string): Promise<EndedRun> {
    const run = this.runs.mustGet(runId);
    if (run.outcome !== null) return Promise.resolve(run);
    return new Promise((resolve) => {
      this.#waiters.set(runId, [...(this.#waiters.get(runId) ?? []), resolve]);
    });
  }
}

/** What the last failure or refusal of a run says. */
function whyRefused({ steps }: EndedRun): string {
  const step = steps.findLast(({ failure, refused }) => failure !== undefined || refused !== undefined);
  if (step?.failure !== undefined) return ` (${step.failure.reason})`;
  return step?.refused === undefined ? "" : ` (refused: ${step.refused.problems.join(", ")})`;
}

export class HostedSessions extends Map<string, HostedReads> {
  /** Adds the session with this id. Null where every one is known from the start. */
  open: ((sessionId: string) => void) | null = null;

  override get(sessionId: string): HostedReads | undefined {
    if (!super.has(sessionId)) this.open?.(sessionId);
    return super.get(sessionId);
  }

  override has(sessionId: string): boolean {
    return this.get(sessionId) !== undefined;
  }
}
