/**
 * Concludes a session. It is compacted, it ends, and a child continues with its view.
 *
 * Asks for such a run, and makes the switch when its compaction is done. src/memory/messages/seed.ts seeds a child, and the run decides
 * when to switch.
 *
 * Exactly one of the two takes messages, because the commit and the switch are one transaction. Before it there is no child. After it the
 * parent refuses messages (`session_ended`) and names the child. Messages that were appended during the summarising are in view, so the
 * child has them.
 */
import { assert, PalimpsestError } from "../../errors.ts";
import type { LiveRun, LiveSplit, Outcome, RunRecord } from "../../memory/runs/runs.ts";
import { cleanText } from "../../memory/sessions/sessions.ts";
import type { History } from "../../memory/messages/history.ts";
import { hasResult, toolPart } from "../../steps/message/message.ts";
import { WHOLE_MESSAGE, type Span } from "../../steps/plan/outline.ts";
import { promptTokens } from "../reports/usage.ts";
import type { Needs } from "../core.ts";
import { openSpan } from "./read-slices.ts";
import { factsOf } from "./sources.ts";
import { chooseByHand, layByHand, type ByHand } from "./read-beside.ts";

export interface SplitOptions {
  /** A person's words about the summary's focus. */
  readonly focus?: string | null | undefined;
  /** Asks the model again, even where an earlier draft exists. */
  readonly fresh?: boolean | undefined;
  /** Asks the model although it is down or the budget is spent. */
  readonly ignoreBudget?: boolean | undefined;
  /** The caller's own summary of everything that the session shows. No model is asked, and the split is done at once. */
  readonly summary?: string | undefined;
}

interface SplitRequest extends SplitOptions {
  readonly name?: string | undefined;
  readonly retryOf?: string | undefined;
}

/** What {@link conclude} reads and writes. */
export type Concludes = Needs<"endRun" | "memory" | "rooms" | "runs" | "settings" | "trigger" | "usage">;

/**
 * Concludes a session at once, with the caller's own summary over its whole view. The child begins with it and with what must not be lost
 * beside it. Any live run of the session ends as `cancelled`. Messages that are appended meanwhile go along behind the summary. Throws as {@link startSplit} does, and `invalid_range` for a
 * summary that is no smaller than the view, and `invalid_state` while a call waits for its result.
 */
export async function splitWithSummary(
  core: Concludes & Needs<"db" | "read" | "uses">,
  sessionId: string,
  request: SplitRequest & { summary: string },
): Promise<RunRecord> {
  const { focus, fresh, ignoreBudget } = request;
  if (focus != null || fresh === true || ignoreBudget === true) {
    throw new PalimpsestError(
      "invalid_input",
      "focus, fresh and ignoreBudget are for a model. Leave them out, or leave summary out.",
    );
  }
  const span = mustShow(core, sessionId);
  const isUntouched = await openSpan(core, { sessionId, span })();
  return core.read(sessionId, () => {
    if (!isUntouched()) throw notAdded("changed");
    const made = chooseByHand(core, sessionId, { span, summary: request.summary });
    return core.db.transaction(() => splitNow(core, sessionId, request, made));
  });
}

function splitNow(core: Concludes, sessionId: string, request: SplitRequest, made: ByHand): RunRecord {
  for (const run of core.runs.live(sessionId)) {
    if (run.kind === "split") core.endRun(run, { kind: "cancelled" });
  }
  const { run } = startSplit(core, sessionId, { ...request, ignoreBudget: true });
  assert(run.kind === "split", "A split was just asked for.");
  const result = layByHand(core, sessionId, { ...made, leafId: run.leafId });
  if (result.kind === "stale") throw notAdded(result.reason);
  core.endRun(run, switchToChild(core, run, result.overlay.id));
  return core.runs.mustGet(run.id);
}

function notAdded(reason: string): PalimpsestError {
  return new PalimpsestError(
    "invalid_range",
    `Not split: the summary was not added (${reason}). It must be smaller than what it replaces, tell of it as it is now, and cut no other.`,
  );
}

/** Everything that a session shows, as a span. Throws as {@link startSplit} does for one that cannot be split. */
function mustShow(core: Needs<"memory">, sessionId: string): Span {
  const history = mustSplit(core, sessionId);
  mustWaitForNothing(history);
  const rows = history.outline()?.rows ?? [];
  const [first, last] = [rows[0], rows.at(-1)];
  assert(first !== undefined && last !== undefined, `Session "${sessionId}" shows nothing, though it has a leaf.`);
  const start = first.kind === "overlay" ? history.overlays.get(first.id)?.span : undefined;
  const end = last.kind === "overlay" ? history.overlays.get(last.id)?.span : undefined;
  return {
    fromId: start?.fromId ?? first.id,
    fromStep: start?.fromStep ?? first.firstStep,
    toId: end?.toId ?? last.id,
    toStep: end?.toStep ?? WHOLE_MESSAGE,
  };
}

