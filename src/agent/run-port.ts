/**
 * The agent's side of the workflow's port: what one run may read and write, each call one synchronous transaction.
 *
 * Why at-least-once steps do no harm here: a run that has its outcome answers it and writes nothing; drafts are stored
 * under a key of their exact source, first one wins; the commit is fenced by the digest that the plan was pinned to. So
 * a repeated call, and a late one from an attempt that outlived its timeout, finds its work done.
 */
import { assert } from "../errors.ts";
import { MAX_OUTLINE_BYTES, MAX_OUTLINE_ROWS, MIN_SUMMARY_TOKENS } from "../limits.ts";
import type { Draft } from "../memory/drafts.ts";
import type { History } from "../memory/history.ts";
import { closeStep, markStep, type Outcome, type RunRecord, type StepRecord } from "../memory/runs.ts";
import { auditSummary } from "../steps/audit.ts";
import { digest } from "../steps/digest.ts";
import type { Span } from "../steps/outline.ts";
import type { Plan } from "../steps/plan.ts";
import { PROMPT_VERSION } from "../steps/prompt.ts";
import { estimateTokens } from "../steps/tokens.ts";
import { promptTokens, unseenTokens } from "./calibration.ts";
import type { Core } from "./core.ts";
import { finishRun, outcomeOf } from "./finish.ts";
import {
  PORT_METHODS,
  type AuditVerdict,
  type Brief,
  type ChunkReading,
  type ChunkRequest,
  type CompactionPort,
  type DraftInput,
  type DraftReceipt,
  type DraftsReading,
  type DraftsRequest,
  type OutlineReading,
  type PlanReceipt,
  type PortMethod,
  type RunEnded,
  type StepMark,
} from "../workflows/port.ts";

type StepResult = Partial<Pick<StepRecord, "inputTokens" | "outputTokens" | "calls" | "reused">>;

export class RunPort implements CompactionPort {
  readonly #core: Core;
  readonly #runId: string;

  constructor(core: Core, runId: string) {
    this.#core = core;
    this.#runId = runId;
  }

