/**
 * What notes are made of: the part of a branch's view that they do not tell of yet, and what is known of it.
 *
 * Boundary: reads, and writes nothing. Overlays count as what they are, a summary and the facts that it was made with, so
 * that what they hide is not read again.
 */
import type { History } from "../memory/history.ts";
import type { NotesVersion } from "../memory/notes.ts";
import { factsOfElements } from "../steps/notes/facts.ts";
import type { OutlineRow } from "../steps/outline.ts";
import { NO_FACTS, type Facts } from "../steps/pinned/fact.ts";
import { mergeFacts } from "../steps/pinned/merge.ts";
import { redactMessage } from "../steps/redact.ts";
import type { TranscriptElement } from "../steps/render.ts";
import type { Core } from "./core.ts";
import { factsOf } from "./sources.ts";

/**
 * What the view of a branch shows behind the last message that the notes cover, oldest first. An overlay that holds that
 * message tells a part of it again, which does no harm.
 */
export function findNew(history: History, base: NotesVersion | null, leafId: string): readonly OutlineRow[] {
  const rows = history.outline(leafId)?.rows ?? [];
  if (base?.covered.kind !== "to") return rows;
  const { messageId } = base.covered;
  const shown = rows.findIndex(({ kind, id }) => kind === "message" && id === messageId);
  if (shown !== -1) return rows.slice(shown + 1);
  const under = rows.findIndex(({ kind, id }) => kind === "overlay" && holds(history, id, messageId));
  return under === -1 ? rows : rows.slice(under);
}

/** Whether a message is under an overlay of its branch that no earlier one holds. */
function holds(history: History, overlayId: string, messageId: string): boolean {
  const overlay = history.overlay(overlayId);
  return overlay !== null && history.isOnPath(messageId, overlay.span.toId);
}

/** The rows as far as a message, or as far as the overlay that holds it by now. */
export function upTo(rows: readonly OutlineRow[], toId: string, history: History): readonly OutlineRow[] {
  const at = rows.findIndex(({ kind, id }) => (kind === "message" ? id === toId : holds(history, id, toId)));
  return at === -1 ? rows : rows.slice(0, at + 1);
}

/** The rows as a model is shown them, and the facts of the overlays among them, in their order. */
export function readRows(
  core: Core,
  history: History,
  { rows, redact }: { readonly rows: readonly OutlineRow[]; readonly redact: boolean },
): { readonly elements: readonly TranscriptElement[]; readonly overlayFacts: readonly Facts[] } {
  const overlays = rows.flatMap(({ kind, id }) => (kind === "overlay" ? (history.overlay(id) ?? []) : []));
  return {
    elements: rows.flatMap((row) => elementOf(history, row, redact)),
    overlayFacts: overlays.map((overlay) => factsOf(core, overlay, history.sessionId)),
  };
}

/** The facts of everything up to a message, for notes that a person says tell of it; what an earlier version told is not read again. */
export function claimFacts(
  core: Core,
  history: History,
  { base, coveredId }: { readonly base: NotesVersion | null; readonly coveredId: string },
): Facts {
  const earlier = base?.facts ?? NO_FACTS;
  if (base?.covered.kind === "to" && history.isOnPath(coveredId, base.covered.messageId)) return earlier;
  const rows = upTo(findNew(history, base, coveredId), coveredId, history);
  const { elements, overlayFacts } = readRows(core, history, { rows, redact: false });
  return mergeFacts([earlier, factsOfElements(elements, overlayFacts)]);
}

function elementOf(history: History, { kind, id }: OutlineRow, redact: boolean): TranscriptElement[] {
  if (kind === "overlay") {
    const overlay = history.overlay(id);
    return overlay === null ? [] : [{ kind: "overlay", summary: overlay.summary }];
  }
  const message = history.get(id);
  return message === null ? [] : [{ kind: "message", message: redact ? redactMessage(message) : message }];
}
