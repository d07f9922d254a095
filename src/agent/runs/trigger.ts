/**
 * Decides whether a session's active branch should be compacted now, and writes the run's ledger row.
 *
 * Runs inside the transaction of each change that grew the view, so a message and the run that it makes due are stored together. With warm
 * caches it reads no row while the view is under the threshold, and none while a reason to wait holds. It calls nothing outside, and reads no
 * content.
 *
 * After a run, the view must grow by a span worth a model call before the next run (hysteresis). The required growth doubles after each
 * fruitless run. After a summary it is enough that a span left the kept messages which brings the view back under its threshold. Three kinds
 * of runs may be followed at once: one that covered only the oldest part of a long view, one that ended for a soft reason, and one that lost
 * a race (`stale`). The last only a few times in a row, because the changes that caused it are likely to go on.
 *
 * No soft reason (cost, patience) stops the compaction of a view over the hard line. Such a run asks no model ({@link admitCall}).
 */
import { COOLDOWNS_MS, MAX_FILE_CHARS, MAX_OUTLINE_BYTES, MAX_OUTLINE_ROWS } from "../../limits.ts";
import type { Admission } from "../../memory/runs/health.ts";
import { type LiveRun, type RunRecord, isCompaction, type EndedRun, type Outcome } from "../../memory/runs/runs.ts";
import {
  explainSpent,
  waitFor,
  type Waiting,
  weighRent,
  weighEnds,
  type Rent,
  type RentedView,
  type RentTerms,
  type When,
  wait,
  judge,
  notDue,
  type Cause,
  type Decision,
  type JudgedSize,
  isSoft,
} from "../../steps/decide/decide.ts";
import type { Needs, Core, RunRequest, Branch, RunTrigger } from "../core.ts";
import { MIN_SPAN_TOKENS, type Policy, messageShares } from "../../steps/plan/policy.ts";
import type { Outline } from "../../steps/plan/outline.ts";
import { planCut, type Plan, type PlanOptions } from "../../steps/plan/plan.ts";
import { unseenTokens, promptTokens } from "../reports/usage.ts";
import { redactionOf } from "../redaction.ts";
import type { ViewSize } from "../../memory/messages/visible.ts";
import type { History } from "../../memory/messages/history.ts";

/** Why a run that the threshold asks for should wait. The last one failed, no model answers, or the budget is spent. */
export function findObstacle(
  core: Needs<"health" | "platform" | "runs" | "settings" | "spend">,
  sessionId: string,
): Waiting | null {
  const now = core.platform.now();
  const last = core.runs.latestEnded(sessionId);
  if (last?.outcome.kind === "failed") {
    const rung = Math.min(last.fruitless ?? 0, COOLDOWNS_MS.length - 1);
    const until = last.endedAt + (COOLDOWNS_MS[rung] ?? 0);
    // Without its reason, because every client may ask why a session waits.
    if (now < until) return waitFor("cooling-down", `The last run failed; another may start ${after(until)}.`);
  }
  // A caller's own function asks none of our models.
  return core.settings.get(sessionId).ownFunction === null ? findModelObstacle(core, sessionId) : null;
}

/** Why no model should be asked for a session now, by any run. None answers, or the budget is spent. */
export function findModelObstacle(
  core: Needs<"health" | "platform" | "settings" | "spend">,
  sessionId: string,
): Waiting | null {
  const open = core.health.latestOpen(core.platform.now());
  if (open !== null) return waitFor("breaker-open", `${open.reason} It is asked again ${after(open.until)}.`);
  const spent = findOverdraft(core, sessionId);
  return spent === null ? null : waitFor("budget-spent", spent);
}

/** Whether a run may ask this model. The same run gets the same answer to a probe again. Call inside a transaction. */
export function admitCall(
  core: Needs<"health" | "platform" | "settings" | "spend">,
  run: LiveRun,
  model: string,
): Admission {
  if (run.ignoreBudget === true) return { kind: "yes" };
  const spent = findOverdraft(core, run.sessionId);
  if (spent !== null) return { kind: "no", until: null, reason: spent };
  return core.health.admitCall(model, core.platform.now(), run.id);
}

