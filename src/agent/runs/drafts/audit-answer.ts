/**
 * Audits a model's answer, with its size, its problems and the facts that it lost.
 *
 * Runs in the agent and not in the workflow that asked, because a session's counter is a function of the agent's code. Everything with a
 * budget uses that one counter.
 */
import { assert } from "../../../errors.ts";
import { MIN_SURVIVAL } from "../../../limits.ts";
import { DEFAULT_NAMES_TOKENS } from "../../../limits.ts";
import type { Draft } from "../../../memory/drafts.ts";
import type { RunRecord } from "../../../memory/runs/runs.ts";
import { auditSummary } from "../../../steps/draft/audit.ts";
import { keepFacts } from "../../../facts/keep.ts";
import type { Survival } from "../../../facts/survival.ts";
import type { Brief, DraftInput } from "../../../workflows/port.ts";
import { briefOf } from "./brief.ts";
import type { Needs } from "../../core.ts";

export type Audited = Pick<Draft, "tokens" | "problems" | "score" | "lost">;

/** `whole` is the brief of the whole span, by default the session's own. */
export function auditAnswer(
  core: Needs<"memory" | "rooms" | "settings">,
  run: RunRecord,
  answer: DraftInput,
  whole?: Brief,
): Audited {
  const { text, finishReason, answers, facts } = answer;
  const countTokens = core.settings.counterOf(run.sessionId);
  const tokens = countTokens(text);
  if (answers.kind === "own") {
    const { summaries } = core.rooms;
    assert(summaries !== undefined && run.outcome === null, "Only a room's own step of a live run asks for its audit.");
    const { problems, survival } = summaries.audit(run, answer);
    return { tokens, problems, ...lossOf(survival) };
  }
  const { spanTokens, hasMatter } = answers;
  const brief = { ...(whole ?? briefOf(core, run)), spanTokens };
  const audit = auditSummary({ text, finishReason, ...brief, hasMatter: () => hasMatter, countTokens });
  const { pinnedTokens, stackTokens } = run.policy;
  // The commit chooses the names that fit, and no draft is sent back for them.
  const namesTokens = Math.max(stackTokens, DEFAULT_NAMES_TOKENS);
  const { survival } = keepFacts(text, facts, { pinnedTokens, namesTokens, countTokens });
  // An extractive summary is accepted, because nothing below it could replace it. The commit still refuses one that would not
  // shrink the view.
  if (answer.cost === null) return { tokens, problems: [], score: survival.score, lost: [] };
  return { tokens, problems: audit.ok ? [] : audit.problems, ...lossOf(survival) };
}

function lossOf({ score, missing }: Survival): Pick<Audited, "score" | "lost"> {
  return { score, lost: score < MIN_SURVIVAL ? missing.map(({ value }) => value) : [] };
}
