/**
 * What the overlays of a fork are named by, once they were copied.
 *
 * An overlay's digest adds up over the messages under it and over the overlays that lay inside when it was laid. A fork gets those
 * in force alone. One that has left force since adds up to the same as its messages do, unless it ended within a message:
 * the digests of a message's parts are not the digest of the whole. So an overlay over such a one is named anew, by what the
 * fork holds (C3): or else, taken back there, it would be held for changed, and not be put back.
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
  /** With its messages and overlays in place. */
  readonly to: Tree;
  readonly sql: SessionStatements;
  readonly now: () => number;
  readonly countTokens: CountTokens;
}

/** Reads the overlays of the session that was forked, and nothing more where none of them ended within a message and left force. */
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
