/**
 * The room of costs. It adds up what each conversation's model calls cost, by what a provider charges for: tokens sent, read from its
 * prompt cache, written to it, answered, and the summarisers' own.
 *
 * It writes one row for each recorded call, in the same transaction. A change of an older message writes one for each model once, so that
 * the next call reads the whole path again. It stores numbers and names of models, and no word of a message.
 */
import type { Core, Needs } from "../agent/core.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import type { UsageReport } from "../agent/reports/usage-report.ts";
import type { Tree } from "../memory/messages/tree.ts";
import { checkFields } from "../known-fields.ts";
import { calibrationRatio } from "../steps/tokens/calibrate.ts";
import { costCalls } from "./calls.ts";
import { checkPrices, type PriceList } from "./prices.ts";
import { CostStatements, type CostRow } from "./statements.ts";
import { addCall, addSummary, dollarsByModel } from "./sums.ts";
import { SessionCosts, type CostMethods } from "./session-costs.ts";

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
    dollars: (sessionId) => dollarsByModel(sql.costs(sessionId), prices),
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
