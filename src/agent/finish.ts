/** What a fenced commit came to, as a run's outcome. */
import type { CommitResult } from "../memory/overlays.ts";
import type { Outcome, RunRecord } from "../memory/runs.ts";
import { promptTokens } from "./calibration.ts";
import type { Core } from "./core.ts";

/** The outcome of a fenced commit, with the view's size before and after it. */
export function outcomeOf(
  core: Core,
  run: RunRecord,
  commit: { result: CommitResult; degraded: boolean; score: number | null },
): Outcome {
  const { result, degraded, score } = commit;
  if (result.kind === "stale") return { kind: "stale", reason: result.reason };
  const history = core.memory.session(run.sessionId);
  return {
    kind: result.kind === "rebased" ? "rebased" : "applied",
    overlayId: result.overlay.id,
    tokensBefore: run.tokensBefore,
    tokensAfter: promptTokens(core, run.sessionId, history.has(run.leafId) ? run.leafId : null),
    degraded,
    score,
  };
}
