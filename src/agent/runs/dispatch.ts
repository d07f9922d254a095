/**
 * Connects the ledger and the Workflows engine, with the outbox, the watchdog, and control by hand.
 *
 * Every run ends through any crash (R1), because a run is written before anything is started for it. The watchdog is armed before the run's
 * instance is created, and fires after any restart. It acts on the state that it finds. For a pending run it creates the instance, whose
 * name is the run's id, so a second creation joins the first. For a quiet run it asks the engine. A stuck engine is nudged with an event,
 * an instance that failed or stays silent is restarted a few times, and a missing one is created again from the paid drafts. The ledger's
 * outcome is final, whatever the engine says.
 */
import { PalimpsestError } from "../../errors.ts";
import { MAX_INSTANCE_RESTARTS } from "../../limits.ts";
import { isCompaction, type LiveRun, type Outcome, type RunRecord } from "../../memory/runs/runs.ts";
import { tellAfterCompaction, billUnanswered } from "./end-run.ts";
import type { Core, Instance, InstanceStatus } from "../core.ts";
import type { RoomRun } from "../hooks.ts";
import { endProposal } from "./commit.ts";
import { startSplit } from "./split.ts";
import { askForRun, findOverdraft } from "./trigger.ts";

/** How long a run may wait for the engine to take it (ms). That outlasts an outage, and bounds the wait. */
export const PENDING_LIMIT_MS = 3_600_000;

/** Time between two nudges of one run (ms), because an engine that only waits for a model keeps every event. */
const NUDGE_AGAIN_MS = 300_000;

/** A live run without news of a step for this long (ms) is checked. */
const QUIET_RUN_MS = 15_000;

/** An instance that is at work, says nothing for this long (ms) and was nudged in vain is restarted. No try of a step takes as long. */
const LOST_RUN_MS = 3_600_000;

/** Instances in these states cannot be controlled, because the engine would throw. */
const ENDED: ReadonlySet<InstanceStatus> = new Set(["missing", "complete", "errored", "terminated"]);

export class Dispatcher {
  readonly #core: Core;
  /**
   * When this incarnation of the object created or last nudged the instance of each run. The first look after a start always nudges.
   */
  readonly #nudgedAt = new Map<string, number>();
  readonly #dispatching = new Set<string>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** Starts a requested run without making the caller wait. */
  dispatch(run: LiveRun): void {
    this.#core.platform.background(this.#dispatch(run));
  }