/** What to change where the budget is spent. Otherwise null. */
export function findOverdraft(core: Needs<"platform" | "settings" | "spend">, sessionId: string): string | null {
  const { when } = core.settings.get(sessionId);
  const unbounded = when === null || (when.budget.sessionTokens === null && when.budget.dayTokens === null);
  return unbounded ? null : explainSpent(when.budget, core.spend.of(sessionId, core.platform.now()));
}

function after(until: number): string {
  return `after ${new Date(until).toISOString()}`;
}

/** Tokens of a summariser's prompt beside the source. */
const PROMPT_TOKENS = 700;

/** Null for a session with a fixed threshold, or without messages. With warm caches it reads no row. */
export function rentNow(core: Pick<Core, "settings" | "memory">, sessionId: string): Rent | null {
  const { policy, when } = core.settings.get(sessionId);
  if (policy === null || when?.rule !== "rent") return null;
  const view = core.memory.session(sessionId).active.rented();
  return view === null ? null : weighRent(view, termsOf(policy, when, view));
}

function termsOf(policy: Policy, { prices }: Pick<When, "prices">, view: RentedView): RentTerms {
  const { headTokens, tailTokens } = weighEnds(view, policy);
  return {
    prices,
    headTokens,
    tailTokens: policy.tailTokenBudget,
    overhangTokens: Math.max(0, tailTokens - policy.tailTokenBudget),
    summaryTokens: policy.stackTokens,
    answerTokens: policy.summaryTokens,
    promptTokens: PROMPT_TOKENS,
  };
}

export interface DryRunOptions extends PlanOptions {
  readonly policy: Policy;
  /** The active branch by default. */
  readonly leafId?: string | undefined;
}

/** Null for a session without messages. Reads a row per visible element of the branch. Throws `unknown_leaf`. */
export function planNow(
  core: Needs<"memory" | "settings" | "usage">,
  sessionId: string,
  { policy, leafId, ...options }: DryRunOptions,
): { readonly outline: Outline; readonly plan: Plan } | null {
  const outline = outlineNow(core, sessionId, leafId);
  return outline === null ? null : { outline, plan: planCut(outline, policy, options) };
}

/** The outline of a branch as a run reads it. Null for a session without messages. Throws `unknown_leaf`. */
export function outlineNow(
  core: Needs<"memory" | "settings" | "usage">,
  sessionId: string,
  leafId: string | undefined,
): Outline | null {
  const history = core.memory.session(sessionId);
  const overheadTokens = unseenTokens(core, sessionId, history.tokens(leafId));
  return history.outline(leafId, { overheadTokens, maxRows: MAX_OUTLINE_ROWS, maxBytes: MAX_OUTLINE_BYTES });
}

type Asks = Needs<"endRun" | "health" | "platform" | "runs" | "settings" | "spend">;

/** Call inside a transaction. Throws `session_ended`, `not_configured`. */
export function askForRun(
  core: Asks & Needs<"rooms" | "trigger">,
  sessionId: string,
  request: RunRequest,
): { run: RunRecord; joined: boolean } {
  const receipt = core.trigger.startOrJoin(sessionId, request);
  if (request.trigger !== "manual" || request.ignoreBudget === true) return receipt;
  // A caller's own function asks none of our models.
  if (core.settings.get(sessionId).ownFunction !== null) return receipt;
  return endIfInVain(core, receipt, (run) => core.rooms.text?.foresee(run)?.kind === "serve");
}

/** Ends a fresh run as `nothing` where a model is needed and none may be asked. */
export function endIfInVain(
  core: Asks,
  receipt: { run: LiveRun; joined: boolean },
  needsNoModel: (run: LiveRun) => boolean,
): { run: RunRecord; joined: boolean } {
  const { run, joined } = receipt;
  const obstacle = joined ? null : findModelObstacle(core, run.sessionId);
  if (obstacle === null || needsNoModel(run)) return receipt;
  core.endRun(run, { kind: "nothing", reason: obstacle.reason, detail: `${obstacle.detail} ${obstacle.advice}` });
  return { run: core.runs.mustGet(run.id), joined };
}

