/**
 * All that a compaction workflow may do to an agent: one narrow port, scoped to one run.
 *
 * Boundary: plain data in, plain data out, each call idempotent, because a step is at least once and a timed-out attempt
 * keeps running beside its retry. Content travels only into a step that shows it to a model
 * ({@link CompactionPort.readChunk}, {@link CompactionPort.readDrafts}); step results carry ids, counts and digests, so a
 * Workflow's history never holds a conversation (S2). Nothing of SQLite is known on this side.
 */
import type { UIMessage } from "ai";
import type { Outcome } from "../memory/runs/runs.ts";
import type { FailureCode } from "../model/failures.ts";
import type { AuditProblem, AuditProblemKind } from "../steps/draft/audit.ts";
import type { CallCost } from "../model/call-cost.ts";
import type { NotesSection, NotesShape } from "../steps/notes/document.ts";
import type { Outline } from "../steps/plan/outline.ts";
import type { Facts } from "../steps/pinned/fact.ts";
import type { Plan, PlanOptions, Policy } from "../steps/plan/plan.ts";
import type { ChunkPlan } from "../steps/plan/chunk.ts";
import type { TranscriptElement } from "../steps/draft/render.ts";
import type { Template } from "../steps/draft/template.ts";

/** The run is over, also when somebody else ended it: the workflow returns the outcome and does no more. */
export interface RunEnded {
  readonly kind: "ended";
  readonly outcome: Outcome;
}

/** The compaction of a run that goes on with something else is done, or there was nothing to compact. */
export interface Compacted {
  readonly kind: "compacted";
}

export interface OutlineRead {
  readonly kind: "outline";
  readonly outline: Outline;
  readonly policy: Policy;
  /** What the run was asked for, which decides how it plans. */
  readonly options: PlanOptions;
}

export type OutlineReading =
  | OutlineRead
  /** The plan of this run stands already. */
  | PlanReceipt;

/** A chunk by its place in the plan, with the digest of its exact source, which is in its step's name. */
export interface PlannedChunk extends Pick<ChunkPlan, "index" | "tokens"> {
  readonly kind: "chunk";
  readonly digest: string;
  /** The draft of an earlier run over the very same chunk, where a rebuild found one: nothing is left to summarise. */
  readonly draft: DraftReceipt | null;
  /** One of two in place of a chunk that no model could tell. */
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
      readonly headTokens: number;
      readonly spanTokens: number;
      readonly tailTokens: number;
      /** The policy's, before it is fitted to a model's window. */
      readonly policy: Policy;
      /** A person is to be asked before the commit. */
      readonly needsApproval: boolean;
      /** What the summary is made of, in the order of the path. */
      readonly parts: readonly (PlannedChunk | PlannedOverlay)[];
      /** Models that are not worth asking now: they were down lately, or their budget is spent. */
      readonly resting: readonly string[];
    }
  | Compacted
  | RunEnded;

/** What a summariser needs beside the source. */
export interface Brief {
  readonly template: Template;
  readonly policy: Policy;
  readonly focus: string | null;
  /** Estimated tokens of what the draft stands for. */
  readonly spanTokens: number;
  /** Most tokens of the draft. */
  readonly summaryTokens: number;
}

/** A draft in the agent: its key and size. The text stays there. */
export interface DraftReceipt {
  readonly kind: "draft";
  readonly key: string;
  /** Where a sound draft of this source belongs: `key` itself when this one is sound. */
  readonly soundKey: string;
  readonly tokens: number;
  /** True when an earlier draft of the very same source was used again instead of a model call. */
  readonly reused: boolean;
  /** What is wrong with it. Such a draft may be repaired, and is never used again for another run. */
  readonly problems: readonly AuditProblem[];
  /** Share of what its source holds that it keeps, pinned facts counted: 0 to 1. */
  readonly score: number;
  /** Most important facts that it lost, when it lost too many of them; it is whole all the same. */
  readonly lost: readonly string[];
  /** What the audit says against it as the summary of the whole span; empty where it would do. */
  readonly unfit: readonly AuditProblemKind[];
}

export interface ChunkRequest {
  readonly index: number;
  /** Name of the model that will be asked: drafts of another model are not used again. */
  readonly model: string;
  /** Set to ask again: the key under which the next answer belongs. */
  readonly repairOf?: string;
}

