/** Forecasts a run without starting it, from the run's own planning and the session's settings, and explains it in words. */
import type { Needs } from "../agent/core.ts";
import type { Foreseen, NotesForecast } from "../agent/hooks.ts";
import { readBegun, readCarried } from "../agent/runs/read-beside.ts";
import { quoteOpening } from "../facts/beside.ts";
import { planNow, policyNow, rentNow } from "../agent/runs/trigger.ts";
import { besides, opened } from "../facts/render.ts";
import { HOOK_TOKENS, MAX_REFERENCED_RATIO, SUMMARY_FRAME_TOKENS, TOLERATED_SUMMARY_TOKENS } from "../limits.ts";
import { waitFor, type Rent, type Waiting } from "../steps/decide/decide.ts";
import type { BoundaryMove, KeptHead } from "../steps/plan/cut.ts";
import type { Outline } from "../steps/plan/outline.ts";
import type { Plan, SpanPlan } from "../steps/plan/plan.ts";
import type { Policy } from "../steps/plan/policy.ts";

/** The compaction that a plan is asked for. */
export interface PlanQuestion {
  /** The active branch by default. */
  readonly leafId?: string | undefined;
  /** Plans as if asked for by hand. */
  readonly manual?: boolean;
  /** Plans the summaries anew from their first drafts, as `compact({ rebuild: true })` makes them. */
  readonly rebuild?: boolean;
}

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

/** Null for a session without messages. Writes nothing. Throws `unknown_leaf`. */
export async function reportPlan(
  core: Needs<"hosted" | "memory" | "rooms" | "settings" | "trigger" | "usage">,
  sessionId: string,
  { policy: stated, leafId, manual = false, rebuild = false }: PlanQuestion & { readonly policy: Policy },
): Promise<PlanReport | null> {
  const policy = policyNow(core, { sessionId, policy: stated, leafId });
  const carried = await readCarried(core, sessionId);
  const asked = { manual: manual || rebuild, only: rebuild ? ("rebuild" as const) : undefined };
  const isActive = leafId === undefined || leafId === core.memory.session(sessionId).leafId();
  const rent = isActive ? rentNow(core, sessionId) : null;
  const found = planNow(core, sessionId, { policy, leafId, due: rent?.isDue === true, ...asked });
  if (found === null) return null;
  const { outline, plan } = found;
  const branch = { sessionId, leafId: outline.leafId };
  const decision = asked.manual ? null : core.trigger.decide(sessionId, branch);
  const waiting = decision?.kind === "wait" ? decision.waiting : null;
  const { ownFunction } = core.settings.get(sessionId);
  const foreseen =
    core.rooms.text?.foresee({ ...branch, ...asked, policy, focus: null, fresh: false }, carried) ?? null;
  const situation = { outline, policy, rent, waiting, foreseen };
  if (foreseen?.kind === "serve") return explainServed(foreseen, situation, afterCompactionTokens(core, sessionId));
  if (ownFunction !== null && !isBefore(plan)) return explainFunction(situation);
  if (plan.kind === "nothing") return explainNothing(plan, situation);
  return explainSummary(plan, situation, countBeside(core, { sessionId, policy }, { plan, carried }));
}

/** Whether neither a summariser nor a function would be asked, of an empty or a small view. */
function isBefore(plan: Plan): boolean {
  return plan.kind === "nothing" && (plan.reason === "empty" || plan.reason === "under-threshold");
}

/** Most tokens around a summary, which are the opening, carried blocks in their present form, and the text of `onAfterCompaction`. */
function countBeside(
  core: Needs<"memory" | "settings">,
  run: { readonly sessionId: string; readonly policy: Policy },
  { plan, carried }: { readonly plan: SpanPlan; readonly carried: Awaited<ReturnType<typeof readCarried>> },
): number {
  const { countTokens } = core.settings.get(run.sessionId);
  const opening = quoteOpening(readBegun(core, run.sessionId, plan), run.policy.openingTokens, countTokens);
  const around = opened({ opening: opening?.text ?? null });
  return countTokens(around) + countTokens(besides({ carried })) + afterCompactionTokens(core, run.sessionId);
}

function afterCompactionTokens(core: Needs<"settings">, sessionId: string): number {
  return core.settings.get(sessionId).afterCompaction === null ? 0 : HOOK_TOKENS;
}

/** What a plan is made in. */
interface Situation {
  readonly outline: Outline;
  readonly policy: Policy;
  readonly rent: Rent | null;
  /** The trigger's reason. The plan's own reason comes after it. */
  readonly waiting: Waiting | null;
  readonly foreseen: Foreseen | null;
}

type Explained = Pick<PlanReport, "plan" | "lines"> & Partial<PlanReport>;

/** A report of the view, with what was found for it. Without more nothing is read, written or saved. */
function reportOf({ outline, policy, rent, waiting, foreseen }: Situation, { lines, ...found }: Explained): PlanReport {
  const { thresholdTokens, maxMessages } = policy;
  const most = maxMessages === undefined ? "" : `, and at most ${maxMessages} messages and summaries`;
  return {
    notes: notesIn(foreseen),
    policy,
    viewTokens: outline.tokens,
    expectedTokens: outline.tokens,
    savedTokensPerCall: 0,
    modelTokens: 0,
    cost: FREE,
    rent,
    waiting,
    ...found,
    lines: [
      `The view is ${outline.tokens} tokens in ${outline.rows.length} elements; the threshold is ${thresholdTokens}${most}.`,
      ...lines,
      ...(rent === null ? [] : [describeRent(rent)]),
    ],
  };
}

