/**
 * The calls that a compaction workflow may make to an agent. The port is narrow and scoped to one run.
 *
 * Arguments and results are plain data. Each call is idempotent, because a step runs at least once and a timed-out attempt keeps running
 * beside its retry. Content travels only into a step that shows it to a model ({@link CompactionPort.read}). Step results carry ids, counts and digests, so a Workflow's history never holds a conversation (S2).
 * This side knows nothing of SQLite.
 */
import type { UIMessage } from "ai";
import type { Finished } from "../memory/runs/runs.ts";
import type { ModelFailureCode } from "../model/failures.ts";
import type { AuditProblem, AuditProblemKind } from "../steps/draft/audit.ts";
import type { CallCost } from "../model/summarize.ts";
import type { SentPrompt } from "../model/chosen.ts";
import type { Outline } from "../steps/plan/outline.ts";
import type { Beside, BesideSource } from "../facts/beside.ts";
import type { Facts } from "../facts/fact.ts";
import type { Plan, PlanOptions, Policy } from "../steps/plan/plan.ts";
import type { ChunkPlan } from "../steps/plan/cut.ts";
import type { Template } from "../steps/draft/prompt.ts";

/** The work of the run is over, also when another caller ended it. The workflow returns the outcome and stops. */
export interface RunEnded {
  readonly kind: "ended";
  readonly outcome: Finished;
}

export interface OutlineRead {
  readonly kind: "outline";
  readonly outline: Outline;
  readonly policy: Policy;
  /** Options of the run's request, which decide how it plans. */
  readonly options: PlanOptions;
}

export type OutlineReading =
  | OutlineRead
  /** The run already has a plan. */
  | PlanReceipt;

/** A chunk with its place in the plan and the digest of its exact source. */
export interface PlannedChunk extends Pick<ChunkPlan, "index" | "tokens"> {
  readonly kind: "chunk";
  readonly digest: string;
  /** True for one of the two halves of a chunk that no model could summarise. */
  readonly half: boolean;
}

/** An earlier overlay that the new one folds in. */
export interface PlannedOverlay {
  readonly kind: "overlay";
  readonly id: string;
  readonly tokens: number;
}

export type PlanReceipt =
  | {
      readonly kind: "planned";
      readonly digest: string;
      /** Messages that the summary will stand for. */
      readonly messages: number;
      readonly headTokens: number;
      readonly spanTokens: number;
      readonly tailTokens: number;
      /** The session's policy, before it is fitted to a model's window. */
      readonly policy: Policy;
      /** The sources of the summary, in the order of the path. */
      readonly parts: readonly (PlannedChunk | PlannedOverlay)[];
      /** Models that are not asked now, because they failed recently or their budget is spent. */
      readonly resting: readonly string[];
    }
  | RunEnded;

/** The instructions for a summariser, without the source. */
export interface Brief {
  readonly template: Template;
  readonly policy: Policy;
  readonly focus: string | null;
  /** Estimated tokens of the messages that the draft replaces. */
  readonly spanTokens: number;
  /** Most tokens of the draft. */
  readonly summaryTokens: number;
}

/** Key and size of a draft in the agent. The text stays there. */
export interface DraftReceipt {
  readonly kind: "draft";
  /** Name of the model that wrote it. */
  readonly model: string;
  readonly key: string;
  /** Key for a sound draft of this source. It equals `key` when this draft is sound. */
  readonly soundKey: string;
  readonly tokens: number;
  /** True when an earlier draft of exactly this source was used instead of a model call. */
  readonly reused: boolean;
  /** Problems that the audit found, without what the draft made up. A draft with problems may be repaired, and no other run uses it. */
  readonly problems: readonly AuditProblem[];
  /** Problems of the draft as the summary of the whole span. Empty when it would pass. */
  readonly unfit: readonly AuditProblemKind[];
}

export interface ChunkRequest {
  readonly kind: "chunk";
  readonly index: number;
  /** Name of the model that will be asked. Drafts of another model are not used. */
  readonly model: string;
  /** Key of the next answer. Set only to ask again. */
  readonly repairOf?: string | undefined;
  /** The model that may continue the agent's prompt, with its name in ledgers. */
  readonly continues?: { readonly id: string; readonly name: string } | undefined;
}

/** An overlay's summary or a draft, in the order of the path. */
export type FoldSource =
  | { readonly kind: "overlay"; readonly id: string }
  | { readonly kind: "draft"; readonly key: string };