/** What is folded: an overlay's summary or a draft, in the order of the path. */
export type FoldSource =
  | { readonly kind: "overlay"; readonly id: string }
  | { readonly kind: "draft"; readonly key: string };

export interface DraftsRequest {
  readonly sources: readonly FoldSource[];
  readonly model: string;
  /** Set to repair: the key under which the mended draft belongs. Without it the sources are folded into one. */
  readonly repairOf?: string;
}

/** A source that a model is to be asked about. */
interface Askable {
  /** How much longer (ms) a model may be asked in this step, all its tries together. */
  readonly leftMs: number;
}

interface SummaryAskable extends Askable {
  readonly brief: Brief;
  /** Most tokens of the draft, as the model is told: its tokens are not the session's. */
  readonly askTokens: number;
}

export type ChunkReading =
  | (SummaryAskable & {
      readonly kind: "source";
      readonly key: string;
      /** Oldest first. */
      readonly messages: readonly UIMessage[];
    })
  | DraftReceipt
  | RunEnded;

export type DraftsReading =
  | (SummaryAskable & {
      readonly kind: "drafts";
      readonly key: string;
      readonly drafts: readonly string[];
      /** Summaries of earlier overlays that come before all drafts: what is updated. */
      readonly previous: string | null;
      /** True when no model made one of them. */
      readonly degraded: boolean;
      /** How often the text of what it covers will have been written anew. */
      readonly generation: number;
      /** Of everything that is folded. */
      readonly facts: Facts;
    })
  | DraftReceipt
  | RunEnded;

export interface DraftInput {
  readonly key: string;
  readonly text: string;
  readonly model: string;
  readonly finishReason: string;
  /** Null where no model was asked: a digest is on no bill. */
  readonly cost: CallCost | null;
  /** Names the answer, so that it is on the bill once however often it is told of. */
  readonly answerId: string;
  /** True when no model made it, or one of the drafts that it was folded from. */
  readonly degraded: boolean;
  readonly generation: number;
  readonly facts: Facts;
  /** True for a second try, which was told what was wrong with the first. */
  readonly again: boolean;
  /** What it is audited as. */
  readonly answers: Answered;
}

/** What a model was asked for. */
export type Answered =
  | {
      readonly kind: "summary";
      /** Of what the draft stands for, as it was read. */
      readonly spanTokens: number;
      /** Whether a draft that tells nothing leaves anything out. */
      readonly hasMatter: boolean;
    }
  | { readonly kind: "notes" };

/** Ends a wait for approval. Sent by the agent, or by anybody: the ledger is asked what it means. */
export const APPROVAL_EVENT = "approval";

/** A person's yes, or none needed. `key` is of the draft to commit: another one where they wrote their own. */
export interface Approved {
  readonly kind: "approved";
  readonly key: string;
}

export type ApprovalReading =
  | Approved
  /** How much longer (ms) before silence is an answer. */
  | { readonly kind: "waiting"; readonly timeoutMs: number };

/** The commit was refused: the session asks for a person's yes, and this draft has none. Nothing was written. */
export interface Unapproved {
  readonly kind: "unapproved";
}

/** The draft that is committed, and those of its chunks, by which a later rebuild finds them. */
export interface CommitRequest {
  readonly key: string;
  readonly leaves: readonly { readonly index: number; readonly key: string }[];
}

/** Why a model gave no answer that could be kept, for the breaker that all sessions of the agent share, and for the bill. */
export interface ModelFailure {
  readonly model: string;
  readonly code: FailureCode;
  readonly reason: string;
  /** Null where the call was refused before the model began. */
  readonly cost: CallCost | null;
  /** As of a draft's answer. */
  readonly answerId: string;
  /** How long the call took (ms). */
  readonly tookMs: number;
  /** How long the next try would wait (ms), as the provider asked. */
  readonly waitMs: number;
}

/** `again` is false once the model is to be left alone, or the step's time is over: another try would be a call too many. */
export interface FailureReceipt {
  readonly kind: "noted";
  readonly again: boolean;
}

/** What one update of the notes reads, pinned. */
export type NotesPlanned =
  | {
      readonly kind: "notes";
      /** Names the version that is built on and the messages that are read. */
      readonly digest: string;
      readonly resting: readonly string[];
    }
  | RunEnded;

