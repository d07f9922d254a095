/**
 * The interfaces that the parts of one agent share, for its memory, its ledger, its settings, and the few things that they need from the
 * platform.
 *
 * Interfaces only. agent-core.ts assembles the object behind them. Functions name the members that they need ({@link Needs}).
 */
import type { ToolSet, UIMessage } from "ai";
import type { Uses } from "./let-others-in.ts";
import type { Db } from "../memory/db.ts";
import type { Memory } from "../memory/memory.ts";
import type { Health } from "../memory/runs/health.ts";
import type { HookOutbox } from "../memory/runs/hook-outbox.ts";
import type { WhyModel } from "../memory/runs/record.ts";
import type {
  AskedCall,
  EndedRun,
  LiveRun,
  Outcome,
  RunPatch,
  RunRecord,
  Runs,
  StepRecord,
  Trigger,
} from "../memory/runs/runs.ts";
import type { Carried } from "../memory/overlays/details.ts";
import type { SpendTable } from "../memory/runs/spend.ts";
import type { ThoughtsTable } from "../memory/runs/thoughts.ts";
import type { UsageTable } from "../memory/runs/usage.ts";
import type { CallCost } from "../model/summarize.ts";
import type { SentPrompt } from "../model/chosen.ts";
import type { AuditProblem } from "../steps/draft/audit.ts";
import type { Decision } from "../steps/decide/decide.ts";
import type { PlanOptions, SpanPlan } from "../steps/plan/plan.ts";
import type { DraftInput, RunEnded, StepMark } from "../workflows/port.ts";
import type { RunEvent } from "./events.ts";
import type { UsageDollars, UsageReport } from "./reports/usage-report.ts";
import type { SessionSettings, SettingsTable } from "./settings.ts";
import type { Recall } from "./recalled.ts";

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

/** Whether a room's text would be the summary of a run, and if not, why. */
export type NotesForecast =
  | {
      readonly kind: "serve";
      /** Number of the text's version. */
      readonly version: number;
      /** Largest possible view afterwards. */
      readonly expectedTokens: number;
    }
  | ({
      readonly kind: "declined";
      /** Advice on what to change. */
      readonly advice: string;
      /** The live update for which a compaction would wait, up to a limit, before it asks a model. Null when none could help. */
      readonly waitsFor: string | null;
    } & WhyModel);

/** What a step of a run's Workflow leaves in the ledger. */
export type StepResult = Partial<Omit<StepRecord, "name" | "attempts" | "startedAt" | "endedAt">>;

/** Fields of a run that a call may change. `close` sets the step. */
export type StepPatch = Omit<RunPatch, "state" | "steps">;

/** One call of a run's Workflow, inside its transaction. See runs/port-call.ts. */
export interface StepCall {
  readonly core: Core;
  readonly mark: StepMark;
  /** The run with this call's notes so far. */
  readonly run: LiveRun;
  /** What the ledger has of its step. */
  readonly step: StepRecord | undefined;
  /** Remaining time (ms) for model calls in this step, over all its attempts. */
  readonly leftMs: number;
  /** Notes new fields of the run. */
  note(patch: StepPatch): void;
  /** Notes that a model is asked, with the expected cost. */
  ask(call: AskedCall): void;
  /** Notes the step's result. Its costs add to those of its other attempts. */
  close(result?: StepResult): void;
  /** Closes the step, and gives the run its outcome, with everything noted. */
  end(outcome: Outcome): RunEnded;
}

/** A run that would start now, as far as a source of summaries needs to know it. */
export type AskedRun = Pick<RunRecord, "sessionId" | "leafId" | "policy" | "manual" | "focus" | "fresh" | "only"> &
  Partial<Pick<RunRecord, "trigger">>;

/** Whether a room's text would be the summary of a run, with the span that it would replace and the sentences of a report. */
export type Foreseen =
  | {
      readonly notes: NotesForecast & { readonly kind: "serve" };
      readonly plan: SpanPlan;
      readonly lines: readonly string[];
    }
  | {
      readonly notes: NotesForecast & { readonly kind: "declined" };
      readonly plan: null;
      readonly lines: readonly string[];
    };