  async #dispatch(run: LiveRun): Promise<void> {
    if (this.#dispatching.has(run.id)) return;
    this.#dispatching.add(run.id);
    try {
      await this.#core.platform.armWatchdog();
      if (!this.#isLive(run.id)) return;
      this.#core.announce(run);
      if ((await this.#core.rooms.text?.serve(run)) === true) return;
      // Not awaited, because a function that hangs must not keep the watchdog from the other runs.
      const { ownFunction } = this.#core.rooms;
      if (ownFunction?.makes(run) === true) this.#core.platform.background(ownFunction.start(run));
      else await this.#createInstance(run);
    } catch (error) {
      if (!this.#isLive(run.id)) return;
      // The watchdog retries when the platform is busy or restarting. A missing binding will not appear.
      const refused = error instanceof PalimpsestError && !error.retryable;
      const hopeless = refused || this.#core.platform.now() - run.createdAt > PENDING_LIMIT_MS;
      if (!hopeless) return;
      const reason = error instanceof Error ? error.message : String(error);
      const lacks = refused && error.code === "not_configured";
      this.end(run.id, { kind: "failed", reason, ...(lacks && { code: "not-configured" }) });
    } finally {
      this.#dispatching.delete(run.id);
    }
  }

  async #createInstance(run: LiveRun): Promise<void> {
    // A deploy removed the function that was to make this run's summary.
    if (isOfFunction(run)) this.#core.runs.change(run.id, { path: "model" });
    // The local engine reports a second creation as an uncaught exception, although it is caught here.
    const made = this.#nudgedAt.has(run.id) ? "joined" : await this.#core.platform.createInstance(run);
    if (made === "created") this.#nudgedAt.set(run.id, this.#core.platform.now());
    else await this.#reconcile(run);
  }

  /**
   * Looks at every live run once, and retries each report that a caller's function did not take. The watchdog's alarm calls it. Disarms the
   * watchdog when nothing is left. A run whose check throws does not stop the others. The first error is thrown at the end, for the log.
   */
  async watch(): Promise<void> {
    const errors: unknown[] = [];
    // All at once, because a compaction that is pending may wait for an update of the notes.
    const looks = this.#core.runs
      .allLive()
      .map((run) => (run.state === "pending" ? this.#dispatch(run) : this.#reconcile(run)));
    for (const look of await Promise.allSettled(looks)) if (look.status === "rejected") errors.push(look.reason);
    // Not awaited, because a caller's function may be slow and the runs need care meanwhile.
    for (const runId of this.#core.hookOutbox.list())
      this.#core.platform.background(tellAfterCompaction(this.#core, runId));
    if (errors.length > 0) throw errors[0];
    if (this.#hasWork()) return;
    await this.#core.platform.disarmWatchdog();
    // A run may have been asked for while the schedule was removed.
    await this.wake();
  }

  /** For the start of the object. A crash between a run's ledger row and its watchdog leaves the row without a watchdog. */
  async wake(): Promise<void> {
    if (this.#hasWork()) await this.#core.platform.armWatchdog();
  }

  #hasWork(): boolean {
    const { runs, hookOutbox } = this.#core;
    return runs.allLive().length > 0 || hookOutbox.list().length > 0;
  }

  async #reconcile(run: LiveRun): Promise<void> {
    if (run.state === "proposed") return this.lookAtProposal(run);
    const { ownFunction } = this.#core.rooms;
    if (ownFunction !== undefined && isOfFunction(run)) return ownFunction.revive(run);
    if (this.#nudgedAt.has(run.id) && heardLately(run, this.#core.platform.now())) return;
    const instance = await this.#core.platform.instance(run.id);
    const { status, error } = await instance.status();
    if (!this.#isLive(run.id)) return;
    switch (status) {
      case "missing":
        this.#nudgedAt.delete(run.id);
        this.#core.runs.change(run.id, { state: "pending" });
        return;
      case "complete":
      case "terminated":
        this.#endUnreported(run.id, status);
        return;
      case "errored":
        await this.#restartOrFail(run, error ?? "The workflow failed without saying why.");
        return;
      case "paused":
      case "waitingForPause":
        this.#core.announce(this.#core.runs.change(run.id, { state: "paused" }));
        return;
      case "queued":
      case "running":
      case "waiting":
      case "rollingBack":
      case "unknown":
        await this.#wakeUp(run, instance, status);
    }
  }

  /** For an instance that the engine has at work. */
  async #wakeUp(run: LiveRun, instance: Instance, status: InstanceStatus): Promise<void> {
    // The instance was resumed outside of this object.
    if (run.state === "paused") this.#core.announce(this.#core.runs.change(run.id, { state: "running" }));
    if (status !== "queued" && this.#isLost(run))
      await this.#restartOrFail(run, "The workflow said nothing for an hour, although the engine calls it running.");
    else await this.#nudge(run.id, instance);
  }

  /** Ends a run whose proposal nobody decided in time. */
  async lookAtProposal({ id, sessionId }: LiveRun): Promise<void> {
    const core = this.#core;
    await core.read(sessionId, () =>
      core.db.transaction(() => {
        const run = core.runs.get(id);
        if (run?.state === "proposed") endProposal(core, run);
      }),
    );
  }

  async #nudge(runId: string, instance: Instance): Promise<void> {
    const now = this.#core.platform.now();
    const nudgedAt = this.#nudgedAt.get(runId);
    if (nudgedAt !== undefined && now - nudgedAt < NUDGE_AGAIN_MS) return;
    this.#nudgedAt.set(runId, now);
    await instance.nudge();
  }

  /** The engine is done but the ledger has no outcome. The run ends here, unless its last call arrived meanwhile. */
  #endUnreported(runId: string, status: "complete" | "terminated"): void {
    if (status === "terminated") this.end(runId, { kind: "cancelled" });
    else this.end(runId, { kind: "failed", reason: "The workflow ended without reporting an outcome." });
  }

  #isLost({ id, createdAt, heardAt }: LiveRun): boolean {
    return this.#nudgedAt.has(id) && this.#core.platform.now() - (heardAt ?? createdAt) > LOST_RUN_MS;
  }

  async #restartOrFail({ id }: LiveRun, error: string): Promise<void> {
    const run = this.#mustBeLive(id);
    if (run.restarts >= MAX_INSTANCE_RESTARTS) {
      this.end(run.id, { kind: "failed", reason: error });
      return;
    }
    this.#beginAgain({ ...run, restarts: run.restarts + 1, heardAt: this.#core.platform.now() });
    const instance = await this.#core.platform.instance(run.id);
    await instance.restart();
  }

  /** Ends a run from outside its workflow. The first outcome stands. */
  end(runId: string, outcome: Outcome): RunRecord {
    this.#core.db.transaction(() => {
      const run = this.#core.runs.mustGet(runId);
      if (run.outcome === null) this.#core.endRun(run, outcome);
    });
    return this.#core.runs.mustGet(runId);
  }

  async cancel(runId: string): Promise<RunRecord> {
    const run = this.#core.runs.mustGet(runId);
    return run.outcome === null ? this.endAndStop(run, { kind: "cancelled" }) : run;
  }

  /** Writes the ledger first, so that a step in progress can commit nothing. Then stops the engine. */
  async endAndStop(run: LiveRun, outcome: Outcome): Promise<RunRecord> {
    const ended = this.end(run.id, outcome);
    await this.stop([run]);
    return ended;
  }

  /**
   * Stops the instances of runs that have ended, or whose session was deleted. An instance that the engine cannot stop now ends by itself,
   * because its next step learns that the run is over.
   */
  async stop(runs: readonly LiveRun[]): Promise<void> {
    const durable = runs.filter((run) => !isOfFunction(run));
    await Promise.allSettled(durable.map((run) => this.#control(run, (instance) => instance.terminate())));
  }

  async pause(runId: string): Promise<RunRecord> {
    const run = this.#mustBeDurable(runId, "paused");
    if (run.state === "pending") {
      throw new PalimpsestError("invalid_state", `Run "${runId}" has not started yet. Pause it once it runs.`);
    }
    await this.#control(run, (instance) => instance.pause());
    const paused = this.#core.runs.change(runId, { state: "paused" });
    this.#core.announce(paused);
    return paused;
  }

  async resume(runId: string): Promise<RunRecord> {
    const run = this.#mustBeDurable(runId, "resumed");
    await this.#control(run, (instance) => instance.resume());
    const resumed = this.#core.runs.change(runId, {
      state: "running",
      heardAt: this.#core.platform.now(),
    });
    this.#core.announce(resumed);
    return resumed;
  }

  /**
   * Starts a run in place of an ended one, which finds the paid drafts by their keys. With `ignoreBudget` it goes past a spent budget and
   * an open breaker.
   */
  retry(runId: string, ignoreBudget: boolean): { run: RunRecord; joined: boolean } {
    const ended = this.#core.runs.mustGet(runId);
    const { kind, sessionId, leafId, focus } = ended;
    if (ended.outcome === null)
      throw new PalimpsestError("invalid_state", `Run "${runId}" is still at work. Cancel it, or wait for it.`);
    return this.#core.db.transaction((): { run: RunRecord; joined: boolean } => {
      if (!isCompaction({ kind })) return this.#mustHaveKind(kind).ask(sessionId, { retryOf: runId, ignoreBudget });
      const again = { focus, retryOf: runId };
      if (ended.kind === "split")
        return startSplit(this.#core, sessionId, { name: ended.childName ?? undefined, ...again, ignoreBudget });
      const branch = { trigger: "manual", leafId: this.#leafToRetry(sessionId, leafId) } as const;
      return askForRun(this.#core, sessionId, { ...branch, ...again, manual: true, ignoreBudget });
    });
  }

  #mustHaveKind(kind: RunRecord["kind"]): RoomRun {
    const own = this.#core.rooms.runs?.[kind];
    if (own !== undefined) return own;
    throw new PalimpsestError(
      "not_configured",
      `No room of this agent has runs of kind "${kind}". Add it where the agent is declared.`,
    );
  }

  /**
   * Makes the engine repeat a step of a live run and all later ones. Paid drafts are reused, except refused answers, because repeating the
   * step by hand asks for another answer. Failures of the model count anew. Throws `invalid_state` where the budget is
   * spent.
   */
  async retryFrom(runId: string, stepName: string): Promise<RunRecord> {
    const run = this.#mustBeDurable(runId, "taken up at a step");
    if (!run.steps.some(({ name }) => name === stepName)) {
      const names = run.steps.map(({ name }) => JSON.stringify(name)).join(", ");
      throw new PalimpsestError(
        "invalid_input",
        `Run "${runId}" has no step ${JSON.stringify(stepName)}; it has ${names}.`,
      );
    }
    const spent = run.ignoreBudget === true ? null : findOverdraft(this.#core, run.sessionId);
    if (spent !== null) throw new PalimpsestError("invalid_state", spent);
    const steps = run.steps.map(({ failure: _failure, ...step }) => ({ ...step, refused: undefined }));
    this.#beginAgain({ ...run, steps });
    await this.#control(run, (instance) => instance.restart(stepName));
    return this.#core.runs.mustGet(runId);
  }

  /** Writes a live run whose instance restarts. What its model is answering is lost with the old one, and is on the bill. */
  #beginAgain(run: LiveRun): void {
    this.#core.db.transaction(() => this.#core.runs.write(billUnanswered(this.#core, run)));
  }

  /** The branch of the ended run, as far as it has grown since. */
  #leafToRetry(sessionId: string, leafId: string): string {
    const history = this.#core.memory.session(sessionId);
    const active = history.leafId();
    if (active !== null && history.isOnPath(leafId, active)) return active;
    if (history.has(leafId)) return leafId;
    throw new PalimpsestError("invalid_state", "The branch of that run is gone. Compact the active one.");
  }

  async #control(run: LiveRun, act: (instance: Instance) => Promise<void>): Promise<void> {
    const instance = await this.#core.platform.instance(run.id);
    const { status } = await instance.status();
    if (ENDED.has(status)) return;
    await act(instance);
  }