/** Most doublings of the required growth after fruitless runs. Beyond that a view exceeds any window. */
const MAX_FRUITLESS_DOUBLINGS = 10;

/** Runs in a row that may lose a race with an edit before the next one waits for growth. */
const MAX_STALE_STREAK = 3;

export class Triggers implements RunTrigger {
  readonly #core: Needed;
  /** For each live run, the newest leaf that is known to continue its branch. Saves a walk per append. */
  readonly #branchLeaf: Map<string, string>;
  /** By session, a policy under which a dry run found nothing to do, and the size of the view up to which that holds. */
  readonly #nothingUpTo: Map<string, JudgedSize & { readonly policy: Policy }>;

  constructor(core: Needed) {
    this.#core = core;
    this.#branchLeaf = core.db.cached(new Map());
    this.#nothingUpTo = core.db.cached(new Map());
  }

  changed(sessionId: string, continues: string | null = null): void {
    this.startIfDue(sessionId, continues);
    this.mendIfUncovered(sessionId);
    this.#core.rooms.grew?.(sessionId);
  }

  mendIfUncovered(sessionId: string): void {
    this.#endOutdated(sessionId);
    if (this.#core.memory.session(sessionId).takeUncovered()) this.#mend(sessionId);
  }

  /** Ends the runs whose proposals an edit took back. */
  #endOutdated(sessionId: string): void {
    const { runs, memory } = this.#core;
    for (const run of runs.live(sessionId)) {
      const isOutdated = run.state === "proposed" && memory.session(sessionId).overlays.proposalOf(run.id) === null;
      if (isOutdated) this.#core.endRun(run, { kind: "stale", reason: "changed" });
    }
  }

