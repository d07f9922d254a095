/** What the summariser of one run is told beside the source, and the name under which its answer is found again. */
import { TOLERATED_SUMMARY_TOKENS } from "../../limits.ts";
import { planOf, type RunRecord } from "../../memory/runs/runs.ts";
import { digest } from "../../steps/text/digest.ts";
import type { ChunkPlan } from "../../steps/plan/chunk.ts";
import { PROMPT_VERSION } from "../../steps/draft/prompt.ts";
import type { Brief } from "../../workflows/port.ts";
import type { Needs } from "../core.ts";

/** Largest share of the summaries that a rebuild replaces which the new one may be: room for the sentence around it. */
const REBUILT_SUMMARY_RATIO = 0.9;

/** Source tokens for each token of a summary: a span of ordinary work told in an eighth still names what was done and why. */
export const SOURCE_PER_SUMMARY_TOKEN = 8;

/** Of the summary of the whole span. It must shrink the view, whatever its budget says. */
export function briefOf(core: Needs<"settings">, run: RunRecord): Brief {
  const asked = briefOfModel(core, run);
  // The headings and the budget in tokens are what a prompt of ours asks for, and a function was not told of them.
  if (run.path !== "function") return asked;
  return { ...asked, template: { sections: [] }, policy: { ...asked.policy, summaryTokens: Number.MAX_SAFE_INTEGER } };
}

function briefOfModel(core: Needs<"settings">, run: RunRecord): Brief {
  const { template } = core.settings.get(run.sessionId);
  const { focus, only } = run;
  const { spanTokens } = planOf(run);
  // What a rebuild replaces is summaries already: to be any smaller is enough.
  const policy = only === "rebuild" ? { ...run.policy, maxSummaryRatio: REBUILT_SUMMARY_RATIO } : run.policy;
  const room = Math.floor(spanTokens * policy.maxSummaryRatio);
  return { template, policy, focus, spanTokens, summaryTokens: Math.max(1, Math.min(policy.summaryTokens, room)) };
}

/** Of one chunk. Only the whole must shrink: a part shorter than a summary's headings can be told in no fewer words. */
export function briefOfChunk(core: Needs<"settings">, run: RunRecord, { tokens }: ChunkPlan): Brief {
  const whole = briefOf(core, run);
  const share = Math.ceil(tokens / SOURCE_PER_SUMMARY_TOKEN);
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
