/** What the session's model calls cost, beside an estimate without compaction. */
import type { CallResult } from "../../src/rooms.ts";
import { count, money } from "../format.ts";
import { Empty, Shown } from "../frame/states.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { Figure } from "../session/beside.tsx";
import { useCall } from "../use-agent.ts";

type Costs = CallResult<"getCosts">;

export function CostsCard({ sessionId, revision }: { sessionId: string; revision: unknown }) {
  const costs = useCall("getCosts", { sessionId }, revision);
  // The agent has no room of costs.
  if (costs.kind === "failed" && costs.code === "not_configured") return null;
  return (
    <section className="card below-plots" aria-labelledby="costs">
      <h2 id="costs">What the conversation costs</h2>
      <Shown asked={costs} what="the costs">
        {(report) => <Report report={report} />}
      </Shown>
    </section>
  );
}

function Report({ report }: { report: Costs }) {
  const { agent, summarisers, total, withoutCompaction, unpriced } = report;
  if (agent.length + summarisers.length === 0) {
    return <Empty title="No model call was recorded yet.">Call recordUsage after a model call.</Empty>;
  }
  const { cached, sent } = withoutOf(report);
  return (
    <>
      <dl className="figures">
        <Figure name="so far" value={moneyOr(total)} />
        <Figure name="without compaction, estimated" value={moneyOr(withoutCompaction.total)} />
        <Figure name="share of the estimate" value={shareOf(total, withoutCompaction.total)} />
      </dl>
      <div className="scroll-x" role="region" aria-label="Costs by model" tabIndex={0}>
        <table className="costs" aria-label="Tokens and costs by model">
          <thead>
            <tr>
              <th scope="col">Model</th>
              <th scope="col">Calls</th>
              <th scope="col">Sent</th>
              <th scope="col">Read from cache</th>
              <th scope="col">Written to cache</th>
              <th scope="col">Answered</th>
              <th scope="col">Cost</th>
            </tr>
          </thead>
          <tbody>
            {agent.map((model) => (
              <Model key={model.model} name={model.model || "the agent's model"} model={model} />
            ))}
            {summarisers.map((model) => (
              <Model key={`summariser ${model.model}`} name={`${model.model}, for summaries`} model={model} />
            ))}
            <tr>
              <th scope="row">without compaction, estimated</th>
              <td></td>
              <td>{count(sent)}</td>
              <td>{count(cached)}</td>
              <td colSpan={2}></td>
              <td>{moneyOr(withoutCompaction.total)}</td>
            </tr>
          </tbody>
        </table>
      </div>
      {unpriced.length > 0 && (
        <p>
          No price is set for {unpriced.map((model) => showInvisible(model || "calls without a model")).join(", ")}. The
          option <code>prices</code> of the room of costs sets one, in the deployable Worker{" "}
          <code>PALIMPSEST_PRICES</code>.
        </p>
      )}
    </>
  );
}

function Model({ name, model }: { name: string; model: Costs["agent"][number] }) {
  return (
    <tr>
      <th scope="row">{showInvisible(name)}</th>
      <td>{count(model.calls)}</td>
      <td>{count(model.inputTokens - model.cachedTokens - model.writtenTokens)}</td>
      <td>{count(model.cachedTokens)}</td>
      <td>{count(model.writtenTokens)}</td>
      <td>{count(model.outputTokens)}</td>
      <td>{moneyOr(model.cost)}</td>
    </tr>
  );
}

function withoutOf({ withoutCompaction: { inputTokens, cachedTokens } }: Costs) {
  return { cached: cachedTokens, sent: inputTokens - cachedTokens };
}

function moneyOr(cost: number | null): string {
  return cost === null ? "no price" : money(cost);
}

function shareOf(total: number | null, without: number | null): string {
  return total === null || without === null || without === 0 ? "–" : `${Math.round((total / without) * 100)} %`;
}
