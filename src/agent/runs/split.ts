/**
 * Splits a session. It is compacted, it ends, and a child continues with its view.
 *
 * Asks for such a run, and makes the switch when its compaction is done. src/memory/messages/seed.ts seeds a child, and the run decides
 * when to switch.
 *
 * Exactly one of the two takes messages, because the switch is one transaction. Before it there is no child. After it the parent refuses
 * messages (`session_ended`) and names the child. Messages that were appended during the summarising are in view, so the child has them. A
 * run that ends otherwise leaves only its overlay, which is a normal one.
 */
import { PalimpsestError } from "../../errors.ts";
import type { LiveRun, LiveSplit, Outcome, SplitTarget } from "../../memory/runs/runs.ts";
import { cleanText } from "../../memory/sessions/sessions.ts";
import { promptTokens } from "../reports/usage.ts";
import type { Core } from "../core.ts";
import { endRun } from "./end-run.ts";
import { factsOf } from "./drafts/sources.ts";
import { startRun, triggerIfDue } from "./start/trigger.ts";

export interface SplitOptions {
  /** A person's words about the summary's focus. */
  readonly focus?: string | null | undefined;
  /** Asks the model again, even where an earlier draft exists. */
  readonly fresh?: boolean | undefined;
  /** Asks the model although it is down or the budget is spent. */
  readonly ignoreBudget?: boolean | undefined;
}

interface SplitRequest extends SplitOptions {
  readonly name?: string | undefined;
  readonly retryOf?: string | undefined;
}

/**
 * Asks for a split, or joins the live one. Other runs of the session end as `cancelled`, and the split finds their drafts (R2, R3). Call
 * inside a transaction. Throws `unknown_session`, `session_ended`, `invalid_input` for the name, `invalid_state` for a session without
 * messages, `not_configured`.
 */
export function startSplit(core: Core, sessionId: string, request: SplitRequest): { run: LiveRun; joined: boolean } {
  core.memory.sessions.mustGet(sessionId);
  const history = core.memory.session(sessionId);
  history.mustKeepMessages();
  history.mustGoOn();
  const name = cleanText("name", request.name);
  const leafId = history.leafId();
  if (leafId === null) {
    throw new PalimpsestError("invalid_state", `Session "${sessionId}" has no messages yet: nothing could go on.`);
  }
  const known = core.runs.live(sessionId).find((run) => run.kind === "split");
  if (known !== undefined) return { run: known, joined: true };
  const { focus, fresh, ignoreBudget, retryOf } = request;
  const split = { name, overlayId: null };
  const asked = { trigger: "manual", leafId, focus: focus ?? null, fresh: fresh ?? false, manual: true } as const;
  const run = startRun(core, sessionId, {
    ...asked,
    ignoreBudget: ignoreBudget ?? false,
    retryOf: retryOf ?? null,
    split,
  });
  cancelOthers(core, run);
  return { run, joined: false };
}

/** What a run switches to after this outcome of its compaction. Null where it ends instead, which a split without a sound summary does. */
export function switchAfter(run: LiveRun, compacted: Outcome): SplitTarget | null {
  if (run.kind !== "split" || !["applied", "rebased", "nothing"].includes(compacted.kind)) return null;
  return { name: run.split.name, overlayId: "overlayId" in compacted ? compacted.overlayId : null };
}

/**
 * The switch. Opens the child under an id that is derived from the run's, and ends the parent. Call inside the transaction that ends the
 * run, because any error rolls all of it back.
 */
export function switchToChild(core: Core, run: LiveSplit): Outcome {
  const { sessionId, tokensBefore } = run;
  const childId = childIdOf(run);
  if (core.memory.session(sessionId).leafId() === null) return { kind: "stale", reason: "gone" };
  if (core.memory.sessions.get(childId) !== null) {
    return { kind: "failed", reason: `There is a session "${childId}" already, which this run did not open.` };
  }
  core.memory.sessions.split(sessionId, {
    id: childId,
    name: run.split.name,
    // Drafts and chunks belong to the parent. The overlay itself carries what the child may need of them.
    detailsOf: (overlay) => ({
      ...overlay.details,
      madeOf: [],
      draftKey: null,
      hindsight: null,
      topStep: null,
      facts: factsOf(core, overlay, sessionId),
    }),
    continued: (stoodFor) => core.rooms.continued(sessionId, childId, stoodFor),
  });
  core.usage.copy(sessionId, childId);
  cancelOthers(core, run);
  // The rest that a plan did not reach, or the tail alone, may exceed the child's threshold.
  triggerIfDue(core, childId);
  const { overlayId } = run.split;
  return { kind: "split", childId, overlayId, tokensBefore, tokensAfter: promptTokens(core, childId) };
}

function childIdOf({ id }: LiveRun): string {
  return id.replace(/^split-/, "child-");
}

/** Cancels them in the ledger. Their next step finds them ended and stops. The split is live or ended then, so no run follows them. */
function cancelOthers(core: Core, { id, sessionId }: LiveRun): void {
  for (const run of core.runs.live(sessionId)) if (run.id !== id) endRun(core, run, { kind: "cancelled" });
}
