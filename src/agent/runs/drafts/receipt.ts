/** The receipt of a draft for a workflow, with its size, its score and the audit's result. The text stays in the agent. */
import type { Draft } from "../../../memory/drafts.ts";
import { isCompaction, type RunRecord, type Verdict } from "../../../memory/runs/runs.ts";
import { auditSummary, type AuditProblemKind } from "../../../steps/draft/audit.ts";
import type { CountTokens } from "../../../steps/message/message.ts";
import type { Brief, DraftReceipt } from "../../../workflows/port.ts";
import { briefOf } from "./brief.ts";
import type { Needs } from "../../core.ts";

/** `brief` is of the whole span. */
export function receiptOf(core: Needs<"settings">, run: RunRecord, draft: Draft, brief?: Brief): DraftReceipt {
  const { key, tokens, model } = draft;
  // The engine keeps the receipt, and what a model made up may be half of what was said (S2). A repair reads it here.
  const problems = draft.problems.map((each) => (each.kind === "unfounded" ? { ...each, detail: "" } : each));
  const unfit = isCompaction(run)
    ? findUnfit(core.settings.counterOf(run.sessionId), brief ?? briefOf(core, run), draft)
    : [];
  return { kind: "draft", model, key, soundKey: key, tokens, reused: true, problems, unfit };
}

/** The same for the ledger. */
export function verdictOf({ tokens, problems, unfit }: DraftReceipt): Verdict {
  return { tokens, problems: problems.map(({ kind }) => kind), unfit };
}

/** Skips the check whether the source had content, because only audit-answer.ts has the source at hand. */
function findUnfit(countTokens: CountTokens, brief: Brief, { text, finishReason }: Draft): readonly AuditProblemKind[] {
  const audit = auditSummary({ text, finishReason, ...brief, hasMatter: () => false, countTokens });
  return audit.ok ? [] : audit.problems.map(({ kind }) => kind);
}
