/** A caller of an agent in the agent's own process, so that times hold no network. */
import { DurableObject } from "cloudflare:workers";
import type { UIMessage } from "ai";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { timed } from "./clock.ts";
import { appendTo, runFleet, type FleetTimes } from "./fleet.ts";
import { messageAt } from "./messages.ts";
import type { LargeSession } from "./ours.ts";
import type { Asked } from "./rig.ts";
import type { EmptyParams } from "./workflows.ts";

interface Agent {
  append(input: { message: UIMessage }): Promise<unknown>;
  compact(input: object): Promise<{ run: { id: string } }>;
  store(what: LargeSession): Promise<void>;
  gather(what: LargeSession): Promise<number>;
  runs(input: object): Promise<readonly RunRecord[]>;
  waitForRun(input: { runId: string }): Promise<RunRecord>;
}

/** Milliseconds, append by append. */
export interface AppendTimes {
  readonly plain: readonly number[];
  readonly busy: readonly number[];
  /** Start of the first append of each pair, in ms since 1970. */
  readonly begunAt: readonly number[];
}

/** Milliseconds of each append, and of each time that the agent gathered. */
export interface GatheringTimes {
  readonly idle: readonly number[];
  readonly gathering: readonly number[];
  readonly gathers: readonly number[];
}

/** Appends until the code is compiled, and appends to an idle agent before it gathers. */
const WARM_UP_APPENDS = 100;
const IDLE_APPENDS = 500;

/** Time between two looks at whether a workflow is done (ms), the same for every workflow. */
const POLL_MS = 1;
/** The same for hundreds of workflows, where frequent looks would take the time that is measured. */
const FLEET_POLL_MS = 250;
/** Time between two looks at whether a first run has begun (ms). It begins after a few appends. */
const FIRST_RUN_POLL_MS = 20;

/**
 * Time between two turns while a run should reach its end (ms). Without it the workflow on the same thread hardly gets its turn, and five
 * seconds became thirty.
 */
const TURN_PAUSE_MS = 5;

