/**
 * Reads the view right after an earlier overlay was added, and tells whether an overlay still matches its messages.
 *
 * Chooses which overlays a walk sees. It writes nothing and decides nothing about the present.
 *
 * Edited text does not come back through the past either. A summary whose messages were edited or deleted since is
 * never shown again. A marker with its id takes its place, so that a reader notices the gap.
 */
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { wasInForce } from "./changes.ts";
import { parseDetails, type OverlayDetails } from "./details.ts";
import { toRecord, type OverlayRecord } from "./record.ts";
import type { Overlays } from "./overlays.ts";
import { NOTHING_PINNED } from "../../facts/fact.ts";
import type { OverlayRow } from "../statements.ts";
import type { Tree } from "../messages/tree.ts";
import { overlayMessage, readView, type View, type ViewReading } from "../messages/view.ts";
import { placeFrom, placeTo, rangeOf, walkSpan, walkView } from "../messages/walk.ts";
import { comparePlaces } from "../messages/place.ts";

/** A view of the past, with the messages as they are now. */
export interface PastView extends View {
  /** The overlay that had just been added. */
  readonly asOf: { readonly overlayId: string; readonly n: number; readonly createdAt: number };
  /** Ids of overlays in force then whose messages were edited or deleted since. Their text is withheld. */
  readonly changed: readonly string[];
}

const WITHHELD = "What this summary said is not shown, because messages under it were edited or deleted later.";

/**
 * The view of an overlay's branch right after that overlay was added. It has the messages up to that time and the
 * overlays in force then, in any state now. Reads the session's overlays, the rows since the overlay's end, and a view.
 * Throws `unknown_overlay`.
 */
export function readPastView(
  tree: Tree,
  overlays: Overlays,
  { overlayId, ...reading }: Omit<ViewReading, "overlays"> & { readonly overlayId: string },
): PastView {
  const at = overlays.mustGetRow(overlayId);
  const changed: string[] = [];
  const shown = tree.sql
    .overlays(tree.sessionId)
    .filter((row) => wasInForce(row, at.n))
    .filter((row) => isPlaced(overlays, row) || changed.push(row.overlayId) === 0);
  const leaf = leafThen(tree, at);
  if (leaf === null) return { ...emptyView(), asOf: stampOf(at), changed };
  const start = { seq: leaf, step: WHOLE_MESSAGE };
  const visible = [...walkView(tree, start, { content: false, overlays: shown })];
  const withheld = new Set(
    visible.flatMap((element) =>
      element.kind === "overlay" && !isUnchanged(overlays, element.overlay) ? [element.overlay.n] : [],
    ),
  );
  // Names of an overlay that left force may come from messages that changed since, so only an active one keeps them.
  const disclosed = (row: OverlayRow): OverlayRow => (row.state === "active" ? row : overlays.withoutNames(row));
  const rows = shown.map((row) => (withheld.has(row.n) ? withhold(row, overlays) : disclosed(row)));
  changed.push(...rows.filter((row) => withheld.has(row.n)).map((row) => row.overlayId));
  return {
    ...readView(tree, start, { ...reading, overlays: rows }),
    leafId: tree.shape(leaf).id,
    asOf: stampOf(at),
    changed,
  };
}

/**
 * True when the messages under an overlay are the same as when it was added. C3 ensures that only while the overlay is
 * in force. Reads a row for each element that stands in its place.
 */
export function isUnchanged(overlays: Overlays, overlay: OverlayRow): boolean {
  if (overlay.state === "active") return true;
  if (!isPlaced(overlays, overlay)) return false;
  return overlays.describe(rangeOf(overlay))?.digest === overlay.spanDigest;
}

/**
 * The overlay for callers. Its words are withheld where covered messages were edited or deleted since. Reads rows only
 * for an overlay that was rolled back.
 */
export function discloseOverlay(overlays: Overlays, row: OverlayRow): OverlayRecord {
  const overlay = toRecord(row.state === "active" ? row : overlays.withoutNames(row));
  const holds = row.state === "active" || (row.state === "rolled-back" && isUnchanged(overlays, row));
  if (holds) return overlay;
  const silent = {
    pinned: NOTHING_PINNED,
    knows: [],
    weights: { last: 0, summary: 0 },
    facts: null,
    carried: [],
    opening: null,
    context: null,
  };
  return { ...overlay, summary: "", withheld: true, details: { ...overlay.details, ...silent } };
}

/** The overlays that an overlay replaced when it was added, oldest first. Null when its messages are gone. */
export function listReplaced(tree: Tree, overlays: Overlays, overlay: OverlayRow): OverlayRow[] | null {
  if (!isPlaced(overlays, overlay)) return null;
  const before = tree.sql
    .overlays(tree.sessionId)
    .filter((row) => row.n < overlay.n && wasInForce(row, overlay.n) && isPlaced(overlays, row));
  const elements = walkSpan(tree, rangeOf(overlay), { content: false, overlays: before });
  return elements?.flatMap((element) => (element.kind === "overlay" ? [element.overlay] : [])).toReversed() ?? null;
}

/** Whether both of its ends are still in place. */
function isPlaced(overlays: Overlays, row: OverlayRow): boolean {
  if (row.state === "active") return true;
  const range = overlays.locate(toRecord(row).span);
  return (
    range !== null && comparePlaces(range.from, placeFrom(row)) === 0 && comparePlaces(range.to, placeTo(row)) === 0
  );
}

/** The newest remaining message at that time on the overlay's branch, or in the session when the overlay's end is gone. */
function leafThen(tree: Tree, { toSeq, topSeq }: OverlayRow): number | null {
  const below = new Set([toSeq]);
  let newest: number | null = null;
  for (const { seq, parentSeq } of tree.sql.links(tree.sessionId, toSeq - 1, topSeq)) {
    if (seq !== toSeq && (parentSeq === null || !below.has(parentSeq))) continue;
    below.add(seq);
    newest = seq;
  }
  return newest ?? tree.sql.links(tree.sessionId, -1, topSeq).at(-1)?.seq ?? null;
}

function withhold(row: OverlayRow, overlays: Overlays): OverlayRow {
  const details = JSON.stringify({
    ...parseDetails(row.details),
    pinned: NOTHING_PINNED,
    weights: { last: 0, summary: 0 },
    opening: null,
  } satisfies OverlayDetails);
  const silent = { ...row, summary: WITHHELD, details };
  return { ...silent, tokens: overlays.weigh(overlayMessage(silent)) };
}

function stampOf({ overlayId, n, createdAt }: OverlayRow): PastView["asOf"] {
  return { overlayId, n, createdAt };
}

function emptyView(): View {
  return { messages: [], tokens: 0, elements: [], leafId: null };
}
