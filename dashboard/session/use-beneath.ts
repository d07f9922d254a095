/** Reads the originals under overlays page by page on request, and keeps them while the session is open. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useConnection } from "../use-agent.ts";
import { isOf, type Beneath, type Row } from "./rows.ts";

/** Originals per page. */
export const PAGE = 100;

export interface BeneathReader {
  readonly beneath: ReadonlyMap<string, Beneath>;
  /** Reads the next page under an overlay. Does nothing while a page is loading, or when all is read. */
  readonly readOn: (overlayId: string) => void;
}

/** Drops all pages when `revision` changes, because messages under an overlay may have been edited. */
export function useBeneath(sessionId: string, revision: string): BeneathReader {
  const connection = useConnection();
  const [beneath, setBeneath] = useState<ReadonlyMap<string, Beneath>>(new Map());
  const asked = useRef(new Set<string>());
  const current = useRef(revision);
  const known = useRef(beneath);
  useEffect(() => {
    known.current = beneath;
  }, [beneath]);
  useEffect(() => {
    if (current.current === revision) return;
    current.current = revision;
    asked.current.clear();
    setBeneath(new Map());
  }, [revision]);
  const readOn = useCallback(
    (overlayId: string): void => {
      const before = known.current.get(overlayId) ?? { messages: [], done: false };
      if (before.done || asked.current.has(overlayId)) return;
      asked.current.add(overlayId);
      const after = before.messages.at(-1)?.id;
      const page = { sessionId, overlayId, limit: PAGE, ...(after !== undefined && { after }) };
      const began = current.current;
      connection
        .call("expand", page)
        .then((messages) => {
          if (began !== current.current) return undefined;
          const read = { messages: [...before.messages, ...messages], done: messages.length < PAGE };
          return setBeneath((map) => new Map(map).set(overlayId, read));
        })
        .catch(() => undefined)
        .finally(() => asked.current.delete(overlayId));
    },
    [connection, sessionId],
  );
  return { beneath, readOn };
}

/** Reads on under the overlays, the newest first, until the message is among the rows. Null searches for nothing. */
export function useSearchBeneath(
  messageId: string | null,
  rows: readonly Row[],
  readOn: BeneathReader["readOn"],
): void {
  useEffect(() => {
    if (messageId === null || rows.some((row) => isOf(row, messageId))) return;
    const unread = rows.findLast((row) => row.kind === "unread");
    if (unread !== undefined) readOn(unread.overlayId);
  }, [messageId, rows, readOn]);
}
