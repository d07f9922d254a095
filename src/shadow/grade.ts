/**
 * Grades shadows by the names that came up again: those that a view would have shown with a shadow's summary in the place of the real one.
 *
 * The messages and the names are those of the real summary, so both have the same question to answer. Older overlays of the view count with
 * the shadow's own summary, and with the real one where it has none.
 */
import type { Graded, Needs } from "../agent/core.ts";
import { parseDetails } from "../memory/overlays/details.ts";
import { textOf } from "../memory/messages/since.ts";
import type { OverlayRow } from "../memory/statements.ts";
import { countAgain, type Hindsight } from "../facts/hindsight.ts";
import type { Pinned } from "../facts/fact.ts";
import type { ShadowRow } from "./record.ts";
import type { ShadowStatements } from "./statements.ts";

/** An overlay's row with another summary, as a view would show it. */
export function withSummary(
  row: OverlayRow,
  { text, pinned }: { readonly text: string; readonly pinned: Pinned },
): OverlayRow {
  return { ...row, summary: text, details: JSON.stringify({ ...parseDetails(row.details), pinned }) };
}

/** An overlay's row with a shadow's summary. Null where the shadow has none. */
export function shownAs(
  core: Needs<"memory">,
  shadow: ShadowRow | null,
  { sessionId, row }: { readonly sessionId: string; readonly row: OverlayRow },
): OverlayRow | null {
  const { key = null, pinned = null } = shadow?.words ?? {};
  if (key === null || pinned === null) return null;
  const draft = core.memory.drafts.get(sessionId, key);
  return draft === null ? null : withSummary(row, { text: draft.text, pinned });
}

/** The rows of the shadows beside the graded overlay, with their counts. */
export function gradeShadows(
  core: Needs<"memory">,
  sql: ShadowStatements,
  sessionId: string,
  { overlayId, hindsight, again, overlays }: Graded,
): ShadowRow[] {
  const newest = overlays.find(({ row }) => row.overlayId === overlayId)?.row;
  if (newest === undefined) return [];
  return sql.beside(sessionId, newest.n).flatMap((shadow) => {
    if (shadow.record.outcome?.kind !== "kept" || shadow.words === null) return [];
    const texts = overlays.map(({ row, text }, at) => {
      const own = shownAs(core, sql.find(sessionId, { n: row.n, name: shadow.name }), { sessionId, row });
      return own === null ? text : textOf(own, { isLast: at === overlays.length - 1, tellsOpen: false });
    });
    const counts: Hindsight = { ...hindsight, ...countAgain(again, texts) };
    return [{ ...shadow, record: { ...shadow.record, hindsight: counts } }];
  });
}
