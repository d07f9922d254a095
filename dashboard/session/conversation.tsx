/** A virtual list of a conversation's rows, opened at its end. A summary stands in place of the messages under it. */
import { useEffect, useRef } from "react";
import { useVirtualizer } from "@tanstack/react-virtual";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import { Message } from "../reading/message.tsx";
import { plural, short } from "../format.ts";
import { isOf, storedId, type Row } from "./rows.ts";

/** Pixels of a row before it is measured, and the distance to the end that counts as at the end. */
const ROW = 120;
const AT_END = 80;

export interface ConversationProps {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly overlays: readonly OverlayRecord[];
  readonly selected: string | null;
  /** The message that was searched for. It is shown instead of the end, and marked. */
  readonly at: string | null;
  readonly onOpen: (overlayId: string) => void;
  readonly onReadOn: (overlayId: string) => void;
  /** Null where no message can be copied into another session. */
  readonly onFork: ((messageId: string) => void) | null;
}

export function Conversation(props: ConversationProps) {
  const { label, rows, at } = props;
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(at === null);
  const shown = useRef<string | null>(null);
  const top = useRef(0);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 6,
    getItemKey: (at) => rows[at]?.key ?? at,
  });
  const last = rows.at(-1)?.key;
  const place = at === null ? -1 : rows.findIndex((row) => isOf(row, at));
  useEffect(() => {
    if (at === shown.current || (at !== null && place === -1)) return;
    shown.current = at;
    follows.current = at === null;
    // A new message may have come as a row before the searched one is dropped, so the end is shown here and not only with the next row.
    if (at === null) list.scrollToIndex(rows.length - 1, { align: "end" });
    else list.scrollToIndex(place, { align: "center" });
    // Runs once for each searched message, as soon as its row is there, and once when none is searched any more.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [at, place]);
  useEffect(() => {
    if (follows.current && rows.length > 0) list.scrollToIndex(rows.length - 1, { align: "end" });
    // Runs when the end changes or rows come before it, but not with every measurement.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [last, rows.length]);
  return (
    <div
      className="conversation"
      ref={box}
      role="log"
      aria-label={label}
      aria-live="off"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        // Rows that grow when they are measured move the end away. Only a person who scrolls up leaves it.
        if (scrollHeight - scrollTop - clientHeight < AT_END) follows.current = true;
        else if (scrollTop < top.current) follows.current = false;
        top.current = scrollTop;
      }}
    >
      <div className="rows" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <div
              key={item.key}
              data-index={item.index}
              ref={list.measureElement}
              aria-current={item.index === place ? "true" : undefined}
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <RowView row={row} {...props} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function RowView({ row, overlays, selected, onOpen, onReadOn, onFork }: ConversationProps & { row: Row }) {
  switch (row.kind) {
    case "message":
      return (
        <Message message={row.message} ink={row.under === null ? "written" : "shining"}>
          {onFork !== null && (
            <button
              type="button"
              className="quiet"
              onClick={() => onFork(storedId(row.message))}
              title="A new session that begins as a copy up to here"
            >
              fork here
            </button>
          )}
        </Message>
      );
    case "summary":
      return (
        <SummaryRow
          row={row}
          overlay={overlays.find(({ id }) => id === row.overlayId)}
          isSelected={selected === row.overlayId}
          onOpen={onOpen}
        />
      );
    case "layer":
      return (
        <LayerRow overlay={overlays.find(({ id }) => id === row.overlayId)} onOpen={() => onOpen(row.overlayId)} />
      );
    case "unread":
      return <UnreadRow row={row} overlay={overlays.find(({ id }) => id === row.overlayId)} onReadOn={onReadOn} />;
  }
}

function SummaryRow(props: {
  row: Extract<Row, { kind: "summary" }>;
  overlay: OverlayRecord | undefined;
  isSelected: boolean;
  onOpen: (overlayId: string) => void;
}) {
  const { row, overlay, isSelected, onOpen } = props;
  return (
    <div className={`summary-row ${isSelected ? "selected" : ""}`}>
      <button type="button" className="layer-title" onClick={() => onOpen(row.overlayId)}>
        {overlay === undefined ? "A layer" : `Layer ${overlay.n}`}: what the model reads
        {overlay !== undefined && ` instead of ${plural(overlay.spanMessages, "message")}`}. Look beneath
      </button>
      <Message message={row.message} />
    </div>
  );
}

function LayerRow({ overlay, onOpen }: { overlay: OverlayRecord | undefined; onOpen: () => void }) {
  return (
    <button type="button" className="layer-rule" onClick={onOpen}>
      {overlay === undefined
        ? "Under a layer"
        : `Under layer ${overlay.n}: ${plural(overlay.spanMessages, "message")} that the model reads as ${short(overlay.tokens)} tokens`}
    </button>
  );
}

function UnreadRow(props: {
  row: Extract<Row, { kind: "unread" }>;
  overlay: OverlayRecord | undefined;
  onReadOn: (overlayId: string) => void;
}) {
  const { row, overlay, onReadOn } = props;
  useEffect(() => {
    if (row.read === 0) onReadOn(row.overlayId);
  }, [row.read, row.overlayId, onReadOn]);
  if (row.read === 0) return <p className="loading">Reading what lies beneath …</p>;
  const left = overlay === undefined ? null : Math.max(0, overlay.spanMessages - row.read);
  return (
    <button type="button" className="read-on" onClick={() => onReadOn(row.overlayId)}>
      Read on beneath{left === null || left === 0 ? "" : ` (${plural(left, "more message")})`}
    </button>
  );
}
