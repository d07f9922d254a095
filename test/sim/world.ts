/**
 * One agent under simulation, the real object with its real Workflows, and beside it its expected state.
 *
 * acts.ts carries operations out, and check.ts judges. The clock is the simulation's own. It stands in a future year, so that no alarm
 * fires by itself, and moves only when an operation says so.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { NotesVersion } from "../../src/notes/versions.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../../src/memory/runs/runs.ts";
import { stubOf } from "../agents.ts";
import { openGates, scriptModel } from "../scripted-model.ts";
import type { PalimpsestAgent } from "../worker.ts";
import { Summariser } from "./summariser.ts";
import { count, emptyTally, type Tally } from "./tally.ts";
import { Twin } from "./twin.ts";

/** A broken promise of the architecture. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly invariant: string;

  constructor(invariant: string, detail: string) {
    super(`${invariant}: ${detail}`);
    this.invariant = invariant;
  }
}

export function holds(invariant: string, condition: boolean, detail: () => string): void {
  if (!condition) throw new Violation(invariant, detail());
}

/** A session of the agent, and its state as known from outside. */
export interface Seat {
  readonly id: string;
  twin: Twin;
  /** Every unique word of its messages since its last clear, and those of its parent. */
  words: Set<string>;
  /** Words that a child of a split inherited beside its messages. They are facts that its parent's summaries may pin. */
  inherited: ReadonlySet<string>;
  /** The text of its context block, and every word that it ever held, because a summary may carry an earlier one. */
  block: string;
  blockWords: ReadonlySet<string>;
  /** State at the last look. */
  overlays: readonly OverlayRecord[];
  runs: readonly RunRecord[];
  notes: readonly NotesVersion[];
  /** Words of messages that a person claimed the notes cover. */
  claimed: Set<string>;
  /** True when an operation on it was not checked yet. */
  touched: boolean;
}

const SESSIONS = ["a!2000", "b!2000", "c!5000"];
const START = Date.UTC(2040, 0, 1);
/** Looks at live runs after which a run that does not move is left alone. */
const LOOKS = 600;
const LOOKS_BETWEEN_STATUS = 40;
/** Rounds in which every remaining run must end. */
const LAST_ROUNDS = 12;
/** Longer than any pause of the watchdog's, in seconds. */
const LONG = 400;
const ENDED: ReadonlySet<string> = new Set(["complete", "errored", "terminated"]);

export class World {
  readonly name: string;
  readonly model = new Summariser();
  readonly seats: Seat[];
  readonly tally: Tally = emptyTally();
  /** Descriptions of the operations. */
  readonly log: string[] = [];
  /** Words that must be nowhere any more. */
  readonly buried = new Set<string>();
  /** True once no more faults are injected. */
  isEnding = false;
  /** Runs that wait for their engine or for the watchdog. */
  readonly #stuck = new Set<string>();
  #now = START;

  constructor(name: string) {
    this.name = name;
    this.seats = SESSIONS.map((id) => makeSeat(id, new Twin(), []));
    scriptModel(name, this.model.script);
    vi.setSystemTime(this.#now);
  }

  /** A fresh stub each time, because a reset breaks a stub for good. */
  get agent(): PalimpsestAgent {
    return stubOf(this.name);
  }

  get stub(): DurableObjectStub<PalimpsestAgent> {
    return env.PalimpsestAgent.get(env.PalimpsestAgent.idFromName(this.name));
  }

  /** Runs work inside the object. */
  inside<T>(work: (instance: PalimpsestAgent, storage: DurableObjectStorage) => T | Promise<T>): Promise<T> {
    return runInDurableObject(this.stub, (instance: PalimpsestAgent, state) => work(instance, state.storage));
  }

  pass(seconds: number): void {
    this.#now += seconds * 1_000;
    vi.setSystemTime(this.#now);
    this.#stuck.clear();
  }

  /** From now on, no table may hold the words of this session, unless another session holds them as well. */
  bury(seat: Seat, { blockToo }: { blockToo: boolean }): void {
    const elsewhere = this.seats.filter((each) => each !== seat).map(({ words }) => words);
    const kept = blockToo ? new Set<string>() : seat.blockWords;
    const gone = [...seat.words].filter((word) => !kept.has(word) && !elsewhere.some((words) => words.has(word)));
    for (const word of gone) this.buried.add(word);
    seat.twin = new Twin();
    seat.words = new Set(kept);
    seat.inherited = new Set(kept);
    seat.blockWords = kept;
    if (blockToo) seat.block = "";
    seat.claimed = new Set();
    seat.notes = [];
  }

  /** After a look at the runs, those that stood still may move again. */
  unstick(): void {
    this.#stuck.clear();
  }

  /** Waits until every live run has ended or waits for somebody. */
  async settle(): Promise<void> {
    for (let look = 1; ; look++) {
      const live = await this.#liveRuns();
      const moving = live.filter(
        ({ id, state }) => state !== "paused" && !this.model.isWaiting(id) && !this.#stuck.has(id),
      );
      if (moving.length === 0) return;
      const stuck = look % LOOKS_BETWEEN_STATUS === 0 ? await this.#stopped(moving) : [];
      for (const { id } of look >= LOOKS ? moving : stuck) this.#stuck.add(id);
      if (look >= LOOKS) count(this.tally.met, "runs that stood still", moving.length);
      await scheduler.wait(1);
    }
  }

  /** R1. With a sound model, no pauses and a watchdog, every run ends. */
  async endAll(): Promise<void> {
    this.isEnding = true;
    this.model.setMood("good", 0);
    for (let round = 0; round < LAST_ROUNDS; round++) {
      while (this.model.answerOne());
      await this.settle();
      const live = await this.#liveRuns();
      if (live.length === 0) return;
      for (const { id, state } of live) {
        if (state === "paused") await this.agent.resumeRun({ runId: id }).catch(() => undefined);
      }
      this.pass(LONG);
      await this.agent.watchCompactions().catch(() => undefined);
      await this.settle();
    }
    for (const { id } of await this.#liveRuns()) {
      const run = await this.agent.getRun({ runId: id });
      const engine = await this.#statusOf(id);
      const steps = run.steps.slice(-2).map((step) => ({ ...step, failure: undefined }));
      throw new Violation(
        "R1",
        `${run.kind} ${id} never ends: ${run.state}, engine ${engine}, ${JSON.stringify(steps)}`,
      );
    }
  }

  dispose(): void {
    openGates();
    vi.useRealTimers();
  }

  #liveRuns(): Promise<{ id: string; state: RunRecord["state"] }[]> {
    return this.inside(({ palimpsest }) => palimpsest.runs.allLive().map(({ id, state }) => ({ id, state })));
  }

  async #stopped(runs: readonly { id: string }[]): Promise<{ id: string }[]> {
    const stopped: { id: string }[] = [];
    for (const { id } of runs) {
      const status = await this.#statusOf(id);
      if (status === null || ENDED.has(status) || status === "paused") stopped.push({ id });
    }
    return stopped;
  }

  /** The engine's status of a run. Null when it knows none. */
  async #statusOf(runId: string): Promise<string | null> {
    const found = await env.COMPACTION_WORKFLOW.get(runId).catch(() => null);
    const status = await found?.status().catch(() => null);
    return status?.status ?? null;
  }
}

export function makeSeat(id: string, twin: Twin, words: Iterable<string>): Seat {
  const seen = { block: "", blockWords: new Set<string>(), overlays: [], runs: [], notes: [] };
  return { id, twin, words: new Set(words), inherited: new Set(), claimed: new Set(), ...seen, touched: true };
}
