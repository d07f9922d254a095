/** Statements on what came of the names that the views of overlays hid. Rooms that report it read it. */
import type { Hindsight } from "../../facts/hindsight.ts";
import type { History } from "../messages/history.ts";

/** What is known of one overlay's view. */
export interface OverlayHindsight {
  readonly overlayId: string;
  /** The session's first overlay is 1. */
  readonly n: number;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Null while it is not known. */
  readonly hindsight: Hindsight | null;
}

type HindsightRow = Omit<OverlayHindsight, "hindsight"> & { readonly hindsight: string | null };

const HINDSIGHT = `SELECT overlay_id AS overlayId, n, created_at AS createdAt, details ->> '$.hindsight' AS hindsight
  FROM palimpsest_overlays`;

/** Of the newest overlays in any state, newest first. */
export function hindsights({ tree, sessionId }: History, limit: number): OverlayHindsight[] {
  const sql = `${HINDSIGHT} WHERE session_id = ? ORDER BY n DESC LIMIT ?`;
  return tree.sql.db.run<HindsightRow>(sql, sessionId, limit).map(parse);
}

/** Of overlays by id, in no order. */
export function hindsightsOf({ tree, sessionId }: History, overlayIds: readonly string[]): OverlayHindsight[] {
  const sql = `${HINDSIGHT} WHERE session_id = ? AND overlay_id IN (SELECT value FROM json_each(?))`;
  return tree.sql.db.run<HindsightRow>(sql, sessionId, JSON.stringify(overlayIds)).map(parse);
}

function parse({ hindsight, ...row }: HindsightRow): OverlayHindsight {
  return { ...row, hindsight: hindsight === null ? null : (JSON.parse(hindsight) as Hindsight) };
}
