/** The methods that the room of shadows adds to a session and to a manager of sessions. */
import type { Methods } from "../agent/compose.ts";
import type { BuilderCall } from "../agent/settings.ts";
import { parseInput } from "../agent/inputs.ts";
import { gradeView } from "../agent/reports/hindsight.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { PalimpsestError } from "../errors.ts";
import { hindsightsOf } from "../memory/overlays/hindsights.ts";
import type { Hindsight } from "../facts/hindsight.ts";
import { compareRows, type ShadowComparison } from "./compare.ts";
import { gradeShadows } from "./grade.ts";
import { shadowInputs } from "./inputs.ts";
import type { ShadowOutcome } from "./record.ts";
import { addShadow, MAX_SHADOWS, type ShadowOptions } from "./settings.ts";
import type { ShadowStatements } from "./statements.ts";

/** A shadow of one compaction, with its summary. */
export interface ShadowSummary {
  /** The name of the shadow. */
  readonly name: string;
  /** The model that was asked. Null before it is known. */
  readonly model: string | null;
  /** Null while it is not done. */
  readonly outcome: ShadowOutcome | null;
  /** Null where it has none, and where messages under the overlay were edited, or the overlay left force. */
  readonly summary: string | null;
  /** Why it failed, in the provider's words. Null for no reason. */
  readonly reason: string | null;
}

/** Declarations that come before a session is used. */
export interface ShadowBuilder {
  /**
   * Summarises each compaction once more, with another model, template or policy, for {@link SessionShadows.compareShadows}. Nobody is shown
   * the summary. Throws `invalid_options`.
   */
  shadow(options: ShadowOptions): this;
}

export class ShadowsOfAgent implements ShadowBuilder {
  readonly #tell: (call: BuilderCall) => void;

  /** @internal */
  constructor(tell: (call: BuilderCall) => void) {
    this.#tell = tell;
  }

  shadow(options: ShadowOptions): this {
    this.#tell({ settings: addShadow(options) });
    return this;
  }
}

export class SessionShadows extends ShadowsOfAgent {
  readonly #state: SessionState;
  readonly #sql: ShadowStatements;

  /** @internal */
  constructor(state: SessionState, sql: ShadowStatements) {
    super((call) => state.tell(call));
    this.#state = state;
    this.#sql = sql;
  }

  /**
   * What each shadow would have kept of the names that came up again, and what it cost, beside the real summaries. Counts the newest
   * compaction until now, and reads what is kept of the newest `limit`. Without a word of the conversation. Throws `invalid_input`.
   */
  async compareShadows(options: { limit?: number | undefined } = {}): Promise<ShadowComparison> {
    const { limit } = parseInput(shadowInputs.compareShadows, options);
    this.#state.apply();
    const { core, id } = this.#state;
    const graded = await gradeView(core, id, null);
    const counted = graded === null ? [] : gradeShadows(core, this.#sql, id, graded);
    const rows = this.#sql
      .newest(id, limit * MAX_SHADOWS)
      .map((row) => counted.find(({ n, name }) => n === row.n && name === row.name) ?? row);
    const overlays = [...new Set(rows.map(({ overlayId }) => overlayId))].slice(0, limit);
    const kept = hindsightsOf(core.memory.session(id), overlays);
    const hindsights = new Map<string, Hindsight | null>(kept.map((each) => [each.overlayId, each.hindsight]));
    if (graded !== null) hindsights.set(graded.overlayId, graded.hindsight);
    return compareRows(
      rows.filter(({ overlayId }) => overlays.includes(overlayId)),
      hindsights,
    );
  }

  /** The shadows beside one overlay, with their summaries. Throws `unknown_overlay`, `invalid_input`. */
  async getShadows(overlayId: string): Promise<ShadowSummary[]> {
    parseInput(shadowInputs.getShadows, { overlayId });
    this.#state.apply();
    const { core, id } = this.#state;
    const overlay = core.memory.session(id).overlays.get(overlayId);
    if (overlay === null) {
      throw new PalimpsestError("unknown_overlay", `There is no overlay "${overlayId}" in this session.`);
    }
    return this.#sql.beside(id, overlay.n).map(({ name, record, words }) => {
      const key = record.outcome?.kind === "kept" ? (words?.key ?? null) : null;
      const draft = key === null ? null : core.memory.drafts.get(id, key);
      const { model, outcome } = record;
      return { name, model, outcome, summary: draft?.text ?? null, reason: words?.reason ?? null };
    });
  }
}

/** The methods that the room adds to a session. */
export interface ShadowMethods extends Methods<Omit<SessionShadows, keyof ShadowBuilder>>, ShadowBuilder {}

/** The methods that the room adds to a manager of sessions. */
export interface ManagerShadowMethods extends ShadowBuilder {}
