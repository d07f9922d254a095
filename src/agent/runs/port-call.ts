/**
 * One call of a workflow's port: a transaction in which the run is live, its step marked, and all that is noted of it
 * written once, when the work is done. A call that throws notes nothing.
 */
import { MODEL_STEP_MS } from "../../limits.ts";
import { closeStep, markStep, type Outcome, type RunRecord, type StepRecord } from "../../memory/runs/runs.ts";
import type { RunEnded, StepMark } from "../../workflows/port.ts";
import type { Core } from "../core.ts";
import { endRun } from "./end-run.ts";

type StepResult = Partial<Omit<StepRecord, "name" | "attempts" | "startedAt" | "endedAt">>;
type RunPatch = Partial<Omit<RunRecord, "id" | "sessionId" | "n" | "outcome" | "state" | "steps">>;

export class PortCall {
  readonly core: Core;
  readonly mark: StepMark;
  #run: RunRecord;
  #ended = false;

  constructor(core: Core, found: RunRecord, mark: StepMark) {
    const at = core.platform.now();
    this.core = core;
    this.mark = mark;
    this.#run = {
      ...found,
      heardAt: at,
      startedAt: found.startedAt ?? at,
      // A paused instance finishes the step it is in: what it says does not resume the run.
      state: found.state === "paused" ? "paused" : "running",
      steps: markStep(found.steps, { name: mark.step, attempt: mark.attempt, at }),
    };
  }

  /** The run with what this call has noted so far. */
  get run(): RunRecord {
    return this.#run;
  }

  /** How much longer (ms) a model may be asked in this step, all its tries together. */
  get leftMs(): number {
    const step = this.#run.steps.find(({ name }) => name === this.mark.step);
    return Math.max(0, MODEL_STEP_MS - (step?.askedMs ?? 0));
  }

  /** Notes what the run knows now. */
  note(patch: RunPatch): void {
    this.#run = { ...this.#run, ...patch };
  }

  /** Notes that the run waits for a person. */
  wait(): void {
    if (this.#run.state === "running") this.#run = { ...this.#run, state: "waiting" };
  }

  /** Notes what the step came to; its costs add up with those of its other attempts. */
  close(result: StepResult = {}): void {
    const steps = closeStep(this.#run.steps, this.mark.step, { ...result, endedAt: this.core.platform.now() });
    this.#run = { ...this.#run, steps };
  }

  /** Gives the run its outcome, with everything noted. */
  end(outcome: Outcome): RunEnded {
    this.#ended = true;
    return { kind: "ended", outcome: endRun(this.core, this.#run, outcome) };
  }

  /** Writes what was noted. Null when the run has its outcome. */
  save(): RunRecord | null {
    return this.#ended ? null : this.core.runs.write(this.#run);
  }
}

/** Does the work of one call whole or not at all, and tells the news once it is committed. */
export function inRun<T>(
  core: Core,
  place: { runId: string; mark: StepMark },
  work: (call: PortCall) => T,
): T | RunEnded {
  const { runId, mark } = place;
  const { done, live } = core.transaction((): { done: T | RunEnded; live: RunRecord | null } => {
    const found = core.runs.get(runId);
    // The session was deleted, and its ledger with it: a step that comes late has nothing left to do.
    if (found === null) return { done: { kind: "ended", outcome: { kind: "cancelled" } }, live: null };
    if (found.outcome !== null) return { done: { kind: "ended", outcome: found.outcome }, live: null };
    const call = new PortCall(core, found, mark);
    return { done: work(call), live: call.save() };
  });
  if (live !== null) core.announce(live);
  return done;
}