  async readOutline(mark: StepMark): Promise<OutlineReading> {
    return this.#inRun(mark, (run) => {
      const history = this.#core.memory.session(run.sessionId);
      if (!history.has(run.leafId)) return this.#end(run, { kind: "stale", reason: "gone" });
      const overheadTokens = unseenTokens(this.#core, run.sessionId, history.tokens(run.leafId));
      const outline = history.outline(run.leafId, {
        overheadTokens,
        maxRows: MAX_OUTLINE_ROWS,
        maxBytes: MAX_OUTLINE_BYTES,
      });
      if (outline === null) return this.#end(run, { kind: "stale", reason: "gone" });
      this.#close(
        mark,
        {},
        {
          state: "running",
          partial: outline.truncated,
          tokensBefore: promptTokens(this.#core, run.sessionId, run.leafId),
        },
      );
      return { kind: "outline", outline, policy: run.policy, force: run.force };
    });
  }

  async recordPlan(mark: StepMark, proposed: Plan): Promise<PlanReceipt> {
    return this.#inRun(mark, (run) => {
      if (proposed.kind === "nothing") {
        return this.#end(run, { kind: "nothing", reason: proposed.reason, detail: proposed.detail });
      }
      const history = this.#core.memory.session(run.sessionId);
      const plan = { ...proposed, span: resolveEnds(history, proposed) };
      const span = history.spanDigest(plan.span);
      const chunkDigests = plan.chunks.flatMap((chunk) => history.spanDigest(chunk)?.digest ?? []);
      if (span === null || chunkDigests.length < plan.chunks.length) {
        return this.#end(run, { kind: "stale", reason: "gone" });
      }
      this.#close(mark, {}, { plan, planDigest: span.digest, chunkDigests });
      return {
        kind: "planned",
        digest: span.digest,
        spanTokens: plan.spanTokens,
        chunks: plan.chunks.map(({ index, tokens }) => ({ index, tokens, digest: chunkDigests[index] ?? "" })),
        hasPrevious: plan.overlayIds.length > 0,
      };
    });
  }

  async readChunk(mark: StepMark, request: ChunkRequest): Promise<ChunkReading> {
    return this.#inRun(mark, (run) => {
      const chunk = planOf(run).chunks[request.index];
      const planned = run.chunkDigests[request.index];
      assert(chunk !== undefined && planned !== undefined, `Chunk ${request.index} is not in the plan.`);
      const history = this.#core.memory.session(run.sessionId);
      // Read again what was planned: a model is not paid for a source that a commit would refuse.
      const elements = history.spanDigest(chunk)?.digest === planned ? history.spanMessages(chunk) : null;
      if (elements === null) return this.#end(run, { kind: "stale", reason: "changed" });
      const previous = request.withPrevious ? this.#previous(run) : null;
      const key = this.#draftKey(run, request.model, ["chunk", planned, previous ?? ""]);
      const known = this.#core.drafts.get(run.sessionId, key);
      if (known !== null) return this.#reuse(mark, known);
      return { kind: "source", key, elements, previous, brief: this.#chunkBrief(run, chunk.tokens) };
    });
  }

  async readDrafts(mark: StepMark, request: DraftsRequest): Promise<DraftsReading> {
    return this.#inRun(mark, (run) => {
      const drafts = request.keys.map((key) => this.#mustDraft(run, key));
      const previous = request.withPrevious ? this.#previous(run) : null;
      const key = request.repairOf ?? this.#draftKey(run, request.model, ["fold", ...request.keys, previous ?? ""]);
      const known = this.#core.drafts.get(run.sessionId, key);
      if (known !== null) return this.#reuse(mark, known);
      const degraded = drafts.some((draft) => draft.degraded);
      return {
        kind: "drafts",
        key,
        drafts: drafts.map(({ text }) => text),
        degraded,
        previous,
        brief: this.#brief(run),
      };
    });
  }

  async saveDraft(mark: StepMark, input: DraftInput): Promise<DraftReceipt | RunEnded> {
    return this.#inRun(mark, (run) => {
      const { calls, ...made } = input;
      const tokens = estimateTokens(input.text);
      // A draft with problems must not stand where a sound one will be looked for.
      const key = input.problems.length === 0 ? input.key : digest(input.key, "rejected", input.text);
      const draft = this.#core.drafts.save(run.sessionId, { ...made, key, tokens });
      const spent = { inputTokens: input.inputTokens, outputTokens: input.outputTokens, calls };
      this.#close(mark, spent, {
        modelCalls: run.modelCalls + calls,
        inputTokens: run.inputTokens + input.inputTokens,
        outputTokens: run.outputTokens + input.outputTokens,
      });
      return { ...receipt(draft, false), soundKey: input.key };
    });
  }

  async auditDraft(mark: StepMark, key: string): Promise<AuditVerdict> {
    return this.#inRun(mark, (run) => {
      const draft = this.#mustDraft(run, key);
      const { policy, template, spanTokens } = this.#brief(run);
      const { text, finishReason } = draft;
      const audit = auditSummary({ text, finishReason, spanTokens, policy, template });
      this.#close(mark, {});
      return audit.ok ? { kind: "passed", tokens: audit.tokens } : { kind: "failed", problems: audit.problems };
    });
  }

  async addCompaction(mark: StepMark, key: string): Promise<RunEnded> {
    return this.#inRun(mark, (run) => {
      const plan = planOf(run);
      const draft = this.#mustDraft(run, key);
      const history = this.#core.memory.session(run.sessionId);
      const result = history.addOverlay({
        span: plan.span,
        summary: draft.text,
        runId: run.id,
        leafId: run.leafId,
        overlayIds: plan.overlayIds,
        details: { model: draft.model, degraded: draft.degraded, trigger: run.trigger, focus: run.focus },
        ...(run.planDigest === null ? {} : { digest: run.planDigest }),
      });
      return this.#end(run, outcomeOf(this.#core, run, { result, degraded: draft.degraded }));
    });
  }

  /** One call: a transaction in which the run is live, its step marked, and the news told once it is committed. */
  #inRun<T>(mark: StepMark, work: (run: RunRecord) => T): T | RunEnded {
    const core = this.#core;
    const result = core.transaction(() => {
      const found = core.runs.get(this.#runId);
      // The session was deleted, and its ledger with it: a step that comes late has nothing left to do.
      if (found === null) return { kind: "ended", outcome: { kind: "cancelled" } } as const;
      if (found.outcome !== null) return { kind: "ended", outcome: found.outcome } as const;
      const at = core.platform.now();
      const run = core.runs.change(found.id, {
        heardAt: at,
        startedAt: found.startedAt ?? at,
        // A paused instance finishes the step it is in: what it says does not resume the run.
        state: found.state === "paused" ? "paused" : "running",
        steps: markStep(found.steps, { name: mark.step, attempt: mark.attempt, at }),
      });
      return work(run);
    });
    const after = core.runs.get(this.#runId);
    if (after !== null) core.announce(after);
    core.conductor.dispatchPending();
    return result;
  }

  #close(mark: StepMark, result: StepResult, patch: Partial<RunRecord> = {}): void {
    const run = this.#core.runs.mustGet(this.#runId);
    const { state: _state, outcome: _outcome, ...rest } = patch;
    const steps = closeStep(run.steps, mark.step, { ...result, endedAt: this.#core.platform.now() });
    this.#core.runs.change(run.id, { ...rest, steps });
  }

  #reuse(mark: StepMark, draft: Draft): DraftReceipt {
    this.#close(mark, { reused: true });
    return receipt(draft, true);
  }

  #end(run: RunRecord, outcome: Outcome): RunEnded {
    return { kind: "ended", outcome: finishRun(this.#core, run.id, outcome) };
  }

  #brief(run: RunRecord): Brief {
    const { template } = this.#core.settings.get(run.sessionId);
    return { template, policy: run.policy, focus: run.focus, spanTokens: planOf(run).spanTokens };
  }

  /** Of one chunk. Only the whole must shrink: a part shorter than a summary's headings can be told in no fewer words. */
  #chunkBrief(run: RunRecord, chunkTokens: number): Brief {
    const whole = this.#brief(run);
    if (planOf(run).chunks.length === 1) return whole;
    const least = Math.ceil(MIN_SUMMARY_TOKENS / whole.policy.maxSummaryRatio);
    return { ...whole, spanTokens: Math.min(whole.spanTokens, Math.max(chunkTokens, least)) };
  }

  /** The text that the new summary updates: of every overlay inside the span, oldest first. */
  #previous(run: RunRecord): string | null {
    const history = this.#core.memory.session(run.sessionId);
    const summaries = planOf(run).overlayIds.map((id) => history.overlay(id)?.summary ?? "");
    return summaries.length === 0 ? null : summaries.join("\n\n");
  }

  #draftKey(run: RunRecord, model: string, source: readonly string[]): string {
    const { template, focus, policy } = this.#brief(run);
    return digest(
      PROMPT_VERSION,
      model,
      JSON.stringify(template),
      focus ?? "",
      run.fresh ? run.id : "",
      String(policy.summaryTokens),
      ...source,
    );
  }

  #mustDraft(run: RunRecord, key: string): Draft {
    const draft = this.#core.drafts.get(run.sessionId, key);
    assert(draft !== null, `Draft ${key} is gone although its run is live.`);
    return draft;
  }
}

