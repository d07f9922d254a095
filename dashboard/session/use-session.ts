/**
 * All data of one session's page, fetched again whenever the session changes.
 *
 * A branch is read to its newest leaf, which is fetched again too, so later messages on it are seen. Runs send events but appends of others
 * do not, so the status is polled every few seconds. `revision` changes when the shown data may have changed.
 */
import { useCallback, useMemo, useState } from "react";
import type { OverlayRecord } from "../../src/memory/overlays/overlay.ts";
import type { View } from "../../src/memory/messages/visible.ts";
import type { SessionRoute } from "../route.ts";
import { useCall, useRunEvents, useTick, type Asked } from "../use-agent.ts";

/** Milliseconds between two polls of the status, which is soon enough for a person who watches. */
const LOOK_MS = 4_000;

/** The branch that is read, in the form that read calls take. */
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
  // An unknown message has no leaf. The view's own error then says so.
  const read: OfBranch | null =
    branch === null ? { sessionId } : end.kind === "ready" ? { sessionId, leafId: end.value ?? branch } : null;
  const info = useCall("getSessionInfo", { sessionId }, revision);
  const now = useCall("getView", asOf === null && read !== null ? { ...read, apart: true } : null, revision);
  const past = useCall("getView", asOf === null ? null : { sessionId, asOf, apart: true }, revision);
  const compactions = useCall("getCompactions", { sessionId }, revision);
  const overlays = compactions.kind === "ready" ? compactions.value : NONE;
  const layers = useMemo(() => JSON.stringify(overlays.map(({ id, state }) => [id, state])), [overlays]);
  const view: Asked<View> = asOf === null ? now : past;
  return { read, status, info, view, compactions, overlays, layers, events, revision, bump };
}

export type SessionData = ReturnType<typeof useSession>;
