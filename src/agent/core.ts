/**
 * What one agent object holds: its memory, its ledger, its settings, and the few things it needs from the platform.
 *
 * Boundary: knows no Agents SDK. The mixin (compacting-agent.ts) fills in {@link Platform}; everything else in this
 * folder works against this.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import type { Drafts } from "../memory/drafts.ts";
import { Health } from "../memory/runs/health.ts";
import { Db } from "../memory/db.ts";
import { Memory } from "../memory/memory.ts";
import type { Storage } from "../memory/schema.ts";
import { Runs, type RunRecord } from "../memory/runs/runs.ts";
import { SpendTable } from "../memory/runs/spend.ts";
import { HookOutbox } from "../memory/runs/hook-outbox.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import type { Policy } from "../steps/plan/policy.ts";
import { Usage } from "./reports/usage.ts";
import { Dispatcher } from "./runs/dispatch.ts";
import type { NotesMark } from "./notes/trigger.ts";
import { tellAfterCompaction, type HookFailure } from "./runs/after-compaction.ts";
import { runEvent, type RunEvent } from "./events.ts";
import type { HostedSession } from "./hosted-session.ts";
import { InstalledRooms, type Rooms } from "./extension.ts";
import { redactionOf } from "./redaction.ts";
import { SettingsTable, type SessionSettings } from "./settings.ts";

/** The state of a workflow instance as the engine tells it, or `missing` when it knows no such instance. */
export type InstanceStatus =
  | "queued"
  | "running"
  | "waiting"
  | "waitingForPause"
  | "paused"
  | "complete"
  | "errored"
  | "terminated"
  | "rollingBack"
  | "unknown"
  | "missing";

export interface Instance {
  status(): Promise<{ status: InstanceStatus; error?: string }>;
  /** Wakes an instance whose engine lost its thread; any event does, and one that nothing waits for is harmless. */
  nudge(event?: string): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** From the beginning, or from the step of this name; what comes before it is kept. */
  restart(fromStep?: string): Promise<void>;
  terminate(): Promise<void>;
}

export interface Platform {
  /** Of the agent's Durable Object; no other has it. */
  readonly agentId: string;
  now(): number;
  /** A fresh id that is unique across agents; letters, digits and `-` only. */
  newRunId(kind: RunRecord["kind"]): string;
  /** Lets work go on after the caller was answered. */
  background(work: Promise<unknown>): void;
  broadcast(event: RunEvent): void;
  /** Tells whoever observes the Worker that a run has ended. */
  record(run: RunRecord): void;
  /** Tells them that a caller's function did not take the news. */
  hookFailed(failure: HookFailure): void;
  /** Says once, loudly, when runs of this kind have no Workflow. */
  needWorkflow(): void;
  /** Creates the workflow instance named after the run. Creating one that exists joins it. */
  createInstance(run: RunRecord): Promise<"created" | "joined">;
  instance(runId: string): Promise<Instance>;
  /** Sees to it that `watch` is called again and again, also after the process died, until disarmed. */
  armWatchdog(): Promise<void>;
  disarmWatchdog(): Promise<void>;
}

interface Unserved {
  readonly settings: SessionSettings;
  readonly leafId: string;
  /** Newest version of the notes, and tokens of the view. */
  readonly version: number;
  readonly tokens: number;
}

interface CoreOptions {
  /** Has a session configured that no code has named yet. */
  readonly configure: (sessionId: string) => void;
  readonly rooms: Rooms;
}

/** The core of an agent that was declared with these rooms. */
export type CoreWith<R extends Rooms> = Core & { readonly declared: R };

export class Core {
  /** The rooms as they were declared: what {@link CoreWith} knows the types of. */
  readonly declared: Rooms;
  readonly db: Db;
  readonly memory: Memory;
  readonly runs: Runs;
  readonly drafts: Drafts;
  /** The optional rooms that the agent was declared with. */
  readonly rooms: InstalledRooms;
  readonly usage: Usage;
  /** How each summariser fares. */
  readonly health: Health;
  /** What they cost. */
  readonly spend: SpendTable;
  readonly settings: SettingsTable;
  readonly platform: Platform;
  readonly dispatcher: Dispatcher;
  /** What builders were told and no session was used after yet. */
  readonly pendingSettings = new Set<() => void>();
  /** By session: why what its builder was told cannot be put into force. The session is then refused at every use. */
  readonly refused = new Map<string, unknown>();
  /** For each live run, the newest leaf that is known to continue its branch: saves a walk per append. */
  readonly branchLeaf = new Map<string, string>();
  /** By session: a policy under which a dry run found nothing to do, and up to which size of the view that stands. */
  readonly nothingUpTo: Map<string, { readonly policy: Policy; readonly tokens: number }>;
  /** By session: what notes were last found not to serve a postponed run with. */
  readonly unserved: Map<string, Unserved>;
  /** By session: from where the growth since its last notes is counted. */
  readonly notesMarks: Map<string, NotesMark>;
  /** Ended runs that a caller's function is yet to be told of, and those that it is being told of. */
  readonly hookOutbox: HookOutbox;
  readonly telling = new Set<string>();
  /** Calls of a session's own function that are at work, by run. */
  readonly inlineCalls = new Map<string, AbortController>();
  /** Sessions whose messages a host keeps. */
  readonly hosted = new Map<string, HostedSession>();
  readonly #waiters = new Map<string, ((run: RunRecord) => void)[]>();

