/** Many agents that compact at once, with appends to them meanwhile. One object calls them all, so that times hold no network. */
import type { UIMessage } from "ai";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { messageAt } from "./messages.ts";

interface Agent {
  append(input: { message: UIMessage }): Promise<unknown>;
  compact(input: object): Promise<{ run: { id: string } }>;
  waitForRun(input: { runId: string }): Promise<RunRecord>;
}

export interface FleetTimes {
  /** From asking for a run until its outcome (ms), by the ledger's times. */
  readonly runs: readonly number[];
  /** Time of each append during runs (ms), by a clock that ticks once a millisecond. */
  readonly appends: readonly number[];
  /** Outcomes, by kind. */
  readonly outcomes: Readonly<Record<string, number>>;
}

/** Time between two appends (ms). A person's pace over all agents together. */
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

/** Appends to each in turn as long as `goesOn`, and at least once to each agent. Returns the milliseconds of each append. */
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
