/** The column beside the conversation, with the current plan, pinned facts, the prompt's blocks and other branches. */
import { Empty, Shown } from "../frame/states.tsx";
import { ago, plural, short } from "../format.ts";
import { PlainText } from "../reading/markdown.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute, type SessionRoute } from "../route.ts";
import { useCall, useNow, type Asked } from "../use-agent.ts";
import type { CallResult } from "../../src/rooms.ts";
import { NotesCard } from "./notes-card.tsx";
import type { SessionData } from "./use-session.ts";

export function Beside({ route, data }: { route: SessionRoute; data: SessionData }) {
  const isEmpty = data.view.kind !== "ready" || data.view.value.messages.length === 0;
  const plan = useCall("plan", isEmpty ? null : data.read, data.revision);
  return (
    <>
      {/* The agent may lack the room of inspections. */}
      {(plan.kind !== "failed" || plan.code !== "not_configured") && <PlanNow plan={isEmpty ? null : plan} />}
      <NotesCard
        sessionId={route.id}
        revision={data.revision}
        isKept={plan.kind === "ready" && plan.value.notes !== null}
      />
      <PinnedFacts data={data} />
      <Branches route={route} data={data} />
      <ContextBlocks sessionId={route.id} revision={data.revision} />
    </>
  );
}

function PlanNow({ plan }: { plan: Asked<CallResult<"plan">> | null }) {
  return (
    <section className="card" aria-labelledby="plan">
      <h2 id="plan">What would happen now</h2>
      {plan === null ? (
        <Empty title="Nothing: nothing was said yet." />
      ) : (
        <Shown asked={plan} what="the plan">
          {(report) => (
            <>
              <ul className="lines">
                {report.lines.map((line) => (
                  <li key={line}>{line}</li>
                ))}
              </ul>
              {report.cost.calls > 0 && (
                <dl className="figures">
                  <Figure name="model calls" value={String(report.cost.calls)} />
                  <Figure name="tokens in" value={short(report.cost.inputTokens)} />
                  <Figure name="tokens out" value={short(report.cost.outputTokens)} />
                  <Figure name="saved per call" value={short(report.savedTokensPerCall)} />
                </dl>
              )}
            </>
          )}
        </Shown>
      )}
    </section>
  );
}

export function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function PinnedFacts({ data }: { data: SessionData }) {
  const shown = new Set(
    data.view.kind === "ready"
      ? data.view.value.elements.flatMap((each) => (each.kind === "overlay" ? [each.id] : []))
      : [],
  );
  const overlays = data.overlays.filter(({ id }) => shown.has(id));
  const pinned = overlays.map(({ details }) => details.pinned);
  const instructions = unique(pinned.flatMap((each) => each.instructions));
  const ended = unique(pinned.flatMap((each) => each.ended));
  const unfounded = pinned.flatMap((each) => each.unfounded);
  const degraded = overlays.filter(({ details }) => details.degraded).length;
  if (instructions.length + ended.length + unfounded.length + degraded === 0) return null;
  return (
    <section className="card" aria-labelledby="pinned">
      <h2 id="pinned">Standing instructions</h2>
      {degraded > 0 && (
        <p role="alert">No model made {degraded} of the summaries here, so they only quote the conversation.</p>
      )}
      <ul className="facts">
        {instructions.map(({ quote, messageId }) => (
          <li key={`${messageId}/${quote}`} title={`from message ${messageId}`} dir="auto">
            {showInvisible(quote)}
          </li>
        ))}
        {ended.map(({ quote, messageId, by }) => (
          <li key={`ended/${messageId}/${quote}`} title={`from message ${messageId}`} dir="auto">
            <s>{showInvisible(quote)}</s> ended by “{showInvisible(by.quote)}”
          </li>
        ))}
      </ul>
      {unfounded.length > 0 && (
        <>
          <h3>Named without a source</h3>
          <ul className="facts">
            {unfounded.map((name) => (
              <li key={name} dir="auto">
                {showInvisible(name)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function unique<Each extends { readonly quote: string; readonly messageId: string }>(all: readonly Each[]): Each[] {
  return [...new Map(all.map((each) => [`${each.messageId}/${each.quote}`, each])).values()];
}

function Branches({ route, data }: { route: SessionRoute; data: SessionData }) {
  const now = useNow();
  const branches = useCall("listBranches", { sessionId: route.id }, data.revision);
  if (branches.kind === "ready" && branches.value.length < 2) return null;
  return (
    <section className="card" aria-labelledby="branches">
      <h2 id="branches">Branches</h2>
      <Shown asked={branches} what="the branches">
        {(tips) => (
          <ol className="branches">
            {tips.map((tip, at) => (
              <li key={tip.leafId}>
                <a
                  href={formatRoute({ ...route, branch: at === 0 ? null : tip.leafId, at: null, asOf: null })}
                  aria-current={(data.read?.leafId ?? tips[0]?.leafId) === tip.leafId ? "true" : undefined}
                  dir="auto"
                >
                  {showInvisible(tip.title ?? tip.leafId)}
                </a>
                <span className="dim">
                  {at === 0 && "active, "}
                  {ago(tip.createdAt, now)}
                </span>
              </li>
            ))}
          </ol>
        )}
      </Shown>
    </section>
  );
}

function ContextBlocks({ sessionId, revision }: { sessionId: string; revision: string }) {
  const blocks = useCall("getContextBlocks", { sessionId }, revision);
  if (blocks.kind !== "ready" || blocks.value.length === 0) return null;
  return (
    <section className="card" aria-labelledby="blocks">
      <h2 id="blocks">In the system prompt</h2>
      {blocks.value.map((block) => (
        <details key={block.label}>
          <summary>
            {showInvisible(block.label)} <span className="dim">{plural(block.tokens, "token")}</span>
          </summary>
          <PlainText text={block.content} />
        </details>
      ))}
    </section>
  );
}