  constructor(storage: Storage, platform: Platform, { configure, rooms }: CoreOptions) {
    this.platform = platform;
    this.declared = rooms;
    // Kept by those who are given it, while settings may change.
    const counterOf =
      (sessionId: string): CountTokens =>
      (text) =>
        this.counterOf(sessionId)(text);
    this.db = new Db(storage);
    const redactMessage = (message: UIMessage, sessionId: string): UIMessage =>
      redactionOf(this.settings.get(sessionId)).message(message);
    this.memory = new Memory(this.db, { now: () => platform.now(), counterOf, redactMessage });
    this.runs = new Runs(this.db, {
      now: () => platform.now(),
      started: (run) => this.dispatcher.dispatch(run),
      ended: (run) => this.announceEnd(run),
    });
    this.drafts = this.memory.drafts;
    this.hookOutbox = new HookOutbox(this.db);
    this.usage = new Usage(this.db);
    this.health = new Health(this.db);
    this.spend = new SpendTable(this.db);
    this.settings = new SettingsTable(configure, (settings) => this.#lookForWorkflows(settings));
    this.db.cached({ clear: () => this.branchLeaf.clear() });
    this.nothingUpTo = this.db.cached(new Map());
    this.unserved = this.db.cached(new Map());
    this.notesMarks = this.db.cached(new Map());
    this.dispatcher = new Dispatcher(this);
    this.rooms = new InstalledRooms(this, rooms);
  }

  /** The one counter of a session, for whatever is counted there. */
  counterOf(sessionId: string): CountTokens {
    return this.settings.get(sessionId).countTokens;
  }

  /** One transaction over messages and ledger. If it throws, nothing of it stays, in storage or in memory. */
  transaction<T>(work: (() => T) & (T extends PromiseLike<unknown> ? never : unknown)): T {
    return this.db.transaction<T>(work);
  }

  /**
   * Does a read of a session's content, or a transaction that needs some. Where a host keeps the messages it may be done several
   * times, until all that it needs is at hand.
   */
  async read<T>(sessionId: string, work: () => T | Promise<T>): Promise<T> {
    const hosted = this.hosted.get(sessionId);
    return hosted === undefined ? work() : hosted.read(work);
  }

  /** Tells clients where a live run stands. Called after the transaction, never inside it. */
  announce(run: RunRecord): void {
    if (run.outcome === null) this.platform.broadcast(runEvent(run, this.platform.now()));
  }

  /** Tells clients, and whoever waits, how a run ended: once for each, because {@link Runs} tells it once. */
  announceEnd(run: RunRecord): void {
    this.platform.broadcast(runEvent(run, this.platform.now()));
    this.platform.record(run);
    this.inlineCalls.get(run.id)?.abort(new Error("The run has ended."));
    const { afterCompaction } = this.settings.get(run.sessionId);
    if (afterCompaction !== null) this.platform.background(tellAfterCompaction(this, run.id));
    if (run.outcome?.kind === "failed") this.#reportFailure(run, run.outcome.reason);
    for (const resolve of this.#waiters.get(run.id) ?? []) resolve(run);
    this.#waiters.delete(run.id);
  }

  /** What a session is configured for is bound, or somebody is told: not only by the outcome of a run that nobody reads. */
  #lookForWorkflows({ policy, inline, notes }: SessionSettings): void {
    if (policy === null) return;
    if (inline === null || notes !== null) this.platform.needWorkflow();
  }

  #reportFailure(run: RunRecord, reason: string): void {
    const { onError } = this.settings.get(run.sessionId);
    if (onError === null) return;
    // A handler that throws must not turn a finished run into an error of whoever finished it.
    const handled = (async () => onError(new PalimpsestError("model_failed", reason), run))();
    this.platform.background(handled.catch(() => undefined));
  }

  /** Resolves when the run has its outcome. Throws `unknown_run`. */
  ended(runId: string): Promise<RunRecord> {
    const run = this.runs.mustGet(runId);
    if (run.outcome !== null) return Promise.resolve(run);
    return new Promise((resolve) => {
      this.#waiters.set(runId, [...(this.#waiters.get(runId) ?? []), resolve]);
    });
  }
}
