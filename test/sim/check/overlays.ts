/** Checks the invariants of overlays, C1, C2, C3 and V3, against the messages of the twin. */
import type { OverlayRecord } from "../../../src/memory/overlays/overlay.ts";
import type { RunRecord } from "../../../src/memory/runs/runs.ts";
import { WHOLE_MESSAGE } from "../../../src/steps/plan/outline.ts";
import { count } from "../tally.ts";
import type { Twin } from "../twin.ts";
import { holds, type Seat, type World } from "../world.ts";

export interface Laid {
  readonly seat: Seat;
  readonly overlays: readonly OverlayRecord[];
  readonly runs: readonly RunRecord[];
  /** True when no operation touched the session, so that anything new came from runs. */
  readonly quiet: boolean;
}

/** The exact source of each overlay at its first sight, by session and overlay. */
const sources = new WeakMap<World, Map<string, string>>();

export function checkOverlays(world: World, { seat, overlays, runs, quiet }: Laid): void {
  const { twin } = seat;
  const active = overlays.filter(({ state }) => state === "active");
  checkNested(seat, active);
  for (const overlay of active) checkSource(world, { seat, overlay });
  checkCommits(overlays, runs);
  const before = new Set(seat.overlays.filter(({ state }) => state === "active").map(({ id }) => id));
  for (const overlay of active) {
    if (before.has(overlay.id)) continue;
    // What the last summary shows for all that is hidden was shown by the one before it so far.
    const { last, instructions = 0 } = overlay.details.weights;
    const own = overlay.tokens - last + instructions;
    holds("V3", own < overlay.spanTokens, () => `${overlay.id} is ${own} tokens over ${overlay.spanTokens}`);
    if (quiet) checkShrinks(twin, overlay, active);
    count(world.tally.checks, "V3");
    if (overlay.details.level > 0) count(world.tally.met, "folds");
  }
  count(world.tally.checks, "C1, C2, C3", active.length);
}

function checkNested({ id, twin }: Seat, active: readonly OverlayRecord[]): void {
  for (const leaf of twin.leaves) {
    const stretches = twin.stretches(leaf, active).toSorted((a, b) => a.from - b.from || b.to - a.to);
    const open: number[] = [];
    for (const { overlay, from, to } of stretches) {
      while ((open.at(-1) ?? Number.POSITIVE_INFINITY) <= from) open.pop();
      holds(
        "C2",
        to <= (open.at(-1) ?? Number.POSITIVE_INFINITY),
        () => `${overlay.id} crosses another on the path of ${id} to ${leaf}`,
      );
      open.push(to);
    }
  }
}

function checkSource(world: World, { seat, overlay }: { seat: Seat; overlay: OverlayRecord }): void {
  const known = sources.get(world) ?? new Map<string, string>();
  sources.set(world, known);
  const { twin } = seat;
  const source = twin.source(overlay);
  holds("C3", source !== null, () => `${overlay.id} of ${seat.id} is in force over messages that are not on one path`);
  const key = `${seat.id} ${overlay.n} ${overlay.id}`;
  const first = known.get(key) ?? source;
  holds("C3", first === source, () => `${overlay.id} of ${seat.id} is in force over messages that have changed`);
  known.set(key, source ?? "");
  const { fromId, toId } = overlay.span;
  if (!isWhole(overlay)) return;
  const digest = twin.digest(fromId, toId);
  holds(
    "C3",
    digest === overlay.spanDigest,
    () => `${overlay.id} of ${seat.id} names ${overlay.spanDigest}; its messages are ${digest}`,
  );
}

function isWhole({ span }: OverlayRecord): boolean {
  return span.fromStep === 0 && span.toStep === WHOLE_MESSAGE;
}

/** V3. The view that shows it is smaller with it than without it. */
function checkShrinks(twin: Twin, overlay: OverlayRecord, active: readonly OverlayRecord[]): void {
  const older = active.filter(({ n }) => n <= overlay.n);
  const [before, after] = [older.filter(({ id }) => id !== overlay.id), older].map((list) =>
    twin.view(overlay.span.toId, list).reduce((sum, each) => sum + each.tokens, 0),
  );
  // Another overlay may cover this one, which then is not visible.
  const shrinks =
    (after ?? 0) < (before ?? 0) || twin.view(overlay.span.toId, older).every(({ id }) => id !== overlay.id);
  holds("V3", shrinks, () => `${overlay.id} makes the view larger: ${before} tokens before it, ${after} with it`);
}

/**
 * C1. Each run added at most one overlay, in the transaction of its outcome, which names that overlay.
 */
function checkCommits(overlays: readonly OverlayRecord[], runs: readonly RunRecord[]): void {
  const byRun = new Map<string, string[]>();
  for (const { id, runId } of overlays) if (runId !== null) byRun.set(runId, [...(byRun.get(runId) ?? []), id]);
  for (const [runId, ids] of byRun) holds("C1", ids.length === 1, () => `run ${runId} laid ${ids.join(", ")}`);
  for (const [runId, [id]] of byRun) {
    const run = runs.find((each) => each.id === runId);
    if (run === undefined) continue;
    const { outcome } = run;
    const told = outcome !== null && "overlayId" in outcome ? outcome.overlayId : id;
    holds(
      "C1",
      outcome !== null && told === id,
      () => `run ${runId} laid ${id} and ended as ${JSON.stringify(outcome)}`,
    );
  }
}