  ended(run: LiveRun): void {
    const { sessionId } = run;
    this.#branchLeaf.delete(run.id);
    this.startIfDue(sessionId);
    if (this.#core.memory.session(sessionId).takeUncovered() || run.mendAfter === true) this.#mend(sessionId);
    this.#core.rooms.runEnded?.(run);
  }

  startIfDue(sessionId: string, continues: string | null = null): LiveRun | null {
    if (this.#core.settings.get(sessionId).policy === null) return null;
    const leafId = this.#core.memory.session(sessionId).leafId();
    if (leafId === null) return null;
    const decision = this.decide(sessionId, { leafId, continues });
    return decision.kind === "start" ? this.start(sessionId, { trigger: decision.trigger, leafId }) : null;
  }

  /** Asks in order, and reads rows for a question only once it counts. */
  decide(sessionId: string, { leafId, continues = null }: Branch): Decision {
    const { policy: stated, when } = this.#core.settings.get(sessionId);
    const history = this.#core.memory.session(sessionId);
    if (leafId === null) return wait(waitFor("empty", "The session has no messages."));
    if (history.hasEnded) return wait(waitFor("session-ended", `Session "${sessionId}" was split, and is only read.`));
    if (stated === null || when === null) return { kind: "idle" };
    const size = sizeOf(this.#core, sessionId, leafId);
    const policy = withinRequest(stated, size);
    const rent = leafId === history.leafId() ? rentNow(this.#core, sessionId) : null;
    const view = { ...size, rent };
    const causes = judge(view, policy);
    const live = causes.length === 0 ? null : this.liveOnBranch(sessionId, { leafId, continues });
    if (live !== null) return wait(atWork(live));
    let first: Waiting | null = null;
    for (const cause of causes) {
      const waiting = this.#reasonToWait(sessionId, { leafId, continues, policy, view, cause });
      if (waiting === null) return { kind: "start", trigger: cause };
      first ??= waiting;
    }
    return wait(first ?? notDue(view, policy));
  }

  /**
   * A last run without effect after which nothing grew counts at any size. Soft reasons, which concern cost and patience, count only up to the
   * hard line (decision 8). Past it a run starts, and where no model may be asked it ends in a summary without one.
   */
  #reasonToWait(sessionId: string, { leafId, continues, policy, view, cause }: DueView): Waiting | null {
    const core = this.#core;
    const quiet = this.#findQuiet(sessionId, { leafId, policy, view, cause });
    if (quiet !== null) return quiet;
    const { hardTokens } = core.settings.get(sessionId).when ?? { hardTokens: 0 };
    const obstacle = view.tokens > hardTokens ? null : findObstacle(core, sessionId);
    if (obstacle === null) return this.#findNothing(sessionId, { leafId, policy, view });
    // A summary that is at hand needs no model.
    const isServed = core.rooms.text?.wouldServe({ sessionId, leafId, policy }, { tokens: view.tokens, continues });
    return isServed === true ? null : obstacle;
  }

  #findQuiet(sessionId: string, { leafId, policy, view, cause }: Omit<DueView, "continues">): Waiting | null {
    const last = this.#core.runs.latestEnded(sessionId);
    const { when } = this.#core.settings.get(sessionId);
    const quiet = findQuiet(last, policy, { ...view, cause, hardTokens: when?.hardTokens });
    const history = this.#core.memory.session(sessionId);
    const isOver = quiet !== null && cause !== "messages" && leafId === history.leafId();
    return isOver && hasLeftTail(history, last, { policy, tokens: view.tokens }) ? null : quiet;
  }

  startOrJoin(sessionId: string, request: RunRequest): { run: LiveRun; joined: boolean } {
    this.#core.memory.session(sessionId).assertNotEnded();
    const live = this.liveOnBranch(sessionId, request);
    if (live !== null) return { run: live, joined: true };
    return { run: this.start(sessionId, request), joined: false };
  }

  start(sessionId: string, request: RunRequest): LiveRun {
    const { leafId } = request;
    const policy = policyNow(this.#core, { sessionId, policy: this.#core.settings.mustHavePolicy(sessionId), leafId });
    const last = this.#core.runs.latestEnded(sessionId);
    return this.#core.runs.start({
      id: this.#core.platform.newRunId(request.childName === undefined ? "compaction" : "split"),
      sessionId,
      trigger: request.trigger,
      focus: request.focus == null ? null : redactionOf(this.#core.settings.get(sessionId)).text(request.focus),
      manual: request.manual ?? false,
      ignoreBudget: request.ignoreBudget ?? false,
      fresh: request.fresh ?? false,
      leafId,
      tokensBefore: promptTokens(this.#core, sessionId, leafId),
      policy,
      retryOf: request.retryOf ?? null,
      only: request.only,
      ...(request.childName === undefined ? { kind: "compaction" } : { kind: "split", childName: request.childName }),
      staleStreak: lostRace(last?.outcome) ? (last?.staleStreak ?? 0) + 1 : 0,
      fruitless: fruitlessRuns(last),
    });
  }

  measureAfresh(sessionId: string): void {
    const { policy, when } = this.#core.settings.get(sessionId);
    const last = this.#core.runs.latestEnded(sessionId);
    this.#nothingUpTo.delete(sessionId);
    if (policy === null) return;
    const tokens = promptTokens(this.#core, sessionId);
    // A live run was asked for at the old size, and may end as `nothing`.
    const history = this.#core.memory.session(sessionId);
    for (const { id, leafId, tokensBefore } of this.#core.runs.live(sessionId)) {
      const left = history.has(leafId) ? promptTokens(this.#core, sessionId, leafId) : tokens;
      if (left < tokensBefore) this.#core.runs.change(id, { tokensBefore: left });
    }
    if (last === null) return;
    const isTokensLess = quietUpTo(last, policy, when?.hardTokens) > tokens + policy.minSpanTokens;
    const { messages } = history.size();
    const isFewer = (last.settledMessages ?? 0) > messages + (messageShares(policy)?.span ?? 0);
    if (isTokensLess || isFewer) {
      this.#core.runs.settle(sessionId, {
        ...(isTokensLess && { settledTokens: tokens }),
        ...(isFewer && { settledMessages: messages }),
      });
    }
  }

  /**
   * Asks for a run that covers again what an edit under an overlay uncovered. The plan finds the gap. Nothing depends on it, because
   * uncovered messages show as they are stored, and any later run covers them too. A live run goes first. Its ledger row records that a mend
   * is due, which survives a rollback and the object's death.
   */
  #mend(sessionId: string): void {
    const core = this.#core;
    const atWork = core.runs.live(sessionId).find(isCompaction);
    if (atWork !== undefined) {
      if (atWork.mendAfter !== true) core.runs.change(atWork.id, { mendAfter: true });
      return;
    }
    const history = core.memory.session(sessionId);
    const leafId = history.leafId();
    const { policy } = core.settings.get(sessionId);
    if (policy === null || leafId === null || history.hasEnded) return;
    if (planNow(core, sessionId, { policy, leafId, only: "mend" })?.plan.kind !== "span") return;
    this.startOrJoin(sessionId, { trigger: "edit", leafId, only: "mend" });
  }

  /** Its leaf is on the path of this one, or the reverse. */
  liveOnBranch(
    sessionId: string,
    { leafId, continues = null }: { readonly leafId: string; readonly continues?: string | null },
  ): LiveRun | null {
    const history = this.#core.memory.session(sessionId);
    for (const run of this.#core.runs.live(sessionId)) {
      if (!isCompaction(run)) continue;
      const known = this.#branchLeaf.get(run.id) ?? run.leafId;
      const same = known === leafId || (continues !== null && known === continues);
      // A deleted leaf does not say which branch it was on, so its run counts as one of this branch.
      if (
        !same &&
        history.has(run.leafId) &&
        !history.isOnPath(run.leafId, leafId) &&
        !history.isOnPath(leafId, run.leafId)
      )
        continue;
      this.#branchLeaf.set(run.id, leafId);
      return run;
    }
    return null;
  }

  /**
   * After a run that found nothing to do, plans again here before another run starts. A policy that can never shrink a view costs one run,
   * and then one plan for each span of growth.
   */
  #findNothing(
    sessionId: string,
    { policy, leafId, view }: Pick<DueView, "leafId" | "policy" | "view">,
  ): Waiting | null {
    const outcome = this.#core.runs.latestEnded(sessionId)?.outcome;
    if (outcome?.kind !== "nothing" || isSoft(outcome.reason) || outcome.reason === "declined") return null;
    const { policy: stated } = this.#core.settings.get(sessionId);
    const known = this.#nothingUpTo.get(sessionId);
    if (stated === null) return null;
    if (known?.policy === stated && view.tokens <= known.tokens && view.messages <= known.messages)
      return waitFor(outcome.reason, outcome.detail);
    const plan = planNow(this.#core, sessionId, { policy, leafId, due: view.rent?.isDue === true })?.plan;
    if (plan?.kind !== "nothing") return null;
    this.#nothingUpTo.set(sessionId, {
      policy: stated,
      tokens: view.tokens + policy.minSpanTokens,
      messages: view.messages + (messageShares(policy)?.span ?? Number.POSITIVE_INFINITY),
    });
    return waitFor(plan.reason, plan.detail);
  }
}

