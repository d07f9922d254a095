/**
 * Walks the view of a path, element by element from its newest end.
 *
 * Decides which messages and overlays are visible. At every place the widest overlay in force that ends there hides its
 * span, and the walk continues just before the span's beginning. So the walk never meets a narrower overlay beneath it,
 * while a branch that leaves inside the wider one still does. No message is decoded here.
 *
 * Cost: one row for each visible message and two for each visible overlay. Hidden messages and overlays cost nothing.
 */
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { parseDetails } from "../overlays/overlay.ts";
import { digestOfSteps, parseFacts } from "./content.ts";
import { isPruned } from "./contents.ts";
import { comparePlaces, type Place, type Range } from "./place.ts";
import type { ContentRow, OverlayRow, ShapeRow } from "../statements.ts";
import { PathReader, type Tree } from "./tree.ts";

/** Steps `fromStep` to `toStep` of a message. `WHOLE_MESSAGE` stands for its end. */
export interface MessageElement<Row extends ShapeRow> {
  readonly kind: "message";
  readonly row: Row;
  readonly fromStep: number;
  readonly toStep: number;
}

export interface OverlayElement {
  readonly kind: "overlay";
  readonly overlay: OverlayRow;
  /** Whether this is the newest overlay of the walk. That one shows the names of everything that is hidden. */
  readonly isLast: boolean;
  /** Whether it shows what is still open of its span. An earlier one does not where a later one knew of it. */
  readonly tellsOpen: boolean;
}

export type Element<Row extends ShapeRow = ShapeRow> = MessageElement<Row> | OverlayElement;

/** A place before every other. */
export const PATH_START: Place = { seq: -1, step: 0 };

export function placeFrom(overlay: OverlayRow): Place {
  return { seq: overlay.fromSeq, step: overlay.fromStep };
}

export function placeTo(overlay: OverlayRow): Place {
  return { seq: overlay.toSeq, step: overlay.toStep };
}

export function rangeOf(overlay: OverlayRow): Range {
  return { from: placeFrom(overlay), to: placeTo(overlay) };
}

export interface WalkOptions<Content extends boolean> {
  /** Whether to read the messages with their content. */
  readonly content: Content;
  /** Stop at this place and ignore overlays that begin before it. Defaults to the whole path. */
  readonly floor?: Place;
  /** Use these overlays instead of those in force, to read the past or the messages beneath an overlay. */
  readonly overlays?: readonly OverlayRow[];
  /** Also yield messages that the host pruned. They count in a digest, and nowhere else. */
  readonly pruned?: boolean;
  /** For a walk in parts: for each overlay met so far, the earlier ones that it knew of. The walk adds to it. */
  readonly later?: (readonly string[])[];
}

/** The elements from `start` down, newest first. Ends at the path's beginning, or at `floor` if that is on the path. */
export function* walkView<Content extends boolean>(
  tree: Tree,
  start: Place,
  options: WalkOptions<Content>,
): Generator<Element<Content extends true ? ContentRow : ShapeRow>> {
  const floor = options.floor ?? PATH_START;
  const reader = new PathReader(tree, options);
  const overlayAt = (at: Place): OverlayRow | null =>
    (options.overlays === undefined
      ? tree.sql.overlayAtOrBelow(tree.sessionId, at, floor)
      : pickOverlay(options.overlays, at, floor)) ?? null;
  let place: Place | null = start;
  let overlay = overlayAt(start);
  let seenEpoch = tree.epoch;
  const { later = [] } = options;
  while (place !== null && comparePlaces(place, floor) >= 0) {
    if ((overlay !== null && comparePlaces(placeTo(overlay), place) > 0) || tree.epoch !== seenEpoch) {
      overlay = overlayAt(place);
      seenEpoch = tree.epoch;
    }
    if (overlay !== null && comparePlaces(placeTo(overlay), place) === 0) {
      const { overlayId, details } = overlay;
      const shown = { isLast: later.length === 0, tellsOpen: !later.some((known) => known.includes(overlayId)) };
      later.push(parseDetails(details).knows);
      yield { kind: "overlay", overlay, ...shown };
      place = placeBefore(placeFrom(overlay), reader);
      continue;
    }
    const row = reader.read(place.seq);
    const above = overlay?.toSeq === row.seq ? overlay.toStep + 1 : 0;
    const fromStep = Math.max(above, floor.seq === row.seq ? floor.step : 0);
    const visible = (above === 0 || fromStep < stepsOf(row)) && (options.pruned === true || !isPruned(row));
    if (visible) yield { kind: "message", row, fromStep, toStep: place.step };
    place = above > 0 ? { seq: row.seq, step: above - 1 } : before(row.parentSeq);
  }
}

