/** Many agents that compact at once, and appends to them meanwhile: one object asks them all, so that no network is timed. */
import type { UIMessage } from "ai";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { messageAt } from "./messages.ts";

interface Agent {
  append(input: { message: UIMessage }): Promise<unknown>;
  compact(input: object): Promise<{ run: { id: string } }>;
  waitForRun(input: { runId: string }): Promise<RunRecord>;
}

export interface FleetTimes {
  /** From asking for a run until its outcome stood (ms), as the ledger has it. */
  readonly runs: readonly number[];
  /** Of each append while runs were at work (ms, of a clock that ticks once a millisecond). */
  readonly appends: readonly number[];
  /** Outcomes, by kind. */
  readonly outcomes: Readonly<Record<string, number>>;
}

/** Between two appends (ms): a person's pace, over all agents together. */
const PACE_MS = 5;

/** Asks all for a run at the same moment, and appends to one after the other until the last run has ended. */
export async function runFleet(agents: readonly Agent[]): Promise<FleetTimes> {
  const outcomes: Record<string, number> = {};
  let working = agents.length;
  const runs = Promise.all(
    agents.map(async (agent) => {
      const { run } = await agent.compact({});
      const { outcome, createdAt, endedAt } = await agent.waitForRun({ runId: run.id });
      const kind = outcome?.kind ?? "none";
      outcomes[kind] = (outcomes[kind] ?? 0) + 1;
      working -= 1;
      return (endedAt ?? Number.NaN) - createdAt;
    }),
  );
  const appends = await appendTo(agents, () => working > 0);
  return { runs: await runs, appends, outcomes };
}

/** Appends to each in turn as long as `goesOn`, and so often at least as there are agents. Milliseconds of each. */
export async function appendTo(agents: readonly Agent[], goesOn: () => boolean): Promise<number[]> {
  const ms: number[] = [];
  for (let n = 0; n < agents.length || goesOn(); n++) {
    const message = { ...messageAt(n), id: crypto.randomUUID() };
    const from = performance.now();
    await agents[n % agents.length]?.append({ message });
    ms.push(performance.now() - from);
    await new Promise((resolve) => setTimeout(resolve, PACE_MS));
  }
  return ms;
}
