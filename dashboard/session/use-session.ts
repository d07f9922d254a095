/**
 * Everything that the page of one session reads, asked again whenever the session moved.
 *
 * A branch is read to its newest end, which is asked for like the rest: what is said on it later is seen.
 *
 * Runs tell of themselves; appends of others do not, so the status is looked at every few seconds. `revision` says that
 * something that is shown may be another one.
 */
import { useCallback, useMemo, useState } from "react";
import type { OverlayRecord } from "../../src/memory/overlays/record.ts";
import type { View } from "../../src/memory/messages/view.ts";
import type { SessionRoute } from "../route.ts";
import { useCall, useRunEvents, useTick, type Asked } from "../use-agent.ts";

/** Between two looks at the status (ms): soon enough for somebody who watches. */
const LOOK_MS = 4_000;

/** The branch that is read, as calls that read it take it. */
export interface OfBranch {
  readonly sessionId: string;
  readonly leafId?: string;
}

const NONE: readonly OverlayRecord[] = [];

export function useSession({ id: sessionId, branch, asOf }: SessionRoute) {
  const [bumps, setBumps] = useState(0);
  const bump = useCallback(() => setBumps((before) => before + 1), []);
  const tick = useTick(LOOK_MS);
  const events = useRunEvents(sessionId);
  const moved = JSON.stringify([bumps, events.map(({ runId, state, done }) => [runId, state, done])]);
  const status = useCall("status", { sessionId }, [moved, tick]);
  const end = useCall("findLeaf", branch === null ? null : { sessionId, id: branch }, [moved, tick]);
  const stands = status.kind === "ready" ? status.value : null;
  const ended = events.filter((event) => event.outcome !== null).length;
  const revision = JSON.stringify([bumps, ended, stands?.leafId, stands?.viewTokens, stands?.liveRunIds]);
  // An unknown message has no leaf: the view then says that it is none.
  const read: OfBranch | null =
    branch === null ? { sessionId } : end.kind === "ready" ? { sessionId, leafId: end.value ?? branch } : null;
  const info = useCall("getSessionInfo", { sessionId }, revision);
  const now = useCall("getView", asOf === null ? read : null, revision);
  const past = useCall("getViewAsOf", asOf === null ? null : { sessionId, overlayId: asOf }, revision);
  const compactions = useCall("getCompactions", { sessionId }, revision);
  const overlays = compactions.kind === "ready" ? compactions.value : NONE;
  const layers = useMemo(() => JSON.stringify(overlays.map(({ id, state }) => [id, state])), [overlays]);
  const view: Asked<View> = asOf === null ? now : past;
  return { read, status, info, view, compactions, overlays, layers, events, revision, bump };
}

export type SessionData = ReturnType<typeof useSession>;
