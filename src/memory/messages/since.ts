/**
 * Finds a branch as its newest overlay left it: the overlays of the view, the messages beside them, and those since.
 *
 * Reads one row without content for each visible element. The content of at most `maxBytes` is then read in slices. The
 * messages beside the overlays come first, so that of a longer branch its newest messages stay unread.
 */
import { textsOf } from "../../steps/message/tool-parts.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { parseFacts } from "./content.ts";
import { parseDetails } from "../overlays/details.ts";
import type { OverlayRow, ShapeRow } from "../statements.ts";
import type { Place } from "./place.ts";
import { slicesOf, type Slice } from "./slices.ts";
import type { Tree } from "./tree.ts";
import { overlayMessage } from "./view.ts";
import { PATH_START, walkView, type MessageElement, type OverlayElement } from "./walk.ts";

export interface SinceOverlay {
  /** The newest overlay of the branch. */
  readonly newest: OverlayRow;
  /** The overlays of the view, oldest first, and the text of each as the view shows it. */
  readonly overlays: readonly { readonly row: OverlayRow; readonly text: string }[];
  /** The messages that stood in the view when the newest overlay was added, oldest first, in slices to read. */
  readonly shown: readonly Slice[];
  /** The messages since then, oldest first, in slices to read. */
  readonly later: readonly Slice[];
  /** The number of messages that were not read. */
  readonly unread: number;
}

/** Null where no overlay is in force on the branch. */
export function findSince(tree: Tree, start: Place, maxBytes: number): SinceOverlay | null {
  if (tree.sql.overlayAtOrBelow(tree.sessionId, start, PATH_START) === undefined) return null;
  const elements = [...walkView(tree, start, { content: false })].toReversed();
  const overlays = elements.filter((each): each is OverlayElement => each.kind === "overlay");
  const newest = overlays.map(({ overlay }) => overlay).toSorted((a, b) => b.n - a.n)[0];
  if (newest === undefined) return null;
  const messages = elements.filter((each): each is MessageElement<ShapeRow> => each.kind === "message");
  const top = { seq: newest.topSeq, step: parseDetails(newest.details).topStep ?? WHOLE_MESSAGE };
  const budget = { bytes: maxBytes, unread: 0 };
  const shown = messages.flatMap((element) => upTo(element, top));
  const later = messages.flatMap((element) => after(element, top));
  const fit = (wanted: Slice): Slice[] =>
    slicesOf(
      wanted.filter(({ row: { bytes } }) => {
        const fits = bytes <= budget.bytes;
        if (fits) budget.bytes -= bytes;
        else budget.unread++;
        return fits;
      }),
    );
  return {
    newest,
    overlays: overlays.map((each) => ({ row: each.overlay, text: textOf(each.overlay, each) })),
    shown: fit(shown),
    later: fit(later),
    unread: budget.unread,
  };
}

/** The part of a message up to a place, or nothing. */
function upTo<Each extends MessageElement<ShapeRow>>(element: Each, top: Place): Each[] {
  if (element.row.seq !== top.seq) return element.row.seq < top.seq ? [element] : [];
  return element.fromStep > top.step ? [] : [{ ...element, toStep: Math.min(element.toStep, top.step) }];
}

/** The part of a message after a place, or nothing. */
function after<Each extends MessageElement<ShapeRow>>(element: Each, top: Place): Each[] {
  if (element.row.seq !== top.seq) return element.row.seq > top.seq ? [element] : [];
  const last = Math.min(element.toStep, parseFacts(element.row.facts).steps.length - 1);
  return last <= top.step ? [] : [{ ...element, fromStep: Math.max(element.fromStep, top.step + 1) }];
}

/** An overlay's text as a view shows it. */
export function textOf(overlay: OverlayRow, shown: Parameters<typeof overlayMessage>[1]): string {
  return textsOf(overlayMessage(overlay, shown).parts).join("\n");
}
