/** One session with its conversation in two readings, its overlays, the current plan and the actions. */
import { useCallback, useMemo } from "react";
import type { View } from "../../src/memory/messages/visible.ts";
import { Gauge } from "../frame/gauge.tsx";
import { Empty, isClosed, Shown, Told } from "../frame/states.tsx";
import { LayerPanel } from "../layer/layer-panel.tsx";
import { formatRoute, toSession, type SessionRoute } from "../route.ts";
import { StrataView } from "../strata/strata.tsx";
import { Actions, useFork } from "./actions.tsx";
import { Beside } from "./beside.tsx";
import { Composer } from "./composer.tsx";
import { Conversation } from "./conversation.tsx";
import { LiveRuns } from "./live-runs.tsx";
import { modelRows, personRows } from "./rows.ts";
import { SessionHead } from "./session-head.tsx";
import { TimeTravel } from "./time-travel.tsx";
import { useBeneath, useSearchBeneath } from "./use-beneath.ts";
import { useSession, type SessionData } from "./use-session.ts";

const READINGS = [
  ["person", "As it was written"],
  ["model", "As the model sees it"],
  ["both", "Side by side"],
] as const;

export function SessionPage({ route }: { route: SessionRoute }) {
  const { agent, id } = route;
  const data = useSession(route);
  const { status, info, view, overlays, bump } = data;
  const open = useCallback(
    (overlay: string) => {
      globalThis.location.hash = formatRoute({ ...route, overlay: route.overlay === overlay ? null : overlay });
    },
    [route],
  );
  const said = useCallback(() => {
    bump();
    // After an append the page shows the end of the conversation, so it drops the message that was searched for.
    if (route.at !== null) globalThis.location.hash = formatRoute({ ...route, at: null });
  }, [route, bump]);
  const session = info.kind === "ready" ? info.value : null;
  const isHosted = status.kind === "ready" && status.value.isHosted;
  return (
    <div className="session-page">
      <SessionHead route={route} session={session} onRenamed={isHosted ? null : bump}>
        {status.kind === "ready" && (
          <Gauge tokens={tokensRead(route, data) ?? status.value.viewTokens} threshold={status.value.thresholdTokens} />
        )}
      </SessionHead>
      <LiveRuns agent={agent} events={data.events} />
      <Actions agent={agent} sessionId={id} branch={route.branch} isHosted={isHosted} onDone={bump} />
      <div className={route.reading === "both" ? "columns columns-both" : "columns"}>
        <section className="column-strata" aria-label="Strata">
          <h2>Strata</h2>
          <Layers route={route} data={data} onOpen={open} />
          <TimeTravel route={route} overlays={overlays} />
        </section>
        <section className="column-talk" aria-label="Conversation">
          <ReadingChoice route={route} />
          <Shown asked={view} what="the conversation">
            {(view) => <Talk route={route} data={data} view={view} isHosted={isHosted} onOpen={open} />}
          </Shown>
          {session?.continuedBy != null ? (
            <p className="note">
              This session has ended. It goes on in{" "}
              <a href={formatRoute(toSession(agent, session.continuedBy))}>the next one</a>.
            </p>
          ) : (
            route.asOf === null &&
            !isHosted &&
            !isClosed(view) && <Composer sessionId={id} branch={route.branch} onSaid={said} />
          )}
        </section>
        <aside className="column-beside" aria-label="Layer and plan">
          {route.overlay !== null && (
            <LayerPanel
              key={route.overlay}
              route={route}
              overlay={overlays.find((each) => each.id === route.overlay) ?? null}
              onChanged={bump}
            />
          )}
          <Beside route={route} data={data} />
        </aside>
      </div>
    </div>
  );
}

function Layers({ route, data: { view, overlays }, onOpen }: Omit<TalkProps, "view" | "isHosted">) {
  // The conversation says why there are none.
  if (isClosed(view)) return null;
  return (
    <Shown asked={view} what="the strata">
      {(view) =>
        overlays.length === 0 ? (
          <Empty title="One layer: the writing itself.">
            Compaction lays summaries over it, and never rubs it out.
          </Empty>
        ) : (
          <StrataView elements={view.elements} overlays={overlays} selected={route.overlay} onSelect={onOpen} />
        )
      }
    </Shown>
  );
}

/** Returns the tokens of a branch or moment other than the one of the status. Null for the status's own, or while the view is loading. */
function tokensRead({ branch, asOf }: SessionRoute, { view }: SessionData): number | null {
  return (branch === null && asOf === null) || view.kind !== "ready" ? null : view.value.tokens;
}

function ReadingChoice({ route }: { route: SessionRoute }) {
  return (
    <nav className="readings" aria-label="How to read it">
      {READINGS.map(([reading, label]) => (
        <a
          key={reading}
          href={formatRoute({ ...route, reading })}
          aria-current={route.reading === reading ? "true" : undefined}
        >
          {label}
        </a>
      ))}
    </nav>
  );
}

interface TalkProps {
  readonly route: SessionRoute;
  readonly data: SessionData;
  readonly view: View;
  readonly isHosted: boolean;
  readonly onOpen: (overlayId: string) => void;
}

function Talk({ route, data, view, isHosted, onOpen }: TalkProps) {
  const { beneath, readOn } = useBeneath(route.id, data.layers);
  const { act, fork } = useFork(route.agent, route.id);
  const model = useMemo(() => modelRows(view.messages), [view]);
  const person = useMemo(() => personRows(view.messages, beneath), [view, beneath]);
  useSearchBeneath(route.reading === "model" ? null : route.at, person, readOn);
  if (view.messages.length === 0) {
    return (
      <Empty title="Nothing was said yet.">
        Begin {isHosted ? "in your app" : "below"}. Past the threshold, the first layer is laid by itself.
      </Empty>
    );
  }
  const shared = { overlays: data.overlays, selected: route.overlay, at: route.at };
  const common = { ...shared, onOpen, onReadOn: readOn, onFork: isHosted ? null : fork };
  return (
    <>
      {act.told !== null && <Told act={act} />}
      <div className={`talks talks-${route.reading}`}>
        {route.reading !== "model" && <Conversation label="As it was written" rows={person} {...common} />}
        {route.reading !== "person" && <Conversation label="As the model sees it" rows={model} {...common} />}
      </div>
    </>
  );
}
