/** The column beside the conversation, with standing instructions, the current plan, the prompt's blocks and other branches. */
import { Empty, isClosed, Shown } from "../frame/states.tsx";
import { ago, plural, short } from "../format.ts";
import { PlainText } from "../reading/markdown.tsx";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute, type SessionRoute } from "../route.ts";
import { useCall, useNow, type Asked } from "../use-agent.ts";
import type { CallResult } from "../../src/rooms.ts";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { InstructionsCard } from "./instructions-card.tsx";
import { NotesCard } from "./notes-card.tsx";
import type { SessionData } from "./use-session.ts";

export function Beside({ route, data }: { route: SessionRoute; data: SessionData }) {
  const isEmpty = data.view.kind === "ready" && data.view.value.messages.length === 0;
  const plan = useCall("plan", isEmpty || data.view.kind === "loading" ? null : data.read, data.revision);
  return (
    <>
      <InstructionsCard overlays={shownOverlays(data)} />
      {/* The agent may lack the room of inspections. */}
      {(plan.kind !== "failed" || plan.code !== "not_configured") && <PlanNow plan={isEmpty ? null : plan} />}
      <NotesCard
        sessionId={route.id}
        revision={data.revision}
        isKept={plan.kind === "ready" && plan.value.notes !== null}
      />
      {!isClosed(data.view) && <Branches route={route} data={data} />}
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
                  <li key={line}>{showInvisible(line)}</li>
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

/** The summaries of the view that is read, oldest first. */
function shownOverlays({ view, overlays }: SessionData): OverlayRecord[] {
  if (view.kind !== "ready") return [];
  const byId = new Map(overlays.map((overlay) => [overlay.id, overlay]));
  return view.value.elements.flatMap(({ kind, id }) => (kind === "overlay" ? (byId.get(id) ?? []) : []));
}

export function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
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
