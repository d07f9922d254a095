/**
 * The interfaces that the parts of one agent share, for its memory, its ledger, its settings, and the few things that they need from the
 * platform.
 *
 * Interfaces only. agent-core.ts assembles the object behind them. Functions name the members that they need ({@link Needs}).
 */
import type { Yielder } from "./yielder.ts";
import type { Db } from "../memory/db.ts";
import type { Memory } from "../memory/memory.ts";
import type { Health, SpendTable } from "../memory/runs/health.ts";
import type { HookOutbox, EndedRun, LiveRun, Outcome, RunRecord, Runs, Trigger } from "../memory/runs/runs.ts";
import type { ThoughtsTable, UsageTable } from "../memory/runs/usage.ts";
import type { Decision } from "../steps/decide/decide.ts";
import type { PlanOptions } from "../steps/plan/plan.ts";
import type { RunEvent } from "./events.ts";
import type { Hooks } from "./hooks.ts";
import type { SettingsTable } from "./settings.ts";

/** The state of a workflow instance as the engine reports it, or `missing` when it knows no such instance. */
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
  /** Wakes an instance whose engine is stuck, with an event that nothing waits for. */
  nudge(): Promise<void>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Restarts from the beginning, or from the step of this name and keeps the steps before it. */
  restart(fromStep?: string): Promise<void>;
  terminate(): Promise<void>;
}

export interface Platform {
  /** The id of the agent's Durable Object, which no other object has. */
  readonly agentId: string;
  now(): number;
  /** A fresh id that is unique across agents, with letters, digits and `-` only. */
  newRunId(kind: RunRecord["kind"]): string;
  /** Lets work go on after the caller was answered. */
  background(work: Promise<unknown>): void;
  broadcast(event: RunEvent): void;
  /** Reports to the Worker's operator that a run has ended. */
  record(run: EndedRun): void;
  /** Reports to the operator that a caller's function failed. */
  hookFailed(failure: HookFailure): void;
  /** Whether no Workflow could take a run. */
  lacksWorkflow(): boolean;
  /** Logs once, as an error, that runs have no Workflow. */
  needWorkflow(): void;
  /** Creates the workflow instance named after the run. Creating one that exists joins it. */
  createInstance(run: LiveRun): Promise<"created" | "joined">;
  instance(runId: string): Promise<Instance>;
  /** Makes the platform call `watch` again and again until disarmed, also after the process died. */
  armWatchdog(): Promise<void>;
  disarmWatchdog(): Promise<void>;
}

/** One failed attempt. It holds no error text, because that may quote the conversation. */
export interface HookFailure {
  readonly runId: string;
  readonly sessionId: string;
  readonly attempt: number;
  readonly again: boolean;
}

/** Reads of a session whose messages a host keeps. */
export interface HostedReads {
  /** Resolves once the index equals the host's messages. */
  ready(): Promise<void>;
  read<T>(work: () => T | Promise<T>): Promise<T>;
}

/** A branch, by its leaf. `continues` is the leaf that was just appended to, where that is known. */
export interface Branch {
  readonly leafId: string | null;
  readonly continues?: string | null;
}

export interface RunRequest {
  readonly trigger: Trigger;
  readonly leafId: string;
  readonly focus?: string | null;
  readonly manual?: boolean;
  /** Starts, and asks the model, although the summariser is down or the budget is spent. */
  readonly ignoreBudget?: boolean;
  readonly fresh?: boolean;
  readonly retryOf?: string | null;
  readonly only?: PlanOptions["only"];
  /** Makes the run a split. After its compaction the session continues in a child of this name. Null takes the parent's. */
  readonly childName?: string | null;
}

/** Decides when runs start. Call it inside the transaction of the change, but for {@link RunTrigger.decide}. */
export interface RunTrigger {
  /**
   * After a change that may have grown the active view. Starts a due run, and asks for what an edit uncovered. `continues` is the leaf that was just appended to, where the caller knows it.
   */
  changed(sessionId: string, continues?: string | null): void;
  /** After a change that must not start a run by size. */
  mendIfUncovered(sessionId: string): void;
  /** After the end of a run, because an append during it was coalesced into it, and may be due now. */
  ended(run: LiveRun): void;
  /** Starts a run when the threshold is crossed and none is live on this branch (R2). */
  startIfDue(sessionId: string, continues?: string | null): LiveRun | null;
  /** Whether a run would start on a branch now, or the first reason that keeps the trigger from it. Starts none. */
  decide(sessionId: string, branch: Branch): Decision;
  /** Starts a run, or returns the live one of this branch. Throws `session_ended`, `not_configured`. */
  startOrJoin(sessionId: string, request: RunRequest): { run: LiveRun; joined: boolean };
  /** The live compaction or split of this leaf's branch, if any. `continues` is the leaf that was appended to, where that is known. */
  liveOnBranch(
    sessionId: string,
    branch: { readonly leafId: string; readonly continues?: string | null },
  ): LiveRun | null;
  /** Starts a run, whatever else is live. Throws `not_configured`. */
  start(sessionId: string, request: RunRequest): LiveRun;
  /** Lowers the recorded size after messages were removed, because the old size would keep the trigger quiet too long. */
  measureAfresh(sessionId: string): void;
}

/**
 * The members of the core that a function needs, by name. Only what holds an agent as a whole takes all of it: the handle of a session, the
 * port of a Workflow, the dispatcher, and a room where it is installed.
 */
export type Needs<Members extends keyof Core> = Pick<Core, Members>;

export interface Core {
  /** One transaction of it covers messages and ledger. If it throws, nothing of it stays in storage or in memory. */
  readonly db: Db;
  readonly memory: Memory;
  readonly runs: Runs;
  /** The hooks of the optional rooms that the agent was declared with (hooks.ts). */
  readonly rooms: Hooks;
  readonly usage: UsageTable;
  /** What the thoughts of the agent's models were made on. */
  readonly thoughts: ThoughtsTable;
  /** Breaker states of the summarisers. */
  readonly health: Health;
  /** Tokens that the summarisers cost. */
  readonly spend: SpendTable;
  readonly settings: SettingsTable;
  readonly platform: Platform;
  readonly trigger: RunTrigger;
  /** Ended runs that a caller's function has yet to take. */
  readonly hookOutbox: HookOutbox;
  /** Long work waits for the calls of others by it. */
  readonly uses: Yielder;
  /** Sessions whose messages a host keeps. */
  readonly hosted: ReadonlyMap<string, HostedReads>;

  /**
   * Does a read of a session's content, or a transaction that needs some. Where a host keeps the messages it may run several times, until
   * all that it needs is at hand.
   */
  read<T>(sessionId: string, work: () => T | Promise<T>): Promise<T>;
  /**
   * Gives a run its outcome, unless it has one, with all that follows. Call inside a transaction, after any change that keeps another run
   * from being due. Returns the outcome that stands.
   */
  endRun(run: LiveRun, outcome: Outcome): Outcome;
  /** Reports the state of a live run to clients. Called after the transaction, never inside it. */
  announce(run: RunRecord): void;
  /** Resolves when the run has its outcome. Throws `unknown_run`. */
  ended(runId: string): Promise<EndedRun>;
  /** Calls a listener after the transaction that ended a run, once for each run. It must not throw. */
  onRunEnded(listener: (run: EndedRun) => void): void;
}
