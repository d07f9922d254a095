/**
 * What a summary is made of: chunks with their drafts, earlier overlays, the facts of all of it, and what a view shows beside the span.
 *
 * A chunk is named by the digest of its messages alone, looking through overlays. So its draft is found again, whichever plan cut it (R3).
 * A child of a deleted session gets a draft only where its own messages have the digest of the draft's source, so it learns nothing that it
 * does not hold (S2).
 */
import type { History } from "../../memory/messages/history.ts";
import { WHOLE_MESSAGE, type Span, isSameSpan } from "../../steps/plan/outline.ts";
import { parseSyntheticId } from "../../steps/view/view.ts";
import { assert } from "../../errors.ts";
import type { Draft } from "../../memory/drafts.ts";
import { earlierSummary, toRecord, type Leaf, type OverlayRecord } from "../../memory/overlays/overlay.ts";
import type { SpanDigest } from "../../memory/overlays/spans.ts";
import { planOf, type LiveRun, type RunRecord } from "../../memory/runs/runs.ts";
import { NO_FACTS, type Facts } from "../../facts/fact.ts";
import { mergeFacts } from "../../facts/gather.ts";
import { type PlanPart, type SpanPlan, carriedBy } from "../../steps/plan/plan.ts";
import type { ChunkPlan } from "../../steps/plan/cut.ts";
import type { CommitRequest, FoldSource, PlannedChunk, PlannedOverlay, AroundSource } from "../../workflows/port.ts";
import type { Needs } from "../core.ts";
import { redactionOf } from "../redaction.ts";

export function visibleSpan(history: History, fromMessageId: string, toMessageId: string): Span {
  const { fromId, fromStep } = standsFor(history, fromMessageId);
  const { toId, toStep } = standsFor(history, toMessageId);
  return { fromId, fromStep, toId, toStep };
}

function standsFor(history: History, id: string): Span {
  const synthetic = parseSyntheticId(id);
  if (synthetic?.kind === "slice") {
    const { messageId, fromStep, toStep } = synthetic;
    return { fromId: messageId, fromStep, toId: messageId, toStep };
  }
  const overlay = synthetic?.kind === "overlay" ? history.overlays.get(synthetic.overlayId) : null;
  return overlay?.span ?? { fromId: id, fromStep: 0, toId: id, toStep: WHOLE_MESSAGE };
}

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

/** Bytes of messages that are read for a summariser. They cover the largest default tail. */
const AROUND_BYTES = 256_000;

/** A view, by its leaf. Null for the active one. */
interface Seen {
  readonly sessionId: string;
  readonly leafId: string | null;
}

type Covered = Pick<SpanPlan, "span" | "overlayIds">;

/**
 * What the earlier summaries of a view hand on to a new one: those in front of it, and those that it folds in. `knows` names those in
 * front, and `names` identifies their texts for the key of an answer that builds on them. `freedTokens` is what the last of them gives
 * up, because the new one shows it.
 */
export function readBefore(
  core: Needs<"memory" | "settings">,
  { sessionId, ...leaf }: Seen,
  { span, overlayIds }: Covered,
): { facts: readonly Facts[]; knows: readonly string[]; names: readonly string[]; freedTokens: number } {
  const history = core.memory.session(sessionId);
  const found = history.surroundings(span, { ...leaf, maxBytes: 0 });
  const front = (found?.before.overlays ?? []).map(toRecord);
  const folded = overlayIds.flatMap((id) => history.overlays.get(id) ?? []);
  const redaction = redactionOf(core.settings.get(sessionId));
  const facts = [...front, ...folded].map((overlay): Facts => {
    const own = factsOf(core, overlay, sessionId);
    const restored = overlay.details.pinned.instructions.filter((each) => each.restored !== undefined);
    return redaction.facts({ ...own, instructions: [...own.instructions, ...restored] });
  });
  const isLast = (found?.behind.overlays ?? []).length + folded.length === 0;
  return {
    facts,
    knows: front.map(({ id }) => id),
    names: front.map(({ details, spanDigest }) => details.draftKey ?? `overlay ${spanDigest}`),
    freedTokens: isLast ? (front.at(-1)?.details.weights.last ?? 0) : 0,
  };
}

/** Messages shown of each side. */
const SHOWN_MESSAGES = 4;

/** What the reader of a summary sees beside it. */
export function readAround(
  core: Needs<"memory" | "settings">,
  { sessionId, ...leaf }: Seen,
  covered: Covered,
): AroundSource {
  const history = core.memory.session(sessionId);
  const redaction = redactionOf(core.settings.get(sessionId));
  const found = history.surroundings(covered.span, { ...leaf, maxBytes: AROUND_BYTES });
  const front = (found?.before.overlays ?? []).map(toRecord);
  const { facts } = readBefore(core, { sessionId, ...leaf }, covered);
  return {
    head: (found?.before.messages ?? []).slice(0, SHOWN_MESSAGES).map(redaction.message),
    earlier: front.map((overlay) => redaction.text(earlierSummary(overlay))),
    following: (found?.behind.messages ?? []).slice(0, SHOWN_MESSAGES).map(redaction.message),
    instructions: facts.map(({ instructions, ended }) => ({ instructions, ended })),
    kept: mergeFacts(facts).loaded.flatMap(({ name, text }) => (text === "" ? [] : [name])),
  };
}

/** Call inside the transaction that deletes the session, before the deletion. Reads the sources of its drafts for each child. */
export function inheritDrafts(core: Needs<"memory">, sessionId: string): void {
  const { sessions, statements } = core.memory;
  for (const childId of sessions.childrenOf(sessionId)) {
    const holds = heldBy(core, childId);
    for (let from: string | null = sessionId; from !== null; from = statements.parentSession(from)) {
      for (const { key, source } of madeIn(core, from)) if (holds(source)) core.memory.drafts.get(childId, key);
    }
  }
}

interface Made {
  readonly key: string;
  readonly source: Span & { readonly digest: string };
}

/** The drafts of a session with their sources. A source is a run's whole span, or, once it is applied, a chunk of it. */
function* madeIn(core: Needs<"memory">, sessionId: string): Iterable<Made> {
  const history = core.memory.session(sessionId);
  for (const overlay of history.overlays.list()) {
    for (const leaf of leavesUnder(history, overlay.id))
      if (leaf.draftKey !== null) yield { key: leaf.draftKey, source: leaf };
  }
  for (const { key, source } of core.memory.sessions.draftSources(sessionId))
    if (source !== undefined) yield { key, source };
}

/** Returns a check whether a session's own messages match a digest. Reads each span once. */
function heldBy(core: Needs<"memory">, sessionId: string): (source: Made["source"]) => boolean {
  const history = core.memory.session(sessionId);
  const known = new Map<string, string | null>();
  return ({ fromId, fromStep, toId, toStep, digest }) => {
    const span = { fromId, fromStep, toId, toStep };
    const name = JSON.stringify(span);
    if (!known.has(name)) known.set(name, history.spans.sourceDigest(span));
    return known.get(name) === digest;
  };
}
