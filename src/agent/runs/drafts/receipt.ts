/** The receipt of a draft for a workflow, with its size, its score and the audit's result. The text stays in the agent. */
import type { Draft } from "../../../memory/drafts.ts";
import { isCompaction, type LiveRun, type Verdict } from "../../../memory/runs/runs.ts";
import { auditSummary, type AuditProblemKind } from "../../../steps/draft/audit.ts";
import type { DraftReceipt } from "../../../workflows/port.ts";
import { briefOf } from "./brief.ts";
import type { Needs } from "../../core.ts";

export function receiptOf(core: Needs<"counterOf" | "settings">, run: LiveRun, draft: Draft): DraftReceipt {
  const { key, tokens, problems, score, lost } = draft;
  const unfit = isCompaction(run) ? findUnfit(core, run, draft) : [];
  return { kind: "draft", key, soundKey: key, tokens, reused: true, problems, score, lost: lost.length, unfit };
}

/** The same for the ledger. */
export function verdictOf({ tokens, problems, unfit }: DraftReceipt): Verdict {
  return { tokens, problems: problems.map(({ kind }) => kind), unfit };
}

/** Skips the check whether the source had content, because only audit-answer.ts has the source at hand. */
function findUnfit(
  core: Needs<"counterOf" | "settings">,
  run: LiveRun,
  { text, finishReason }: Draft,
): readonly AuditProblemKind[] {
  const countTokens = core.counterOf(run.sessionId);
  const audit = auditSummary({ text, finishReason, ...briefOf(core, run), hasMatter: () => false, countTokens });
  return audit.ok ? [] : audit.problems.map(({ kind }) => kind);
}