/** A call that came over RPC, by name. The name is checked against the port's own list. */
export function callPort(port: CompactionPort, method: PortMethod, args: readonly unknown[]): Promise<unknown> {
  assert(PORT_METHODS.includes(method), `A workflow asked for ${method}, which its port does not have.`);
  const call = port[method].bind(port) as (...args: readonly unknown[]) => Promise<unknown>;
  return call(...args);
}

/** A span that starts or ends with an overlay has that overlay's id there: here it gets the overlay's own ends. */
function resolveEnds(history: History, { span, overlayIds }: Plan & { kind: "span" }): Span {
  const first = overlayIds.includes(span.fromId) ? history.overlay(span.fromId) : null;
  const last = overlayIds.includes(span.toId) ? history.overlay(span.toId) : null;
  return {
    fromId: first?.span.fromId ?? span.fromId,
    fromStep: first?.span.fromStep ?? span.fromStep,
    toId: last?.span.toId ?? span.toId,
    toStep: last?.span.toStep ?? span.toStep,
  };
}

function planOf(run: RunRecord): Plan & { kind: "span" } {
  assert(run.plan !== null, "The plan is recorded before any step that needs it.");
  return run.plan;
}

function receipt(draft: Draft, reused: boolean): DraftReceipt {
  return { kind: "draft", key: draft.key, soundKey: draft.key, tokens: draft.tokens, reused, problems: draft.problems };
}
