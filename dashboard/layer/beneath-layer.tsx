/** The overlays just beneath an overlay. Each opens again, down to the originals. */
import { useState } from "react";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { parseSyntheticId } from "../../src/steps/view/view.ts";
import { Empty, Shown } from "../frame/states.tsx";
import { plural } from "../format.ts";
import { Message } from "../reading/message.tsx";
import { useCall } from "../use-agent.ts";

/** Elements per page. */
const PAGE = 50;

export function BeneathLayer({ sessionId, overlay }: { sessionId: string; overlay: Pick<OverlayRecord, "id"> }) {
  const [pages, setPages] = useState<readonly (string | null)[]>([null]);
  return (
    <div className="beneath">
      {pages.map((after, at) => (
        <BeneathPage
          key={after ?? ""}
          sessionId={sessionId}
          overlayId={overlay.id}
          after={after}
          onMore={at === pages.length - 1 ? (last) => setPages([...pages, last]) : null}
        />
      ))}
    </div>
  );
}

interface PageProps {
  readonly sessionId: string;
  readonly overlayId: string;
  readonly after: string | null;
  readonly onMore: ((last: string) => void) | null;
}

function BeneathPage({ sessionId, overlayId, after, onMore }: PageProps) {
  const page = useCall("expand", { sessionId, overlayId, depth: 1, limit: PAGE, ...(after !== null && { after }) });
  return (
    <Shown asked={page} what="what lies beneath">
      {(messages) => {
        const last = messages.at(-1);
        if (last === undefined && after === null) return <Empty title="Nothing is left: its messages were deleted." />;
        return (
          <>
            {messages.map((message) => {
              const synthetic = parseSyntheticId(message.id);
              if (synthetic?.kind === "overlay")
                return <Deeper key={message.id} sessionId={sessionId} overlayId={synthetic.overlayId} />;
              return <Message key={message.id} message={message} ink="shining" />;
            })}
            {messages.length === PAGE && last !== undefined && onMore !== null && (
              <button type="button" className="read-on" onClick={() => onMore(last.id)}>
                Read the next {plural(PAGE, "message")}
              </button>
            )}
          </>
        );
      }}
    </Shown>
  );
}

function Deeper({ sessionId, overlayId }: { sessionId: string; overlayId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="deeper">
      <button type="button" className="layer-title" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? "Close this layer" : "A deeper layer: look beneath"}
      </button>
      {isOpen && <BeneathLayer sessionId={sessionId} overlay={{ id: overlayId }} />}
    </div>
  );
}
