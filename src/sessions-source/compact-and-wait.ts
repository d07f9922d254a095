/** A compaction for a caller that cannot go on without it, in the form of the SDK's sessions. */
import type { StoredCompaction } from "agents/sessions";
import type { Session } from "../agent/sessions/session.ts";
import type { OverlayRecord } from "../memory/overlays/overlay.ts";

/**
 * For a turn that has overflowed, or is about to. It must wait, because it cannot go on otherwise. Null where the view did not become
 * smaller, as in the SDK.
 */
export async function compactAndWait(session: Session, leafId?: string): Promise<StoredCompaction | null> {
  if ((await session.status()).thresholdTokens === null) return null;
  const { run } = await session.compactNow(leafId === undefined ? {} : { leafId });
  const { outcome } = run.outcome === null ? await session.ended(run.id) : run;
  if (outcome.kind !== "applied") return null;
  const overlay = (await session.getCompactions()).find(({ id }) => id === outcome.overlayId);
  return overlay === undefined ? null : storedForm(overlay);
}

export function storedForm({ id, summary, span, createdAt }: OverlayRecord): StoredCompaction {
  return {
    id,
    summary,
    fromMessageId: span.fromId,
    toMessageId: span.toId,
    createdAt: new Date(createdAt).toISOString(),
  };
}
