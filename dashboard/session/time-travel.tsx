/** Shows the session right after an earlier overlay came into force. */
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { when } from "../format.ts";
import { formatRoute, type SessionRoute } from "../route.ts";

export function TimeTravel({ route, overlays }: { route: SessionRoute; overlays: readonly OverlayRecord[] }) {
  if (overlays.length === 0) return null;
  const at = overlays.findIndex((overlay) => overlay.id === route.asOf);
  const place = at === -1 ? overlays.length : at;
  const go = (place: number): void => {
    globalThis.location.hash = formatRoute({ ...route, asOf: overlays[place]?.id ?? null, branch: null, at: null });
  };
  const then = overlays[at];
  const label = then === undefined ? "now" : `when layer ${then.n} was laid, ${when(then.createdAt)}`;
  return (
    <div className="time-travel">
      <label>
        <span>As it was</span>
        <input
          type="range"
          min={0}
          max={overlays.length}
          value={place}
          aria-valuetext={label}
          onChange={(event) => go(Number(event.target.value))}
        />
        <output>{label}</output>
      </label>
    </div>
  );
}
