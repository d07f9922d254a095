/**
 * The part of the callable surface that is about runs: look at them, steer them, decide about what they propose.
 *
 * Thin like the rest of it (with-compaction.ts): every method parses its input and hands on.
 */
import type { Agent } from "agents";
import type { RunRecord } from "../memory/runs.ts";
import { findProposal, type Decided, type Proposal } from "./approval.ts";
import type { Core } from "./core.ts";
import { runEvent, type RunEvent } from "./events.ts";
import { reportHealth, type HealthReport } from "./health-report.ts";
import { inputs, parseInput } from "./inputs.ts";
import type { CompactReceipt } from "./session.ts";

export function addRunCalls(Base: typeof Agent<Cloudflare.Env>) {
  abstract class RunCalls extends Base {
    abstract readonly palimpsest: Core;

    async runs(input: unknown): Promise<RunRecord[]> {
      const { sessionId, limit, before } = parseInput(inputs.runs, input);
      return this.palimpsest.runs.list(sessionId, { limit, ...(before === undefined ? {} : { before }) });
    }

    /**
     * The runs of every session that have no outcome yet, newest first, as an event tells of each: for whoever begins to
     * listen, or was away. What such a client held for live and does not find here has ended: `getRun` says how.
     */
    async liveRuns(input: unknown): Promise<RunEvent[]> {
      const { limit } = parseInput(inputs.liveRuns, input);
      const live = this.palimpsest.runs.allLive().toSorted((a, b) => b.createdAt - a.createdAt);
      return live.slice(0, limit).map((run) => runEvent(run, this.palimpsest.platform.now()));
    }

    async getRun(input: unknown): Promise<RunRecord> {
      return this.palimpsest.runs.mustGet(parseInput(inputs.run, input).runId);
    }

    /** The run once it has its outcome, or as it stands after `timeoutMs`. */
    async waitForRun(input: unknown): Promise<RunRecord> {
      const { runId, timeoutMs } = parseInput(inputs.wait, input);
      const { promise: timedOut, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, timeoutMs);
      const ended = await Promise.race([this.palimpsest.ended(runId), timedOut]).finally(() => clearTimeout(timer));
      return ended ?? this.palimpsest.runs.mustGet(runId);
    }

    async cancelRun(input: unknown): Promise<RunRecord> {
      return this.palimpsest.conductor.cancel(parseInput(inputs.run, input).runId);
    }

    async pauseRun(input: unknown): Promise<RunRecord> {
      return this.palimpsest.conductor.pause(parseInput(inputs.run, input).runId);
    }

    async resumeRun(input: unknown): Promise<RunRecord> {
      return this.palimpsest.conductor.resume(parseInput(inputs.run, input).runId);
    }

    /** Another run in place of one that ended without effect. What that one paid for is used again. */
    async retryRun(input: unknown): Promise<CompactReceipt> {
      return this.palimpsest.conductor.retry(parseInput(inputs.run, input).runId);
    }

    /** A live run's step again, and all that come after it; what comes before it is kept. */
    async retryRunFrom(input: unknown): Promise<RunRecord> {
      const { runId, stepName } = parseInput(inputs.retryFrom, input);
      return this.palimpsest.conductor.retryFrom(runId, stepName);
    }

    /** The summary that waits for a person; null when the run waits for nobody. */
    async getProposal(input: unknown): Promise<Proposal | null> {
      const { runId } = parseInput(inputs.run, input);
      return findProposal(this.palimpsest, this.palimpsest.runs.mustGet(runId));
    }

    /** A person's yes to what a run proposes, or to a summary of their own in its place. */
    async approveRun(input: unknown): Promise<Decided> {
      const { runId, summary } = parseInput(inputs.approve, input);
      return this.palimpsest.conductor.approve(runId, summary);
    }

    async rejectRun(input: unknown): Promise<Decided> {
      const { runId, reason } = parseInput(inputs.reject, input);
      return this.palimpsest.conductor.reject(runId, reason);
    }

    /** Breakers, spend, calibration, and what a page of runs came to. */
    async health(input: unknown): Promise<HealthReport> {
      const { sessionId, limit, before } = parseInput(inputs.runs, input);
      return reportHealth(this.palimpsest, sessionId, { limit, ...(before === undefined ? {} : { before }) });
    }
  }
  return RunCalls;
}
