/**
 * Recomputes the span digests of a fork's overlays after they were copied.
 *
 * An overlay's digest adds up the digests of the messages and overlays inside its span when it was added. A fork copies
 * only overlays in force. An inner overlay that has left force adds up to the same digest as its messages, unless it
 * ended within a message. The digests of a message's parts do not add up to the digest of the whole. An overlay over
 * such a span gets a new digest from the content of the fork (C3). With the old digest it would look changed and could
 * not be restored.
 */
import type { CountTokens } from "../../steps/message/measure.ts";
import { WHOLE_MESSAGE } from "../../steps/plan/outline.ts";
import { hasLeftForce } from "../overlays/changes.ts";
import { Overlays } from "../overlays/overlays.ts";
import type { SessionStatements } from "../sessions/statements.ts";
import type { OverlayRow } from "../statements.ts";
import type { Tree } from "./tree.ts";
import { placeFrom, placeTo } from "./walk.ts";

export interface Forked {
  readonly from: Tree;
  /** The fork, with its messages and overlays in place. */
  readonly to: Tree;
  readonly sql: SessionStatements;
  readonly now: () => number;
  readonly countTokens: CountTokens;
}

/** Reads the source session's overlays. Reads nothing more if none of them both ended within a message and left force. */
export function nameSpansAnew({ from, to, sql, now, countTokens }: Forked): void {
  const parting = from.sql.overlays(from.sessionId).filter((row) => cutsMessage(row) && hasLeftForce(row));
  if (parting.length === 0) return;
  const laid = new Overlays(to, { now, countTokens });
  const earlier: OverlayRow[] = [];
  for (const row of to.sql.overlays(to.sessionId)) {
    const inside = parting.some(({ n, fromSeq, toSeq }) => n < row.n && fromSeq <= row.toSeq && toSeq >= row.fromSeq);
    const found = inside ? laid.describe({ from: placeFrom(row), to: placeTo(row) }, earlier) : null;
    const named = found === null ? row : { ...row, spanDigest: found.digest };
    if (named.spanDigest !== row.spanDigest) sql.nameSpan(to.sessionId, named);
    earlier.push(named);
  }
}

function cutsMessage({ fromStep, toStep }: OverlayRow): boolean {
  return fromStep > 0 || toStep < WHOLE_MESSAGE;
}