/** A room that makes summaries without a model, and has runs of its own. An agent has at most one. */
export interface SummaryRoom {
  /** Whether a session uses it. */
  isKept(settings: SessionSettings): boolean;
  /** Called in the transaction of a change that may have made the session larger. */
  grew(sessionId: string): void;
  /** Called in the transaction that ended a run. */
  ended(run: LiveRun): void;
  /** Whether the run needs no model. */
  isReady(run: AskedRun): boolean;
  /** The same for a postponed run, asked at each append. `continues` is the leaf that was appended to, where that is known. */
  wouldServe(
    asked: Pick<RunRecord, "sessionId" | "leafId" | "policy">,
    view: { readonly tokens: number; readonly continues: string | null },
  ): boolean;
  /** True when the run has its outcome. False when a model is needed. */
  serve(run: LiveRun): Promise<boolean>;
  /** Null for a session that does not use it. */
  foresee(asked: AskedRun, carried: readonly Carried[]): Foreseen | null;
  /** Asks for a run of its own, or joins the live one. Call inside a transaction. */
  ask(
    sessionId: string,
    options: { readonly retryOf?: string | null; readonly ignoreBudget: boolean },
  ): { run: RunRecord; joined: boolean };
  /** The audit of an answer to its own prompt. */
  audit(run: LiveRun, answer: Pick<DraftInput, "text" | "finishReason" | "facts">): readonly AuditProblem[];
  /** Does a step of a run of its own. */
  doStep(call: StepCall, step: string, args: readonly unknown[]): unknown;
  /** Reads what a step left unread, outside of its transaction, in slices. Returns any other answer of a step as it is. */
  readOn(answer: unknown, inRun: InRun): Promise<unknown>;
  /** Reads one of its stored texts for a model. */
  recall(sessionId: string, asked: RecalledVersion): Recall;
}

/** Does work in a transaction of a live run. */
export type InRun = (work: (call: StepCall) => unknown) => Promise<unknown>;

/** A room whose own code makes the summaries of some runs, without a workflow. An agent has at most one. */
export interface FunctionRoom {
  /** Whether it makes this run's summary. */
  makes(run: LiveRun): boolean;
  start(run: LiveRun): Promise<void>;
  /** The watchdog's care for a live run. */
  revive(run: LiveRun): Promise<void>;
}

/** A part of a stored version of a room's text. */
export interface RecalledVersion {
  readonly version: number;
  /** A heading. Without it all sections are read. */
  readonly section?: string | undefined;
  /** The character to start at. */
  readonly from?: number | undefined;
  readonly maxTokens: number;
}

/** What the core tells an optional room and asks it. All hooks of an agent's rooms together are one such object (extension.ts). */
export interface Hooks {
  // Told to each room, inside the transaction of the event.

  /** The messages of a session were deleted. */
  readonly cleared?: (sessionId: string) => void;
  /** A session was deleted. Its tables forget by their triggers, and the room what it keeps in memory. */
  readonly deleted?: (sessionId: string) => void;
  /** A session was made as a copy of another. */
  readonly copied?: (fromId: string, toId: string) => void;
  /**
   * A session goes on in another, where each message stands for messages here up to the one of this number. Without it {@link copied}
   * is called.
   */
  readonly continued?: (fromId: string, toId: string, stoodFor: readonly number[]) => void;
  /** A model call was counted, once: the report of one of the agent's own, or a summariser's that is on the bill. */
  readonly counted?: (sessionId: string, call: UsageReport | SummariserCall) => void;

  // Asked of each room.

  /** Tools for a model. `newest` names the session in which the conversation goes on. */
  readonly tools?: (sessionId: string, newest: () => string) => ToolSet;

  // Of one room, the first that has it.

  /** The room that makes summaries without a model. */
  readonly summaries?: SummaryRoom;
  /** The room whose own code makes summaries. */
  readonly functions?: FunctionRoom;
  /** The prompt that the agent last sent to a model, `provider:model`, in a session. Null where none is known to be cached. */
  readonly sent?: (sessionId: string, model: string) => SentPrompt | null;
  /** What the counted calls of a session cost, by model. Models without a price are missing. */
  readonly dollars?: (sessionId: string) => ReadonlyMap<string, UsageDollars>;
  /** Removes messages from a view that the room does not want shown. */
  readonly shown?: (sessionId: string, messages: UIMessage[]) => UIMessage[];
  /** Names loaded texts that a summary does not show beside itself. `behind` are the messages of the view after it. */
  readonly leavesOut?: (sessionId: string, behind: readonly UIMessage[]) => ReadonlySet<string>;
  /** The end of a turn's prompt, which is not stored. Null for nothing. */
  readonly reminder?: (sessionId: string) => Promise<string | null>;
  /** The messages of a session of which a search sees only a part. */
  readonly countPartlySearched?: (sessionId: string) => number;
  /** Searches the messages of all the agent's sessions. Returns text for a model, or null for nothing. */
  readonly searchAll?: (query: string) => Promise<string | null>;
  /** The present texts that summaries carry along. One that cannot be read is left out. */
  readonly carriedTexts?: (sessionId: string) => Promise<readonly Carried[]>;
  /** Stores a text from another store under a label. Null where it was taken, or the reason why not. */
  readonly takeText?: (sessionId: string, label: string, text: string) => Promise<string | null>;
  /** Always shows a text to the model, under a label. */
  readonly declareText?: (sessionId: string, label: string, text: ShownText) => void;
}

/** A call of a summariser, with its tokens. */
export interface SummariserCall {
  readonly model: string;
  readonly summariser: Omit<CallCost, "estimatedTokens">;
}

/** A text that a model always sees. */
export interface ShownText {
  readonly description: string;
  readonly get: () => Promise<string | null>;
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
  /** The hooks of the optional rooms that the agent was declared with. */
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
  readonly uses: Uses;
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
