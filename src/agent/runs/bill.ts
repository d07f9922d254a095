/** Adds a model's calls to the bills of their run, their session and the day. */
import { closeStep, type AskedCall, type LiveRun } from "../../memory/runs/runs.ts";
import type { Needs } from "../core.ts";

/** Returns the run with the call on the bill of the run and of a step. Call inside a transaction, and once for each call. */
export function addToBill(
  core: Needs<"platform" | "rooms" | "spend">,
  run: LiveRun,
  step: string,
  call: AskedCall,
): LiveRun {
  const { inputTokens, outputTokens, estimatedTokens } = call.summariser;
  core.spend.add(run.sessionId, inputTokens + outputTokens, core.platform.now());
  core.rooms.counted?.(run.sessionId, call);
  return {
    ...run,
    modelCalls: run.modelCalls + 1,
    inputTokens: run.inputTokens + inputTokens,
    outputTokens: run.outputTokens + outputTokens,
    estimatedTokens: run.estimatedTokens + estimatedTokens,
    steps: closeStep(run.steps, step, { ...call.summariser, calls: 1 }),
  };
}

/**
 * The same by estimate for each call whose answer will not be read, because the run ends or its instance restarts. So a budget holds, whoever
 * does that.
 */
export function billUnanswered(core: Needs<"platform" | "rooms" | "spend">, run: LiveRun): LiveRun {
  const billed = run.steps.reduce(
    (each, { name, asking }) => (asking === undefined ? each : addToBill(core, each, name, asking)),
    run,
  );
  return { ...billed, steps: billed.steps.map((step) => ({ ...step, asking: undefined })) };
}
