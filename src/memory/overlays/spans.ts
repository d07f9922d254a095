/**
 * Spans of a path: where their ends are, what they hold now, and the messages in them, hidden ones included.
 */
import type { UIMessage } from "ai";
import { isPruned, parseFacts } from "../messages/content.ts";
import { SLICE_BYTES, SpanReader } from "../messages/span-reader.ts";
import { PathReader, type Tree } from "../messages/tree.ts";
import {
  elementDigest,
  elementMessages,
  elementTokens,
  outlineRow,
  placeAfterWalking,
  placeBefore,
  startOf,
  walkSpan,
  walkView,
  type Element,
  type MessageElement,
} from "../messages/visible.ts";
import { comparePlaces, type ContentRow, type Place, type Range } from "../statements.ts";
import { isSameSpan, type OutlineRow, type Span } from "../../steps/plan/outline.ts";
import { sumDigests } from "../../steps/text/digest.ts";
import { checkSteps, parseDetails } from "./overlay.ts";

/** The current content of a span. */
export interface SpanDigest {
  readonly digest: string;
  readonly tokens: number;
  readonly messages: number;
  /** The number of its visible elements. */
  readonly elements: number;
  /** Overlays visible inside it, oldest first. */
  readonly overlayIds: readonly string[];
  /** Names of the tools called in it, or before the end of an overlay in it. */
  readonly tools: ReadonlySet<string>;
}

/** How often a survey begins anew in a session that changes meanwhile. */
const MOST_SURVEYS = 3;

/** Bytes of a row's columns beside its facts, as a slice counts them. */
const ROW_BYTES = 150;

/** In the facts of a message that calls no tool, which are not parsed for it. */
const NO_TOOLS = '"tools":[]';

/** The most tool names that an overlay lists. Agents have far fewer, and these fit well into a row. */
const MAX_TOOLS = 1_000;

