/**
 * The view of a path: its elements, the messages and outline rows made of them, what lies around a span, and the size of the active one.
 */
import type { UIMessage } from "ai";
import { type Outline, type OutlineRow, type Span, WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { repairMessages } from "../../steps/view/repair.ts";
import { withoutAllItems } from "../../steps/view/items.ts";
import { asChanged } from "../../steps/view/view.ts";
import { sliceMessage } from "../../steps/message/message.ts";
import { besideEarlier, withoutDocuments } from "../../facts/fact.ts";
import { summaryMessage } from "../../facts/render.ts";
import { parseFacts, utf8Length, digestOfSteps, type Encoded, isPruned } from "./content.ts";
import { parseDetails, earlierSummary, summarySource, toRecord } from "../overlays/overlay.ts";
import {
  type ContentRow,
  type OverlayRow,
  type ShapeRow,
  type Place,
  comparePlaces,
  type Range,
} from "../statements.ts";
import { type Tree, PathReader } from "./tree.ts";
import type { RentedView, ViewStep } from "../../steps/decide/decide.ts";

/** One element of a view and the part of the path that it covers. Together the elements cover the path exactly once (V1). */
export type ViewElement =
  | {
      readonly kind: "message";
      readonly id: string;
      readonly fromStep: number;
      /** `WHOLE_MESSAGE` when the message is visible to its end. */
      readonly toStep: number;
      readonly tokens: number;
    }
  | { readonly kind: "overlay"; readonly id: string; readonly span: Span; readonly tokens: number };

/** The view of a leaf, as a model is sent it. */
export interface View {
  /** Root to leaf, with overlays applied and every tool call paired (V2). */
  readonly messages: UIMessage[];
  /** Estimated tokens of the elements. */
  readonly tokens: number;
  readonly elements: readonly ViewElement[];
  /** Null when the session is empty. */
  readonly leafId: string | null;
}

/** The newest part of a view. */
export interface RecentHistory {
  /** Oldest first. */
  readonly messages: UIMessage[];
  /** True when older messages were left out. */
  readonly truncated: boolean;
  /** UTF-8 bytes of the messages' JSON. */
  readonly bytes: number;
}

export interface OutlineOptions {
  readonly maxRows?: number;
  /** Bound on the bytes of the rows' JSON. */
  readonly maxBytes?: number;
  readonly overheadTokens?: number;
  /** The last step of the leaf to include. Defaults to its end. */
  readonly toStep?: number;
}

export interface ViewReading {
  /** Only these overlays count as in force. */
  readonly overlays?: readonly OverlayRow[];
  /** Returns the names of documents that no summary shows beside itself, because of what the messages behind it show. */
  readonly leavesOut?: (behind: readonly UIMessage[]) => ReadonlySet<string>;
  /** Replaces a message before the view is repaired. */
  readonly as?: ((message: UIMessage) => UIMessage) | undefined;
}

/** OpenAI and xAI delete an item after 30 days, and then refuse a request that refers to it. */
const ITEMS_MS = 29 * 24 * 60 * 60_000;

export function readView(
  tree: Tree,
  start: Place | null,
  { overlays, leavesOut, as }: ViewReading = {},
): Omit<View, "leafId"> {
  const options = { content: true, ...(overlays !== undefined && { overlays }) } as const;
  const walked = start === null ? [] : [...walkView(tree, start, options)].toReversed();
  const elements = walked.map(viewElement);
  const kept = tree.now() - ITEMS_MS;
  const messages = elementMessages(tree, walked).map((message, at) => {
    const element = walked[at];
    return element?.kind === "message" && element.row.createdAt < kept ? withoutAllItems(message) : message;
  });
  const last = walked.findLastIndex(({ kind }) => kind === "overlay");
  const element = walked[last];
  if (leavesOut !== undefined && element?.kind === "overlay")
    messages[last] = overlayMessage(element.overlay, element, () => leavesOut(messages.slice(last + 1)));
  return {
    messages: repairMessages(as === undefined ? messages : messages.map(as)),
    tokens: elements.reduce((sum, element) => sum + element.tokens, 0),
    elements,
  };
}

export function readOutline(tree: Tree, start: Place, options: OutlineOptions): Omit<Outline, "leafId"> {
  const { maxRows = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY, overheadTokens = 0 } = options;
  const walked: Element[] = [...walkView(tree, start, { content: false })].toReversed();
  const rows: OutlineRow[] = [];
  let bytes = 0;
  for (const element of walked) {
    const row = outlineRow(element);
    bytes += utf8Length(JSON.stringify(row));
    // Always take at least one row, because an outline without rows could never be planned or compacted.
    if (rows.length >= maxRows || (rows.length > 0 && bytes > maxBytes)) break;
    rows.push(row);
  }
  const tokens = rows.reduce((sum, row) => sum + row.tokens, overheadTokens);
  return { sessionId: tree.sessionId, overheadTokens, tokens, rows, truncated: rows.length < walked.length };
}

export function readRecent(tree: Tree, start: Place | null, maxBytes: number): RecentHistory {
  const newestFirst: UIMessage[] = [];
  let bytes = 0;
  let truncated = false;
  for (const element of start === null ? [] : walkView(tree, start, { content: true })) {
    const message = elementMessage(tree, element);
    const stored = element.kind === "message" && isWholeMessage(element);
    const size = stored ? element.row.bytes : utf8Length(JSON.stringify(message));
    truncated = newestFirst.length > 0 && bytes + size > maxBytes;
    if (truncated) break;
    newestFirst.push(message);
    bytes += size;
  }
  return { messages: newestFirst.toReversed(), truncated, bytes };
}

/** The message that stands in the view for an overlay. `leftOut` names documents that it does not show. */
export function overlayMessage(
  overlay: OverlayRow,
  shown: Pick<OverlayElement, "isLast" | "showsInstructions"> = { isLast: true, showsInstructions: true },
  leftOut?: () => ReadonlySet<string>,
): UIMessage {
  const record = { ...toRecord(overlay), overlayId: overlay.overlayId };
  const source = summarySource(record);
  if (shown.isLast) return summaryMessage({ ...source, pinned: withoutDocuments(record.details.pinned, leftOut) });
  const pinned = besideEarlier(record.details.pinned, shown.showsInstructions);
  return summaryMessage({ ...source, summary: earlierSummary(record), pinned });
}

/** The messages of elements. If a host keeps some of them, all are fetched at once. */
export function elementMessages(tree: Tree, elements: readonly Element<ContentRow>[]): UIMessage[] {
  tree.contents.need(elements.flatMap((element) => (element.kind === "message" ? [element.row] : [])));
  return elements.map((element) => elementMessage(tree, element));
}

export function elementMessage(tree: Tree, element: Element<ContentRow>): UIMessage {
  if (element.kind === "overlay") return overlayMessage(element.overlay, element);
  return shownPart(tree.decode(element.row), element);
}

/** What an element shows of its message. */
export function shownPart(message: UIMessage, element: Element<ContentRow> & { kind: "message" }): UIMessage {
  if (!isWholeMessage(element)) return sliceMessage(message, element.fromStep, element.toStep);
  stored.add(message);
  return message;
}

/** The messages of views that are as they are stored. */
const stored = new WeakSet<UIMessage>();

/** A message of a view, marked where it is not as it is stored. Under the mark no update puts it in the place of the original. */
export function asShown(message: UIMessage): UIMessage {
  return stored.has(message) ? message : asChanged(message);
}

function viewElement(element: Element): ViewElement {
  const tokens = elementTokens(element);
  if (element.kind === "overlay") {
    const { id, span } = toRecord(element.overlay);
    return { kind: "overlay", id, span, tokens };
  }
  return { kind: "message", id: element.row.id, fromStep: element.fromStep, toStep: element.toStep, tokens };
}

export function outlineRow(element: Element): OutlineRow {
  if (element.kind === "overlay") {
    const { overlayId: id, details } = element.overlay;
    const { level, generation, degraded, weights, sourceTokens } = parseDetails(details);
    const tokens = elementTokens(element);
    const nothing = { firstStep: 0, steps: [tokens], complete: true, calls: [], results: [], texts: [], group: null };
    return {
      kind: "overlay",
      id,
      role: "user",
      tokens,
      ...nothing,
      overlay: {
        level,
        generation,
        degraded,
        summaryTokens: weights.summary,
        ...(sourceTokens !== null && { sourceTokens }),
      },
    };
  }
  const { row, fromStep, toStep } = element;
  const facts = parseFacts(row.facts);
  const visible = (step: number): boolean => step >= fromStep && step <= toStep;
  return {
    kind: "message",
    id: row.id,
    role: roleOf(row),
    tokens: elementTokens(element),
    firstStep: fromStep,
    steps: shownSteps(element),
    complete: toStep >= facts.steps.length - 1,
    calls: facts.calls.filter(([, step]) => visible(step)),
    results: facts.results.filter(([, step]) => visible(step)),
    texts: facts.texts.filter(visible),
    group: facts.group,
  };
}

/** The role was checked when the message was stored. */
function roleOf(row: ShapeRow): OutlineRow["role"] {
  return row.role as OutlineRow["role"];
}

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
  readonly showsInstructions: boolean;
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

/**
 * The elements from `start` down, newest first. Ends at the path's beginning, or at `floor` if that is on the path.
 *
 * At every place the widest overlay in force that ends there hides its span, and the walk continues just before the span's beginning. So it
 * never meets a narrower overlay beneath it, while a branch that leaves inside the wider one still does. No message is decoded here.
 *
 * Cost: one row for each visible message and two for each visible overlay. Hidden messages and overlays cost nothing.
 */
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
      const shown = {
        isLast: later.length === 0,
        showsInstructions: !later.some((known) => known.includes(overlayId)),
      };
      later.push(parseDetails(details).knows);
      yield { kind: "overlay", overlay, ...shown };
      place = placeBefore(placeFrom(overlay), reader);
      continue;
    }
    const row = reader.read(place.seq);
    const above = overlay?.toSeq === row.seq ? overlay.toStep + 1 : 0;
    const fromStep = Math.max(above, floor.seq === row.seq ? floor.step : 0);
    const visible =
      (above === 0 || fromStep < parseFacts(row.facts).steps.length) && (options.pruned === true || !isPruned(row));
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
    return tokens - last + (element.showsInstructions ? instructions : 0);
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

