/**
 * The one commit of a summary, from a model of the workflow, a caller's function, a caller, or notes.
 *
 * The caller has audited the text, because each path handles a refusal in its own way, and what stands beside it was chosen before. So a
 * commit reads no message and gathers no fact.
 */
import type { Beside } from "../../facts/beside.ts";
import type { Facts, Pinned } from "../../facts/fact.ts";
import type { Deadline, OverlayDetails } from "../../memory/overlays/overlay.ts";
import type { CommitResult } from "../../memory/overlays/overlays.ts";
import { type LiveRun, planOf, type Finished, type Outcome, type RunRecord } from "../../memory/runs/runs.ts";
import type { Needs } from "../core.ts";
import { assert } from "../../errors.ts";
import type { Draft } from "../../memory/drafts.ts";
import type { Span } from "../../steps/plan/outline.ts";
import { layLess, withRestored } from "./read-beside.ts";
import { factsOf } from "./sources.ts";
import { promptTokens } from "../reports/usage.ts";
import { conclude, type Concludes } from "./split.ts";

export interface Summary {
  readonly span: Span;
  readonly text: string;
  /** Facts of everything under the span. */
  readonly facts: Facts;
  readonly lineage: Lineage;
  readonly beside: Beside;
  /** What the text names although it stands nowhere in what its author was shown. Default: nothing. */
  readonly unfounded?: readonly string[];
}

/** The author of a summary, and its parts. */
export type Lineage = Pick<OverlayDetails, "model" | "degraded" | "level" | "generation"> &
  Partial<Pick<OverlayDetails, "madeOf" | "draftKey" | "notesVersion">>;

/**
 * Commits a run's summary and ends the run. Where the session asks a person, the summary is proposed, and a person's decision ends the run.
 * Call inside a transaction. Throws `invalid_range` for an invalid span.
 */
export function addSummary(core: Concludes & Needs<"platform">, run: LiveRun, summary: Summary): Finished {
  const laid = layOrPropose(core, run, summary);
  return laid.kind === "proposed" ? laid : conclude(core, run, laid);
}

/** As {@link addSummary}, and leaves it to the caller to end the run. */
export function layOrPropose(
  core: Needs<"memory" | "platform" | "runs" | "settings" | "usage">,
  run: LiveRun,
  summary: Summary,
): Finished {
  const { approval } = core.settings.get(run.sessionId);
  const deadline =
    approval === null ? null : { expiresAt: core.platform.now() + approval.timeoutMs, onTimeout: approval.onTimeout };
  const laid = laySummary(core, run, { ...summary, deadline });
  if (laid.kind === "proposed") core.runs.propose(run);
  return laid;
}

/**
 * Commits what a run proposed, or a person's own text in its place, through the fence of any commit, and ends the run. Call inside a
 * transaction.
 */
export function addProposed(core: Concludes, run: LiveRun, own: Pick<Draft, "key" | "text" | "model"> | null): Outcome {
  const { overlays } = core.memory.session(run.sessionId);
  const proposal = overlays.takeProposal(run.id);
  if (proposal === null) return conclude(core, run, { kind: "stale", reason: "changed" });
  const { model, degraded, level, generation, madeOf, draftKey, notesVersion, pinned } = proposal.details;
  const made = { level, generation, madeOf, notesVersion };
  const lineage =
    own === null
      ? { ...made, model, degraded, draftKey }
      : { ...made, model: own.model, degraded: false, draftKey: own.key };
  const text = own?.text ?? proposal.summary;
  const unfounded = pinned.unfounded.filter((each) => text.includes(each));
  const facts = factsOf(core, proposal, run.sessionId);
  const laid = laySummary(core, run, {
    span: proposal.span,
    text,
    facts,
    lineage,
    beside: proposal.details,
    unfounded,
    deadline: null,
  });
  assert(laid.kind !== "proposed", "A summary without a deadline is not proposed.");
  return conclude(core, run, laid);
}

/**
 * Ends a run whose proposal nobody decided in time, or whose messages were changed. Does nothing before. Call inside a transaction.
 */
export function endProposal(core: Concludes & Needs<"platform">, run: LiveRun): void {
  const proposal = core.memory.session(run.sessionId).overlays.proposalOf(run.id);
  const deadline = proposal?.details.deadline;
  if (deadline == null) core.endRun(run, { kind: "stale", reason: "changed" });
  else if (core.platform.now() < deadline.expiresAt) return;
  else if (deadline.onTimeout === "apply") addProposed(core, run, null);
  else core.endRun(run, { kind: "nothing", reason: "declined", detail: "Nobody approved the summary in time." });
}

/** Returns the outcome with the view's size before and after. With a deadline the summary is proposed. */
function laySummary(
  core: Needs<"memory" | "settings" | "usage">,
  run: LiveRun,
  summary: Summary & { readonly deadline: Deadline | null },
): Finished {
  const plan = planOf(run);
  const { span, text, facts, lineage, beside } = summary;
  const { overlays, spans } = core.memory.session(run.sessionId);
  const { headTokens, tailTokens, keptId: fromId } = plan;
  const earlier = [...beside.knows, ...plan.overlayIds].flatMap((id) => overlays.get(id) ?? []);
  const add = (pinned: Pinned): CommitResult =>
    overlays.add({
      span,
      summary: text,
      runId: run.id,
      leafId: run.leafId,
      overlayIds: plan.overlayIds,
      ...(run.planDigest === null ? {} : { digest: run.planDigest }),
      details: {
        ...lineage,
        trigger: run.trigger,
        focus: run.focus,
        // A draft already holds the facts of its source.
        facts: lineage.draftKey == null ? facts : null,
        pinned: { ...pinned, unfounded: summary.unfounded ?? [] },
        knows: beside.knows,
        sourceTokens: sourceTokensOf(core, run),
        carried: beside.carried,
        opening: beside.opening,
        boundary: {
          trigger: run.trigger,
          tokensBefore: run.tokensBefore,
          lastMessageId: run.leafId,
          tools: spans.toolsUpTo(span),
          kept: { headTokens, tailTokens, fromId },
        },
        deadline: summary.deadline,
      },
    });
  const result = layLess(withRestored(beside.pinned, earlier), add);
  if (result.kind === "stale") return { kind: "stale", reason: result.reason };
  if (result.kind === "proposed") return { kind: "proposed", overlayId: result.overlay.id };
  return {
    kind: "applied",
    overlayId: result.overlay.id,
    tokensBefore: run.tokensBefore,
    tokensAfter: promptTokens(
      core,
      run.sessionId,
      core.memory.session(run.sessionId).has(run.leafId) ? run.leafId : null,
    ),
    degraded: lineage.degraded,
    ...(result.kind === "applied" && result.rebased && { rebased: true }),
  };
}

/** Tokens of the messages under a plan's span, also of those under the overlays that it folds in. Null where one does not tell. */
function sourceTokensOf(core: Needs<"memory">, run: RunRecord): number | null {
  const { chunks, parts } = planOf(run);
  const { overlays } = core.memory.session(run.sessionId);
  const own = parts.map((part) =>
    part.kind === "chunk" ? (chunks[part.index]?.tokens ?? 0) : (overlays.get(part.id)?.details.sourceTokens ?? null),
  );
  return own.reduce<number | null>((sum, tokens) => (sum === null || tokens === null ? null : sum + tokens), 0);
}