  /** Checked again after every await, because a run may have ended meanwhile, or was deleted with its session. */
  #isLive(runId: string): boolean {
    return this.#core.runs.get(runId)?.outcome === null;
  }

  /** Requires a live run of the workflow, because a caller's function cannot be stopped in the middle and resumed. */
  #mustBeDurable(runId: string, what: string): LiveRun {
    const run = this.#mustBeLive(runId);
    if (run.state === "proposed")
      throw new PalimpsestError(
        "invalid_state",
        `Run "${runId}" has done its work and cannot be ${what}. Approve or reject its summary, or cancel it.`,
      );
    if (!isOfFunction(run)) return run;
    throw new PalimpsestError(
      "invalid_state",
      `Run "${runId}" is done by the session's own onCompaction function and cannot be ${what}. Cancel it, or wait for it.`,
    );
  }

  #mustBeLive(runId: string): LiveRun {
    const run = this.#core.runs.mustGet(runId);
    if (run.outcome === null) return run;
    throw new PalimpsestError(
      "invalid_state",
      `Run "${runId}" has ended (${run.outcome.kind}). Use retryRun to start another from what it paid for.`,
    );
  }
}

/** Whether a caller's function has begun it, so that it has no instance. */
function isOfFunction({ path }: LiveRun): boolean {
  return path === "function";
}

function heardLately({ heardAt }: LiveRun, now: number): boolean {
  return heardAt !== null && now - heardAt < QUIET_RUN_MS;
}
