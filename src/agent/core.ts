/**
 * The interfaces that the parts of one agent share, for its memory, its ledger, its settings, and the few things that they need from the
 * platform.
 *
 * Interfaces only. agent-core.ts assembles the object behind them. Functions name the members that they need ({@link Needs}).
 */
import type { ToolSet, UIMessage } from "ai";
import type { Uses } from "./let-others-in.ts";
import type { Db } from "../memory/db.ts";
import type { Drafts } from "../memory/drafts.ts";
import type { Memory } from "../memory/memory.ts";
import type { Growth, NotesEnd } from "../memory/notes/notes.ts";
import type { Health } from "../memory/runs/health.ts";
import type { HookOutbox } from "../memory/runs/hook-outbox.ts";
import type { RunRecord, Runs } from "../memory/runs/runs.ts";
import type { SpendTable } from "../memory/runs/spend.ts";
import type { UsageTable } from "../memory/runs/usage.ts";
import type { CountTokens } from "../steps/message/measure.ts";
import type { Policy } from "../steps/plan/policy.ts";
import type { RunEvent } from "./events.ts";
import type { UsageReport } from "./reports/usage-report.ts";
import type { SessionSettings, SettingsTable } from "./settings.ts";

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
  /** Wakes an instance whose engine is stuck. Any event does that, and an event that nothing waits for is harmless. */
  nudge(event?: string): Promise<void>;
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
  record(run: RunRecord): void;
  /** Reports to the operator that a caller's function failed. */
  hookFailed(failure: HookFailure): void;
  /** Logs once, as an error, that runs of this kind have no Workflow. */
  needWorkflow(): void;
  /** Creates the workflow instance named after the run. Creating one that exists joins it. */
  createInstance(run: RunRecord): Promise<"created" | "joined">;
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

/** The place from which a session's growth is counted, and the growth at the last look. */
export interface NotesMark {
  readonly after: NotesEnd | null;
  readonly growth: Growth | null;
}

/** Notes that did not serve a postponed run at the last look. */
export interface Unserved {
  readonly settings: SessionSettings;
  readonly leafId: string;
  /** Newest version of the notes, and tokens of the view. */
  readonly version: number;
  readonly tokens: number;
}

/** One builder call, which changes a session's settings or gives work to one of the agent's rooms. */
export interface Told {
  settings?(settings: SessionSettings): SessionSettings;
  /** The room's work, done once the session is used. */
  apply?(sessionId: string, core: Core): void;
}

/** The calls of an agent's core to its optional rooms. */
export interface RoomHooks {
  cleared(sessionId: string): void;
  deleted(sessionId: string): void;
  copied(fromId: string, toId: string): void;
  counted(sessionId: string, call: UsageReport | SummariserCall): void;
  shown(sessionId: string, messages: UIMessage[]): UIMessage[];
  tools(sessionId: string, newest: () => string): ToolSet;
  reminder(sessionId: string): Promise<string | null>;
  /** The search over all sessions. Throws `not_configured` where no room searches. */
  searchAll(): (query: string) => Promise<string | null>;
  carriedText(sessionId: string, label: string): Promise<string | null>;
  declareText(sessionId: string, label: string, text: ShownText): void;
}

/** A call of a summariser, with its tokens. */
export interface SummariserCall {
  readonly model: string;
  readonly summariser: { readonly inputTokens: number; readonly outputTokens: number };
}

/** A text that a model always sees. */
export interface ShownText {
  readonly description: string;
  readonly get: () => Promise<string | null>;
}

/** Reads of a session whose messages a host keeps. */
export interface HostedReads {
  read<T>(work: () => T | Promise<T>): Promise<T>;
}

/** Caches since the object woke, so that a warm append asks nothing twice. Dropped on a rollback. */
export interface Marks {
  /** For each live run, the newest leaf that is known to continue its branch. Saves a walk per append. */
  readonly branchLeaf: Map<string, string>;
  /** By session, a policy under which a dry run found nothing to do, and the size of the view up to which that holds. */
  readonly nothingUpTo: Map<string, { readonly policy: Policy; readonly tokens: number }>;
  /** By session, the state in which notes last did not serve a postponed run. */
  readonly unserved: Map<string, Unserved>;
  /** By session, the place from which the growth since its last notes is counted. */
  readonly notesMarks: Map<string, NotesMark>;
}

/**
 * The members of the core that a function needs, by name. Functions that start, end or commit a run need nearly all, and take the whole.
 */
export type Needs<Members extends keyof Core> = Pick<Core, Members>;

export interface Core {
  readonly db: Db;
  readonly memory: Memory;
  readonly runs: Runs;
  readonly drafts: Drafts;
  /** The optional rooms that the agent was declared with. */
  readonly rooms: RoomHooks;
  readonly usage: UsageTable;
  /** Breaker states of the summarisers. */
  readonly health: Health;
  /** Tokens that the summarisers cost. */
  readonly spend: SpendTable;
  readonly settings: SettingsTable;
  readonly platform: Platform;
  /** Builder calls whose session was not used afterwards yet. */
  readonly pendingSettings: Set<() => void>;
  /** By session, the error of its builder calls. Every use of the session is then refused with it. */
  readonly refused: Map<string, unknown>;
  readonly marks: Marks;
  /** Ended runs that a caller's function has yet to take, and those that it is called for now. */
  readonly hookOutbox: HookOutbox;
  readonly telling: Set<string>;
  /** Running calls of a session's own function, by run. */
  readonly inlineCalls: Map<string, AbortController>;
  /** Long work waits for the calls of others by it. */
  readonly uses: Uses;
  /** Sessions whose messages a host keeps. */
  readonly hosted: ReadonlyMap<string, HostedReads>;

  /** The one counter of a session, for everything that is counted in it. */
  counterOf(sessionId: string): CountTokens;
  /** One transaction over messages and ledger. If it throws, nothing of it stays in storage or in memory. */
  transaction<T>(work: (() => T) & (T extends PromiseLike<unknown> ? never : unknown)): T;
  /**
   * Does a read of a session's content, or a transaction that needs some. Where a host keeps the messages it may run several times, until
   * all that it needs is at hand.
   */
  read<T>(sessionId: string, work: () => T | Promise<T>): Promise<T>;
  /** Reports the state of a live run to clients. Called after the transaction, never inside it. */
  announce(run: RunRecord): void;
  /** Resolves when the run has its outcome. Throws `unknown_run`. */
  ended(runId: string): Promise<RunRecord>;
}
