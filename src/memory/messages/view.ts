/**
 * Turns the elements of a walk into messages for a model and rows for a planner. It does not decide which elements are
 * visible. walk.ts does.
 */
import type { UIMessage } from "ai";
import type { Outline, OutlineRow, Span } from "../../steps/plan/outline.ts";
import { repairMessages } from "../../steps/view/repair.ts";
import { sliceMessage } from "../../steps/message/message.ts";
import { besideEarlier, withoutDocuments } from "../../facts/fact.ts";
import { summaryMessage } from "../../facts/render.ts";
import { parseFacts, utf8Length } from "./content.ts";
import { parseDetails, earlierSummary, summarySource, toRecord } from "../overlays/overlay.ts";
import type { ContentRow, OverlayRow, ShapeRow } from "../statements.ts";
import type { Place } from "./place.ts";
import type { Tree } from "./tree.ts";
import { elementTokens, isWholeMessage, shownSteps, walkView, type Element, type OverlayElement } from "./walk.ts";

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

export function readView(
  tree: Tree,
  start: Place | null,
  { overlays, leavesOut, as }: ViewReading = {},
): Omit<View, "leafId"> {
  const options = { content: true, ...(overlays !== undefined && { overlays }) } as const;
  const walked = start === null ? [] : [...walkView(tree, start, options)].toReversed();
  const elements = walked.map(viewElement);
  const messages = elementMessages(tree, walked);
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
  shown: Pick<OverlayElement, "isLast" | "tellsOpen"> = { isLast: true, tellsOpen: true },
  leftOut?: () => ReadonlySet<string>,
): UIMessage {
  const record = { ...toRecord(overlay), overlayId: overlay.overlayId };
  const source = summarySource(record);
  if (shown.isLast) return summaryMessage({ ...source, pinned: withoutDocuments(record.details.pinned, leftOut) });
  const pinned = besideEarlier(record.details.pinned, shown.tellsOpen);
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
  return isWholeMessage(element) ? message : sliceMessage(message, element.fromStep, element.toStep);
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