export interface DraftsRequest {
  readonly kind: "drafts";
  readonly sources: readonly FoldSource[];
  readonly model: string;
  /** Key of the repaired draft. Without it the sources are folded into one. */
  readonly repairOf?: string | undefined;
}

/** What can stand beside the summary with this draft. */
export interface BesideRequest {
  readonly kind: "beside";
  readonly key: string;
}

export type BesideReading = ({ readonly kind: "beside" } & BesideSource) | RunEnded;

/** A source for a model call. */
export interface Askable {
  /** Time (ms) that is left in this step for a model's answer, all tries together. */
  readonly leftMs: number;
}

interface SummaryAskable extends Askable {
  readonly brief: Brief;
  /** Most tokens of the draft, as the prompt names them. A model's tokens differ from the session's. */
  readonly askTokens: number;
  /** What the summaries and drafts of the source name without a source of their own. */
  readonly unfounded: readonly string[];
}

/** What a summariser is shown beside its source, because the reader of the summary sees it too. */
export interface AroundSource {
  /** The beginning of the view. */
  readonly head: readonly UIMessage[];
  /** The summaries in front of the source that stay, oldest first. */
  readonly earlier: readonly string[];
  /** The beginning of what follows the span. */
  readonly following: readonly UIMessage[];
  /** The instructions of summaries before the source, in parts, oldest first. */
  readonly instructions: readonly Pick<Facts, "instructions" | "ended">[];
  /** Names of the texts that those keep. */
  readonly kept: readonly string[];
}

export type ChunkReading =
  | (SummaryAskable & {
      readonly kind: "source";
      readonly key: string;
      /** Oldest first. */
      readonly messages: readonly UIMessage[];
      /** The summaries that the answer carries on and replaces. Null where it begins a new one. */
      readonly previous: string | null;
      /** Facts of the messages under those, in parts, oldest first. */
      readonly facts: readonly Facts[];
      /** How often the text of those will have been written anew. 1 without any. */
      readonly generation: number;
      readonly around: AroundSource;
      /** The prompt that the agent last sent. Absent where none is known, and on every try but the first. */
      readonly sent?: SentPrompt;
    })
  | DraftReceipt
  | RunEnded;

export type DraftsReading =
  | (SummaryAskable & {
      readonly kind: "drafts";
      readonly key: string;
      readonly drafts: readonly string[];
      /** Summaries of earlier overlays, which come before all drafts. The model updates them. */
      readonly previous: string | null;
      /** True when one of the drafts was made without a model. */
      readonly degraded: boolean;
      /** How often the text of the covered messages will have been written anew. */
      readonly generation: number;
      /** Facts of all folded sources, oldest first. */
      readonly facts: readonly Facts[];
    })
  | DraftReceipt
  | RunEnded;

export interface DraftInput {
  readonly key: string;
  readonly text: string;
  readonly model: string;
  readonly finishReason: string;
  /** Null where no model was asked. An extractive summary costs nothing. */
  readonly cost: CallCost | null;
  /** Id of the answer. The ledger bills one id once, however often it is sent. */
  readonly answerId: string;
  /** True when this draft, or one that it was folded from, was made without a model. */
  readonly degraded: boolean;
  readonly generation: number;
  readonly facts: Facts;
  /** What the text names although it stands nowhere in what the model was shown. */
  readonly unfounded: readonly string[];
  /** True for a second try whose prompt named the problems of the first. */
  readonly again: boolean;
  /** The request, which decides how the draft is audited. */
  readonly answers: Answered;
}

/** The request that the model answered. */
export type Answered =
  | {
      readonly kind: "summary";
      /** Tokens of the messages that the draft replaces, as they were read. */
      readonly spanTokens: number;
      /** True when the source has something to tell. A draft that says nothing then leaves something out. */
      readonly hasMatter: boolean;
      /** What this answer was the first to name without a source. */
      readonly unfounded: readonly string[];
    }
  /** Something of a room's own, which the room audits. */
  | { readonly kind: "room" };

/** A chunk of a committed summary, with the key of its draft. Without a key, that summary is the chunk's own draft. */
export interface ChunkDraft {
  readonly index: number;
  readonly key?: string;
}