/** Oldest first. */
export interface Side {
  readonly messages: readonly UIMessage[];
  readonly overlays: readonly OverlayRow[];
}

export interface Surroundings {
  readonly before: Side;
  readonly behind: Side;
}

/**
 * Reads the view before and behind a span, without the span. Null where the view from this leaf does not show the span's end. Then it is on
 * another branch or under a wider overlay.
 *
 * Reads one row for each element shown beside the span. Content is read newest first until a byte bound is reached, and after it only
 * summaries are collected.
 */
export function readSurroundings(
  tree: Tree,
  { from, to, leaf }: { readonly from: Place; readonly to: Place; readonly leaf: Place },
  maxBytes: number,
): Surroundings | null {
  const budget = { bytes: maxBytes };
  const behind = new SideReader(tree, budget);
  if (!behind.readDownTo(leaf, to)) return null;
  const before = new SideReader(tree, budget);
  before.readDown(placeBefore(from, new PathReader(tree, { content: false })));
  return { before: before.side(), behind: behind.side() };
}

class SideReader {
  readonly #tree: Tree;
  /** Bytes left to read, shared by both sides. */
  readonly #budget: { bytes: number };
  readonly #read: Element<ContentRow>[] = [];
  readonly #overlays: OverlayRow[] = [];

  constructor(tree: Tree, budget: { bytes: number }) {
    this.#tree = tree;
    this.#budget = budget;
  }

