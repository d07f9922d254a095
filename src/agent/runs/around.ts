/**
 * What stays in view beside a summary that is about to be laid: read for the choice of its names.
 *
 * Boundary: reads, and writes nothing. It runs inside the transaction of a commit, so what it reads of messages has a bound
 * ({@link AROUND_BYTES}), the newest first: of more than that, names may be said twice.
 */
import type { UIMessage } from "ai";
import { SUMMARY_FRAME_TOKENS } from "../../limits.ts";
import type { History } from "../../memory/messages/history.ts";
import type { RunRecord } from "../../memory/runs/runs.ts";
import { withoutEmptySections } from "../../steps/draft/empty-sections.ts";
import { sliceMessage } from "../../steps/message/slice.ts";
import { lookAround } from "../../steps/pinned/around.ts";
import { NAME_CHARS_PER_TOKEN, NOTHING_AROUND, type Around } from "../../steps/pinned/keep.ts";
import { renderInForce } from "../../steps/pinned/render.ts";
import { lastVisibleStep, type OutlineRow } from "../../steps/plan/outline.ts";
import type { SpanPlan } from "../../steps/plan/plan.ts";
import type { Needs } from "../core.ts";
import { redactionOf } from "../redaction.ts";
import { factsOf } from "./sources.ts";

/** Bytes of messages that a commit reads: a tail of the largest default size, and as much again that came while it was summarised. */
export const AROUND_BYTES = 256_000;

/** Bytes of a token, at least: what a row says of its size. */
const BYTES_PER_TOKEN = 4;

/** And how many tokens the other summaries take, as names are counted. */
export function readAround(
  core: Needs<"drafts" | "memory" | "settings">,
  { sessionId, leafId }: Pick<RunRecord, "sessionId" | "leafId">,
  { overlayIds, span, keptId }: Pick<SpanPlan, "overlayIds" | "span" | "keptId">,
): { around: Around; summaryTokens: number } {
  const history = core.memory.session(sessionId);
  // The leaf that the run looks at may have been deleted: what stays in view is then the active branch's.
  const rows = history.outline(history.leafAfter(leafId))?.rows ?? [];
  const from = rows.findIndex(({ id }) => id === span.fromId || overlayIds.includes(id));
  const kept = rows.findIndex(({ id }) => id === keptId);
  if (from === -1) return { around: NOTHING_AROUND, summaryTokens: 0 };
  const to = kept === -1 ? rows.length : Math.max(kept, from);
  const reader = new Reader(history);
  const tail = reader.read(rows.slice(to).toReversed()).toReversed();
  const head = reader.read(rows.slice(0, from));
  const others = rows.filter(({ kind }, at) => kind === "overlay" && (at < from || at >= to));
  const overlays = others.flatMap(({ id }) => history.overlay(id) ?? []);
  const before = new Set(rows.slice(0, from).map(({ id }) => id));
  const summaries = overlays.map(({ summary }) => withoutEmptySections(summary));
  const redaction = redactionOf(core.settings.get(sessionId));
  return {
    around: lookAround({
      head,
      tail,
      summaries: overlays.map(({ details }, at) => `${summaries[at]}\n${renderInForce(details.pinned)}`),
      // Of what lies before it alone: a branch may leave behind this summary and see none of what comes later.
      hidden: overlays
        .filter(({ id }) => before.has(id))
        .map((overlay) => redaction.facts(factsOf(core, overlay, sessionId)).words),
    }),
    summaryTokens: summaries.reduce(
      (sum, text) => sum + Math.ceil(text.length / NAME_CHARS_PER_TOKEN) + SUMMARY_FRAME_TOKENS,
      0,
    ),
  };
}

/** Reads messages until so many bytes are read. */
class Reader {
  readonly #history: History;
  #left = AROUND_BYTES;

  constructor(history: History) {
    this.#history = history;
  }

  read(rows: readonly OutlineRow[]): UIMessage[] {
    return rows.flatMap((row) => {
      const bytes = row.tokens * BYTES_PER_TOKEN;
      if (row.kind !== "message" || bytes > this.#left) return [];
      const message = this.#history.get(row.id);
      if (message === null) return [];
      this.#left -= bytes;
      return [sliceMessage(message, row.firstStep, lastVisibleStep(row))];
    });
  }
}
