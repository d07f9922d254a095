/**
 * The room of own functions: a session's own code (`onCompaction`) makes its summaries, in place of the durable workflow.
 *
 * The agent calls it off the append's path, with the ledger, the limits, the audit and the commit of every other run. The function itself is
 * not durable. When its object dies, the watchdog calls it again, at most a few times.
 *
 * C3 holds although the function names its range only at its end. The digest of each element in the view is recorded before the call, and a
 * range's digest is the sum of its elements' digests.
 *
 * R1 holds although the function may never settle. The run ends when its time is over, and a listener aborts the function's signal. A later
 * answer finds the run ended and is dropped.
 */
import type { Extension, Installed } from "../agent/extension.ts";
import { PalimpsestError } from "../errors.ts";
import { checkFields, checkWhole } from "../known-fields.ts";
import type { UIMessage } from "ai";
import { isToBeReadAgain } from "../memory/messages/content.ts";
import { wholeCharacters } from "../steps/draft/render.ts";
import { MAX_INSTANCE_RESTARTS } from "../limits.ts";
import type { History } from "../memory/messages/history.ts";
import type { Carried, Facts } from "../facts/fact.ts";
import {
  addToStep,
  markStep,
  type FailureCode,
  type LiveRun,
  type Outcome,
  type RunRecord,
} from "../memory/runs/runs.ts";
import { auditSummary } from "../steps/draft/audit.ts";
import { askingRow, type KeptHead } from "../steps/plan/cut.ts";
import { sumDigests } from "../steps/text/digest.ts";
import { stripInvisible } from "../steps/text/text.ts";
import type { Outline, Span } from "../steps/plan/outline.ts";
import type { Policy } from "../steps/plan/policy.ts";
import type { SpanPlan } from "../steps/plan/plan.ts";
import { chooseNow, readCarried, readFactsByHand } from "../agent/runs/read-beside.ts";
import { addSummary } from "../agent/runs/commit.ts";
import { briefOf } from "../agent/runs/draft-requests.ts";
import { conclude, type Concludes } from "../agent/runs/split.ts";
import type { Core, Needs } from "../agent/core.ts";
import type { OwnFunctionRoom } from "../agent/hooks.ts";
import { redactionOf, type Redaction } from "../agent/redaction.ts";
import type { BuilderCall, OwnFunction, OwnSummary, SessionSettings } from "../agent/settings.ts";
import { openSpan } from "../agent/runs/read-slices.ts";
import { visibleSpan } from "../agent/runs/sources.ts";

/** Default time limit of a session's own compaction function (ms). Slow models answer in minutes. */
export const DEFAULT_FUNCTION_LIMIT_MS = 300_000;

/** Largest setting of that time limit (ms). A function exists only in memory, and an object rarely lives longer. */
export const MAX_FUNCTION_LIMIT_MS = 3_600_000;

export interface OnCompactionOptions {
  /** Most time of the function in ms. Default five minutes, at most an hour. */
  readonly timeoutMs?: number | undefined;
}

/** Throws `invalid_options`. */
function resolveOwnFunction(
  compact: OwnFunction,
  options: OnCompactionOptions,
): NonNullable<SessionSettings["ownFunction"]> {
  checkFields("onCompaction", options, { timeoutMs: true });
  const { timeoutMs = DEFAULT_FUNCTION_LIMIT_MS } = options;
  if (typeof compact !== "function") {
    throw new PalimpsestError("invalid_options", "onCompaction takes a function that returns a summary, or null.");
  }
  checkWhole("timeoutMs", timeoutMs, 1, MAX_FUNCTION_LIMIT_MS);
  return { compact, timeoutMs };
}

/** The declaration that the room adds to a session and to a manager of sessions. */
export interface FunctionMethods {
  /**
   * Replaces the durable workflow by a caller's function, which is called off the append's path. After `timeoutMs`, five minutes by
   * default, its run ends as `failed` with the code `timed-out`. Throws `invalid_options`.
   */
  onCompaction(compact: OwnFunction, options?: OnCompactionOptions): this;
}

class FunctionBuilder implements FunctionMethods {
  readonly #collect: (call: BuilderCall) => void;

  /** @internal */
  constructor(collect: (call: BuilderCall) => void) {
    this.#collect = collect;
  }

  onCompaction(compact: OwnFunction, options: OnCompactionOptions = {}): this {
    const ownFunction = resolveOwnFunction(compact, options);
    this.#collect({ settings: (settings) => ({ ...settings, ownFunction }) });
    return this;
  }
}

// A function is declared in code and not from outside.
const NO_CALLS = {};