/** What a trigger needs of its agent. */
type Needed = Needs<
  "db" | "endRun" | "health" | "hosted" | "memory" | "platform" | "rooms" | "runs" | "settings" | "spend" | "usage"
>;

/** Of the bytes that one request takes, the share up to which a view that has more is compacted. */
const ROOM_IN_REQUEST = 3 / 4;
/** A view of many bytes and fewer tokens than this is mostly data for the page, which no model is sent, and a summary of it would not be smaller. */
const LEAST_TOKENS_OF_FILES = 4_000;

/**
 * The policy for a view with more bytes than one request takes: a smaller threshold, to which head and tail shrink with it. A picture of
 * megabytes costs few tokens, so the stated threshold would let a conversation of pictures lose its older ones (fit/within-bytes.ts).
 */
function withinRequest(policy: Policy, { tokens, bytes }: ViewSize): Policy {
  const thresholdTokens = Math.floor((tokens * ROOM_IN_REQUEST * MAX_FILE_CHARS) / bytes);
  const isOfFiles = bytes > MAX_FILE_CHARS && thresholdTokens >= LEAST_TOKENS_OF_FILES;
  if (!isOfFiles || thresholdTokens >= policy.thresholdTokens) return policy;
  const shrunk = (value: number): number => Math.floor((value * thresholdTokens) / policy.thresholdTokens);
  return {
    ...policy,
    thresholdTokens,
    headTokenBudget: shrunk(policy.headTokenBudget),
    firstMessageTokens: shrunk(policy.firstMessageTokens),
    tailTokenBudget: shrunk(policy.tailTokenBudget),
    minSpanTokens: Math.min(policy.minSpanTokens, Math.max(MIN_SPAN_TOKENS, shrunk(policy.minSpanTokens))),
  };
}

