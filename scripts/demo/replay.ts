/**
 * Replays one conversation to a real agent, turn by turn.
 *
 * A person takes time between turns, so the replay lets a run land before the next turn begins. Inside a turn it goes on appending while
 * the run works. With a slowed summariser it does not wait until it is far ahead, so that there are appends to measure.
 */
import type { UIMessage } from "ai";
import { measureMessage } from "../../src/steps/message/message.ts";
import type { DemoAgent } from "./agent.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export interface Sample {
  readonly storedTokens: number;
  readonly visibleTokens: number;
}

export interface AppendTime {
  readonly ms: number;
  /** True when a run was live. */
  readonly duringRun: boolean;
}

export interface Replay {
  readonly sessionId: string;
  readonly messages: readonly UIMessage[];
  /** One after each append, and one after the last run has landed. */
  readonly samples: Sample[];
  readonly appends: AppendTime[];
  /** Tokens of the largest turn. A view may pass the threshold by this much before its run has landed. */
  readonly largestTurn: number;
  /** Largest view at the start of a turn with no live run. */
  peakBetweenTurns: number;
}

export interface ReplayOptions {
  readonly sessionId: string;
  /** How many further messages may be appended during a run before the replay waits for it. */
  readonly ahead: number;
  readonly onProgress: (done: number) => void;
  /** Called before a turn, while no run is live. */
  readonly onTurn: () => Promise<void>;
  /** Waits until the run has its outcome, across restarts of the Worker. */
  readonly waitForRun: (runId: string) => Promise<void>;
  /** The agent's current connection. A restart replaces it. */
  readonly agent: () => DemoAgent;
}

export async function replay(messages: readonly UIMessage[], options: ReplayOptions): Promise<Replay> {
  const { sessionId, agent } = options;
  const result: Replay = {
    sessionId,
    messages,
    samples: [],
    appends: [],
    largestTurn: largestTurn(messages),
    peakBetweenTurns: 0,
  };
  let storedTokens = 0;
  let ahead = 0;
  for (const [index, message] of messages.entries()) {
    const before = await agent().call("status", { sessionId });
    const live = before.liveRunIds[0];
    if (message.role === "user" && (live === undefined || ahead >= options.ahead)) {
      await settle(options);
      const { viewTokens } = await agent().call("status", { sessionId });
      result.peakBetweenTurns = Math.max(result.peakBetweenTurns, viewTokens);
      ahead = 0;
      await options.onTurn();
    }
    const started = performance.now();
    await agent().call("append", { sessionId, message });
    result.appends.push({ ms: performance.now() - started, duringRun: live !== undefined });
    if (live !== undefined) ahead += 1;
    storedTokens += measureMessage(message, estimateTokens).tokens;
    const { viewTokens } = await agent().call("status", { sessionId });
    result.samples.push({ storedTokens, visibleTokens: viewTokens });
    options.onProgress(index + 1);
  }
  await settle(options);
  const { viewTokens } = await agent().call("status", { sessionId });
  result.samples.push({ storedTokens, visibleTokens: viewTokens });
  return result;
}

/** Waits until no run is live. A run that ends may have asked for another one. */
async function settle({ agent, sessionId, waitForRun }: ReplayOptions): Promise<void> {
  for (;;) {
    const { liveRunIds } = await agent().call("status", { sessionId });
    const [runId] = liveRunIds;
    if (runId === undefined) return;
    await waitForRun(runId);
  }
}

function largestTurn(messages: readonly UIMessage[]): number {
  let largest = 0;
  let turn = 0;
  for (const message of messages) {
    turn = (message.role === "user" ? 0 : turn) + measureMessage(message, estimateTokens).tokens;
    largest = Math.max(largest, turn);
  }
  return largest;
}