  readDown(start: Place | null): void {
    if (start !== null) for (const element of this.#walk(start)) this.#take(element);
  }

  /** Reads the elements behind a place. Returns false where an element ends elsewhere or runs over the place. */
  readDownTo(start: Place, to: Place): boolean {
    for (const element of this.#walk(start)) {
      if (comparePlaces(startOf(element), to) > 0) {
        this.#take(element);
        continue;
      }
      if (element.kind === "overlay") return comparePlaces(placeTo(element.overlay), to) === 0;
      if (element.row.seq !== to.seq) return false;
      // The rest of a message that the span cuts is behind the span.
      if (element.toStep > to.step) this.#take({ ...element, fromStep: to.step + 1 });
      return true;
    }
    return false;
  }

  side(): Side {
    return {
      messages: elementMessages(this.#tree, this.#read.toReversed()),
      overlays: this.#overlays.toReversed(),
    };
  }

  *#walk(start: Place): Generator<Element> {
    let at: Place = start;
    if (this.#budget.bytes > 0) {
      let full: Place | null = null;
      for (const element of walkView(this.#tree, start, { content: true, pruned: true })) {
        if (element.kind === "message" && element.row.bytes > this.#budget.bytes) {
          this.#budget.bytes = 0;
          full = { seq: element.row.seq, step: element.toStep };
          break;
        }
        yield element;
      }
      if (full === null) return;
      at = full;
    }
    yield* walkView(this.#tree, at, { content: false, pruned: true });
  }

  #take(element: Element<ContentRow> | Element): void {
    if (element.kind === "overlay") this.#overlays.push(element.overlay);
    else if (hasContent(element.row) && !isPruned(element.row)) {
      this.#budget.bytes -= element.row.bytes;
      this.#read.push({ ...element, row: element.row });
    }
  }
}

function hasContent(row: object): row is ContentRow {
  return "content" in row;
}

/** The size of a view. */
export interface ViewSize {
  readonly tokens: number;
  /** Its elements. A summary is one, and so is the visible part of a message. */
  readonly messages: number;
  /** UTF-8 bytes of the JSON of its messages. Summaries have few and count none. */
  readonly bytes: number;
}

interface SizedStep extends ViewStep {
  readonly bytes: number;
}

interface Weighed extends RentedView, ViewSize {
  readonly steps: SizedStep[];
  /** Null before the first message. */
  readonly leafSeq: number | null;
  /** The index of the leaf's first step. */
  readonly leafFrom: number;
}

type Content = Pick<Encoded, "role" | "facts" | "bytes">;

/**
 * The size of a session's active view, and its steps for the rent rule.
 *
 * Caches both from append to append. It is safe because the cache only follows appends, new content of the leaf and its deletion. Any other
 * change clears it, and it is read again from the rows.
 */
export class ActiveView {
  readonly #tree: Tree;
  #known: Weighed | null = null;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** The size of the view. The first read costs a row for each visible message and two for each overlay, and later ones none. */
  size(): ViewSize {
    const { tokens, messages, bytes } = this.#view();
    return { tokens, messages, bytes };
  }

  /** The view with its requests. Null for an empty session. It costs what {@link size} does. */
  rented(): RentedView | null {
    const view = this.#view();
    return view.leafSeq === null ? null : view;
  }

  /** Call it when a message was appended. `grown` is false when it is on another branch than the leaf. */
  appended({ seq, grown, encoded }: { seq: number; grown: boolean; encoded: Content }): void {
    const known = this.#known;
    if (known === null || !grown) this.changed();
    else this.#known = { ...extended(known, known.steps.length, { seq, ...encoded }), messages: known.messages + 1 };
  }

  /** Call it when the leaf has new content and no overlay ends in it. */
  grown(seq: number, encoded: Content): void {
    const known = this.#known;
    if (known === null || !showsLeaf(known, seq)) this.changed();
    else this.#known = extended(known, known.leafFrom, { seq, ...encoded });
  }

  /**
   * Call it before messages are deleted. Where that is the leaf alone, as before a regeneration, its parent's view is the same without it.
   * `reached` tells that an overlay may show there.
   */
  removed([row, ...others]: readonly ShapeRow[], reached: boolean): void {
    const known = this.#known;
    const isLeaf = row !== undefined && known !== null && showsLeaf(known, row.seq) && row.parentSeq !== null;
    if (!isLeaf || reached || others.length > 0) return this.changed();
    const { steps, ...sizes } = cut(known, known.leafFrom);
    this.#known = {
      ...known,
      ...sizes,
      messages: known.messages - 1,
      leafSeq: row.parentSeq,
      leafFrom: steps.findIndex(({ message }) => message === row.parentSeq),
      sinceSummary: Math.min(known.sinceSummary, steps.length),
    };
  }

  changed(): void {
    this.#known = null;
  }

  #view(): Weighed {
    const leafSeq = this.#tree.newest()?.seq ?? null;
    if (this.#known?.leafSeq !== leafSeq) this.#known = null;
    return (this.#known ??= this.#read(leafSeq));
  }

  #read(leafSeq: number | null): Weighed {
    const start = leafSeq === null ? null : { seq: leafSeq, step: WHOLE_MESSAGE };
    const elements = start === null ? [] : [...walkView(this.#tree, start, { content: false })].toReversed();
    const steps: SizedStep[] = [];
    let [leafFrom, fresh] = [0, 0];
    for (const element of elements) {
      leafFrom = steps.length;
      if (element.kind === "message") {
        steps.push(...stepsOf(element));
      } else {
        steps.push({ tokens: elementTokens(element), role: null, message: element.overlay.toSeq, bytes: 0 });
        fresh = steps.length;
      }
    }
    const last = elements.findLast((element) => element.kind === "overlay");
    const sinceSummary = last === undefined ? 0 : afterSummary(elements, last.overlay);
    return { steps, ...sumOf(steps), messages: elements.length, leafSeq, leafFrom, sinceSummary, fresh };
  }
}

/** False where the host pruned the leaf. */
function showsLeaf({ leafSeq, leafFrom, steps }: Weighed, seq: number): boolean {
  return leafSeq === seq && steps[leafFrom]?.message === seq;
}

/** The view with a leaf in the place of all steps from `leafFrom` on. */
function extended(known: Weighed, leafFrom: number, row: Content & { readonly seq: number }): Weighed {
  const { steps, tokens, bytes } = cut(known, leafFrom);
  const own = stepsOf({ row, fromStep: 0, toStep: WHOLE_MESSAGE });
  steps.push(...own);
  const grown = sumOf(own);
  return { ...known, tokens: tokens + grown.tokens, bytes: bytes + grown.bytes, leafSeq: row.seq, leafFrom };
}

/** Takes the steps from a place on out of a view. */
function cut({ steps, tokens, bytes }: Weighed, from: number): Pick<Weighed, "steps" | "tokens" | "bytes"> {
  const gone = sumOf(steps.splice(from));
  return { steps, tokens: tokens - gone.tokens, bytes: bytes - gone.bytes };
}

function sumOf(steps: readonly SizedStep[]): Pick<ViewSize, "tokens" | "bytes"> {
  return steps.reduce((sum, { tokens, bytes }) => ({ tokens: sum.tokens + tokens, bytes: sum.bytes + bytes }), {
    tokens: 0,
    bytes: 0,
  });
}

/** Estimated bytes of an element's visible part. */
export function elementBytes(element: Element): number {
  return element.kind === "overlay" ? 0 : stepsOf(element).reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The visible steps of a message for the rent rule. A step's bytes are its share by tokens, so that no row says more. */
function stepsOf(part: MessagePart & { readonly row: Content & { readonly seq: number } }): SizedStep[] {
  const { seq: message, role, bytes, facts } = part.row;
  const all = parseFacts(facts).steps;
  const whole = all.reduce((sum, tokens) => sum + tokens, 0);
  return all.slice(part.fromStep, part.toStep + 1).map((tokens) => ({
    tokens,
    role: role as ViewStep["role"],
    message,
    bytes: whole === 0 ? 0 : Math.round((bytes * tokens) / whole),
  }));
}

/** The first step after a summary and the part that it left in view. */
function afterSummary(elements: readonly Element[], overlay: OverlayRow): number {
  const { boundary } = parseDetails(overlay.details);
  let left = boundary?.kept.tailTokens ?? 0;
  let at = 0;
  let isBehindIt = false;
  for (const element of elements) {
    if (element.kind === "overlay") {
      at++;
      if (element.overlay.n === overlay.n) isBehindIt = true;
      continue;
    }
    for (const tokens of shownSteps(element)) {
      const isOld = boundary === null ? element.row.seq <= overlay.topSeq : left > 0;
      if (isBehindIt && !isOld) return at;
      if (isBehindIt) left -= tokens;
      at++;
    }
  }
  return at;
}