/** The policy by which a run of this branch is planned now. */
export function policyNow(
  core: Needs<"memory" | "settings" | "usage">,
  {
    sessionId,
    policy,
    leafId,
  }: { readonly sessionId: string; readonly policy: Policy; readonly leafId?: string | undefined },
): Policy {
  return withinRequest(policy, sizeOf(core, sessionId, leafId));
}

function sizeOf(core: Needs<"memory" | "settings" | "usage">, sessionId: string, leafId?: string): ViewSize {
  return { ...core.memory.session(sessionId).size(leafId), tokens: promptTokens(core, sessionId, leafId) };
}

/** A view for which a run is due, and by which cause. */
interface DueView {
  readonly leafId: string;
  readonly continues: string | null;
  readonly policy: Policy;
  readonly view: JudgedSize;
  readonly cause: Cause;
}

function atWork({ id, state }: LiveRun): Waiting {
  return state === "proposed"
    ? waitFor("approval-pending", `The summary of run "${id}" waits for a person.`)
    : waitFor("run-in-flight", `Run "${id}" is at work on this branch.`);
}

/** Why a finished run keeps the trigger quiet at this size of the view. Null when the view has outgrown it. */
function findQuiet(
  last: EndedRun | null,
  policy: Policy,
  { tokens, messages, cause, hardTokens }: JudgedSize & { cause: Cause; hardTokens: number | undefined },
): Waiting | null {
  if (last === null) return null;
  const [upTo, size, unit] =
    cause === "messages"
      ? [quietUpToMessages(last, policy), messages, "messages"]
      : [quietUpTo(last, policy, hardTokens), tokens, "tokens"];
  if (size > upTo) return null;
  return waitFor(
    whyQuiet(last.outcome),
    `The last run ended as ${last.outcome.kind}; another is asked for from ${upTo} ${unit} on, and the view is ${size}.`,
  );
}

/**
 * Whether so much left the tail since a summary that another run brings the view back under its threshold, although it hardly grew. A
 * summary keeps the newest messages whatever their size. Each such run hides the least span, so runs stay as few as by growth. A caller's
 * function may have left much in view, so after one only growth counts.
 */
function hasLeftTail(
  { active }: History,
  last: EndedRun | null,
  { policy, tokens }: { readonly policy: Policy; readonly tokens: number },
): boolean {
  if (last === null || !("tokensAfter" in last.outcome) || last.settledTokens !== null || last.path === "function")
    return false;
  const view = active.rented();
  const hidden = view === null ? 0 : weighEnds(view, policy).hidden;
  return (
    tokens > last.outcome.tokensAfter && hidden >= policy.minSpanTokens && tokens - hidden <= policy.thresholdTokens
  );
}

