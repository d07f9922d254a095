/**
 * Audits a model's answer, with its size and its problems.
 *
 * Runs in the agent and not in the workflow that asked, because a session's counter is a function of the agent's code. Everything with a
 * budget uses that one counter.
 */
import { assert } from "../../../errors.ts";
import type { Draft } from "../../../memory/drafts.ts";
import type { RunRecord } from "../../../memory/runs/runs.ts";
import { auditSummary } from "../../../steps/draft/audit.ts";
import type { Brief, DraftInput } from "../../../workflows/port.ts";
import { briefOf } from "./brief.ts";
import type { Needs } from "../../core.ts";

export type Audited = Pick<Draft, "tokens" | "problems">;

/** `whole` is the brief of the whole span, by default the session's own. */
export function auditAnswer(
  core: Needs<"memory" | "rooms" | "settings">,
  run: RunRecord,
  answer: DraftInput,
  whole?: Brief,
): Audited {
  const { text, finishReason, answers, again } = answer;
  const countTokens = core.settings.counterOf(run.sessionId);
  const tokens = countTokens(text);
  if (answers.kind === "own") {
    const { summaries } = core.rooms;
    assert(summaries !== undefined && run.outcome === null, "Only a room's own step of a live run asks for its audit.");
    return { tokens, problems: summaries.audit(run, answer) };
  }
  // A summary without a model is accepted, because nothing below it could replace it. The commit still refuses one that would not
  // shrink the view.
  if (answer.cost === null) return { tokens, problems: [] };
  const { spanTokens, hasMatter } = answers;
  const brief = { ...(whole ?? briefOf(core, run)), spanTokens };
  // It is repaired once. What is left then is marked.
  const unfounded = again ? [] : answers.unfounded;
  const audit = auditSummary({
    ...brief,
    text,
    finishReason,
    unfounded,
    byModel: true,
    hasMatter: () => hasMatter,
    countTokens,
  });
  return { tokens, problems: audit.ok ? [] : audit.problems };
}