export class Spans {
  readonly #tree: Tree;
  /** The last range that was described, and what its content depends on. */
  #described: { readonly stamp: string; readonly found: SpanDigest | null } | null = null;
  /** The last span that was located, because a commit asks for one several times. It counts while no row changes. */
  #located: { readonly epoch: number; readonly span: Span; readonly range: Range } | null = null;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** The span's ends as places. Null when one of its messages is gone or has fewer steps than the span says. */
  locate(span: Span): Range | null {
    checkSteps(span);
    const { epoch } = this.#tree;
    if (this.#located?.epoch === epoch && isSameSpan(this.#located.span, span)) return this.#located.range;
    const from = this.#tree.find(span.fromId);
    const to = this.#tree.find(span.toId);
    if (from === null || to === null || span.fromStep >= parseFacts(from.facts).steps.length) return null;
    const range = { from: { seq: from.seq, step: span.fromStep }, to: { seq: to.seq, step: span.toStep } };
    this.#located = { epoch, span, range };
    return range;
  }

  /** Whether a whole message lies in a range, from its first step on. */
  isWithin(messageId: string, { from, to }: Range): boolean {
    const row = this.#tree.find(messageId);
    if (row === null || row.seq > to.seq || !this.#tree.isOnPath(row.seq, to.seq)) return false;
    return comparePlaces({ seq: row.seq, step: 0 }, from) >= 0;
  }

  /** Digest and size of a span's current content. Reads no content. Null when the ends are not on one path. */
  describe(range: Range): SpanDigest | null {
    const survey = this.#survey(range);
    while (survey.next().done !== true);
    return this.#described?.found ?? null;
  }

  /**
   * Describes a span in slices, one a step, so that {@link digest} answers without a read while nothing changes but what lies behind the
   * span. Begins anew where the span changed between two steps, and gives up where it keeps changing. Ends at once where its ends are gone.
   * Throws `invalid_range` for bad steps.
   */
  *survey(span: Span): Generator<undefined, void> {
    const range = this.locate(span);
    if (range !== null) yield* this.#survey(range);
  }

  *#survey(range: Range): Generator<undefined, void> {
    for (let tries = 0; tries < MOST_SURVEYS; tries++) {
      const stamp = this.#stampOf(range);
      if (this.#described?.stamp === stamp) return;
      const found = yield* this.#sumInSlices(range);
      if (this.#stampOf(range) === stamp) this.#described = { stamp, found };
    }
  }

  *#sumInSlices(range: Range): Generator<undefined, SpanDigest | null> {
    const tree = this.#tree;
    const epoch = tree.epochUpTo(range.to.seq);
    const parts: SpanDigest[] = [];
    const later: (readonly string[])[] = [];
    let start: Place | null = null;
    for (let at: Place | null = range.to; at !== null && comparePlaces(at, range.from) >= 0;) {
      if (parts.length > 0) yield;
      if (tree.epochUpTo(range.to.seq) !== epoch) return null;
      const slice = takeSlice(walkView(tree, at, { content: false, floor: range.from, pruned: true, later }));
      const oldest = slice.at(-1);
      if (oldest === undefined) return null;
      parts.push(sum(slice));
      start = startOf(oldest);
      at = placeAfterWalking(tree, oldest);
    }
    return start === null || comparePlaces(start, range.from) !== 0 ? null : joined(parts.toReversed());
  }

  /**
   * The sorted names of the tools called on the path up to a span's end, including calls that failed. Every overlay lists those before its
   * own end, so beyond {@link digest} it reads the rows between the span and the overlay before it. Empty where its ends are gone.
   */
  toolsUpTo(span: Span): string[] {
    const range = this.locate(span);
    if (range === null) return [];
    const names = new Set(this.describe(range)?.tools);
    const before = placeBefore(range.from, new PathReader(this.#tree, { content: false }));
    for (const element of before === null ? [] : walkView(this.#tree, before, { content: false })) {
      addTools(names, element);
      if (element.kind === "overlay") break;
    }
    return [...names].toSorted().slice(0, MAX_TOOLS);
  }

  /** All that a description depends on. What lies behind a range adds nothing to it. */
  #stampOf({ from, to }: Range): string {
    return [this.#tree.epochUpTo(to.seq), from.seq, from.step, to.seq, to.step].join(" ");
  }

  /**
   * Digest and size of a span's current content. Null when its ends are gone or not on one path. Throws `invalid_range`
   * for bad steps.
   */
  digest(span: Span): SpanDigest | null {
    const range = this.locate(span);
    return range === null ? null : this.describe(range);
  }

  /** The digest of a span's messages, including hidden ones. Null as for {@link digest}. */
  sourceDigest(span: Span): string | null {
    const elements = this.#sources(span, false);
    return elements === null ? null : sumDigests(elements.map(elementDigest));
  }

  /** A span's messages, including hidden ones, oldest first. Null as for {@link digest}. */
  messages(span: Span): UIMessage[] | null {
    const elements = this.#sources(span, true);
    return elements === null ? null : elementMessages(this.#tree, elements.filter(isThere));
  }

  /** The user's and the system's messages that a span shows, oldest first, the newest ones up to a bound. Empty where {@link digest} is null. */
  userMessages(span: Span, most: { readonly messages: number; readonly bytes: number }): UIMessage[] {
    const range = this.locate(span);
    const shown = range === null ? [] : walkView(this.#tree, range.to, { content: false, floor: range.from });
    const newestFirst: MessageElement<ContentRow>[] = [];
    let { bytes } = most;
    for (const element of shown) {
      if (element.kind === "overlay" || element.row.role === "assistant") continue;
      if (newestFirst.length === most.messages) break;
      if (element.row.bytes > bytes) continue;
      bytes -= element.row.bytes;
      newestFirst.push({ ...element, row: this.#tree.contentAt(element.row.seq) });
    }
    return elementMessages(this.#tree, newestFirst.toReversed());
  }

  /** Reads a span's messages in slices, including hidden ones. Null when its ends are gone. */
  reader(span: Span, bytes?: number): SpanReader | null {
    const range = this.locate(span);
    return range === null ? null : new SpanReader(this.#tree, range, bytes);
  }

  /** Another text after any change on the span's path but behind it. Empty where its ends are gone. */
  stamp(span: Span): string {
    const range = this.locate(span);
    return range === null ? "" : this.#stampOf(range);
  }

  /** Whether a span still has the messages that its reader read. Reads them again only where the session changed since. */
  isAsRead(reader: SpanReader, span: Span): boolean {
    return reader.digest !== null && (reader.isUntouched || reader.digest === this.sourceDigest(span));
  }

  /** A span's messages without content, as outline rows. Null as for {@link digest}. */
  rows(span: Span): OutlineRow[] | null {
    return this.#sources(span, false)?.filter(isThere).map(outlineRow) ?? null;
  }

  #sources<Content extends boolean>(span: Span, content: Content) {
    const range = this.locate(span);
    return range === null ? null : (walkSpan(this.#tree, range, { content, overlays: [] })?.toReversed() ?? null);
  }
}

/** The first elements of a walk. Their rows without content take {@link SLICE_BYTES}, the last one included in full. */
function takeSlice(walk: Iterable<Element>): Element[] {
  const slice: Element[] = [];
  let left = SLICE_BYTES;
  for (const element of walk) {
    slice.push(element);
    left -= ROW_BYTES + (element.kind === "overlay" ? element.overlay.details : element.row.facts).length;
    if (left <= 0) break;
  }
  return slice;
}

/** The description of elements, newest first. */
function sum(elements: readonly Element[]): SpanDigest {
  return {
    digest: sumDigests(elements.map(elementDigest)),
    tokens: elements.reduce((sum, element) => sum + elementTokens(element), 0),
    messages: elements.reduce((sum, each) => sum + (each.kind === "overlay" ? each.overlay.spanMessages : 1), 0),
    elements: elements.length,
    overlayIds: elements.flatMap((each) => (each.kind === "overlay" ? [each.overlay.overlayId] : [])).toReversed(),
    tools: elements.reduce(addTools, new Set<string>()),
  };
}

function addTools(names: Set<string>, element: Element): Set<string> {
  if (element.kind === "overlay") {
    const { boundary, tools } = parseDetails(element.overlay.details);
    for (const name of boundary?.tools ?? tools ?? []) names.add(name);
  } else if (!element.row.facts.includes(NO_TOOLS)) {
    for (const [name, step] of parseFacts(element.row.facts).tools) if (step <= element.toStep) names.add(name);
  }
  return names;
}

/** The description of neighbours, oldest first. */
function joined(parts: readonly SpanDigest[]): SpanDigest {
  const sum = (of: (part: SpanDigest) => number): number => parts.reduce((total, part) => total + of(part), 0);
  return {
    digest: sumDigests(parts.map((part) => part.digest)),
    tokens: sum((part) => part.tokens),
    messages: sum((part) => part.messages),
    elements: sum((part) => part.elements),
    overlayIds: parts.flatMap((part) => part.overlayIds),
    tools: new Set(parts.flatMap((part) => [...part.tools])),
  };
}

/** False for a message that the host pruned, because none of it can be read. */
function isThere(element: Element): boolean {
  return element.kind === "overlay" || !isPruned(element.row);
}
