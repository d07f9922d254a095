/** The methods that the room for looking closer adds to a session. */
import type { Methods } from "../agent/compose.ts";
import { checkGiven, given, parseInput } from "../agent/inputs.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { BulletSource } from "../steps/draft/provenance.ts";
import { diffCompaction, type CompactionDiff } from "./diff.ts";
import type { PlanReport } from "./explain.ts";
import { inspectInputs } from "./inputs.ts";
import { findProvenance } from "./provenance.ts";
import { reportPlan, type PlanQuestion } from "./plan.ts";

export class SessionInspection {
  readonly #state: SessionState;

  /** @internal */
  constructor(state: SessionState) {
    this.#state = state;
  }

  /**
   * Forecasts a run without starting it, with the run's own planning code. With `manual` it plans as if asked for by hand, and with
   * `rebuild` as `compact({ rebuild: true })`. It never says `window-too-small`, because the summariser's window is known only where it is
   * called.
   */
  async plan(question: PlanQuestion = {}): Promise<PlanReport> {
    const asked = parseInput(inspectInputs.plan, question);
    const { core, id } = this.#state;
    const policy = this.#state.mustHavePolicy();
    const report = await core.read(id, () => reportPlan(core, id, { ...asked, policy }));
    if (report === null) throw this.#state.empty();
    return report;
  }

  /** The source messages of each bullet of an overlay's summary, by line numbers from 0. Throws `unknown_overlay`. */
  async getProvenance(overlayId: string): Promise<BulletSource[]> {
    checkGiven(given.overlay, { overlayId });
    return findProvenance(this.#state.stored, overlayId);
  }

  /** The changes of an overlay's summary against the overlays that it replaced. Throws `unknown_overlay`. */
  async diffCompaction(overlayId: string): Promise<CompactionDiff> {
    checkGiven(given.overlay, { overlayId });
    return diffCompaction(this.#state.stored, overlayId);
  }
}

/** The methods that the room adds to a session. */
export interface InspectMethods extends Methods<SessionInspection> {}
