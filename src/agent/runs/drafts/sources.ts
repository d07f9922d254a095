/**
 * The sources of a planned summary, which are chunks with their existing drafts, earlier overlays, and the facts of all of it.
 *
 * Reads memory. Safe because a chunk is named by the digest of its messages
 * alone, looking through overlays. So its draft is found again, whichever plan cut it (R3).
 */
import { assert } from "../../../errors.ts";
import type { Draft } from "../../../memory/drafts.ts";
import type { History } from "../../../memory/messages/history.ts";
import type { Leaf } from "../../../memory/overlays/details.ts";
import type { OverlayRecord, SpanDigest } from "../../../memory/overlays/overlays.ts";
import { planOf, type LiveRun, type RunRecord } from "../../../memory/runs/runs.ts";
import { isSameSpan, type Span } from "../../../steps/plan/outline.ts";
import { NO_FACTS, type Facts } from "../../../facts/fact.ts";
import { type PlanPart, type SpanPlan, carriedBy } from "../../../steps/plan/plan.ts";
import type { ChunkPlan } from "../../../steps/plan/cut.ts";
import type { CommitRequest, FoldSource, PlannedChunk, PlannedOverlay } from "../../../workflows/port.ts";
import type { Needs } from "../../core.ts";

/** Replaces an overlay's id at an end of the span by the overlay's own end. */
export function resolveEnds(history: History, { span, overlayIds }: SpanPlan): Span {
  const first = overlayIds.includes(span.fromId) ? history.overlays.get(span.fromId) : null;
  const last = overlayIds.includes(span.toId) ? history.overlays.get(span.toId) : null;
  return {
    fromId: first?.span.fromId ?? span.fromId,
    fromStep: first?.span.fromStep ?? span.fromStep,
    toId: last?.span.toId ?? span.toId,
    toStep: last?.span.toStep ?? span.toStep,
  };
}

/** The parts that are summarised or folded, in path order, and the digest of each chunk. */
export interface Sources {
  readonly digests: readonly string[];
  readonly parts: readonly (PlannedChunk | PlannedOverlay)[];
}

/** Null when a message of the plan is gone or changed. `found` is the digest of its span. */
export function findSources(core: Needs<"memory">, run: LiveRun, plan: SpanPlan, found: SpanDigest): Sources | null {
  const history = core.memory.session(run.sessionId);
  // An overlay that left force since the outline was read would be carried on over messages that it does not describe (C3).
  if (plan.overlayIds.some((id) => history.overlays.get(id)?.state !== "active")) return null;
  // Without overlays inside, a span of one chunk was already walked.
  const digests = plan.chunks.map((chunk) =>
    found.overlayIds.length === 0 && isSameSpan(chunk, plan.span) ? found.digest : history.spans.sourceDigest(chunk),
  );
  if (digests.some((each) => each === null)) return null;
  const parts = plan.parts.map((part): PlannedChunk | PlannedOverlay => {
    if (part.kind === "overlay") return part;
    const tokens = plan.chunks[part.index]?.tokens ?? 0;
    return { kind: "chunk", index: part.index, tokens, digest: digests[part.index] ?? "", half: false };
  });
  return { digests: digests.map((each) => each ?? ""), parts };
}

/**
 * A plan that reads the messages under its overlays again, in as few chunks as they fit into. An overlay without chunks, such as a
 * caller's own, is folded in as it stands. Any other plan is returned as it is.
 */
export function rereadPlan(history: History, plan: SpanPlan): SpanPlan {
  if (!plan.rebuild) return plan;
  const chunks: ChunkPlan[] = [];
  const parts: PlanPart[] = [];
  const read = ({ fromId, fromStep, toId, toStep, tokens }: Omit<ChunkPlan, "index">): void => {
    const last = parts.at(-1)?.kind === "chunk" ? chunks.at(-1) : undefined;
    if (last !== undefined && last.tokens + tokens <= plan.chunkTokens) {
      chunks[chunks.length - 1] = { ...last, toId, toStep, tokens: last.tokens + tokens };
      return;
    }
    parts.push({ kind: "chunk", index: chunks.length });
    chunks.push({ index: chunks.length, fromId, fromStep, toId, toStep, tokens });
  };
  for (const part of plan.parts) {
    const leaves =
      part.kind === "overlay" ? leavesUnder(history, part.id) : plan.chunks.slice(part.index, part.index + 1);
    if (leaves.length === 0) parts.push(part);
    for (const leaf of leaves) read(leaf);
  }
  return { ...plan, chunks, parts };
}

