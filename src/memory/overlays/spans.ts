/**
 * Reads the messages of a span of one path, hidden ones included, and what an overlay lies on.
 *
 * Writes nothing. overlays.ts says where a span lies.
 */
import type { UIMessage } from "ai";
import type { OutlineRow, Span } from "../../steps/plan/outline.ts";
import { sumDigests } from "../../steps/text/digest.ts";
import { isPruned } from "../messages/contents.ts";
import { comparePlaces } from "../messages/place.ts";
import { SpanReader } from "../messages/span-reader.ts";
import type { Tree } from "../messages/tree.ts";
import { elementMessages, outlineRow } from "../messages/view.ts";
import { elementDigest, placeFrom, placeTo, walkSpan, walkView, type Element } from "../messages/walk.ts";
import type { OverlayRow } from "../statements.ts";
import type { Overlays, SpanDigest } from "./overlays.ts";

export class Spans {
  readonly #tree: Tree;
  readonly #laid: Overlays;

  constructor(laid: Overlays) {
    this.#tree = laid.tree;
    this.#laid = laid;
  }

  /**
   * Digest and size of a span's current content. Null when its ends are gone or not on one path. Throws `invalid_range`
   * for bad steps.
   */
  digest(span: Span): SpanDigest | null {
    const range = this.#laid.locate(span);
    return range === null ? null : this.#laid.describe(range);
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

  /** Reads a span's messages in slices, including hidden ones. Null when its ends are gone. */
  reader(span: Span, bytes?: number): SpanReader | null {
    const range = this.#laid.locate(span);
    return range === null ? null : new SpanReader(this.#tree, range, bytes);
  }

  /**
   * Describes a span in slices, one a step, so that a commit over it need not read it once more. Ends at once where its ends are gone. Throws
   * `invalid_range` for bad steps.
   */
  *survey(span: Span): Generator<undefined, void> {
    const range = this.#laid.locate(span);
    if (range !== null) yield* this.#laid.survey(range);
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
    const range = this.#laid.locate(span);
    return range === null ? null : (walkSpan(this.#tree, range, { content, overlays: [] })?.toReversed() ?? null);
  }

  /** See {@link Overlays.toolsUpTo}. Empty where its ends are gone. */
  toolsUpTo(span: Span): string[] {
    const range = this.#laid.locate(span);
    return range === null ? [] : this.#laid.toolsUpTo(range);
  }
}

/** The elements beneath an overlay, newest first. */
export function beneath(tree: Tree, overlay: OverlayRow, depth: number): Element[] {
  const narrower =
    depth === Number.POSITIVE_INFINITY
      ? []
      : tree.sql.activeOverlaysEndingFrom(tree.sessionId, overlay.fromSeq).filter((each) => isBeneath(each, overlay));
  const options = { content: false, floor: placeFrom(overlay), overlays: narrower } as const;
  return [...walkView(tree, placeTo(overlay), options)].flatMap((element) =>
    element.kind === "overlay" && depth > 1 ? beneath(tree, element.overlay, depth - 1) : [element],
  );
}

/** False for a message that the host pruned, because none of it can be read. */
function isThere(element: Element): boolean {
  return element.kind === "overlay" || !isPruned(element.row);
}

/** Whether `inner` lies inside `outer`, or is older and covers the very same span. */
function isBeneath(inner: OverlayRow, outer: OverlayRow): boolean {
  const from = comparePlaces(placeFrom(inner), placeFrom(outer));
  const to = comparePlaces(placeTo(inner), placeTo(outer));
  return from >= 0 && to <= 0 && (from > 0 || to < 0 || inner.n < outer.n);
}
