/**
 * The room of costs. It adds up what each conversation's model calls cost, by what a provider charges for: tokens sent, read from its
 * prompt cache, written to it, answered, and the summarisers' own.
 *
 * It writes one row for each recorded call, in the same transaction. A change of an older message writes one for each model once, so that
 * the next call reads the whole path again. It stores numbers and names of models, and no word of a message.
 */
import { z } from "zod";
import { callOf } from "../agent/calls.ts";
import type { Methods, Extension, Installed } from "../agent/extension.ts";
import type { Core, Needs } from "../agent/core.ts";
import { sessionId } from "../agent/inputs.ts";
import type { UsageReport } from "../agent/reports/usage-report.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { checkFields } from "../known-fields.ts";
import type { Db } from "../memory/db.ts";
import type { Tree } from "../memory/messages/tree.ts";
import { defineTables } from "../memory/schema.ts";
import { calibrationRatio } from "../steps/tokens/calibrate.ts";
import { checkPrices, type PriceList, addCall, addSummary, reportCosts, type Costs, type CostRow } from "./sums.ts";

type Stored = { model: string; summarises: number; sums: string };

defineTables("costs", [
  `CREATE TABLE palimpsest_costs (
     session_id TEXT NOT NULL,
     model      TEXT NOT NULL,
     summarises INTEGER NOT NULL,
     sums       TEXT NOT NULL,
     PRIMARY KEY (session_id, model, summarises)
   ) WITHOUT ROWID`,
  // The size of a path holds until a message before its end is edited, or any is deleted.
  `CREATE TRIGGER palimpsest_costs_of_path INSTEAD OF INSERT ON palimpsest_forgotten
     WHEN NEW.what = 'edited' OR NEW.what = 'deleted' BEGIN
       UPDATE palimpsest_costs SET sums = json_set(sums, '$.pathSeq', -1)
         WHERE session_id = NEW.session_id AND sums ->> '$.pathSeq' >= 0
           AND (NEW.what = 'deleted' OR sums ->> '$.pathSeq' > NEW.seqs ->> '$[0]');
     END`,
  `CREATE TRIGGER palimpsest_costs_gone INSTEAD OF INSERT ON palimpsest_forgotten WHEN NEW.what = 'gone' BEGIN
     DELETE FROM palimpsest_costs WHERE session_id = NEW.session_id;
   END`,
]);

class CostStatements {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  costs(sessionId: string): CostRow[] {
    const sql = "SELECT model, summarises, sums FROM palimpsest_costs WHERE session_id = ? ORDER BY summarises, model";
    return this.#db.run<Stored>(sql, sessionId).map(readRow);
  }

  cost(sessionId: string, { model, summarises }: Pick<CostRow, "model" | "summarises">): CostRow | null {
    const sql = `SELECT model, summarises, sums FROM palimpsest_costs
       WHERE session_id = ? AND model = ? AND summarises = ?`;
    const [found] = this.#db.run<Stored>(sql, sessionId, model, summarises);
    return found === undefined ? null : readRow(found);
  }

  put(sessionId: string, { model, summarises, ...sums }: CostRow): void {
    this.#db.replace("palimpsest_costs", { sessionId, model, summarises, sums: JSON.stringify(sums) });
  }
}

function readRow({ sums, ...row }: Stored): CostRow {
  return { ...row, ...(JSON.parse(sums) as Omit<CostRow, "model" | "summarises">) };
}

class SessionCosts {
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

export const costCalls = {
  /** Tells what a conversation's model calls cost, by model, and what they would have cost without compaction. */
  getCosts: callOf<CostMethods>()({
    group: "read",
    input: z.strictObject({ sessionId }),
    run: ({ session }, { sessionId: id }) => session(id).getCosts(),
  }),
};

/** Options of {@link costs}. */
export interface CostsOptions {
  /** What a million tokens cost, by model. Without it costs are null, and tokens are counted all the same. */
  readonly prices?: PriceList | undefined;
}

/** The room as an agent is declared with it. */
export interface CostsExtension extends Extension<CostMethods, object, typeof costCalls> {}

/**
 * What conversations cost, as in `withCompaction(Base, { rooms: [costs({ prices })] })`. Throws `invalid_options`.
 */
export function costs(options: CostsOptions = {}): CostsExtension {
  checkFields("costs", options, { prices: true });
  const prices = options.prices === undefined ? {} : checkPrices(options.prices);
  return { name: "costs", calls: costCalls, install: (core: Core) => install(core, prices) };
}

function install(core: Needs<"db" | "memory" | "usage">, prices: PriceList): Installed<CostMethods, object> {
  const sql = new CostStatements(core.db);
  return {
    session: (state) => new SessionCosts(state, sql, prices),
    counted: (sessionId, call) => {
      if (!("summariser" in call)) return addOwn(core, sql, { sessionId, report: call });
      const { model, summariser } = call;
      sql.put(sessionId, addSummary(sql.cost(sessionId, { model, summarises: 1 }), model, summariser));
    },
  };
}

function addOwn(
  core: Needs<"memory" | "usage">,
  sql: CostStatements,
  { sessionId, report }: { readonly sessionId: string; readonly report: UsageReport },
): void {
  const { model = "", inputTokens, outputTokens = 0, cachedTokens = 0, writtenTokens = 0, leafId } = report;
  if (inputTokens === 0) return;
  const history = core.memory.session(sessionId);
  const before = sql.cost(sessionId, { model, summarises: 0 });
  const path = readPath(history.tree, leafId, before);
  // The path holds the reply where it was stored first, and so does the view of now. An overlay may have come in since the call.
  const viewTokens = Math.max(report.viewTokens ?? 0, history.tokens(leafId));
  const row = core.usage.rows(sessionId).find((each) => each.model === model);
  const ratio = row === undefined ? 1 : calibrationRatio(row);
  const sparedTokens = Math.round(Math.max(0, path.tokens - viewTokens) * ratio);
  const { pathSeq, pathTokens } = path;
  const counts = { inputTokens, outputTokens, cachedTokens, writtenTokens };
  sql.put(sessionId, addCall(before, model, { ...counts, sparedTokens, pathSeq, pathTokens }));
}

/**
 * Estimated tokens of all messages of a path. Reads the messages since the last call on it, and all of another path. A change before its
 * newest message makes the stored size that of no path.
 */
function readPath(
  tree: Tree,
  leafId: string | undefined,
  known: Pick<CostRow, "pathSeq" | "pathTokens"> | null,
): { readonly tokens: number; readonly pathSeq: number; readonly pathTokens: number } {
  const leaf = leafId === undefined ? tree.newest() : tree.find(leafId);
  if (leaf === null) return { tokens: 0, pathSeq: -1, pathTokens: 0 };
  let tokens = 0;
  for (const seq of tree.pathDown(leaf.seq, 0)) {
    tokens += tree.shape(seq).tokens;
    if (seq !== known?.pathSeq) continue;
    tokens += known.pathTokens;
    break;
  }
  return { tokens, pathSeq: leaf.seq, pathTokens: tokens - tree.shape(leaf.seq).tokens };
}
