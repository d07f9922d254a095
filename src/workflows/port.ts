/**
 * All that a compaction workflow may do to an agent: one narrow port, scoped to one run.
 *
 * Boundary: plain data in, plain data out, each call idempotent, because a step is at least once and a timed-out attempt
 * keeps running beside its retry. Content travels only into a step that shows it to a model
 * ({@link CompactionPort.readChunk}, {@link CompactionPort.readDrafts}); step results carry ids, counts and digests, so a
 * Workflow's history never holds a conversation (S2). Nothing of SQLite is known on this side.
 */
import type { UIMessage } from "ai";
import type { Outcome } from "../memory/runs.ts";
import type { AuditProblem } from "../steps/audit.ts";
import type { Outline } from "../steps/outline.ts";
import type { ChunkPlan, Plan, Policy } from "../steps/plan.ts";
import type { Template } from "../steps/template.ts";

/** The run is over, also when somebody else ended it: the workflow returns the outcome and does no more. */
export interface RunEnded {
  readonly kind: "ended";
  readonly outcome: Outcome;
}

export type OutlineReading =
  | { readonly kind: "outline"; readonly outline: Outline; readonly policy: Policy; readonly force: boolean }
  | RunEnded;

/** A chunk by its place in the plan, with the digest of its exact source, which is in its step's name. */
export interface PlannedChunk extends Pick<ChunkPlan, "index" | "tokens"> {
  readonly digest: string;
}

export type PlanReceipt =
  | {
      readonly kind: "planned";
      readonly digest: string;
      readonly spanTokens: number;
      readonly chunks: readonly PlannedChunk[];
      /** True when the span starts from an earlier summary, which the new one updates. */
      readonly hasPrevious: boolean;
    }
  | RunEnded;

/** One visible element of a chunk, oldest first. */
export type ChunkElement =
  | { readonly kind: "message"; readonly message: UIMessage }
  | { readonly kind: "overlay"; readonly summary: string };

/** What a summariser needs beside the source. */
export interface Brief {
  readonly template: Template;
  readonly policy: Policy;
  readonly focus: string | null;
  /** Estimated tokens of what the draft stands for. */
  readonly spanTokens: number;
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
}

export interface ChunkRequest {
  readonly index: number;
  /** Name of the model that will be asked: drafts of another model are not used again. */
  readonly model: string;
  /** Adds the earlier summary, to be updated in the same call. */
  readonly withPrevious: boolean;
}

export interface DraftsRequest {
  readonly keys: readonly string[];
  readonly model: string;
  readonly withPrevious: boolean;
  /** Set to repair: the key under which the sound draft belongs. Without it the drafts are folded into one. */
  readonly repairOf?: string;
}

export type ChunkReading =
  | {
      readonly kind: "source";
      readonly key: string;
      readonly elements: readonly ChunkElement[];
      readonly previous: string | null;
      readonly brief: Brief;
    }
  | DraftReceipt
  | RunEnded;

export type DraftsReading =
  | {
      readonly kind: "drafts";
      readonly key: string;
      readonly drafts: readonly string[];
      /** True when no model made one of them. */
      readonly degraded: boolean;
      readonly previous: string | null;
      readonly brief: Brief;
    }
  | DraftReceipt
  | RunEnded;

export interface DraftInput {
  readonly key: string;
  readonly text: string;
  readonly model: string;
  readonly finishReason: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Model calls that were made for it. */
  readonly calls: 0 | 1;
  /** True when no model made it, or one of the drafts that it was folded from. */
  readonly degraded: boolean;
  readonly problems: readonly AuditProblem[];
}

export type AuditVerdict =
  | { readonly kind: "passed"; readonly tokens: number }
  | { readonly kind: "failed"; readonly problems: readonly AuditProblem[] }
  | RunEnded;

/** What a step tells of itself, for the ledger: the step's name and which attempt this is. */
export interface StepMark {
  readonly step: string;
  readonly attempt: number;
}

export interface CompactionPort {
  /** The content-free view that the run looks at, and its policy. */
  readOutline(mark: StepMark): Promise<OutlineReading>;
  /** Pins the plan: digests of the span and of each chunk. Ends the run when there is nothing to do or the view moved. */
  recordPlan(mark: StepMark, plan: Plan): Promise<PlanReceipt>;
  /** A chunk's source, or the draft that was already paid for. `withPrevious` adds the earlier summary to be updated. */
  readChunk(mark: StepMark, request: ChunkRequest): Promise<ChunkReading>;
  /** Drafts to be folded into one or to be repaired, or the result that was already paid for. */
  readDrafts(mark: StepMark, request: DraftsRequest): Promise<DraftsReading>;
  /** Stores a draft under its key: the first sound one wins, so a late attempt changes nothing. */
  saveDraft(mark: StepMark, draft: DraftInput): Promise<DraftReceipt | RunEnded>;
  /** Checks a draft as the summary of the whole span. */
  auditDraft(mark: StepMark, key: string): Promise<AuditVerdict>;
  /** The fenced commit (C1, C2, C3, V3). Ends the run with its outcome, the same one however often it is called. */
  addCompaction(mark: StepMark, key: string): Promise<RunEnded>;
}

export type PortMethod = keyof CompactionPort;

/** The port's methods by name: all that a call from a workflow may reach. */
export const PORT_METHODS = [
  "readOutline",
  "recordPlan",
  "readChunk",
  "readDrafts",
  "saveDraft",
  "auditDraft",
  "addCompaction",
] as const satisfies readonly PortMethod[];