/** The committed draft and the drafts of its chunks. A later rebuild finds the latter. */
export interface CommitRequest {
  readonly key: string;
  readonly leaves: readonly ChunkDraft[];
  /** What the Workflow chose to stand beside the summary. Absent for a room's own run. */
  readonly beside?: Beside;
}

/** Why a model gave no usable answer. The breaker that all sessions of an agent share needs it, and so does the bill. */
export interface ModelFailure {
  readonly model: string;
  readonly code: ModelFailureCode;
  readonly reason: string;
  /** Null where the call was refused before the model began. */
  readonly cost: CallCost | null;
  /** Id of the answer, as in {@link DraftInput}. */
  readonly answerId: string;
  /** How long the call took (ms). */
  readonly tookMs: number;
  /** Time (ms) that the next try would wait at the provider's request. */
  readonly waitMs: number;
}

/** `again` is false once the breaker is open for the model or the step's time is over. Another try would then be one call too many. */
export interface FailureReceipt {
  readonly kind: "noted";
  readonly again: boolean;
}

/** The step's name and the attempt's number, which the ledger records. */
export interface StepMark {
  readonly step: string;
  readonly attempt: number;
}

/** The cut of a compaction. `partial` says that the outline did not reach back to the beginning of the view. */
export interface CutRequest {
  readonly kind: "cut";
  readonly plan: Plan;
  readonly models: readonly string[];
  readonly partial: boolean;
}

/** A chunk that no model could summarise, by its place in the plan. */
export interface HalvesRequest {
  readonly kind: "halves";
  readonly of: number;
}

/** Something of a room's own, which only the room's steps on both sides know. */
export interface RoomRequest {
  readonly kind: "room";
  readonly asked: unknown;
}

export type PlanRequest = CutRequest | HalvesRequest | RoomRequest;
export type ReadRequest = ChunkRequest | DraftsRequest | BesideRequest | RoomRequest;

/** The seven verbs of every kind of run. */
export interface CompactionPort {
  /** Returns the content-free view and the policy of the run, or its plan once there is one. Writes nothing of the run. */
  outline(mark: StepMark, models: readonly string[]): Promise<OutlineReading>;
  /**
   * Pins the plan with the digests of the span and of each chunk. The first plan stays, and later calls return it. Ends the run when there
   * is nothing to do or the view changed.
   */
  recordPlan(mark: StepMark, request: CutRequest): Promise<PlanReceipt>;
  /** Adds two halves of a chunk that no model could summarise. Returns none when it is too small to be split. */
  recordPlan(mark: StepMark, request: HalvesRequest): Promise<readonly PlannedChunk[] | RunEnded>;
  recordPlan(mark: StepMark, request: RoomRequest): Promise<unknown>;
  /** Returns a source for a model, or its draft if that was already paid for. */
  read(mark: StepMark, request: ChunkRequest): Promise<ChunkReading>;
  read(mark: StepMark, request: DraftsRequest): Promise<DraftsReading>;
  /** Returns what can stand beside a summary. */
  read(mark: StepMark, request: BesideRequest): Promise<BesideReading>;
  read(mark: StepMark, request: RoomRequest): Promise<unknown>;
  /**
   * Audits a draft, both against its request and as the summary of the whole span, and stores it under its key. The first sound draft
   * stays, so a late attempt changes nothing. The audit runs in the agent, because a session's token counter is a function and cannot be
   * sent here.
   */
  saveDraft(mark: StepMark, draft: DraftInput): Promise<DraftReceipt | RunEnded>;
  /** Reports a call without an answer. A report that one attempt sends twice counts once. */
  noteFailure(mark: StepMark, failure: ModelFailure): Promise<FailureReceipt | RunEnded>;
  /**
   * The fenced commit (C1, C2, C3, V3). Ends the run with its outcome, and every later call returns the same one. The commit of a split
   * also opens the child and ends the parent. Where a person is asked, it proposes the summary.
   */
  commit(mark: StepMark, commit: CommitRequest): Promise<RunEnded>;
  /** Ends the run as failed for a reason, or without a usable answer where that is the end of its kind. */
  end(mark: StepMark, reason: string | null): Promise<RunEnded>;
}

export type PortMethod = keyof CompactionPort;

/** Names of the port's methods. A call from a workflow can reach no others. */
export const PORT_METHODS = [
  "outline",
  "recordPlan",
  "read",
  "saveDraft",
  "noteFailure",
  "commit",
  "end",
] as const satisfies readonly PortMethod[];
