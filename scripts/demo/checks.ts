/** What the demo promises, checked on what it did: each check says in a line what it saw. */
import { convertToModelMessages, type ModelMessage, type UIMessage } from "ai";
import type { DemoAgent } from "./agent.ts";
import type { Replay } from "./replay.ts";
import type { RunRecord } from "../../src/memory/runs.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** Every stored message, read back by id, equals what was said. */
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

/** Every view converts with the AI SDK, each tool call with exactly one result and the reverse (V2). */
export async function viewsValid(views: readonly (readonly UIMessage[])[]): Promise<Check> {
  for (const [index, view] of views.entries()) {
    const orphans = orphanCalls(await convertToModelMessages([...view]));
    if (orphans.length > 0)
      return { name: "views valid", ok: false, detail: `view ${index}: ${orphans.join(", ")} has no partner` };
  }
  return {
    name: "views valid",
    ok: true,
    detail: `${views.length} views convert with convertToModelMessages, no orphan`,
  };
}

/** Between turns, once its run has landed, a view is at most the threshold and one turn. */
export function viewsBounded(replays: readonly Replay[], thresholdTokens: number): Check {
  const worst = Math.max(0, ...replays.map((each) => each.peakBetweenTurns - each.largestTurn));
  const peak = Math.max(0, ...replays.map((each) => each.peakBetweenTurns));
  return {
    name: "views bounded",
    ok: worst <= thresholdTokens,
    detail: `largest view between turns ${peak} tokens; the threshold is ${thresholdTokens}`,
  };
}

/** Every run has its one outcome, and no step of it paid a model twice (R1, R3). */
export function runsEnded(runs: readonly RunRecord[]): Check {
  const open = runs.filter((run) => run.outcome === null);
  const twice = runs.flatMap((run) => run.steps.filter((step) => step.calls > 1));
  const calls = runs.reduce((sum, run) => sum + run.modelCalls, 0);
  return {
    name: "runs ended",
    ok: open.length === 0 && twice.length === 0,
    detail: `${runs.length} runs, ${runs.length - open.length} with an outcome, ${calls} model calls, none paid twice`,
  };
}

/** With a slowed summariser: no append took as long as the summariser, while it was at work (E1). */
export function writersNeverWait(replays: readonly Replay[], modelDelayMs: number): Check[] {
  const during = replays.flatMap((each) =>
    each.appends.filter((append) => append.duringRun).map((append) => append.ms),
  );
  if (modelDelayMs === 0 || during.length === 0) return [];
  const slowest = Math.max(...during);
  const detail = `${during.length} appends while a summariser of ${modelDelayMs} ms was at work; the slowest took ${slowest.toFixed(0)} ms`;
  return [{ name: "writers never wait", ok: slowest < modelDelayMs, detail }];
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