/** The first chunks of an overlay, oldest first. Empty when one of its parts has none. */
export function leavesUnder(history: History, overlayId: string): readonly Leaf[] {
  const parts = history.overlays.get(overlayId)?.details.madeOf ?? [];
  const leaves = parts.map((part) => (part.kind === "leaf" ? [part] : leavesUnder(history, part.id)));
  return leaves.some((each) => each.length === 0) ? [] : leaves.flat();
}

/** The parts of the new overlay, which are the plan's overlays and the drafts of its chunks. */
export function lineageOf(run: LiveRun, { leaves }: CommitRequest): (Leaf | { kind: "overlay"; id: string })[] {
  const plan = planOf(run);
  const { chunks, parts } = plan;
  type Part = Leaf | { kind: "overlay"; id: string };
  const leafAt = (index: number): Part[] => {
    const chunk = chunks[index];
    const draftKey = leaves.find((leaf) => leaf.index === index)?.key;
    if (chunk === undefined || draftKey === undefined) return [];
    const { fromId, fromStep, toId, toStep, tokens } = chunk;
    const digest = run.chunkDigests[index] ?? "";
    // A draft that carries on a summary tells more than its chunk, so it never stands over the chunk alone.
    const own = carriedBy(plan, index).length > 0 ? null : draftKey;
    return [{ kind: "leaf", fromId, fromStep, toId, toStep, tokens, digest, draftKey: own }];
  };
  return parts.flatMap((part): Part[] => {
    if (part.kind === "overlay") return [{ kind: part.kind, id: part.id }];
    const whole = leafAt(part.index);
    if (whole.length > 0) return whole;
    return chunks.filter(({ halfOf }) => halfOf === part.index).flatMap(({ index }) => leafAt(index));
  });
}

/** One folded summary with its metadata. */
export interface Folded {
  readonly kind: FoldSource["kind"];
  readonly text: string;
  /** Identifies the text, for the key of a fold of it. */
  readonly name: string;
  readonly degraded: boolean;
  readonly generation: number;
  readonly facts: Facts;
  readonly unfounded: readonly string[];
}

export function readSource(core: Needs<"memory">, run: RunRecord, source: FoldSource): Folded {
  if (source.kind === "draft") {
    const { text, degraded, generation, facts, unfounded } = mustDraft(core, run, source.key);
    return { kind: source.kind, text, name: source.key, degraded, generation, facts, unfounded };
  }
  const overlay = core.memory.session(run.sessionId).overlays.get(source.id);
  assert(overlay !== null, `Overlay ${source.id} is gone although the run over it is live.`);
  const { degraded, generation, draftKey, pinned } = overlay.details;
  // Named by its draft, or by source and text. So the same fold is found again, and never with facts of another source.
  return {
    kind: source.kind,
    text: overlay.summary,
    name: draftKey ?? `overlay ${overlay.spanDigest} ${overlay.summary}`,
    degraded,
    generation,
    facts: factsOf(core, overlay, run.sessionId),
    unfounded: pinned.unfounded,
  };
}

/** The facts of an overlay's span, from its draft, or from its own record where there is none. */
export function factsOf(core: Needs<"memory">, { details }: OverlayRecord, sessionId: string): Facts {
  const draft = details.draftKey === null ? null : core.memory.drafts.get(sessionId, details.draftKey);
  return draft?.facts ?? details.facts ?? NO_FACTS;
}

export function mustDraft(core: Needs<"memory">, run: RunRecord, key: string): Draft {
  const draft = core.memory.drafts.get(run.sessionId, key);
  assert(draft !== null, `Draft ${key} is gone although its run is live.`);
  return draft;
}
