/** Lays out a run's steps as bars over its time. Pure. */
import type { RunRecord, StepRecord } from "../../src/memory/runs/runs.ts";

export interface Bar {
  readonly step: StepRecord;
  /** Shares of the run's whole time, from 0 to 1. */
  readonly from: number;
  readonly width: number;
  /** Milliseconds so far, for a running step. */
  readonly ms: number;
  readonly state: "done" | "running" | "reused" | "cut-off";
}

export interface Waterfall {
  /** Milliseconds from the request to the end, or to `now`. */
  readonly ms: number;
  /** Share of that time before the first step began. */
  readonly waited: number;
  readonly bars: readonly Bar[];
}

type Timed = Pick<RunRecord, "createdAt" | "endedAt" | "steps">;

/** Every bar lies inside for any clock values. A step without an end, in a run that has one, was cut off. */
export function layWaterfall({ createdAt, endedAt, steps }: Timed, now: number): Waterfall {
  const end = Math.max(createdAt + 1, endedAt ?? now, ...steps.map((step) => step.endedAt ?? step.startedAt));
  const ms = end - createdAt;
  const share = (at: number): number => Math.min(1, Math.max(0, (at - createdAt) / ms));
  const bars = steps.map((step): Bar => {
    const stop = Math.max(step.startedAt, step.endedAt ?? endedAt ?? now);
    const state = step.endedAt === null ? (endedAt === null ? "running" : "cut-off") : step.reused ? "reused" : "done";
    return {
      step,
      from: share(step.startedAt),
      width: share(stop) - share(step.startedAt),
      ms: stop - step.startedAt,
      state,
    };
  });
  return {
    ms: endedAt === null ? Math.max(0, now - createdAt) : endedAt - createdAt,
    waited: Math.min(1, ...bars.map((bar) => bar.from)),
    bars,
  };
}
