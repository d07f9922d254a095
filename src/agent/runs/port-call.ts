/**
 * One call of a workflow's port. It is a transaction that requires a live run and marks its step. All changes are written once, when the
 * work is done. A call that throws writes nothing.
 */
import { MODEL_STEP_MS } from "../../limits.ts";
import {
  closeStep,
  markStep,
  type AskedCall,
  type LiveRun,
  type Outcome,
  type StepRecord,
} from "../../memory/runs/runs.ts";
import { withoutWordsIn, type Finished } from "../../memory/runs/record.ts";
import { overlayOfRun } from "../../memory/overlays/overlays.ts";
import type { RunEnded, StepMark } from "../../workflows/port.ts";
import type { Core, StepCall, StepPatch, StepResult } from "../core.ts";
import { addToBill } from "./bill.ts";
import { addSummary, type Summary } from "./commit.ts";
import { conclude } from "./split.ts";

export class PortCall implements StepCall {
  readonly core: Core;
  readonly mark: StepMark;
  #run: LiveRun;
  #ended = false;
  #readsOnly = false;

  constructor(core: Core, found: LiveRun, mark: StepMark) {
    const at = core.platform.now();
    this.core = core;
    this.mark = mark;
    this.#run = {
      ...found,
      heardAt: at,
      startedAt: found.startedAt ?? at,
      // A paused instance finishes its present step, and that step's calls do not resume the run.
      state: found.state === "paused" ? "paused" : "running",
      steps: markStep(found.steps, { name: mark.step, attempt: mark.attempt, at }),
    };
  }

  get run(): LiveRun {
    return this.#run;
  }

  get leftMs(): number {
    return Math.max(0, MODEL_STEP_MS - (this.step?.askedMs ?? 0));
  }

  get step(): StepRecord | undefined {
    return this.#run.steps.find(({ name }) => name === this.mark.step);
  }

  note(patch: StepPatch): void {
    this.#run = { ...this.#run, ...patch };
  }

  /** Writes nothing of this call, because the next call of its step notes all of it. That spares a wait for the disk. */
  readOnly(): void {
    this.#readsOnly = true;
  }

  ask(asking: AskedCall): void {
    this.#mark({ asking: { ...asking, attempt: this.mark.attempt } });
  }

  close(result: StepResult = {}): void {
    // A late report of an attempt that was given up says nothing of the present one.
    const { asking } = this.step ?? {};
    const isOwn = asking?.attempt === this.mark.attempt;
    this.#mark({ ...result, asking: isOwn ? undefined : asking, endedAt: this.core.platform.now() });
  }

  bill(call: AskedCall): void {
    this.#run = addToBill(this.core, this.#run, this.mark.step, call);
  }

  #mark(result: Partial<StepRecord>): void {
    this.#run = { ...this.#run, steps: closeStep(this.#run.steps, this.mark.step, result) };
  }

  end(outcome: Outcome): RunEnded {
    this.close();
    return this.#over(this.core.endRun(this.#run, outcome));
  }

  /** As {@link end}, with the outcome of the run's compaction. A split switches to its child first. */
  conclude(compacted: Outcome): RunEnded {
    this.close();
    return this.#over(conclude(this.core, this.#run, compacted));
  }

  /** Commits the summary of the run, or proposes it. */
  add(summary: Summary): RunEnded {
    this.close();
    return this.#over(addSummary(this.core, this.#run, summary));
  }

  #over(outcome: Finished): RunEnded {
    this.#ended = true;
    return tellEnded(outcome);
  }

  /** Writes the notes. Null when the run has its outcome, and when there is nothing to write. */
  save(): LiveRun | null {
    return this.#ended || this.#readsOnly ? null : this.core.runs.write(this.#run);
  }
}

/** Tells a Workflow that its run is over. The engine keeps it, so a provider's or a person's words stay here (S2). */
function tellEnded(outcome: Finished): RunEnded {
  return { kind: "ended", outcome: withoutWordsIn(outcome, "See getRun.") };
}

/** Does the work of one call whole or not at all, and announces the run after the commit. */
export function inRun<T>(
  core: Core,
  place: { runId: string; mark: StepMark },
  work: (call: PortCall) => T,
): T | RunEnded {
  const { runId, mark } = place;
  const { done, live } = core.db.transaction((): { done: T | RunEnded; live: LiveRun | null } => {
    const found = core.runs.get(runId);
    // The session was deleted with its ledger, or a deploy gave the run to a caller's function. A late step has nothing left to do.
    if (found === null || found.path === "function")
      return { done: { kind: "ended", outcome: { kind: "cancelled" } }, live: null };
    if (found.outcome !== null) return { done: tellEnded(found.outcome), live: null };
    if (found.state === "proposed")
      return { done: tellEnded({ kind: "proposed", overlayId: overlayOfRun(found.id) }), live: null };
    const call = new PortCall(core, found, mark);
    return { done: work(call), live: call.save() };
  });
  if (live !== null) core.announce(live);
  return done;
}
