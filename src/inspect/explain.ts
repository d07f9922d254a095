/** Explains a plan in words, with its cut, the reason for each boundary, its cost and its saving. */
import { MAX_REFERENCED_RATIO, SUMMARY_FRAME_TOKENS, TOLERATED_SUMMARY_TOKENS } from "../limits.ts";
import { type Rent, waitFor, type Waiting } from "../steps/decide/decide.ts";
import type { Outline } from "../steps/plan/outline.ts";
import type { KeptHead, BoundaryMove } from "../steps/plan/cut.ts";
import type { Plan, SpanPlan } from "../steps/plan/plan.ts";
import type { Policy } from "../steps/plan/policy.ts";
import type { Foreseen, NotesForecast } from "../agent/core.ts";

/** What a compaction would do now, and what it would cost and save. Nothing is written for it. */
export interface PlanReport {
  /** Where the notes serve, the span that they would replace, whose chunks no model reads. With `own-function` nothing is planned. */
  readonly plan: Plan | { readonly kind: "nothing"; readonly reason: "own-function"; readonly detail: string };
  /** Whether the session's notes would be the summary, and if not, why. Null where none are kept. */
  readonly notes: NotesForecast | null;
  /** The resolved limits that the plan keeps. */
  readonly policy: Policy;
  /** Tokens of the view now, overhead included. */
  readonly viewTokens: number;
  /**
   * Largest possible view after a run, with used-up budgets and everything that stands beside a summary. Where the notes serve, it counts
   * the notes as they are. `viewTokens` when there is nothing to do.
   */
  readonly expectedTokens: number;
  /** Approximate tokens by which each later call of the conversation's own model is shorter. */
  readonly savedTokensPerCall: number;
  /** Source tokens that the summariser would read. */
  readonly modelTokens: number;
  /** Tokens that the summariser would read and write in all, folds included, if nothing is paid for already. */
  readonly cost: SummariserCost;
  /**
   * With `auto`, the cost so far of carrying content that could have gone, the cost of a summary, and its saving. Null for another branch
   * and for a fixed threshold.
   */
  readonly rent: Rent | null;
  /** Why no run starts by itself now, or why a requested run would do nothing. Null without such a reason. */
  readonly waiting: Waiting | null;
  /** One sentence each, in reading order. */
  readonly lines: readonly string[];
}

/** An estimate of what a run asks of its model. */
export interface SummariserCost {
  /** Calls of the model. */
  readonly calls: number;
  /** Tokens that it reads. */
  readonly inputTokens: number;
  /** Tokens that it writes, at most. */
  readonly outputTokens: number;
}

const WHY = {
  "tool-pair": "a tool call and its result stay together",
  group: "messages of one model response stay together",
  "user-turn": "the kept part starts with a user's turn",
  "min-tail": "the newest messages are kept whatever they weigh",
  "min-span": "a smaller span would not be worth a model call",
  "inside-message": "one message is larger than the budget, so the cut falls between its steps",
} as const satisfies Record<BoundaryMove["why"], string>;

const FREE: SummariserCost = { calls: 0, inputTokens: 0, outputTokens: 0 };

/** A report without the rent, which does not depend on the plan. */
type Planned = Omit<PlanReport, "rent">;

/** Adds the rent of the view to a report. */
export function explainRent(report: Planned, rent: Rent | null): PlanReport {
  return { ...report, rent, lines: rent === null ? report.lines : [...report.lines, describeRent(rent)] };
}

function describeRent({ paid, price, freedTokens, isDue }: Rent): string {
  if (freedTokens === 0) return "A summary would save nothing now.";
  const due = isDue ? "it is due" : "it waits";
  return `A summary would save ${freedTokens} tokens a call for the price of ${Math.round(price)} tokens of input; to carry them has cost ${Math.round(paid)} so far: ${due}.`;
}

interface Circumstances {
  readonly policy: Policy;
  /** The trigger's reason. The plan's own reason comes after it. */
  readonly waiting: Waiting | null;
  /** Most tokens that stand behind the summary. */
  readonly besideTokens: number;
  readonly foreseen: Foreseen | null;
}