export class Client extends DurableObject {
  /**
   * Appends to two agents in turn for `forMs`, or until the first run of the busy one has its outcome. The order is A B, B A, A B, so that
   * no drift of the machine shows as a difference. Pauses between turns when that run exists from the beginning.
   */
  async appendInTurn(plain: string, busy: string, forMs: number): Promise<AppendTimes> {
    const times = { plain: [] as number[], busy: [] as number[], begunAt: [] as number[] };
    const sides = [
      { agent: this.#agent(plain), ms: times.plain },
      { agent: this.#agent(busy), ms: times.busy },
    ];
    await Promise.all(sides.map(({ agent }) => agent.append({ message: messageAt(1) })));
    const pauses = (await this.#agent(busy).runs({})).length > 0;
    const isOver = watchFirstRun(this.#agent(busy));
    const end = Date.now() + forMs;
    for (let n = 1; Date.now() < end && !isOver(); n++) {
      const message = { ...messageAt(n), id: crypto.randomUUID() };
      times.begunAt.push(Date.now());
      for (const { agent, ms } of n % 2 === 0 ? sides : sides.toReversed()) {
        ms.push(await timed(() => agent.append({ message })));
      }
      if (pauses) await new Promise((resolve) => setTimeout(resolve, TURN_PAUSE_MS));
    }
    return times;
  }

  /**
   * Milliseconds of appends to one agent, first while it does nothing, then while it gathers. Both alternate, so that a
   * drift of the machine is in both.
   */
  async appendWhileGathering(name: string, what: LargeSession, rounds: number): Promise<GatheringTimes> {
    const agent = this.#agent(name);
    const times = { idle: [] as number[], gathering: [] as number[], gathers: [] as number[] };
    const append = async (ms: number[]): Promise<void> => {
      const message = { ...messageAt(1), id: crypto.randomUUID() };
      ms.push(await timed(() => agent.append({ message })));
    };
    await agent.store(what);
    for (let n = 0; n < WARM_UP_APPENDS; n++) await append([]);
    for (let round = 0; round < rounds; round++) {
      for (let n = 0; n < IDLE_APPENDS; n++) await append(times.idle);
      const before = times.gathers.length;
      const gather = async (): Promise<void> => void times.gathers.push(await agent.gather(what));
      const gathered = gather();
      while (times.gathers.length === before) await append(times.gathering);
      await gathered;
    }
    return times;
  }

  /** Milliseconds from asking an agent for a compaction until its workflow instance is complete. */
  async timeRun(agent: string): Promise<number> {
    return timed(async () => {
      const { run } = await this.#agent(agent).compact({});
      await complete(this.env.COMPACTION_WORKFLOW, run.id);
    });
  }

  /**
   * Milliseconds that another object in the process waits for a view of one of the stores. They include the object's start where it was
   * evicted.
   */
  async timeOpen(contender: "Ours" | "Sdk032" | "Sdk020", name: string): Promise<number> {
    const stub = this.env[contender].getByName(name) as unknown as { rig(...asked: Asked): Promise<unknown> };
    return timed(() => stub.rig("open"));
  }

  /** As {@link timeRun}, for a workflow whose steps do nothing, or only call an agent once. */
  async timeEmpty(params: EmptyParams): Promise<number> {
    return timed(async () => {
      const { id } = await this.env.EMPTY_WORKFLOW.create({ params });
      await complete(this.env.EMPTY_WORKFLOW, id);
    });
  }

  /** Starts a run of each of these agents at once, with appends to them meanwhile. */
  async runFleet(agents: readonly string[]): Promise<FleetTimes> {
    return runFleet(agents.map((name) => this.#agent(name)));
  }

  /**
   * Milliseconds until all of these workflows, started at once, are complete. Their steps only call an agent. Precise to a quarter of a
   * second.
   */
  async timeEmptyFleet(agents: readonly string[], steps: number): Promise<number> {
    const from = Date.now();
    await Promise.all(
      agents.map(async (agent) => {
        const { id } = await this.env.EMPTY_WORKFLOW.create({ params: { agent, steps } });
        await complete(this.env.EMPTY_WORKFLOW, id, FLEET_POLL_MS);
      }),
    );
    return Date.now() - from;
  }

  /** Milliseconds of an append to each, without other work. */
  async appendToEach(agents: readonly string[]): Promise<number[]> {
    return appendTo(
      agents.map((name) => this.#agent(name)),
      () => false,
    );
  }

  #agent(name: string): Agent {
    return this.env.Ours.getByName(name) as unknown as Agent;
  }
}

/** Returns whether the agent's first run has its outcome. Polls until the run exists, and then waits for the agent's answer. */
function watchFirstRun(agent: Agent): () => boolean {
  let over = false;
  const watch = async (): Promise<void> => {
    for (;;) {
      const first = (await agent.runs({})).at(-1);
      if (first !== undefined) return void (over = (await agent.waitForRun({ runId: first.id })).outcome !== null);
      await new Promise((resolve) => setTimeout(resolve, FIRST_RUN_POLL_MS));
    }
  };
  // The wait is cut off where the appends end before the run. Then nobody reads the result.
  void watch().catch(() => undefined);
  return () => over;
}

async function complete(workflow: Workflow<never>, id: string, pollMs = POLL_MS): Promise<void> {
  for (;;) {
    const status = await statusOf(workflow, id);
    if (status === "complete") return;
    if (status === "errored" || status === "terminated") throw new Error(`Workflow ${id} is ${status}.`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** A missing instance is about to be created. */
async function statusOf(workflow: Workflow<never>, id: string): Promise<string> {
  try {
    return (await (await workflow.get(id)).status()).status;
  } catch (error) {
    if (error instanceof Error && /not[ _.]found/.test(error.message)) return "missing";
    throw error;
  }
}
