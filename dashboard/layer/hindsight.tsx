/** What came of the names that one overlay's view hid. */
import { NOT_KNOWN_YET } from "../../src/inspect/steps/tell-hindsight.ts";
import type { Hindsight } from "../../src/facts/hindsight.ts";
import type { OverlayRecord } from "../../src/memory/overlays/record.ts";
import { Empty } from "../frame/states.tsx";
import { count, plural } from "../format.ts";
import { Figure } from "../session/beside.tsx";
import { useCall } from "../use-agent.ts";

/** The newest count of an overlay, made until now where it is the newest of the active branch. Null while it is not known. */
export function useHindsight(sessionId: string, overlay: OverlayRecord | null): Hindsight | null {
  const asked = useCall("hindsight", overlay === null ? null : { sessionId, limit: 1 });
  const now = asked.kind === "ready" ? asked.value.now : null;
  return now !== null && now.overlayId === overlay?.id ? now : (overlay?.details.hindsight ?? null);
}

export function HindsightFigures({ hindsight }: { hindsight: Hindsight | null }) {
  if (hindsight === null) return <Empty title={`What was needed again is ${NOT_KNOWN_YET}.`} />;
  const { messages, unread, names, inView, recalled, missed } = hindsight;
  return (
    <>
      <dl className="figures">
        <Figure name="names came up again" value={count(names)} />
        <Figure name="were in view" value={count(inView)} />
        <Figure name="were recalled" value={count(recalled)} />
        <Figure name="were missed" value={count(missed)} />
      </dl>
      <p className="dim">
        Counted over {plural(messages, "message")} said since
        {unread > 0 && `; ${plural(unread, "message")} not read`}.
      </p>
    </>
  );
}