/** The sentence of every report about its view. */
function describeView(outline: Outline, { thresholdTokens, maxMessages }: Policy): string {
  const most = maxMessages === undefined ? "" : `, and at most ${maxMessages} messages and summaries`;
  return `The view is ${outline.tokens} tokens in ${outline.rows.length} elements; the threshold is ${thresholdTokens}${most}.`;
}

export function explainPlan(outline: Outline, plan: Plan, circumstances: Circumstances): Planned {
  const { policy, waiting, foreseen } = circumstances;
  const notes = foreseen?.notes ?? null;
  const viewTokens = outline.tokens;
  if (plan.kind === "nothing") {
    const why = waitFor(plan.reason, plan.detail);
    const lines = [describeView(outline, policy), `Nothing to do (${why.reason}): ${why.detail} ${why.advice}`];
    const unchanged = { viewTokens, expectedTokens: viewTokens, savedTokensPerCall: 0 };
    const free = { modelTokens: 0, cost: FREE };
    return { plan, notes, policy, ...unchanged, ...free, waiting: waiting ?? why, lines };
  }
  const summary = Math.min(policy.summaryTokens, plan.spanTokens);
  const shown = shownTokens(plan, circumstances);
  const cost = costOf(plan, summary);
  const summariser = [
    `The summariser reads ${sourceTokens(plan)} tokens in ${plan.chunks.length} ${plan.chunks.length === 1 ? "chunk" : "chunks"}${earlierRead(plan)}.`,
    `That takes ${cost.calls} ${cost.calls === 1 ? "call" : "calls"} with at most ${cost.inputTokens} tokens in and ${cost.outputTokens} out.`,
    ...(foreseen?.lines ?? []),
  ];
  return reportSpan(outline, plan, {
    ...circumstances,
    notes,
    shown,
    cost,
    modelTokens: sourceTokens(plan),
    lines: summariser,
  });
}

/** For a session whose own function compacts. Only its answer tells the span, and whether there is one. */
export function explainFunction(
  outline: Outline,
  { policy, waiting, foreseen }: Pick<Circumstances, "policy" | "waiting" | "foreseen">,
): Planned {
  const detail = "A function of the session's own (onCompaction) is called, and names what it replaces.";
  const lines = [describeView(outline, policy), detail, ...(foreseen?.lines ?? [])];
  return {
    plan: { kind: "nothing", reason: "own-function", detail },
    notes: foreseen?.notes ?? null,
    policy,
    viewTokens: outline.tokens,
    expectedTokens: outline.tokens,
    savedTokensPerCall: 0,
    modelTokens: 0,
    cost: FREE,
    waiting,
    lines,
  };
}

/** The report of a run that a room's text would serve. */
export function explainServed(
  outline: Outline,
  { plan, notes, lines }: Foreseen & { readonly plan: SpanPlan },
  circumstances: Omit<Circumstances, "foreseen" | "besideTokens">,
): Planned {
  const shownTokens = notes.expectedTokens - outline.tokens + plan.spanTokens;
  return reportSpan(outline, plan, {
    ...circumstances,
    notes,
    shown: { budget: shownTokens, most: shownTokens },
    cost: FREE,
    modelTokens: 0,
    lines,
  });
}

interface SpanReport extends Omit<Circumstances, "besideTokens" | "foreseen"> {
  readonly notes: NotesForecast | null;
  readonly shown: { readonly budget: number; readonly most: number };
  readonly cost: SummariserCost;
  readonly modelTokens: number;
  /** Where the summary comes from. */
  readonly lines: readonly string[];
}

