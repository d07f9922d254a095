/**
 * Reports runs to the Worker's operator, as diagnostics events of the SDK and as a data point for each ended run.
 *
 * Holds sizes, counts, kinds and ids, and never a text of the conversation or of a provider (S2). Safe because nothing waits for it and its
 * errors are swallowed, so a run does not depend on it.
 */
import type { Agent } from "agents";
import { reasonOf, type EndedRun, type RunState } from "../../memory/runs/runs.ts";
import type { HookFailure } from "../core.ts";
import type { RunEvent } from "../events.ts";

/** The binding of a Worker's environment that receives the points. */
export interface TelemetryEnv {
  /** A dataset of Analytics Engine. */
  readonly PALIMPSEST_ANALYTICS?: {
    writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void;
  };
}

/** Most bytes of a point's index. */
const MAX_INDEX_BYTES = 96;

export class Telemetry {
  readonly #agent: Agent;
  readonly #env: TelemetryEnv;
  readonly #reported = new Map<string, RunState>();

  constructor(agent: Agent, env: TelemetryEnv) {
    this.#agent = agent;
    this.#env = env;
  }

  /** Emits `workflow:palimpsest:<state>` on the SDK's channel `agents:workflow` at each change of a run's state. */
  emit({ at, ...event }: RunEvent): void {
    const { runId, sessionId, n, trigger, state, outcome, reason, modelCalls, inputTokens, outputTokens } = event;
    if (this.#reported.get(runId) === state) return;
    if (outcome === null) this.#reported.set(runId, state);
    else this.#reported.delete(runId);
    const payload = {
      runId,
      sessionId,
      n,
      trigger,
      modelCalls,
      inputTokens,
      outputTokens,
      outcome: outcome?.kind ?? null,
      reason,
      degraded: outcome?.kind === "applied" && outcome.degraded,
    };
    this.#diagnose(state, payload, at);
  }

  /**
   * Emits `workflow:palimpsest:hook-failed` when `onAfterCompaction` threw or took too long. `again` says whether it is called once more.
   */
  emitHookFailure(failure: HookFailure, at: number): void {
    this.#diagnose("hook-failed", failure, at);
  }

  /** Emits `workflow:palimpsest:missing-binding` when a session is configured for a Workflow that is not bound. */
  emitMissingBinding(binding: string, at: number): void {
    this.#diagnose("missing-binding", { binding }, at);
  }

  #diagnose(what: RunState | "hook-failed" | "missing-binding", payload: object, timestamp: number): void {
    dare(() => {
      const { constructor, name, observability } = this.#agent;
      const type = `workflow:palimpsest:${what}`;
      // The SDK's list of types is closed, but its channels are chosen by prefix.
      observability?.emit({ type, agent: constructor.name, name, payload, timestamp } as never);
    });
  }

  /**
   * Writes one point. The index is the agent's name. The blobs are session, trigger, kind of the outcome, its reason as a
   * code, and kind of the run. The doubles are tokens before, tokens after, model calls, tokens in, tokens out, ms from the request
   * to the end, steps, and degraded (0 or 1).
   */
  record(run: EndedRun): void {
    const { outcome, steps, modelCalls, inputTokens, outputTokens, createdAt, endedAt } = run;
    const laid = outcome.kind === "applied" ? outcome : null;
    const tokensAfter = "tokensAfter" in outcome ? outcome.tokensAfter : run.tokensBefore;
    const ms = endedAt - createdAt;
    const doubles = [run.tokensBefore, tokensAfter, modelCalls, inputTokens, outputTokens, ms, steps.length];
    dare(() =>
      this.#env.PALIMPSEST_ANALYTICS?.writeDataPoint({
        indexes: [clip(this.#agent.name)],
        blobs: [run.sessionId, run.trigger, outcome.kind, reasonOf(run) ?? "", run.kind],
        doubles: [...doubles, laid?.degraded === true ? 1 : 0],
      }),
    );
  }
}

/** A character takes at most three bytes for each of its UTF-16 units. */
function clip(name: string): string {
  const bytes = new TextEncoder().encode(name).length;
  return bytes <= MAX_INDEX_BYTES ? name : name.slice(0, MAX_INDEX_BYTES / 3);
}

function dare(tell: () => void): void {
  try {
    tell();
  } catch (error) {
    console.warn("A run's end could not be reported:", error);
  }
}
