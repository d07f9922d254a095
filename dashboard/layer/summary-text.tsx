/** A summary bullet by bullet. A bullet with source messages opens them. */
import { useState } from "react";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { Shown } from "../frame/states.tsx";
import { plural } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";
import { Message } from "../reading/message.tsx";
import { readSummary, type SummaryLine } from "../reading/summary.ts";
import { useCall } from "../use-agent.ts";

export function SummaryText({ sessionId, overlay }: { sessionId: string; overlay: OverlayRecord }) {
  const provenance = useCall("getProvenance", { sessionId, overlayId: overlay.id });
  const sources = provenance.kind === "ready" ? provenance.value : [];
  return (
    <div className="summary-text">
      {readSummary(overlay.summary, sources).map((line) => (
        <Line key={line.line} line={line} sessionId={sessionId} />
      ))}
    </div>
  );
}

function Line({ line, sessionId }: { line: SummaryLine; sessionId: string }) {
  const [isOpen, setOpen] = useState(false);
  const text = showInvisible(line.text);
  if (line.kind === "heading") return <h3 dir="auto">{text}</h3>;
  const { messageIds } = line;
  return (
    <div className={`summary-line summary-${line.kind}`} dir="auto">
      <span>{text}</span>
      {messageIds.length > 0 && (
        <button type="button" className="source" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {plural(messageIds.length, "source")}
        </button>
      )}
      {isOpen && messageIds.map((id) => <Source key={id} sessionId={sessionId} id={id} />)}
    </div>
  );
}

function Source({ sessionId, id }: { sessionId: string; id: string }) {
  const message = useCall("getMessage", { sessionId, id });
  return (
    <Shown asked={message} what="the original">
      {(message) =>
        message === null ? <p className="note">Deleted since.</p> : <Message message={message} ink="shining" />
      }
    </Shown>
  );
}