/** A call without its result would be under the summary, where no result finds it. */
function mustWaitForNothing(history: History): void {
  for (const part of history.latestLeaf()?.parts ?? []) {
    const call = toolPart(part);
    if (call === null || hasResult(call)) continue;
    throw new PalimpsestError(
      "invalid_state",
      `The call "${call.toolCallId}" of session "${history.sessionId}" waits for its result. Split when it has one, or without a summary.`,
    );
  }
}

/** The messages of a session that may be split. */
function mustSplit(core: Needs<"memory">, sessionId: string): History {
  core.memory.sessions.mustGet(sessionId);
  const history = core.memory.session(sessionId);
  history.assertOwnsMessages();
  history.assertNotEnded();
  if (history.leafId() !== null) return history;
  throw new PalimpsestError("invalid_state", `Session "${sessionId}" has no messages yet.`);
}

/**
 * Asks for a split, or joins the live one. A compaction that is at work becomes the split, because its model may be answering (R3). Other
 * runs of the session end as `cancelled`, and the split finds their drafts (R2, R3). Call inside a transaction. Throws `unknown_session`,
 * `session_ended`, `invalid_input` for the name, `invalid_state` for a session without messages, `not_configured`.
 */
export function startSplit(
  core: Needs<"endRun" | "memory" | "runs" | "trigger">,
  sessionId: string,
  request: SplitRequest,
): { run: LiveRun; joined: boolean } {
  const leafId = mustSplit(core, sessionId).leafId();
  assert(leafId !== null, "A session that may be split has a leaf.");
  const name = cleanText("name", request.name);
  const known = core.runs.live(sessionId).find((run) => run.kind === "split");
  if (known !== undefined) return { run: known, joined: true };
  const { focus, fresh, ignoreBudget, retryOf } = request;
  const live = core.trigger.liveOnBranch(sessionId, { leafId });
  const isPlain = focus == null && fresh !== true && ignoreBudget !== true;
  if (isPlain && live?.state === "running" && live.focus === null && live.only === undefined) {
    const run = core.runs.write({ ...live, kind: "split", childName: name, manual: true });
    cancelOthers(core, run);
    return { run, joined: true };
  }
  const asked = { trigger: "manual", leafId, focus: focus ?? null, fresh: fresh ?? false, manual: true } as const;
  const run = core.trigger.start(sessionId, {
    ...asked,
    ignoreBudget: ignoreBudget ?? false,
    retryOf: retryOf ?? null,
    childName: name,
  });
  cancelOthers(core, run);
  return { run, joined: false };
}

/**
 * Ends a run with the outcome of its compaction. A split switches to its child first, unless it has no sound summary. Call inside the
 * transaction of the commit, because any error rolls all of it back. Returns the outcome that stands.
 */
export function conclude(core: Concludes, run: LiveRun, compacted: Outcome): Outcome {
  const isReady = ["applied", "nothing"].includes(compacted.kind);
  if (run.kind !== "split" || !isReady) return core.endRun(run, compacted);
  return core.endRun(run, switchToChild(core, run, "overlayId" in compacted ? compacted.overlayId : null));
}

/** Opens the child under an id that is derived from the run's, and ends the parent. */
function switchToChild(core: Concludes, run: LiveSplit, overlayId: string | null): Outcome {
  const { sessionId, tokensBefore } = run;
  const childId = childIdOf(run);
  if (core.memory.session(sessionId).leafId() === null) return { kind: "stale", reason: "gone" };
  if (core.memory.sessions.get(childId) !== null) {
    return { kind: "failed", reason: `There is a session "${childId}" already, which this run did not open.` };
  }
  core.memory.sessions.split(sessionId, {
    id: childId,
    name: run.childName,
    // Drafts and chunks belong to the parent. The overlay itself carries what the child may need of them.
    detailsOf: (overlay) => ({
      ...overlay.details,
      madeOf: [],
      draftKey: null,
      facts: factsOf(core, overlay, sessionId),
    }),
    continued: (stoodFor) => core.rooms.continued?.(sessionId, childId, stoodFor),
  });
  core.usage.copy(sessionId, childId);
  cancelOthers(core, run);
  // The rest that a plan did not reach, or the tail alone, may exceed the child's threshold.
  core.trigger.startIfDue(childId);
  return { kind: "split", childId, overlayId, tokensBefore, tokensAfter: promptTokens(core, childId) };
}

function childIdOf({ id }: LiveRun): string {
  return id.replace(/^[a-z]+/, "child");
}

/** Cancels them in the ledger. Their next step finds them ended and stops. The split is live or ended then, so no run follows them. */
function cancelOthers(core: Needs<"endRun" | "runs">, { id, sessionId }: LiveRun): void {
  for (const run of core.runs.live(sessionId)) if (run.id !== id) core.endRun(run, { kind: "cancelled" });
}
