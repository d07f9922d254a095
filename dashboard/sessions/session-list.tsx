/** A virtual list of sessions, because an agent may hold thousands. Each row asks for its view's size once it is visible. */
import { useRef } from "react";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { Gauge } from "../frame/gauge.tsx";
import { ago, count, money, short } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute, toSession } from "../route.ts";
import { useCall, useNow, useRunEvents } from "../use-agent.ts";
import { nameOf, type Kin } from "./lineage.ts";

/** Pixels of a row before it is measured. */
const ROW = 74;
/** Deepest indentation that is drawn. A family of a hundred splits still fits a telephone. */
const DEEPEST = 6;

export function SessionList({ agent, kin }: { agent: string; kin: readonly Kin[] }) {
  const list = useRef<HTMLUListElement>(null);
  const rows = useWindowVirtualizer({
    count: kin.length,
    estimateSize: () => ROW,
    overscan: 8,
    scrollMargin: list.current?.offsetTop ?? 0,
    getItemKey: (at) => kin[at]?.session.id ?? at,
  });
  return (
    <ul className="sessions" ref={list} style={{ height: rows.getTotalSize() }} aria-label={`${kin.length} sessions`}>
      {rows.getVirtualItems().map((item) => {
        const each = kin[item.index];
        if (each === undefined) return null;
        const top = item.start - rows.options.scrollMargin;
        return (
          <li
            key={item.key}
            data-index={item.index}
            ref={rows.measureElement}
            style={{ transform: `translateY(${top}px)` }}
          >
            <SessionRow agent={agent} kin={each} />
          </li>
        );
      })}
    </ul>
  );
}

function SessionRow({ agent, kin }: { agent: string; kin: Kin }) {
  const { session, depth, kind } = kin;
  const now = useNow();
  const runs = useRunEvents(session.id);
  const [newest] = runs;
  const status = useCall("status", { sessionId: session.id }, [newest?.runId, newest?.state, session.lastMessageAt]);
  const live = runs.find((run) => run.outcome === null);
  return (
    <div className="session-row" style={{ paddingInlineStart: `${Math.min(depth, DEEPEST) * 1.4}rem` }}>
      {kind !== "begun" && <span className="kin">{kind === "forked" ? "↱ fork" : "↳ goes on"}</span>}
      <a className="session-name" href={formatRoute(toSession(agent, session.id))} dir="auto">
        {showInvisible(nameOf(session))}
      </a>
      <span className="session-facts">
        {session.endedAt !== null && <span className="tag">ended, goes on below</span>}
        {live !== undefined && (
          <a className="tag tag-live" href={formatRoute({ page: "runs", agent, id: session.id, run: live.runId })}>
            {live.state === "proposed" ? "waits for you" : `${live.state}, ${live.done} of ${live.total}`}
          </a>
        )}
        <span>{ago(session.lastMessageAt ?? session.createdAt, now)}</span>
        {session.inputTokens + session.outputTokens > 0 && (
          <span title={`${count(session.inputTokens)} tokens in, ${count(session.outputTokens)} out`}>
            {short(session.inputTokens)} in, {short(session.outputTokens)} out
          </span>
        )}
        {session.cost > 0 && <span>cost {money(session.cost)}</span>}
        {session.model !== null && <span>{showInvisible(session.model)}</span>}
      </span>
      {status.kind === "ready" ? (
        <Gauge tokens={status.value.viewTokens} threshold={status.value.thresholdTokens} />
      ) : (
        <span className="gauge gauge-waiting" />
      )}
    </div>
  );
}