function notesIn(foreseen: Foreseen | null): NotesForecast | null {
  if (foreseen?.kind !== "serve") return foreseen;
  const { plan: _, ...notes } = foreseen;
  return notes;
}

function describeRent({ paid, price, freedTokens, isDue }: Rent): string {
  if (freedTokens === 0) return "A summary would save nothing now.";
  const due = isDue ? "it is due" : "it waits";
  return `A summary would save ${freedTokens} tokens a call for the price of ${Math.round(price)} tokens of input; to carry them has cost ${Math.round(paid)} so far: ${due}.`;
}

function explainNothing(plan: Extract<Plan, { kind: "nothing" }>, situation: Situation): PlanReport {
  const why = waitFor(plan.reason, plan.detail);
  const lines = [`Nothing to do (${why.reason}): ${why.detail} ${why.advice}`];
  return reportOf(situation, { plan, waiting: situation.waiting ?? why, lines });
}

/** For a session whose own function compacts. Only its answer tells the span, and whether there is one. */
function explainFunction(situation: Situation): PlanReport {
  const detail = "A function of the session's own (onCompaction) is called, and names what it replaces.";
  const plan = { kind: "nothing", reason: "own-function", detail } as const;
  return reportOf(situation, { plan, lines: [detail, ...whyAsked(situation.foreseen)] });
}

/** The report of a run that a room's text would serve. */
function explainServed(
  { plan, version, expectedTokens }: Extract<Foreseen, { kind: "serve" }>,
  situation: Situation,
  hookTokens: number,
): PlanReport {
  const tokens = expectedTokens + hookTokens - situation.outline.tokens + plan.spanTokens;
  const lines = [`Version ${version} of the notes is the summary: no model is asked.`];
  return explainSpan(plan, situation, { shown: { budget: tokens, most: tokens }, lines });
}

/** Why a model is asked although notes are kept. */
function whyAsked(foreseen: Foreseen | null): string[] {
  if (foreseen?.kind !== "declined") return [];
  return [`A model is asked although notes are kept (${foreseen.reason}): ${foreseen.detail}`];
}

function explainSummary(plan: SpanPlan, situation: Situation, besideTokens: number): PlanReport {
  const { policy, foreseen } = situation;
  const modelTokens = plan.chunks.reduce((sum, chunk) => sum + chunk.tokens, 0);
  const cost = costOf(plan, modelTokens, Math.min(policy.summaryTokens, plan.spanTokens));
  const lines = [
    `The summariser reads ${modelTokens} tokens in ${plan.chunks.length} ${plan.chunks.length === 1 ? "chunk" : "chunks"}${earlierRead(plan)}.`,
    `That takes ${cost.calls} ${cost.calls === 1 ? "call" : "calls"} with at most ${cost.inputTokens} tokens in and ${cost.outputTokens} out.`,
    ...whyAsked(foreseen),
  ];
  return explainSpan(plan, situation, { shown: shownTokens(plan, policy, besideTokens), lines, modelTokens, cost });
}

interface SpanForecast extends Partial<Pick<PlanReport, "modelTokens" | "cost">> {
  /** Tokens in the span's place, by the budgets and at most. */
  readonly shown: { readonly budget: number; readonly most: number };
  /** Where the summary comes from. */
  readonly lines: readonly string[];
}

function explainSpan(plan: SpanPlan, situation: Situation, { shown, lines, ...costs }: SpanForecast): PlanReport {
  const { outline, policy, waiting } = situation;
  const savedTokens = plan.spanTokens - shown.budget;
  const expectedTokens = outline.tokens - plan.spanTokens + shown.most;
  const sentences = [
    `${plan.headTokens} tokens at the start and ${plan.tailTokens} at the end are kept; ${plan.spanTokens} between them are replaced.`,
    ...describeHead(plan, policy),
    ...lines,
    `The view would be at most ${expectedTokens} tokens afterwards.`,
    `Every later call reads some ${savedTokens} tokens less.`,
    ...plan.moves.map((move) => `The ${move.boundary} boundary moved by ${move.tokens} tokens: ${WHY[move.why]}.`),
    ...(waiting === null
      ? []
      : [`It does not start by itself now (${waiting.reason}): ${waiting.detail} ${waiting.advice}`]),
  ];
  return reportOf(situation, { plan, ...costs, expectedTokens, savedTokensPerCall: savedTokens, lines: sentences });
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
  return [
    ...(why === null ? [] : [`Of the first ${asked} messages ${kept} are kept whole: ${WHY_FEWER[why](policy)}.`]),
    ...(inWords.length === 0 ? [] : [`The words of ${inWords.length} of them stand beside the summary.`]),
    ...(beginningOf === null
      ? []
      : [
          `The first message of the user ("${beginningOf}") is larger: its beginning stays beside the summary, word for word.`,
        ]),
  ];
}

/** A summary is largest with references on every line. A commit that would make the view larger is refused (V3). */
function shownTokens({ spanTokens }: SpanPlan, policy: Policy, besideTokens: number): SpanForecast["shown"] {
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

/** A call for each chunk, and one that folds them where there are several. Each answer counts at its largest. */
function costOf({ chunks, overlayIds }: SpanPlan, sourceTokens: number, summaryTokens: number): SummariserCost {
  const drafts = chunks.length;
  // The only chunk carries on the earlier summary in the same call.
  const folds = drafts > 1 ? 1 : 0;
  const folded = (folds * drafts + overlayIds.length) * summaryTokens;
  return {
    calls: drafts + folds,
    inputTokens: sourceTokens + folded,
    outputTokens: (drafts + folds) * summaryTokens,
  };
}
