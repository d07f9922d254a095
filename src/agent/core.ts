/**
 * What the parts of one agent work with: its memory, its ledger, its settings, and the few things it needs from the platform.
 *
 * Interfaces only. The object behind them is put together in agent-core.ts; a function here and below names the members that
 * it needs of it ({@link Needs}).
 */
import type { ToolSet, UIMessage } from "ai";
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
import type { SessionSettings, SettingsTable } from "./settings.ts";

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

/** One attempt that came to nothing. No words: they may quote what was said. */
export interface HookFailure {
  readonly runId: string;
  readonly sessionId: string;
  readonly attempt: number;
  readonly again: boolean;
}

/** From where a session's growth is counted, and what it came to at the last look. */
export interface NotesMark {
  readonly after: NotesEnd | null;
  readonly growth: Growth | null;
}

/** Notes that were last found not to serve a postponed run. */
export interface Unserved {
  readonly settings: SessionSettings;
  readonly leafId: string;
  /** Newest version of the notes, and tokens of the view. */
  readonly version: number;
  readonly tokens: number;
}

/** One thing that was said: about a session's settings, or to one of the agent's rooms. */
export interface Told {
  settings?(settings: SessionSettings): SessionSettings;
  /** What a room does about it once the session is used. */
  apply?(sessionId: string, core: Core): void;
}

/** The optional rooms of an agent, as far as its core tells them and asks them. */
export interface RoomHooks {
  cleared(sessionId: string): void;
  deleted(sessionId: string): void;
  copied(fromId: string, toId: string): void;
  shown(sessionId: string, messages: UIMessage[]): UIMessage[];
  tools(sessionId: string, newest: () => string): ToolSet;
  reminder(sessionId: string): Promise<string | null>;
  /** The search over all sessions. Throws `not_configured` where no room searches. */
  searchAll(): (query: string) => Promise<string | null>;
  carriedText(sessionId: string, label: string): Promise<string | null>;
  declareText(sessionId: string, label: string, text: ShownText): void;
}

/** A text that a model is shown all the time. */
export interface ShownText {
  readonly description: string;
  readonly get: () => Promise<string | null>;
}

/** Reads of a session whose messages a host keeps. */
export interface HostedReads {
  read<T>(work: () => T | Promise<T>): Promise<T>;
}

/** What was found out since the object woke, so that a warm append asks nothing twice. Dropped on a rollback. */
export interface Marks {
  /** For each live run, the newest leaf that is known to continue its branch: saves a walk per append. */
  readonly branchLeaf: Map<string, string>;
  /** By session: a policy under which a dry run found nothing to do, and up to which size of the view that stands. */
  readonly nothingUpTo: Map<string, { readonly policy: Policy; readonly tokens: number }>;
  /** By session: what notes were last found not to serve a postponed run with. */
  readonly unserved: Map<string, Unserved>;
  /** By session: from where the growth since its last notes is counted. */
  readonly notesMarks: Map<string, NotesMark>;
}

/** What a function works with, by name. Those that start, end or commit a run reach nearly all of it, and take the whole. */
export type Needs<Members extends keyof Core> = Pick<Core, Members>;

export interface Core {
  readonly db: Db;
  readonly memory: Memory;
  readonly runs: Runs;
  readonly drafts: Drafts;
  /** The optional rooms that the agent was declared with. */
  readonly rooms: RoomHooks;
  readonly usage: UsageTable;
  /** How each summariser fares. */
  readonly health: Health;
  /** What they cost. */
  readonly spend: SpendTable;
  readonly settings: SettingsTable;
  readonly platform: Platform;
  /** What builders were told and no session was used after yet. */
  readonly pendingSettings: Set<() => void>;
  /** By session: why what its builder was told cannot be put into force. The session is then refused at every use. */
  readonly refused: Map<string, unknown>;
  readonly marks: Marks;
  /** Ended runs that a caller's function is yet to be told of, and those that it is being told of. */
  readonly hookOutbox: HookOutbox;
  readonly telling: Set<string>;
  /** Calls of a session's own function that are at work, by run. */
  readonly inlineCalls: Map<string, AbortController>;
  /** Sessions whose messages a host keeps. */
  readonly hosted: ReadonlyMap<string, HostedReads>;

  /** The one counter of a session, for whatever is counted there. */
  counterOf(sessionId: string): CountTokens;
  /** One transaction over messages and ledger. If it throws, nothing of it stays, in storage or in memory. */
  transaction<T>(work: (() => T) & (T extends PromiseLike<unknown> ? never : unknown)): T;
  /**
   * Does a read of a session's content, or a transaction that needs some. Where a host keeps the messages it may be done several
   * times, until all that it needs is at hand.
   */
  read<T>(sessionId: string, work: () => T | Promise<T>): Promise<T>;
  /** Tells clients where a live run stands. Called after the transaction, never inside it. */
  announce(run: RunRecord): void;
  /** Resolves when the run has its outcome. Throws `unknown_run`. */
  ended(runId: string): Promise<RunRecord>;
}
