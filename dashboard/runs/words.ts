/** Describes runs in words. Pure. */
import type { Outcome, RunRecord } from "../../src/memory/runs/runs.ts";
import { count, plural } from "../format.ts";
import { showInvisible } from "../reading/inert-text.ts";

/** Outcomes that need no numbers. Kinds from a later version of the agent are shown by their names. */
const PLAIN: Readonly<Record<string, string>> = {
  cancelled: "cancelled",
  noted: "the notes were brought up to date",
};

export function describeOutcome(outcome: Outcome): string {
  if (outcome.kind === "applied") {
    const how = outcome.rebased === true ? ", over layers that changed meanwhile" : "";
    const by = outcome.degraded ? ", without a model" : "";
    return `${count(outcome.tokensBefore)} → ${count(outcome.tokensAfter)} tokens${by}${how}`;
  }
  if (outcome.kind === "split") return `split: the child begins with ${count(outcome.tokensAfter)} tokens`;
  if (outcome.kind === "stale") {
    return `stale (${outcome.reason}): the messages changed meanwhile, nothing was written`;
  }
  if (outcome.kind === "nothing") return showInvisible(outcome.detail);
  if (outcome.kind === "failed") return `failed: ${showInvisible(outcome.reason)}`;
  return PLAIN[outcome.kind] ?? outcome.kind;
}

/** Returns one word for a list. */
export function stateOf({ outcome, state }: Pick<RunRecord, "outcome" | "state">): string {
  return outcome?.kind ?? state;
}

const TRIGGERS: Readonly<Record<string, string>> = {
  threshold: "the view crossed the threshold",
  messages: "the view has too many messages",
  rent: "what it cost to carry the view has reached the price of an edit",
  manual: "somebody asked for it",
  overflow: "a provider refused the prompt as too long",
  edit: "an edit uncovered what a layer had covered",
  growth: "enough was said since the notes were last brought up to date",
  compaction: "a compaction asked for the notes up to its own end",
};

export function describeTrigger(trigger: string): string {
  return TRIGGERS[trigger] ?? trigger;
}

const MOVES = {
  "tool-pair": "so that a tool call stays with its result",
  group: "so that the messages of one model response stay together",
  "user-turn": "so that the kept part starts with a user's turn",
  "min-tail": "because the newest messages are kept whatever they weigh",
  "min-span": "because a smaller span would not be worth a model call",
  "inside-message": "into a message that is larger than the budget, between two of its steps",
} as const;

/** Describes a run's plan, one sentence each. Empty before the run was planned. */
export function describePlan({ plan, partial, focus, fresh, path, whyModel }: RunRecord): string[] {
  if (plan === null) return [];
  const { head, headTokens, spanTokens, tailTokens, chunks, overlayIds, moves, rebuild, level } = plan;
  return [
    `${count(headTokens)} tokens at the start and ${count(tailTokens)} at the end are kept; ${count(spanTokens)} between them are replaced.`,
    `The summariser reads ${plural(chunks.length, "chunk")}${overlayIds.length === 0 ? "" : ` and folds in ${plural(overlayIds.length, "earlier layer")}`}. The new layer is of level ${level}.`,
    ...(head.beginningOf === null
      ? []
      : ["The user's first message is too large to be kept: its beginning and its rules stay word for word."]),
    ...(head.kept >= head.asked || head.why === "notes"
      ? []
      : [`Of the first ${plural(head.asked, "message")}, ${count(head.kept)} are kept whole.`]),
    ...(whyModel === undefined ? [] : [`A model was asked although notes are kept: ${whyModel.detail}`]),
    ...(path === "notes" ? ["The notes are the summary: no model is asked."] : []),
    ...(rebuild ? ["The summaries are made from their first drafts again."] : []),
    ...(partial ? ["The view is longer than one outline: only its oldest part is planned."] : []),
    ...(fresh ? ["The model is asked anew, also for what an earlier draft covers."] : []),
    ...(focus === null ? [] : [`It attends to: ${showInvisible(focus)}`]),
    ...moves.map((move) => `The ${move.boundary} boundary moved by ${count(move.tokens)} tokens, ${MOVES[move.why]}.`),
  ];
}
