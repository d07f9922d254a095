/**
 * The Worker under measurement, started once for all cases, and its objects as a case calls them.
 *
 * The only module that knows how the Worker is run. Its own traces are off, because they cost more than the measured work. Its state lives
 * in a temporary directory of the harness.
 */
import { join } from "node:path";
import type { createTestHarness } from "wrangler";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import type { AppendTimes, GatheringTimes } from "../objects/client.ts";
import type { FleetTimes } from "../objects/fleet.ts";
import type { HostedMethods } from "../objects/hosted/hosted.ts";
import type { LargeSession, Ours, RunCost } from "../objects/ours.ts";
import type { RigMethods } from "../objects/rig.ts";
import type { EmptyParams } from "../objects/workflows.ts";

export const CONTENDERS = ["Ours", "Sdk032", "Sdk020"] as const;
export type ContenderName = (typeof CONTENDERS)[number];

/** Objects that hold a conversation under a policy. See policies/in-object.ts. */
export type HostedName = "HostedOurs" | "HostedSdk032" | "HostedSdk020";
type BindingName = ContenderName | HostedName | "Client";

/** One named object with its rig's methods, and `evict`, after which the object starts from its rows alone. */
export interface Subject extends RigMethods {
  evict(): Promise<void>;
  /** Ours only. */
  countRun(): Promise<RunCost>;
  /** Ours only. The ledger, newest first. */
  runs(): Promise<readonly RunRecord[]>;
  /** Ours only. See objects/ours.ts. */
  readonly ours: OursCalls;
}

export type OursCalls = Pick<
  Ours,
  "makeSessions" | "countInSessions" | "countFirst" | "countNotes" | "storedBytes" | "settle"
>;

export interface ClientCalls {
  appendInTurn(plain: string, busy: string, forMs: number): Promise<AppendTimes>;
  appendWhileGathering(name: string, what: LargeSession, rounds: number): Promise<GatheringTimes>;
  timeRun(agent: string): Promise<number>;
  timeEmpty(params: EmptyParams): Promise<number>;
  runFleet(agents: readonly string[]): Promise<FleetTimes>;
  timeEmptyFleet(agents: readonly string[], steps: number): Promise<number>;
  timeOpen(contender: ContenderName, name: string): Promise<number>;
  appendToEach(agents: readonly string[]): Promise<number[]>;
}

interface Stub extends ClientCalls, HostedMethods, OursCalls {
  rig(...asked: readonly unknown[]): Promise<never>;
  evict(): Promise<void>;
  countRun(): Promise<RunCost>;
  runs(input: object): Promise<readonly RunRecord[]>;
}

interface Namespace {
  getByName(name: string): Stub;
}

type Harness = ReturnType<typeof createTestHarness>;

export class Lab {
  /** True for a run with small numbers and few repetitions, which only shows that everything works. */
  readonly quick: boolean;
  readonly #harness: Harness;
  readonly #env: Record<BindingName, Namespace>;

  private constructor(harness: Harness, env: Record<BindingName, Namespace>, quick: boolean) {
    this.#harness = harness;
    this.#env = env;
    this.quick = quick;
  }

  static async open(options: { readonly quick: boolean }): Promise<Lab> {
    process.env["X_LOCAL_OBSERVABILITY"] = "false";
    process.env["CLOUDFLARE_CF_FETCH_ENABLED"] = "false";
    const { createTestHarness } = await import("wrangler");
    const harness = createTestHarness({
      root: join(import.meta.dirname, ".."),
      workers: [{ configPath: "./wrangler.jsonc" }],
    });
    await harness.listen();
    return new Lab(harness, await harness.getWorker<Record<BindingName, Namespace>>().getEnv(), options.quick);
  }

  async close(): Promise<void> {
    await this.#harness.close();
  }

  client(): ClientCalls {
    return this.#env.Client.getByName("client");
  }

  hosted(home: HostedName, name: string): HostedMethods {
    return this.#env[home].getByName(name);
  }

  subject(contender: ContenderName, name: string): Subject {
    const stub = (): Stub => this.#env[contender].getByName(name);
    return {
      fill: (size) => stub().rig("fill", size),
      prepare: (size) => stub().rig("prepare", size),
      count: (operation, times) => stub().rig("count", operation, times),
      time: (operation, timing) => stub().rig("time", operation, timing),
      open: () => stub().rig("open"),
      appendBehind: (appending) => stub().rig("appendBehind", appending),
      countRun: () => stub().countRun(),
      runs: () => stub().runs({}),
      get ours() {
        return stub();
      },
      // The object is gone before it can answer, so an error is the expected answer.
      evict: () =>
        stub()
          .evict()
          .catch(() => undefined),
    };
  }
}