/** The view's size up to which a finished run keeps the trigger quiet. */
function quietUpTo(last: EndedRun, policy: Policy, hardTokens: number | undefined): number {
  if (last.settledTokens !== null) return last.settledTokens + policy.minSpanTokens;
  const { outcome } = last;
  // The base is the size after a summary, or otherwise the size that the run looked at, so appends during the run count as growth.
  const settled = outcome.kind === "applied" ? outcome.tokensAfter : last.tokensBefore;
  const growth = policy.minSpanTokens * requiredSpans(last);
  return mayFollow(last) ? 0 : settled + Math.max(growth, growthOver(last, policy, hardTokens));
}

/**
 * The growth after a summary that left the view over its threshold, as it does where instructions and tools alone are over it. As much as
 * after another summary, so that runs are as few. A view under the hard line may grow up to it.
 */
function growthOver({ outcome, path, only }: EndedRun, { thresholdTokens }: Policy, hardTokens = 0): number {
  if (outcome.kind !== "applied" || path === "function" || only !== undefined) return 0;
  const { tokensAfter } = outcome;
  if (tokensAfter <= thresholdTokens) return 0;
  const half = Math.floor(thresholdTokens / 2);
  return tokensAfter < hardTokens ? Math.min(half, hardTokens - tokensAfter) : half;
}

/** Like {@link quietUpTo}, in messages. So a run that cannot lower their number is not followed by one at each append. */
function quietUpToMessages(last: EndedRun, policy: Policy): number {
  const { settledMessages } = last;
  const growth = messageShares(policy)?.span ?? 0;
  // The run is from a time when the session had no bound on messages.
  if (settledMessages === undefined) return 0;
  if (last.settledTokens !== null) return settledMessages + growth;
  return mayFollow(last) ? 0 : settledMessages + growth * requiredSpans(last);
}

/** Whether another run may follow this one at once. */
function mayFollow({ outcome, partial, staleStreak }: EndedRun): boolean {
  if (outcome.kind === "nothing" && isSoft(outcome.reason)) return true;
  const lostRaces = lostRace(outcome) ? staleStreak + 1 : 0;
  // The plan covered as much as fitted into an outline. The rest is backlog and not growth. A run that laid nothing would only be repeated.
  return (partial && outcome.kind === "applied") || (lostRaces > 0 && lostRaces <= MAX_STALE_STREAK);
}

/** Spans by which a view must grow after a run. More after fruitless ones. */
function requiredSpans(last: EndedRun): number {
  return 2 ** Math.min(Math.max(0, fruitlessRuns(last) - 1), MAX_FRUITLESS_DOUBLINGS);
}

/** Keeps the trigger quiet at the present size of the view, which a person chose. Call inside a transaction. */
export function settleAtPresentSize(core: Needs<"memory" | "runs" | "settings" | "usage">, sessionId: string): void {
  const { tokens, messages } = sizeOf(core, sessionId);
  const counts = core.settings.get(sessionId).policy?.maxMessages !== undefined;
  core.runs.settle(sessionId, { settledTokens: tokens, ...(counts && { settledMessages: messages }) });
}

function whyQuiet(outcome: Outcome): Waiting["reason"] {
  if (outcome.kind === "nothing") return outcome.reason === "declined" ? "too-small" : outcome.reason;
  if (outcome.kind === "stale" && outcome.reason === "larger") return "would-not-shrink";
  return outcome.kind === "failed" ? "cooling-down" : "too-small";
}

/** Consecutive runs up to this one that were fruitless for a reason that another attempt does not cure. */
function fruitlessRuns(last: EndedRun | null): number {
  if (last === null) return 0;
  const { outcome } = last;
  const fruitless =
    outcome.kind === "failed" || (outcome.kind === "nothing" && !isSoft(outcome.reason)) || isLarger(outcome);
  return fruitless ? (last.fruitless ?? 0) + 1 : 0;
}

function lostRace(outcome: Outcome | undefined): boolean {
  return outcome?.kind === "stale" && !isLarger(outcome);
}

/** The fence says `larger` when the summary was no smaller than its source. No race caused that. */
function isLarger(outcome: Outcome): boolean {
  return outcome.kind === "stale" && outcome.reason === "larger";
}