export interface NotesRequest {
  readonly model: string;
  /** Set to try again: the answer that was refused, and the key under which a sound one belongs. */
  readonly again?: { readonly rejected: string; readonly key: string };
}

export type NotesReading =
  | (Askable & {
      readonly kind: "notes";
      readonly key: string;
      /** The notes as they stand, every section. */
      readonly sections: readonly NotesSection[];
      /** With its budgets as the model is told them. */
      readonly shape: NotesShape;
      /** What is new, oldest first. */
      readonly elements: readonly TranscriptElement[];
      /** Of each summary among them, in their order. */
      readonly overlayFacts: readonly Facts[];
      readonly maxChars: number;
      /** The answer that was refused. */
      readonly rejected: string | null;
    })
  | DraftReceipt
  | RunEnded;

/** What a step tells of itself, for the ledger: the step's name and which attempt this is. */
export interface StepMark {
  readonly step: string;
  readonly attempt: number;
}

export interface CompactionPort {
  /** The content-free view that the run looks at, and its policy; or the plan, once there is one. */
  readOutline(mark: StepMark, models: readonly string[]): Promise<OutlineReading>;
  /**
   * Pins the plan: digests of the span and of each chunk. The first one stays, and is what a later call is answered with. Ends
   * the run when there is nothing to do or the view moved.
   */
  recordPlan(mark: StepMark, plan: Plan, models: readonly string[]): Promise<PlanReceipt>;
  /** A chunk's source, or the draft that was already paid for. */
  readChunk(mark: StepMark, request: ChunkRequest): Promise<ChunkReading>;
  /** Two halves in place of a chunk that no model could tell; none when it is too small to be cut. */
  splitChunk(mark: StepMark, index: number): Promise<readonly PlannedChunk[] | RunEnded>;
  /** Drafts to be folded into one or to be repaired, or the result that was already paid for. */
  readDrafts(mark: StepMark, request: DraftsRequest): Promise<DraftsReading>;
  /**
   * Audits a draft, as what it was asked for and as the summary of the whole span, and stores it under its key: the first
   * sound one wins, so a late attempt changes nothing. Audited there, because what a session counts with is a function,
   * which cannot come here.
   */
  saveDraft(mark: StepMark, draft: DraftInput): Promise<DraftReceipt | RunEnded>;
  /** Tells of a call that got no answer. Told twice by one attempt, it counts once. */
  noteFailure(mark: StepMark, failure: ModelFailure): Promise<FailureReceipt | RunEnded>;
  /** Whether a person approved the draft, where the session asks for one. The first call begins the wait. */
  askApproval(mark: StepMark, key: string): Promise<ApprovalReading | RunEnded>;
  /** The fenced commit (C1, C2, C3, V3). Ends the run with its outcome, the same one however often it is called. */
  addCompaction(mark: StepMark, commit: CommitRequest): Promise<Compacted | Unapproved | RunEnded>;
  /** Of an update of notes: pins the version that it builds on and the messages that it reads. */
  planNotes(mark: StepMark, models: readonly string[], windowTokens: number): Promise<NotesPlanned>;
  /** What is read, or the draft that was already paid for. */
  readNotes(mark: StepMark, request: NotesRequest): Promise<NotesReading>;
  /** The fenced commit of a new version. Ends the run. */
  saveNotes(mark: StepMark, key: string): Promise<RunEnded>;
  /** Ends the run: no answer could be used, and the version before stays. */
  keepNotes(mark: StepMark): Promise<RunEnded>;
  /** Ends the run as failed: its Workflow has no model for it, and would have none in another try. */
  refuseModel(mark: StepMark, reason: string): Promise<RunEnded>;
  /** Of a split: opens the child and ends the parent, in one transaction, and the run with it. */
  switchToChild(mark: StepMark): Promise<RunEnded>;
}

export type PortMethod = keyof CompactionPort;

/** The port's methods by name: all that a call from a workflow may reach. */
export const PORT_METHODS = [
  "readOutline",
  "recordPlan",
  "readChunk",
  "splitChunk",
  "readDrafts",
  "saveDraft",
  "noteFailure",
  "askApproval",
  "addCompaction",
  "refuseModel",
  "switchToChild",
  "planNotes",
  "readNotes",
  "saveNotes",
  "keepNotes",
] as const satisfies readonly PortMethod[];
