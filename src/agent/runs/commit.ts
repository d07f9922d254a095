/**
 * The one commit of a summary, from a model of the workflow, a caller's function, or notes.
 *
 * Pins the facts that the text does not say, passes the fence, and stores the same details beside the overlay on every path. The caller has
 * audited the text, because each path handles a refusal in its own way.
 */
import { withoutEmptySections } from "../../steps/draft/empty-sections.ts";
import { EXTRACTIVE_NAME, STAND_IN_NAME } from "../../extractive/extract.ts";
import type { Carried, OverlayDetails } from "../../memory/overlays/details.ts";
import { planOf, type LiveRun, type Outcome, type RunRecord } from "../../memory/runs/runs.ts";
import type { Span } from "../../steps/plan/outline.ts";
import type { Facts, Pinned } from "../../facts/fact.ts";
import { keepFacts, tokensOfSummary } from "../../facts/keep.ts";
import { exceedsShare, namesBudget, tellsWithout } from "../../facts/names-budget.ts";
import { besides, opened } from "../../steps/view/view.ts";
import { readAround } from "./around.ts";
import { describeBoundary } from "./boundary.ts";
import { promptTokens } from "../reports/usage.ts";
import type { Needs } from "../core.ts";

export interface Summary {
  readonly span: Span;
  readonly text: string;
  /** Facts of everything under the span. */
  readonly facts: Facts;
  readonly lineage: Lineage;
  /** Texts of context blocks at the time of the summary. */
  readonly carried: readonly Carried[];
  /** Most tokens of the names beside it. By default they take what the summaries of the view leave. */
  readonly namesTokens?: number;
}

/** The author of a summary, and its parts. */
export type Lineage = Pick<OverlayDetails, "model" | "degraded" | "level" | "generation"> &
  Partial<Pick<OverlayDetails, "madeOf" | "draftKey" | "notesVersion">>;

/**
 * Commits a run's summary over the plan in its record. Returns the outcome with the view's size before and after, and does not end the run.
 * Call inside a transaction. Throws `invalid_range` for an invalid span.
 */
export function commitSummary(core: Needs<"memory" | "settings" | "usage">, run: LiveRun, summary: Summary): Outcome {
  const plan = planOf(run);
  const { span, text, facts, lineage, carried } = summary;
  const history = core.memory.session(run.sessionId);
  // The run's leaf may have been deleted. Then the active branch stays in view.
  const seen = { sessionId: run.sessionId, leafId: history.leafAfter(run.leafId) };
  const around = readAround(core, seen, plan);
  const { namesOf } = around;
  const shown = describeBoundary(core, run, { plan, carried });
  const texts = opened({ opening: shown.opening?.text ?? null }) + besides(shown);
  const spanTokens = spanTokensNow(core, run) - core.settings.counterOf(run.sessionId)(texts);
  const pinned = pinBeside(core, run, { ...summary, spanTokens }, around);
  const result = history.overlays.add({
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
      pinned,
      namesOf,
      ...shown,
    },
  });
  if (result.kind === "stale") return { kind: "stale", reason: result.reason };
  // The next request writes the view anew. With the next message the names would write it once more.
  if (isByRent(core, run)) history.masks.renewNames(run.policy.stackTokens);
  return {
    kind: "applied",
    overlayId: result.overlay.id,
    tokensBefore: run.tokensBefore,
    tokensAfter: promptTokens(core, run.sessionId, history.has(run.leafId) ? run.leafId : null),
    degraded: lineage.degraded,
    ...(result.kind === "applied" && result.rebased && { rebased: true }),
  };
}

function isByRent(core: Needs<"settings">, { sessionId }: RunRecord): boolean {
  return core.settings.get(sessionId).when?.rule === "rent";
}

/** Tokens of a run's span. By cost, masks may have made it smaller since it was planned. */
function spanTokensNow(core: Needs<"memory" | "settings">, run: RunRecord): number {
  const { span, spanTokens } = planOf(run);
  if (!isByRent(core, run)) return spanTokens;
  return Math.min(spanTokens, core.memory.session(run.sessionId).spans.digest(span)?.tokens ?? spanTokens);
}

/** What stands beside a summary of a run's span: facts in force, loaded texts and names, within the budgets of the run's policy. */
export function pinBeside(
  core: Needs<"settings">,
  run: RunRecord,
  {
    text,
    facts,
    namesTokens,
    lineage,
    spanTokens = planOf(run).spanTokens,
  }: Pick<Summary, "text" | "facts" | "namesTokens"> &
    Partial<Pick<Summary, "lineage">> & { readonly spanTokens?: number },
  { around, summaryTokens, freedTokens }: ReturnType<typeof readAround>,
): Pinned {
  const { pinnedTokens, loadedTokens, stackTokens } = run.policy;
  const byRent = isByRent(core, run);
  const plan = planOf(run);
  const isFirst = around.hidden.length === 0 && plan.overlayIds.length === 0;
  const isEarly = byRent && run.trigger === "threshold" && isFirst;
  const pin = (summary: string, shown: string): Pinned =>
    keepFacts(summary, facts, {
      spanTokens: spanTokens + freedTokens,
      pinnedTokens,
      loadedTokens,
      namesTokens:
        namesTokens ?? namesBudget({ stackTokens, takenTokens: summaryTokens + tokensOfSummary(shown), isEarly }),
      // By rent the bill counts them as the session does, and an edit's price holds this much for them.
      mostCounted: byRent ? 1 : undefined,
      countTokens: core.settings.counterOf(run.sessionId),
      around,
    }).pinned;
  const shown = withoutEmptySections(text);
  const isExtract = lineage?.model === EXTRACTIVE_NAME || lineage?.model === STAND_IN_NAME;
  if (isExtract && exceedsShare(shown, stackTokens)) {
    const pinned = pin("", "");
    if (tellsWithout(shown, pinned)) return { ...pinned, alone: true };
  }
  return pin(text, shown);
}
