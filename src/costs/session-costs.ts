/** What a session can say of its costs. */
import type { Methods } from "../agent/compose.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import type { PriceList } from "./prices.ts";
import type { CostStatements } from "./statements.ts";
import { reportCosts, type Costs } from "./sums.ts";

export class SessionCosts {
  readonly #state: SessionState;
  readonly #sql: CostStatements;
  readonly #prices: PriceList;

  /** @internal */
  constructor(state: SessionState, sql: CostStatements, prices: PriceList) {
    this.#state = state;
    this.#sql = sql;
    this.#prices = prices;
  }

  /** What the recorded model calls of this session cost, by model, and what they would have cost without compaction. */
  async getCosts(): Promise<Costs> {
    this.#state.apply();
    return reportCosts(this.#sql.costs(this.#state.id), this.#prices);
  }
}

/** The methods that the room adds to a session. */
export interface CostMethods extends Methods<SessionCosts> {}
