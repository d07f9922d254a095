/** The calls of a shadow's steps to its agent, as plain data behind the run's port. */
import type { DraftPort } from "../workflows/draft.ts";
import type { CompactionPort, FollowUp, PlannedOverlay, RunEnded, StepMark } from "../workflows/port.ts";

/** One shadow of a run, as the run's Workflow keeps it. */
export interface ShadowTask extends FollowUp {
  /** The name of its model. Null for the session's own. */
  readonly model: string | null;
  /** Most tokens of its summary. */
  readonly summaryTokens: number;
  /** The parts of the real plan, in the order of the path. */
  readonly parts: readonly (ShadowChunk | PlannedOverlay)[];
}

export interface ShadowChunk {
  readonly kind: "chunk";
  readonly index: number;
  readonly tokens: number;
  readonly digest: string;
}

export interface ShadowPort extends DraftPort {
  /** Keeps the whole summary, with the facts and names that stand beside it. */
  keep(mark: StepMark, key: string): Promise<RunEnded>;
  /** Notes that no model was asked, and why. */
  refuse(mark: StepMark, why: { readonly code: string; readonly reason: string }): Promise<RunEnded>;
}

/** The steps of one shadow behind its run's port. */
export function shadowPort(port: CompactionPort, name: string): ShadowPort {
  const call =
    (step: keyof ShadowPort) =>
    (mark: StepMark, ...args: readonly unknown[]): Promise<unknown> =>
      port.doFollowUp(mark, step, [name, ...args]);
  return {
    readChunk: call("readChunk"),
    readDrafts: call("readDrafts"),
    saveDraft: call("saveDraft"),
    noteFailure: call("noteFailure"),
    keep: call("keep"),
    refuse: call("refuse"),
  } as ShadowPort;
}
