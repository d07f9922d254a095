/** One overlay in full, with its text, sources, changes and the originals beneath. */
import { useState } from "react";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { Empty, Told } from "../frame/states.tsx";
import { useBorrowedFocus } from "../frame/use-borrowed-focus.ts";
import { count, plural, when } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { formatRoute, type SessionRoute } from "../route.ts";
import { useAct } from "../use-agent.ts";
import { BeneathLayer } from "./beneath-layer.tsx";
import { LayerDiff } from "./layer-diff.tsx";
import { SummaryText } from "./summary-text.tsx";
import { Withheld } from "./withheld.tsx";

export interface LayerPanelProps {
  readonly route: SessionRoute;
  readonly overlay: OverlayRecord | null;
  readonly onChanged: () => void;
}

const LOOKS = [
  ["says", "What it says"],
  ["beneath", "What lies beneath"],
  ["changed", "What it changed"],
] as const;

type Look = (typeof LOOKS)[number][0];

export function LayerPanel({ route, overlay, onChanged }: LayerPanelProps) {
  const [look, setLook] = useState<Look>("says");
  // The panel may open below the visible area, so the focus moves there.
  const title = useBorrowedFocus<HTMLHeadingElement>(`[data-overlay="${CSS.escape(route.overlay ?? "")}"]`);
  if (overlay === null) return <Empty title="This layer is not here any more." />;
  const { details } = overlay;
  return (
    <section className="card layer-panel" aria-labelledby="layer">
      <header>
        <h2 id="layer" ref={title} tabIndex={-1}>
          Layer {overlay.n}
        </h2>
        <a href={formatRoute({ ...route, overlay: null })}>Close</a>
      </header>
      <p className="dim">
        Laid {when(overlay.createdAt)} by {showInvisible(details.model)}
        {details.degraded && ", without a model"}
        {overlay.state !== "active" && `; ${overlay.state === "rolled-back" ? "rolled back" : "gave way to an edit"}`}
        {overlay.runId !== null && (
          <>
            {", in "}
            <a href={formatRoute({ page: "runs", agent: route.agent, id: route.id, run: overlay.runId })}>its run</a>
          </>
        )}
      </p>
      <p className="dim">
        {plural(overlay.spanMessages, "message")} of {count(overlay.spanTokens)} tokens in {count(overlay.tokens)}
      </p>
      <LayerActs route={route} overlay={overlay} onChanged={onChanged} />
      <div className="looks" role="group" aria-label="What to look at">
        {LOOKS.map(([name, label]) => (
          <button type="button" key={name} aria-pressed={look === name} onClick={() => setLook(name)}>
            {label}
          </button>
        ))}
      </div>
      {look === "says" &&
        (overlay.withheld === true ? <Withheld /> : <SummaryText sessionId={route.id} overlay={overlay} />)}
      {look === "beneath" && <BeneathLayer sessionId={route.id} overlay={overlay} />}
      {look === "changed" && <LayerDiff sessionId={route.id} overlayId={overlay.id} />}
    </section>
  );
}

function LayerActs({ route, overlay, onChanged }: LayerPanelProps & { overlay: OverlayRecord }) {
  const act = useAct();
  const input = { sessionId: route.id, overlayId: overlay.id };
  return (
    <div className="actions">
      {overlay.state === "active" ? (
        <button
          type="button"
          disabled={act.busy}
          onClick={() =>
            void act.run(async (connection) => {
              await connection.call("rollback", input);
              onChanged();
              return "Rolled back: what lies under it shows again.";
            })
          }
        >
          Roll back
        </button>
      ) : (
        <button
          type="button"
          disabled={act.busy}
          onClick={() =>
            void act.run(async (connection) => {
              const result = await connection.call("restore", input);
              onChanged();
              return result.kind === "stale"
                ? `Not restored: it no longer fits (${result.reason}).`
                : "In force again.";
            })
          }
        >
          Restore
        </button>
      )}
      <a href={formatRoute({ ...route, asOf: overlay.id, branch: null, at: null })}>See the session as it was then</a>
      <Told act={act} />
    </div>
  );
}