/** The room as an agent is declared with it. */
export interface OwnFunctionExtension extends Extension<FunctionMethods, FunctionMethods, typeof NO_CALLS> {}

/** Adds `onCompaction` to each session, as in `withCompaction(Base, { rooms: [ownFunction()] })`. */
export function ownFunction(): OwnFunctionExtension {
  return {
    name: "ownFunction",
    calls: NO_CALLS,
    install: (core: Core): Installed<FunctionMethods, FunctionMethods> => ({
      session: (state) => new FunctionBuilder((call) => state.collect(call)),
      manager: ({ collect }) => new FunctionBuilder(collect),
      ownFunction: new OwnFunctionRuns(core),
    }),
  };
}

/** The one step of such a run in the ledger. */
const STEP = "onCompaction";

/** Characters of the reason of a failed run. An error may have megabytes. */
const MAX_REASON_CHARS = 2_000;

/** Ends a run as `failed` with a code that a caller can switch on. */
class RunFailure extends Error {
  readonly code: FailureCode;

  constructor(code: FailureCode, reason: string) {
    super(reason);
    this.code = code;
  }
}

/** One element of the view, with its digest at the call of the function. */
interface Shown {
  readonly id: string;
  readonly span: Span;
  readonly digest: string;
  readonly tokens: number;
  /** Set for a summary. */
  readonly overlay: { readonly level: number; readonly generation: number } | null;
}

/** The runs of one agent that its sessions' functions make. */
class OwnFunctionRuns implements OwnFunctionRoom {
  readonly #core: Core;
  /** Running calls, by run. */
  readonly #calls = new Map<string, AbortController>();

  constructor(core: Core) {
    this.#core = core;
    core.onRunEnded(({ id }) => this.#calls.get(id)?.abort(new Error("The run has ended.")));
  }

  /** Notes are always kept by a workflow. A run that a Workflow has begun stays there, because its model may be answering (R3). */
  makes({ kind, sessionId, path, startedAt }: LiveRun): boolean {
    if (kind === "notes" || this.#core.settings.get(sessionId).ownFunction === null) return false;
    return path === "function" || startedAt === null;
  }

  /** Calls the function for a due run, and ends the run with its result. */
  async start(pending: LiveRun): Promise<void> {
    const core = this.#core;
    const settings = core.settings.get(pending.sessionId);
    const { ownFunction } = settings;
    const redaction = redactionOf(settings);
    if (ownFunction === null) return;
    // As it is now, because its Workflow may have begun while the dispatch waited.
    const fresh = core.runs.get(pending.id);
    if (fresh?.outcome !== null || !this.makes(fresh)) return;
    const run = begin(core, fresh);
    if (run.outcome !== null) return;
    let outcome: (live: LiveRun) => void;
    const call = new AbortController();
    this.#calls.set(run.id, call);
    try {
      const history = core.memory.session(run.sessionId);
      if (!history.has(run.leafId)) outcome = (live) => void conclude(core, live, { kind: "stale", reason: "gone" });
      else {
        const { messages, shown } = await core.read(run.sessionId, () => {
          const view = history.view(run.leafId);
          return { ...view, shown: view.elements.map((element) => noteElement(history, element)) };
        });
        const view = messages.map(redaction.message);
        const given = parseAnswer(await callInTime(run, ownFunction, { view, call }), redaction);
        const read = given === null ? null : await readChosen(core, run, { given, shown });
        const carried = await readCarried(core, run.sessionId);
        outcome = (live) => endWithAnswer(core, live, { given, read, carried });
      }
    } catch (error) {
      outcome = (live) => void conclude(core, live, failure(error, redaction));
    } finally {
      this.#calls.delete(run.id);
    }
    const end = outcome;
    await core.read(run.sessionId, () => finish(core, run.id, end));
  }

  /** Its time may be over, or its object may have died. */
  async revive(run: LiveRun): Promise<void> {
    const core = this.#core;
    const { ownFunction } = core.settings.get(run.sessionId);
    const call = this.#calls.get(run.id);
    const now = core.platform.now();
    if (call !== undefined) {
      if (ownFunction !== null && now - (run.heardAt ?? now) > ownFunction.timeoutMs)
        call.abort(timedOut(ownFunction.timeoutMs));
    } else if (run.restarts < MAX_INSTANCE_RESTARTS) {
      core.runs.change(run.id, { state: "pending", restarts: run.restarts + 1 });
    } else {
      const reason = `The object was restarted ${run.restarts + 1} times while onCompaction was at work.`;
      finish(core, run.id, (live) => void conclude(core, live, { kind: "failed", code: "interrupted", reason }));
    }
  }
}

function begin(core: Needs<"platform" | "runs">, { id, steps, startedAt }: LiveRun): RunRecord {
  const at = core.platform.now();
  const attempt = (steps.find(({ name }) => name === STEP)?.attempts ?? 0) + 1;
  return core.runs.change(id, {
    state: "running",
    path: "function",
    startedAt: startedAt ?? at,
    heardAt: at,
    steps: markStep(steps, { name: STEP, attempt, at }),
  });
}

/** Rejects when the time is over, and when the run was ended elsewhere. */
async function callInTime(
  { id: runId, sessionId, trigger, focus }: LiveRun,
  { compact, timeoutMs }: NonNullable<SessionSettings["ownFunction"]>,
  { view, call }: { readonly view: readonly UIMessage[]; readonly call: AbortController },
): Promise<unknown> {
  const { signal } = call;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason));
  const timer = setTimeout(() => call.abort(timedOut(timeoutMs)), timeoutMs);
  try {
    const answer = (async () => compact(view, { runId, sessionId, trigger, focus, signal }))();
    return await Promise.race([answer, stopped]);
  } finally {
    clearTimeout(timer);
  }
}

