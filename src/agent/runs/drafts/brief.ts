/** The settings of one run's summary prompt beside its source, and the key under which its answer is stored. */
import { MAX_REFERENCED_RATIO, TOLERATED_SUMMARY_TOKENS } from "../../../limits.ts";
import { planOf, type RunRecord } from "../../../memory/runs/runs.ts";
import { digest } from "../../../steps/text/digest.ts";
import type { ChunkPlan } from "../../../steps/plan/cut.ts";
import { PROMPT_VERSION, type Template } from "../../../steps/draft/prompt.ts";
import type { Brief } from "../../../workflows/port.ts";
import { carriedBy } from "../../../steps/plan/plan.ts";
import type { Needs } from "../../core.ts";

/** Largest size of a rebuilt summary, as a share of the summaries that it replaces. The rest is for its frame. */
const REBUILT_SUMMARY_RATIO = 0.9;

/** An earlier summary of a caller may be far larger than ours. Where it is folded in, its tokens keep at least this share of the budget. */
const KEPT_OF_EARLIER = 3 / 5;

/** Source tokens for each token of a summary of one of several chunks. */
export const SOURCE_PER_SUMMARY_TOKEN = 5;

/** The summary of a chunk may take so many tokens, however small the chunk is. They hold a heading and a sentence. */
const LEAST_CHUNK_SUMMARY_TOKENS = 60;

/** A summary into which several are folded takes so many times the tokens of one, and at most half of all summaries' budget. */
const FOLDED_SUMMARIES = 1.5;

/** For the summary of the whole span. It must shrink the view, whatever its budget says. By default with the session's template. */
export function briefOf(core: Needs<"settings">, run: RunRecord, template?: Template): Brief {
  const asked = briefOfModel(run, template ?? core.settings.get(run.sessionId).template);
  // Headings and the token budget belong to our own prompts, and a caller's function does not know them.
  if (run.path !== "function") return asked;
  return { ...asked, template: { sections: [] }, policy: { ...asked.policy, summaryTokens: Number.MAX_SAFE_INTEGER } };
}

function briefOfModel(run: RunRecord, template: Template): Brief {
  const { focus, only } = run;
  const { spanTokens, parts, overlayIds } = planOf(run);
  const isFold = overlayIds.length > 1;
  const folded = Math.max(
    run.policy.summaryTokens,
    Math.min(Math.ceil(run.policy.summaryTokens * FOLDED_SUMMARIES), Math.floor(run.policy.stackTokens / 2)),
  );
  const largestOwn = Math.max(run.policy.summaryTokens, TOLERATED_SUMMARY_TOKENS) * MAX_REFERENCED_RATIO;
  const callers = parts.flatMap((part) =>
    part.kind === "overlay" && part.summaryTokens > largestOwn
      ? [Math.floor(part.summaryTokens * KEPT_OF_EARLIER)]
      : [],
  );
  const policy = {
    ...run.policy,
    summaryTokens: Math.max(isFold ? folded : run.policy.summaryTokens, ...callers),
    // A rebuild replaces summaries, so it is enough to be smaller at all.
    ...(only === "rebuild" && { maxSummaryRatio: REBUILT_SUMMARY_RATIO }),
  };
  const budget = Math.floor(spanTokens * policy.maxSummaryRatio);
  return { template, policy, focus, spanTokens, summaryTokens: Math.max(1, Math.min(policy.summaryTokens, budget)) };
}

/** For one chunk. Only the whole summary must shrink. A draft has all headings, so that of a very short chunk is longer than the chunk. */
export function briefOfChunk(
  core: Needs<"settings">,
  run: RunRecord,
  { index, tokens }: ChunkPlan,
  template?: Template,
): Brief {
  const whole = briefOf(core, run, template);
  const plan = planOf(run);
  // A chunk that carries on summaries makes the whole one, in place of theirs.
  if (carriedBy(plan, index).length > 0) return whole;
  const isOnly = plan.chunks.length === 1;
  const share = isOnly ? Infinity : Math.max(LEAST_CHUNK_SUMMARY_TOKENS, Math.ceil(tokens / SOURCE_PER_SUMMARY_TOKEN));
  const least = Math.ceil(TOLERATED_SUMMARY_TOKENS / whole.policy.maxSummaryRatio);
  return {
    ...whole,
    spanTokens: Math.max(tokens, least),
    summaryTokens: Math.max(1, Math.min(whole.policy.summaryTokens, share)),
  };
}

export function draftKey(run: RunRecord, of: { model: string; brief: Brief; source: readonly string[] }): string {
  const { template, focus, summaryTokens } = of.brief;
  const fresh = run.fresh ? run.id : "";
  return digest(
    PROMPT_VERSION,
    of.model,
    JSON.stringify(template),
    focus ?? "",
    fresh,
    `${summaryTokens}`,
    ...of.source,
  );
}
