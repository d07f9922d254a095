/** Checks the demo's promises against its results. Each check says in a line what it saw. */
import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import type { DemoAgent } from "./agent.ts";
import type { Replay } from "./replay.ts";
import type { RunRecord, StepRecord } from "../../src/memory/runs/runs.ts";
import { plural } from "../report/text.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Every stored message, read back by id, equals the message that was appended. */
export async function originalsIntact(agent: DemoAgent, replays: readonly Replay[]): Promise<Check> {
  let read = 0;
  for (const { sessionId, messages } of replays) {
    for (const message of messages) {
      const stored = await agent.call("getMessage", { sessionId, id: message.id });
      if (JSON.stringify(stored) !== JSON.stringify(message)) {
        return { name: "originals intact", ok: false, detail: `message ${message.id} came back changed` };
      }
      read += 1;
    }
  }
  return { name: "originals intact", ok: true, detail: `${read} messages read back byte for byte` };
}

/**
 * Every view converts with the AI SDK, and every tool call has exactly one result and the reverse (V2). A call of the newest message may
 * still wait for its result.
 */
export async function viewsValid(views: readonly (readonly UIMessage[])[]): Promise<Check> {
  for (const [index, view] of views.entries()) {
    const waiting = new Set(view.at(-1)?.parts.flatMap((part) => (isOpenCall(part) ? [part.toolCallId] : [])));
    const orphans = orphanCalls(await convertToModelMessages([...view])).filter((id) => !waiting.has(id));
    if (orphans.length > 0)
      return { name: "views valid", ok: false, detail: `view ${index}: ${orphans.join(", ")} has no partner` };
  }
  return {
    name: "views valid",
    ok: true,
    detail: `the AI SDK converts all ${views.length} views; no tool call and no result lacks its partner`,
  };
}

function isOpenCall(
  part: UIMessage["parts"][number],
): part is UIMessage["parts"][number] & { readonly toolCallId: string } {
  return "toolCallId" in part && part.state === "input-available";
}

/** Between turns, once its run has landed, a view holds at most the threshold and one turn. */
export function viewsBounded(replays: readonly Replay[], thresholdTokens: number): Check {
  const worst = replays.reduce((one, other) => (overTurn(other) > overTurn(one) ? other : one));
  const { peakBetweenTurns: peak, largestTurn } = worst;
  const allowed = thresholdTokens + largestTurn;
  return {
    name: "views bounded",
    ok: peak <= allowed,
    detail: `largest view between turns ${peak} tokens; allowed are ${allowed}, which is the threshold of ${thresholdTokens} and the largest turn of ${largestTurn}`,
  };
}

/** Every run has one outcome, and no step of it paid a model for a second answer (R1, R3). */
export function runsEnded(runs: readonly RunRecord[]): Check {
  const open = runs.filter((run) => run.outcome === null);
  const twice = runs.flatMap((run) => run.steps.filter((step) => step.calls > 1));
  const calls = runs.reduce((sum, run) => sum + run.modelCalls, 0);
  const paid = twice.length === 0 ? "no answer paid twice" : `paid twice: ${namesOf(twice)}`;
  return {
    name: "runs ended",
    ok: open.length === 0 && twice.length === 0,
    detail: `${plural(runs.length, "run")}, ${runs.length - open.length} with an outcome; ${plural(calls, "model call")}, ${paid}`,
  };
}

/** The ledger's record of a run just before the Worker was killed. */
export interface Killed {
  readonly during: string;
  readonly before: RunRecord;
}

/**
 * The killed run ended, and no summarise or merge step that finished before the kill was paid for again (R1, R3). A step whose result the
 * engine had not kept may run again. It then finds its draft, calls no model and records that it reused it.
 */
export function killSurvived(killed: Killed | null, runs: readonly RunRecord[]): Check {
  const name = "kill survived";
  if (killed === null) {
    const detail = "no run was long enough to be killed: give a longer transcript or a lower --threshold";
    return { name, ok: false, detail };
  }
  const after = runs.find((run) => run.id === killed.before.id);
  const steps = new Map(after?.steps.map((step) => [step.name, step]));
  const drafting = killed.before.steps.filter((step) => /^(?:summarize|merge) /.test(step.name));
  const finished = drafting.filter((step) => step.endedAt !== null);
  const again = finished.filter((step) => {
    const now = steps.get(step.name);
    return now?.calls !== step.calls || (now.attempts !== step.attempts && !now.reused);
  });
  const open = drafting.filter(
    (step) => step.endedAt === null && (steps.get(step.name)?.attempts ?? 0) > step.attempts,
  );
  return {
    name,
    ok: after !== undefined && after.outcome !== null && finished.length > 0 && again.length === 0,
    detail: [
      `killed during "${killed.during}"`,
      `of ${plural(finished.length, "finished draft")} ${again.length === 0 ? "none was made again" : `made again: ${namesOf(again)}`}`,
      `${open.length} unfinished ran again`,
      after === undefined || after.outcome === null ? "the run never ended" : `the run ended ${after.outcome.kind}`,
    ].join("; "),
  };
}

/** With a slowed summariser, every append during a run was faster than the summariser. */
export function writersNeverWait(replays: readonly Replay[], modelDelayMs: number): Check[] {
  const during = replays.flatMap((each) =>
    each.appends.filter((append) => append.duringRun).map((append) => append.ms),
  );
  if (modelDelayMs === 0 || during.length === 0) return [];
  const slowest = Math.max(...during);
  const detail = `${during.length} appends while a summariser of ${modelDelayMs} ms was at work; the slowest took ${slowest.toFixed(0)} ms`;
  return [{ name: "writers never wait", ok: slowest < modelDelayMs, detail }];
}

function namesOf(steps: readonly StepRecord[]): string {
  return steps.map((step) => step.name).join(", ");
}

function overTurn(replay: Replay): number {
  return replay.peakBetweenTurns - replay.largestTurn;
}

function orphanCalls(messages: readonly ModelMessage[]): string[] {
  const open = new Map<string, number>();
  for (const message of messages) {
    if (typeof message.content === "string") continue;
    for (const part of message.content) {
      if (part.type === "tool-call") open.set(part.toolCallId, (open.get(part.toolCallId) ?? 0) + 1);
      if (part.type === "tool-result") open.set(part.toolCallId, (open.get(part.toolCallId) ?? 0) - 1);
    }
  }
  return [...open].filter(([, balance]) => balance !== 0).map(([id]) => id);
}