function timedOut(timeoutMs: number): RunFailure {
  return new RunFailure(
    "timed-out",
    `onCompaction did not answer within ${timeoutMs} ms. Its timeoutMs sets the limit.`,
  );
}

/** Ends a live run. A work that throws was rolled back, so the failure gets a transaction of its own. */
function finish(core: Concludes & Needs<"db" | "platform">, runId: string, outcome: (live: LiveRun) => void): void {
  const end = (work: (live: LiveRun) => void): void =>
    core.db.transaction(() => {
      // The run may have been ended meanwhile, or deleted with its session.
      const live = core.runs.get(runId);
      if (live?.outcome !== null) return;
      const at = core.platform.now();
      work({ ...live, heardAt: at, steps: addToStep(live.steps, STEP, { endedAt: at }) });
    });
  try {
    end(outcome);
  } catch (error) {
    if (isToBeReadAgain(error)) throw error;
    end((live) => void conclude(core, live, failure(error, redactionOf(core.settings.get(live.sessionId)))));
  }
}

interface FunctionAnswer {
  /** Null for no summary. */
  readonly given: OwnSummary | null;
  readonly read: ChosenSpan | null;
  readonly carried: readonly Carried[];
}

/** The span that a function chose, with its facts. */
interface ChosenSpan extends ReturnType<typeof choose> {
  readonly facts: Facts;
}

async function readChosen(
  core: Needs<"memory" | "read" | "settings" | "uses">,
  { sessionId }: LiveRun,
  { given, shown }: { readonly given: OwnSummary; readonly shown: readonly Shown[] },
): Promise<ChosenSpan> {
  const history = core.memory.session(sessionId);
  const chosen = choose(shown, visibleSpan(history, given.fromMessageId, given.toMessageId));
  const { span } = chosen.plan;
  await openSpan(core, { sessionId, span })();
  return { ...chosen, facts: await core.read(sessionId, () => readFactsByHand(core, sessionId, span)) };
}

function endWithAnswer(
  core: Concludes & Needs<"platform">,
  live: LiveRun,
  { given, read, carried }: FunctionAnswer,
): void {
  if (given === null || read === null) {
    const detail = "onCompaction returned no summary.";
    return void conclude(core, live, { kind: "nothing", reason: "declined", detail });
  }
  const { hidden, digest: planDigest, generation, facts, plan } = read;
  const history = core.memory.session(live.sessionId);
  // The branch as it is now. Its newest message may have been deleted since, as when a reply is made again.
  const outline = history.outline(history.leafAfter(live.leafId));
  if (outline === null) return void conclude(core, live, { kind: "stale", reason: "gone" });
  const head = headBefore(outline, hidden, live.policy);
  const planned = { ...plan, head };
  const run: LiveRun = { ...live, plan: planned, planDigest };
  const refused = findFault(core, run, given.summary);
  if (refused !== null) return void conclude(core, run, refused);
  const lineage = { model: STEP, degraded: false, level: plan.level, generation };
  const policy = { ...run.policy, loadedTokens: 0 };
  const beside = chooseNow(core, { ...run, policy }, { plan: planned, text: given.summary, facts, carried });
  addSummary(core, run, { span: plan.span, text: given.summary, facts, lineage, beside });
}

/**
 * The kept part of the start where the function named the range. If the user's first message is in the
 * range, its beginning is quoted.
 */
