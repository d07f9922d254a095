/**
 * The seam between the core and its optional rooms: what a room is told, what it is asked, and what it may add. The core imports no room.
 */
import type { ToolSet, UIMessage } from "ai";
import type { AskedCall, LiveRun, Outcome, RunPatch, RunRecord, StepRecord, WhyModel } from "../memory/runs/runs.ts";
import type { Carried } from "../facts/fact.ts";
import type { CallCost } from "../model/summarize.ts";
import type { SentPrompt } from "../model/chosen.ts";
import type { AuditProblem } from "../steps/draft/audit.ts";
import type { SpanPlan } from "../steps/plan/plan.ts";
import type { DraftInput, RunEnded, StepMark } from "../workflows/port.ts";
import type { UsageReport } from "./reports/usage-report.ts";
import type { SessionSettings } from "./settings.ts";
import type { Recall } from "./recalled.ts";

/** What the core tells an optional room and asks it. All hooks of an agent's rooms together are one such object. */
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

  /** A change may have made a session larger. */
  readonly grew?: (sessionId: string) => void;
  /** A run has its outcome. */
  readonly runEnded?: (run: LiveRun) => void;

  // Asked of each room.

  /** Tools for a model. `newest` names the session in which the conversation goes on. */
  readonly tools?: (sessionId: string, newest: () => string) => ToolSet;

  // Of one room, the first that has it.

  /** Kinds of runs that the room adds. */
  readonly runs?: Partial<Record<RunRecord["kind"], RoomRun>>;
  /** The room's text that may be a summary without a model. */
  readonly text?: ReadyText;
  /** The room whose own code makes summaries. */
  readonly ownFunction?: OwnFunctionRoom;
  /** The prompt that the agent last sent to a model, `provider:model`, in a session. Null where none is known to be cached. */
  readonly sent?: (sessionId: string, model: string) => SentPrompt | null;
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

/**
 * What stands behind the port of a run of a room's own kind. `plan`, `read`, `commit` and `giveUp` are each called in a transaction of the
 * live run. What goes through the port is plain data, which only the room's steps on both sides know.
 */
export interface RoomRun {
  /** Asks for such a run, or joins the live one. Call inside a transaction. */
  ask(
    sessionId: string,
    options: { readonly retryOf?: string | null; readonly ignoreBudget: boolean },
  ): { run: RunRecord; joined: boolean };
  plan(call: StepCall, asked: unknown): unknown;
  /** A function reads on, outside of the transaction, in slices. It may return the outcome with which the run ends. */
  read(call: StepCall, asked: unknown): unknown;
  /** The audit of an answer to the room's own prompt. */
  audit(run: LiveRun, answer: Pick<DraftInput, "text" | "finishReason">): readonly AuditProblem[];
  commit(call: StepCall, key: string): RunEnded;
  /** Ends the run without a usable answer. */
  giveUp(call: StepCall): RunEnded;
}

/** A text that a room keeps and that may be the summary of a run without a model. An agent has at most one. */
export interface ReadyText {
  /** Whether a session keeps it. */
  isKept(settings: SessionSettings): boolean;
  /** Whether a postponed run would need no model, asked at each append. `continues` is the leaf that was appended to, where that is known. */
  wouldServe(
    asked: Pick<RunRecord, "sessionId" | "leafId" | "policy">,
    view: { readonly tokens: number; readonly continues: string | null },
  ): boolean;
  /** True when the run has its outcome. False when a model is needed. */
  serve(run: LiveRun): Promise<boolean>;
  /** Null for a session that does not keep it. */
  foresee(asked: AskedRun, carried?: readonly Carried[]): Foreseen | null;
  /** Reads a stored version for a model. */
  recall(sessionId: string, asked: RecalledVersion): Recall;
}

/** A room whose own code makes the summaries of some runs, without a workflow. An agent has at most one. */
export interface OwnFunctionRoom {
  /** Whether it makes this run's summary. */
  makes(run: LiveRun): boolean;
  start(run: LiveRun): Promise<void>;
  /** The watchdog's care for a live run. */
  revive(run: LiveRun): Promise<void>;
}

/** What a step of a run's Workflow leaves in the ledger. */
export type StepResult = Partial<Omit<StepRecord, "name" | "attempts" | "startedAt" | "endedAt">>;

/** Fields of a run that a call may change. `close` sets the step. */
export type StepPatch = Omit<RunPatch, "state" | "steps">;

/** One call of a run's Workflow, inside its transaction. See runs/run-port.ts. */
export interface StepCall {
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

/** Whether a room's text would be the summary of a run, and if not, why. */
export type NotesForecast =
  | {
      readonly kind: "serve";
      /** Number of the text's version. */
      readonly version: number;
      /** Largest possible view afterwards. */
      readonly expectedTokens: number;
    }
  | ({ readonly kind: "declined" } & WhyModel);

/** With the span that the text would replace. */
export type Foreseen =
  | (Extract<NotesForecast, { kind: "serve" }> & { readonly plan: SpanPlan })
  | Extract<NotesForecast, { kind: "declined" }>;

/** A part of a stored version of a room's text. */
export interface RecalledVersion {
  readonly version: number;
  /** A heading. Without it all sections are read. */
  readonly section?: string | undefined;
  /** The character to start at. */
  readonly from?: number | undefined;
  readonly maxTokens: number;
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

/** The hooks of several rooms as one. */
export function joinHooks(rooms: readonly Hooks[]): Hooks {
  if (rooms.length === 0) return {};
  const first = Object.assign({}, ...rooms.toReversed()) as Hooks;
  return {
    ...first,
    cleared: (sessionId) => rooms.forEach((room) => room.cleared?.(sessionId)),
    deleted: (sessionId) => rooms.forEach((room) => room.deleted?.(sessionId)),
    copied: (fromId, toId) => rooms.forEach((room) => room.copied?.(fromId, toId)),
    continued: (...event) => rooms.forEach((room) => (room.continued ?? room.copied)?.(...event)),
    grew: (sessionId) => rooms.forEach((room) => room.grew?.(sessionId)),
    runEnded: (run) => rooms.forEach((room) => room.runEnded?.(run)),
    runs: Object.assign({}, ...rooms.map((room) => room.runs)) as NonNullable<Hooks["runs"]>,
    counted: (sessionId, call) => rooms.forEach((room) => room.counted?.(sessionId, call)),
    tools: (...asked) => Object.assign({}, ...rooms.map((room) => room.tools?.(...asked))) as ToolSet,
  };
}