function reportSpan(outline: Outline, plan: SpanPlan, report: SpanReport): Planned {
  const { policy, waiting, notes, shown, cost, modelTokens } = report;
  const viewTokens = outline.tokens;
  const savedTokens = plan.spanTokens - shown.budget;
  const expectedTokens = viewTokens - plan.spanTokens + shown.most;
  const lines = [
    describeView(outline, policy),
    `${plan.headTokens} tokens at the start and ${plan.tailTokens} at the end are kept; ${plan.spanTokens} between them are replaced.`,
    ...describeHead(plan, policy),
    ...report.lines,
    `The view would be at most ${expectedTokens} tokens afterwards.`,
    `Every later call reads some ${savedTokens} tokens less.`,
    ...plan.moves.map((move) => `The ${move.boundary} boundary moved by ${move.tokens} tokens: ${WHY[move.why]}.`),
    ...(waiting === null
      ? []
      : [`It does not start by itself now (${waiting.reason}): ${waiting.detail} ${waiting.advice}`]),
  ];
  return {
    plan,
    notes,
    policy,
    viewTokens,
    expectedTokens,
    savedTokensPerCall: savedTokens,
    modelTokens,
    cost,
    waiting,
    lines,
  };
}

const WHY_FEWER = {
  budget: ({ headTokenBudget }) => `together they take more than ${headTokenBudget} tokens`,
  "hard-line": ({ headTokenBudget }) =>
    `with them every view would be past the hard line (${headTokenBudget} tokens are left for them)`,
  "earlier-summary": () => "an earlier summary comes first",
  function: () => "the session's own function named the range",
  notes: () => "the text at hand tells of the beginning as well",
} as const satisfies Record<NonNullable<KeptHead["why"]>, (policy: Policy) => string>;

/** The kept part of the start, where it differs from the requested one. */
function describeHead({ head }: SpanPlan, policy: Policy): string[] {
  const { asked, kept, why, inWords, beginningOf } = head;
  const fewer =
    why === null ? [] : [`Of the first ${asked} messages ${kept} are kept whole: ${WHY_FEWER[why](policy)}.`];
  const words = inWords.length === 0 ? [] : [`The words of ${inWords.length} of them stand beside the summary.`];
  if (beginningOf === null) return [...fewer, ...words];
  return [
    ...fewer,
    ...words,
    `The first message of the user ("${beginningOf}") is larger: its beginning stays beside the summary, word for word.`,
  ];
}

/**
 * Tokens in the span's place, by the budgets and at most. A summary is largest with references on every line. A commit that would make the
 * view larger is refused (V3).
 */
function shownTokens(
  { spanTokens }: SpanPlan,
  { policy, besideTokens }: Pick<Circumstances, "policy" | "besideTokens">,
): { budget: number; most: number } {
  const { summaryTokens, pinnedTokens, loadedTokens } = policy;
  const around = pinnedTokens + SUMMARY_FRAME_TOKENS + besideTokens;
  const written = Math.max(summaryTokens, TOLERATED_SUMMARY_TOKENS) * MAX_REFERENCED_RATIO;
  return {
    budget: Math.min(spanTokens, summaryTokens + around),
    // A summary that is as large as its span is refused.
    most: Math.min(spanTokens - 1, written + around + loadedTokens),
  };
}

/** The fate of the summaries in the span. */
function earlierRead({ overlayIds, rebuild }: SpanPlan): string {
  if (overlayIds.length === 0) return "";
  return rebuild ? ", and the messages under the earlier summaries" : ", and updates the earlier summary";
}

function sourceTokens({ chunks }: SpanPlan): number {
  return chunks.reduce((sum, chunk) => sum + chunk.tokens, 0);
}

/** A call for each chunk, and one that folds them where there are several. Each answer counts at its largest. */
function costOf(plan: SpanPlan, summaryTokens: number): SummariserCost {
  const drafts = plan.chunks.length;
  // The only chunk carries on the earlier summary in the same call.
  const folds = drafts > 1 ? 1 : 0;
  const folded = (folds * drafts + plan.overlayIds.length) * summaryTokens;
  return {
    calls: drafts + folds,
    inputTokens: sourceTokens(plan) + folded,
    outputTokens: (drafts + folds) * summaryTokens,
  };
}