function headBefore(outline: Outline, hidden: ReadonlySet<string>, policy: Policy): KeptHead {
  const { protectHead: asked, openingTokens } = policy;
  const left = outline.rows.findIndex(({ id }) => hidden.has(id));
  const kept = Math.min(asked, left === -1 ? outline.rows.length : left);
  const first = outline.rows[askingRow(outline.rows) ?? -1]?.id;
  const beginningOf = first !== undefined && hidden.has(first) && openingTokens > 0 ? first : null;
  return { asked, kept, why: kept < asked ? "function" : null, inWords: [], beginningOf };
}

/** Null for no summary. Throws for an invalid answer. */
function parseAnswer(answer: unknown, redaction: Redaction): OwnSummary | null {
  if (answer === null || answer === undefined) return null;
  const { summary, fromMessageId, toMessageId } = answer as Partial<Record<keyof OwnSummary, unknown>>;
  if (typeof summary !== "string" || typeof fromMessageId !== "string" || typeof toMessageId !== "string") {
    throw new RunFailure(
      "invalid-answer",
      "onCompaction returned neither null nor { summary, fromMessageId, toMessageId }, all of them texts.",
    );
  }
  // A person who approves it must read what a model will read.
  const text = stripInvisible(summary);
  return text.trim() === "" ? null : { summary: redaction.text(text), fromMessageId, toMessageId };
}

function noteElement(history: History, element: ReturnType<History["view"]>["elements"][number]): Shown {
  const { id, tokens } = element;
  const span =
    element.kind === "overlay"
      ? element.span
      : { fromId: id, fromStep: element.fromStep, toId: id, toStep: element.toStep };
  const details = element.kind === "overlay" ? history.overlays.get(id)?.details : undefined;
  const overlay = details === undefined ? null : { level: details.level, generation: details.generation };
  return { id, span, tokens, overlay, digest: history.spans.digest(span)?.digest ?? "" };
}

/** The plan for the range that a function chose. Throws where the view that it was shown has no such range. */
function choose(
  shown: readonly Shown[],
  span: Span,
): {
  readonly plan: Omit<SpanPlan, "head">;
  readonly hidden: ReadonlySet<string>;
  readonly digest: string;
  readonly generation: number;
} {
  const from = shown.findIndex((each) => each.span.fromId === span.fromId && each.span.fromStep === span.fromStep);
  const to = shown.findIndex((each) => each.span.toId === span.toId && each.span.toStep === span.toStep);
  if (from === -1 || to < from) {
    throw new RunFailure(
      "invalid-answer",
      `onCompaction named a range that its view did not show: "${span.fromId}" to "${span.toId}". Give ids of the messages that it was called with, the older one first.`,
    );
  }
  const inside = shown.slice(from, to + 1);
  const folded = inside.filter(({ overlay }) => overlay !== null);
  const most = (of: "level" | "generation", least: number): number =>
    folded.reduce((sofar, { overlay }) => Math.max(sofar, (overlay?.[of] ?? 0) + 1), least);
  const tokensOf = (elements: readonly Shown[]): number => elements.reduce((sum, { tokens }) => sum + tokens, 0);
  const plan: Omit<SpanPlan, "head"> = {
    kind: "span",
    span,
    overlayIds: folded.map(({ id }) => id),
    level: most("level", 0),
    rebuild: false,
    chunkTokens: 0,
    chunks: [],
    parts: folded.map(({ id, tokens }) => ({ kind: "overlay", id, tokens, summaryTokens: tokens })),
    headTokens: tokensOf(shown.slice(0, from)),
    spanTokens: tokensOf(inside),
    tailTokens: tokensOf(shown.slice(to + 1)),
    keptId: shown[to + 1]?.id ?? null,
    moves: [],
  };
  const hidden = new Set(inside.map(({ id }) => id));
  return { plan, hidden, digest: sumDigests(inside.map(({ digest }) => digest)), generation: most("generation", 1) };
}

/** The outcome of a summary that the audit refuses. Null when the summary is sound. */
function findFault(core: Needs<"settings">, run: LiveRun, text: string): Outcome | null {
  const countTokens = core.settings.counterOf(run.sessionId);
  const audit = auditSummary({ text, finishReason: "stop", ...briefOf(core, run), countTokens });
  if (audit.ok) return null;
  if (audit.problems.every(({ kind }) => kind === "too-large")) return { kind: "stale", reason: "larger" };
  const reason = audit.problems.map(({ detail }) => detail).join(" ");
  return { kind: "failed", code: "unsound", reason: `The summary of onCompaction is not sound. ${reason}` };
}

function failure(error: unknown, redaction: Redaction): Outcome {
  const code = error instanceof RunFailure ? error.code : "threw";
  const reason: unknown = error instanceof Error ? error.message : error;
  return { kind: "failed", code, reason: wholeCharacters(redaction.text(String(reason)), 0, MAX_REASON_CHARS) };
}