/** Like `Statements.overlayAtOrBelow`, for the given overlays. */
function pickOverlay(overlays: readonly OverlayRow[], at: Place, floor: Place): OverlayRow | undefined {
  return overlays
    .filter((each) => comparePlaces(placeTo(each), at) <= 0 && comparePlaces(placeFrom(each), floor) >= 0)
    .toSorted(
      (a, b) => comparePlaces(placeTo(b), placeTo(a)) || comparePlaces(placeFrom(a), placeFrom(b)) || b.n - a.n,
    )[0];
}

/** The place that the walk visits after an element. Null at the path's beginning. */
export function placeAfterWalking(tree: Tree, element: Element): Place | null {
  if (element.kind === "overlay")
    return placeBefore(placeFrom(element.overlay), new PathReader(tree, { content: false }));
  const { row, fromStep } = element;
  return fromStep > 0 ? { seq: row.seq, step: fromStep - 1 } : before(row.parentSeq);
}

/** The last place before another on its path. Null at the beginning. */
export function placeBefore(from: Place, reader: PathReader<boolean>): Place | null {
  return from.step > 0 ? { seq: from.seq, step: from.step - 1 } : before(reader.parentOf(from.seq));
}

function before(parentSeq: number | null): Place | null {
  return parentSeq === null ? null : { seq: parentSeq, step: WHOLE_MESSAGE };
}

/** The number of steps of the message. */
function stepsOf(row: ShapeRow): number {
  return parseFacts(row.facts).steps.length;
}

/** The digest of an element's visible part. Those of a span add up to the same sum, whatever overlays cover it. */
export function elementDigest(element: Element): string {
  if (element.kind === "overlay") return element.overlay.spanDigest;
  return digestOfSteps(parseFacts(element.row.facts), element);
}

/** Estimated tokens of an element's visible part. */
export function elementTokens(element: Element): number {
  if (element.kind === "overlay") {
    const { tokens, details } = element.overlay;
    if (element.isLast) return tokens;
    const { last, instructions = 0 } = parseDetails(details).weights;
    return tokens - last + (element.tellsOpen ? instructions : 0);
  }
  if (isWholeMessage(element)) return element.row.tokens;
  return shownSteps(element).reduce((sum, tokens) => sum + tokens, 0);
}

/** The facts of a message, and its visible steps. */
export type MessagePart = Pick<MessageElement<ShapeRow>, "fromStep" | "toStep"> & {
  readonly row: Pick<ShapeRow, "facts">;
};

/** Estimated tokens of each visible step of a message. */
export function shownSteps({ row, fromStep, toStep }: MessagePart): readonly number[] {
  return parseFacts(row.facts).steps.slice(fromStep, toStep + 1);
}

/** True when the element is its whole message, including steps that are added later. */
export function isWholeMessage(element: MessageElement<ShapeRow>): boolean {
  return element.fromStep === 0 && element.toStep === WHOLE_MESSAGE;
}

/** The elements of a closed range, pruned messages included, newest first. Null when `from` is not on the path of `to`. */
export function walkSpan<Content extends boolean>(
  tree: Tree,
  span: Range,
  options: { readonly content: Content; readonly overlays?: readonly OverlayRow[] },
): Element<Content extends true ? ContentRow : ShapeRow>[] | null {
  const elements = [...walkView(tree, span.to, { ...options, floor: span.from, pruned: true })];
  const oldest = elements.at(-1);
  if (oldest === undefined) return null;
  return comparePlaces(startOf(oldest), span.from) === 0 ? elements : null;
}

/** The oldest place of an element. */
export function startOf(element: Element): Place {
  return element.kind === "overlay" ? placeFrom(element.overlay) : { seq: element.row.seq, step: element.fromStep };
}
