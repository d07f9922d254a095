/**
 * The agent's side of the workflow's port. It lists everything that one run may read and write, and each write is one synchronous
 * transaction.
 *
 * At-least-once steps do no harm here. A run that has its outcome answers with it and writes nothing. Drafts are stored under a key of
 * their exact source, and the first one wins. The commit is fenced by the digest that the plan was pinned to. So a repeated call, or a late
 * one from an attempt that outlived its timeout, finds its work done.
 */
import { USES_OF_A_STEP } from "../yielder.ts";
import { MODEL_STEP_MS, LEAST_TRY_MS, MODEL_RETRIES } from "../../limits.ts";
import {
  addToStep,
  isCompaction,
  markStep,
  type AskedCall,
  type LiveRun,
  type Outcome,
  type StepRecord,
  planOf,
  withoutWordsIn,
  type Finished,
} from "../../memory/runs/runs.ts";
import { overlayOfRun } from "../../memory/overlays/overlays.ts";
import {
  type RunEnded,
  type StepMark,
  PORT_METHODS,
  type BesideReading,
  type BesideRequest,
  type ChunkReading,
  type ChunkRequest,
  type CommitRequest,
  type CutRequest,
  type HalvesRequest,
  type RoomRequest,
  type PlanRequest,
  type ReadRequest,
  type CompactionPort,
  type DraftInput,
  type DraftReceipt,
  type DraftsReading,
  type DraftsRequest,
  type FailureReceipt,
  type ModelFailure,
  type OutlineReading,
  type PlannedChunk,
  type PlanReceipt,
} from "../../workflows/port.ts";
import type { Core } from "../core.ts";
import type { RoomRun, StepCall, StepPatch, StepResult } from "../hooks.ts";
import { addToBill } from "./end-run.ts";
import { readBeside, readCarried } from "./read-beside.ts";
import { addSummary, type Summary } from "./commit.ts";
import { conclude } from "./split.ts";
import { assert } from "../../errors.ts";
import { halveChunk, type ChunkPlan } from "../../steps/plan/cut.ts";
import { digest } from "../../steps/text/digest.ts";
import {
  chunkRequest,
  mergeRequest,
  auditAnswer,
  reuseDraft,
  receiptOf,
  verdictOf,
  sentPrompt,
} from "./draft-requests.ts";
import { promptTokens } from "../reports/usage.ts";
import { redactionOf, type Redaction } from "../redaction.ts";
import { findSources, lineageOf, mustDraft, readSource, rereadPlan, resolveEnds, type Sources } from "./sources.ts";
import { outlineNow, admitCall } from "./trigger.ts";

export class PortCall implements StepCall {
  readonly core: Core;
  readonly mark: StepMark;
  #run: LiveRun;
  #ended = false;
  #readsOnly = false;

  constructor(core: Core, found: LiveRun, mark: StepMark) {
    const at = core.platform.now();
    this.core = core;
    this.mark = mark;
    this.#run = {
      ...found,
      heardAt: at,
      startedAt: found.startedAt ?? at,
      // A paused instance finishes its present step, and that step's calls do not resume the run.
      state: found.state === "paused" ? "paused" : "running",
      steps: markStep(found.steps, { name: mark.step, attempt: mark.attempt, at }),
    };
  }

  get run(): LiveRun {
    return this.#run;
  }

  get leftMs(): number {
    return Math.max(0, MODEL_STEP_MS - (this.step?.askedMs ?? 0));
  }

  get step(): StepRecord | undefined {
    return this.#run.steps.find(({ name }) => name === this.mark.step);
  }

  note(patch: StepPatch): void {
    this.#run = { ...this.#run, ...patch };
  }

  /** Writes nothing of this call, because the next call of its step notes all of it. That spares a wait for the disk. */
  readOnly(): void {
    this.#readsOnly = true;
  }

  ask(asking: AskedCall): void {
    this.#mark({ asking: { ...asking, attempt: this.mark.attempt } });
  }

  close(result: StepResult = {}): void {
    // A late report of an attempt that was given up says nothing of the present one.
    const { asking } = this.step ?? {};
    const isOwn = asking?.attempt === this.mark.attempt;
    this.#mark({ ...result, asking: isOwn ? undefined : asking, endedAt: this.core.platform.now() });
  }

  bill(call: AskedCall): void {
    this.#run = addToBill(this.core, this.#run, this.mark.step, call);
  }

  #mark(result: Partial<StepRecord>): void {
    this.#run = { ...this.#run, steps: addToStep(this.#run.steps, this.mark.step, result) };
  }

  end(outcome: Outcome): RunEnded {
    this.close();
    return this.#over(this.core.endRun(this.#run, outcome));
  }

  /** As {@link end}, with the outcome of the run's compaction. A split switches to its child first. */
  conclude(compacted: Outcome): RunEnded {
    this.close();
    return this.#over(conclude(this.core, this.#run, compacted));
  }

  /** Commits the summary of the run, or proposes it. */
  add(summary: Summary): RunEnded {
    this.close();
    return this.#over(addSummary(this.core, this.#run, summary));
  }

  #over(outcome: Finished): RunEnded {
    this.#ended = true;
    return endedReceipt(outcome);
  }

  /** Writes the notes. Null when the run has its outcome, and when there is nothing to write. */
  save(): LiveRun | null {
    return this.#ended || this.#readsOnly ? null : this.core.runs.write(this.#run);
  }
}

/** Tells a Workflow that its run is over. The engine keeps it, so a provider's or a person's words stay here (S2). */
function endedReceipt(outcome: Finished): RunEnded {
  return { kind: "ended", outcome: withoutWordsIn(outcome, "See getRun.") };
}

/** Does the work of one call whole or not at all, and announces the run after the commit. */
export function inRun<T>(
  core: Core,
  step: { runId: string; mark: StepMark },
  work: (call: PortCall) => T,
): T | RunEnded {
  const { runId, mark } = step;
  const { done, live } = core.db.transaction((): { done: T | RunEnded; live: LiveRun | null } => {
    const found = core.runs.get(runId);
    // The session was deleted with its ledger, or a deploy gave the run to a caller's function. A late step has nothing left to do.
    if (found === null || found.path === "function")
      return { done: { kind: "ended", outcome: { kind: "cancelled" } }, live: null };
    if (found.outcome !== null) return { done: endedReceipt(found.outcome), live: null };
    if (found.state === "proposed")
      return { done: endedReceipt({ kind: "proposed", overlayId: overlayOfRun(found.id) }), live: null };
    const call = new PortCall(core, found, mark);
    return { done: work(call), live: call.save() };
  });
  if (live !== null) core.announce(live);
  return done;
}

/** A chunk that no model could summarise is cut in two from this many tokens on. Smaller halves say nothing by themselves. */
const MIN_SPLIT_TOKENS = 3_000;

export class RunPort implements CompactionPort {
  readonly #core: Core;
  readonly #runId: string;

  constructor(core: Core, runId: string) {
    this.#core = core;
    this.#runId = runId;
    core.uses.count(USES_OF_A_STEP);
  }

  async outline(mark: StepMark, models: readonly string[]): Promise<OutlineReading> {
    return this.#inRun(mark, (call) => {
      const { run, core } = call;
      const history = core.memory.session(run.sessionId);
      if (run.planDigest !== null) return answerPlan(call, models);
      if (!history.has(run.leafId)) return call.end({ kind: "stale", reason: "gone" });
      const outline = outlineNow(core, run.sessionId, run.leafId);
      if (outline === null) return call.end({ kind: "stale", reason: "gone" });
      call.readOnly();
      return {
        kind: "outline",
        outline,
        policy: run.policy,
        options: { manual: run.manual, due: run.trigger === "rent", only: run.only },
      };
    });
  }

  recordPlan(mark: StepMark, request: CutRequest): Promise<PlanReceipt>;
  recordPlan(mark: StepMark, request: HalvesRequest): Promise<readonly PlannedChunk[] | RunEnded>;
  recordPlan(mark: StepMark, request: RoomRequest): Promise<unknown>;
  async recordPlan(mark: StepMark, request: PlanRequest): Promise<unknown> {
    if (request.kind === "cut") return this.#recordCut(mark, request);
    if (request.kind === "halves") return this.#recordHalves(mark, request.of);
    return this.#inRun(mark, (call) => this.#roomRun(call.run)?.plan(call, request.asked) ?? call.end(NO_ROOM));
  }

  async #recordCut(mark: StepMark, { plan: proposed, models, partial }: CutRequest): Promise<PlanReceipt> {
    return this.#inRun(mark, (call) => {
      const { run, core } = call;
      // A late attempt must not pin the run to a view that its drafts do not match.
      if (run.planDigest !== null) return answerPlan(call, models);
      call.note({ partial, tokensBefore: promptTokens(core, run.sessionId, run.leafId) });
      if (proposed.kind === "nothing") {
        return call.conclude({ kind: "nothing", reason: proposed.reason, detail: proposed.detail });
      }
      const history = core.memory.session(run.sessionId);
      const span = resolveEnds(history, proposed);
      const found = history.spans.digest(span);
      const plan = rereadPlan(history, { ...proposed, span });
      const sources = found === null ? null : findSources(core, run, plan, found);
      if (found === null || sources === null) return call.end({ kind: "stale", reason: "gone" });
      call.note({ plan, planDigest: found.digest, chunkDigests: sources.digests });
      return planReceipt(call, { ...sources, messages: found.messages }, models);
    });
  }

  read(mark: StepMark, request: ChunkRequest): Promise<ChunkReading>;
  read(mark: StepMark, request: DraftsRequest): Promise<DraftsReading>;
  read(mark: StepMark, request: BesideRequest): Promise<BesideReading>;
  read(mark: StepMark, request: RoomRequest): Promise<unknown>;
  async read(mark: StepMark, request: ReadRequest): Promise<unknown> {
    if (request.kind === "chunk") return this.#readChunk(mark, request);
    if (request.kind === "drafts") return this.#readDrafts(mark, request);
    if (request.kind === "beside") return this.#readBeside(mark, request.key);
    const found = await this.#inRun(
      mark,
      (call): unknown => this.#roomRun(call.run)?.read(call, request.asked) ?? call.end(NO_ROOM),
    );
    if (typeof found !== "function") return found;
    const read = (await found()) as { readonly outcome?: Outcome };
    const { outcome } = read;
    return outcome === undefined ? read : this.#inRun(mark, (call) => call.end(outcome));
  }

  async #readChunk(mark: StepMark, request: ChunkRequest): Promise<ChunkReading> {
    const core = this.#core;
    const found = await this.#inRun(mark, (call) => {
      const { sessionId } = call.run;
      const chunk = chunkRequest(core, call.run, request);
      return reuseDraft(core, call, chunk) ?? { kind: "unread" as const, sessionId, chunk, leftMs: call.leftMs };
    });
    if (found.kind !== "unread") return found;
    // The planned source is read, so that no model is paid for one that the commit would refuse.
    const source = await found.chunk.read();
    if (source === null) return this.#inRun(mark, (call) => call.end({ kind: "stale", reason: "changed" }));
    const sent = sentPrompt(core, found.sessionId, { continues: request.continues, attempt: mark.attempt });
    return { ...source, leftMs: found.leftMs, ...(sent !== null && { sent }) };
  }

  async #recordHalves(mark: StepMark, index: number): Promise<readonly PlannedChunk[] | RunEnded> {
    return this.#inRun(mark, (call) => {
      const { run, core } = call;
      const plan = planOf(run);
      const known = plan.chunks.filter(({ halfOf }) => halfOf === index);
      const halves = known.length > 0 ? known : this.#halve(run, index);
      const digests = halves.map((half) => core.memory.session(run.sessionId).spans.sourceDigest(half));
      if (digests.some((each) => each === null)) return call.end({ kind: "stale", reason: "gone" });
      if (known.length === 0) {
        const chunkDigests = [...run.chunkDigests, ...digests.map((each) => each ?? "")];
        call.note({ plan: { ...plan, chunks: [...plan.chunks, ...halves] }, chunkDigests });
      }
      call.close();
      return halves.map(({ index: at, tokens }, half) => ({
        kind: "chunk" as const,
        index: at,
        tokens,
        digest: digests[half] ?? "",
        half: true,
      }));
    });
  }

  async #readDrafts(mark: StepMark, request: DraftsRequest): Promise<DraftsReading> {
    return this.#inRun(mark, (call): DraftsReading => {
      const { run, core } = call;
      // As for a chunk, no model is paid for a fold that the commit would refuse.
      const span = core.memory.session(run.sessionId).spans.digest(planOf(run).span);
      if (span?.digest !== run.planDigest) return call.end({ kind: "stale", reason: "changed" });
      const sources = request.sources.map((source) => readSource(core, run, source));
      const fold = mergeRequest(core, run, { request, sources });
      return reuseDraft(core, call, fold) ?? { ...fold.read(), leftMs: call.leftMs };
    });
  }

  async #readBeside(mark: StepMark, key: string): Promise<BesideReading> {
    const known = this.#core.runs.get(this.#runId);
    const carried = known === null ? [] : await readCarried(this.#core, known.sessionId);
    return this.#inRun(mark, (call): BesideReading => {
      const { run, core } = call;
      const { text, facts } = mustDraft(core, run, key);
      call.readOnly();
      return { kind: "beside", ...readBeside(core, run, { plan: planOf(run), text, facts, carried }) };
    });
  }

  async saveDraft(mark: StepMark, answered: DraftInput): Promise<DraftReceipt | RunEnded> {
    return this.#inRun(mark, (call) => {
      const { run, core } = call;
      // A model may join parts of a secret that its source held in two pieces.
      const input = withoutSecrets(answered, redactionOf(core.settings.get(run.sessionId)));
      const { cost, answerId, again, answers: _, ...answer } = input;
      const audited = auditAnswer(core, run, input);
      // A draft with problems must not stand under the key of a sound one.
      const key = audited.problems.length === 0 ? input.key : digest(input.key, "rejected", input.text);
      // A room's own text depends on more than a span, so its drafts are not shared with other sessions.
      const source =
        input.answers.kind === "room" ? {} : { source: { ...planOf(run).span, digest: run.planDigest ?? "" } };
      const draft = core.memory.drafts.save(run.sessionId, { ...answer, ...audited, key, ...source });
      if (cost !== null && bill(call, answerId, { model: input.model, summariser: cost })) {
        const now = core.platform.now();
        if (audited.problems.length === 0) core.health.noteAnswer(input.model, now);
        else if (again) core.health.noteFailure(input.model, "unusable", now);
      }
      const receipt = { ...receiptOf(core, call.run, draft), reused: false, soundKey: input.key };
      const verdict = verdictOf(receipt);
      const { problems } = verdict;
      call.close({ verdict, ...(problems.length > 0 && { refused: { key, soundKey: input.key, problems } }) });
      return receipt;
    });
  }

  async noteFailure(mark: StepMark, failure: ModelFailure): Promise<FailureReceipt | RunEnded> {
    return this.#inRun(mark, (call) => {
      const { core, run } = call;
      const { model, code, cost, answerId, tookMs, waitMs } = failure;
      // A provider's error may quote the prompt or the API key.
      const redacted = redactionOf(core.settings.get(run.sessionId)).text(failure.reason);
      const now = core.platform.now();
      const before = call.step?.failure;
      const isNew = (before?.attempt ?? 0) < mark.attempt;
      const count = (before?.count ?? 0) + (isNew ? 1 : 0);
      const isInTime = call.leftMs - (isNew ? tookMs : 0) - waitMs >= LEAST_TRY_MS;
      const reason = isInTime ? redacted : `${redacted} ${OUT_OF_TIME}`;
      const failed = { attempt: mark.attempt, count, model, code, reason };
      call.close(isNew ? { failure: failed, askedMs: tookMs } : {});
      if (isNew) core.health.noteFailure(model, code, now);
      if (cost !== null) bill(call, answerId, { model, summariser: cost });
      const isLast = !isInTime || count > MODEL_RETRIES;
      return { kind: "noted", again: !isLast && (run.ignoreBudget === true || !core.health.isOpen(model, now)) };
    });
  }

  async commit(mark: StepMark, commit: CommitRequest): Promise<RunEnded> {
    return this.#inRun(mark, (call): RunEnded => {
      const { run, core } = call;
      if (!isCompaction(run)) return this.#roomRun(run)?.commit(call, commit.key) ?? call.end(NO_ROOM);
      const { beside } = commit;
      assert(beside !== undefined, "A summary is committed with what was chosen to stand beside it.");
      const { span, level } = planOf(run);
      const { text, facts, model, degraded, generation, unfounded, key: draftKey } = mustDraft(core, run, commit.key);
      const lineage = { model, degraded, level, generation, draftKey, madeOf: lineageOf(run, commit) };
      return call.add({ span, text, facts, lineage, beside, unfounded });
    });
  }

  async end(mark: StepMark, reason: string | null): Promise<RunEnded> {
    return this.#inRun(mark, (call): RunEnded =>
      reason === null
        ? (this.#roomRun(call.run)?.giveUp(call) ?? call.end(NO_ROOM))
        : call.end({ kind: "failed", reason }),
    );
  }

  /** What the room of a run's kind does behind this port. Absent for a compaction. */
  #roomRun({ kind }: LiveRun): RoomRun | undefined {
    return this.#core.rooms.runs?.[kind];
  }

  async #inRun<T>(mark: StepMark, work: (call: PortCall) => T): Promise<T | RunEnded> {
    const core = this.#core;
    const run = core.runs.get(this.#runId);
    const call = (): T | RunEnded => inRun(core, { runId: this.#runId, mark }, work);
    return run === null ? call() : core.read(run.sessionId, call);
  }

  #halve(run: LiveRun, index: number): readonly ChunkPlan[] {
    const { chunks } = planOf(run);
    const chunk = chunks[index];
    if (chunk === undefined || chunk.tokens < MIN_SPLIT_TOKENS) return [];
    const rows = this.#core.memory.session(run.sessionId).spans.rows(chunk) ?? [];
    const outline = {
      sessionId: run.sessionId,
      leafId: run.leafId,
      overheadTokens: 0,
      tokens: 0,
      rows,
      truncated: false,
    };
    return halveChunk(outline).map((half) => ({ ...half, index: chunks.length + half.index, halfOf: index }));
  }
}

const NO_ROOM: Outcome = {
  kind: "failed",
  reason: "The room of this run is not in the agent any more. Add it where the agent is declared.",
};

const OUT_OF_TIME = `A step asks a model for ${MODEL_STEP_MS / 60_000} minutes at most, all its tries together: they are over.`;

/** Runs a call that came over RPC, by name. Checks the name against the port's own list. */
export function callPort(port: CompactionPort, method: string, args: readonly unknown[]): Promise<unknown> {
  const name = PORT_METHODS.find((each) => each === method);
  assert(name !== undefined, `A workflow asked for ${method}, which its port does not have.`);
  const call = port[name].bind(port) as (...args: readonly unknown[]) => Promise<unknown>;
  return call(...args);
}

/** Answers a repeated request with the plan that stands. Ends the run when its messages have changed since. */
function answerPlan(call: PortCall, models: readonly string[]): PlanReceipt {
  const { run, core } = call;
  const plan = planOf(run);
  const found = core.memory.session(run.sessionId).spans.digest(plan.span);
  if (found !== null && found.digest !== run.planDigest) return call.end({ kind: "stale", reason: "changed" });
  // Halves follow the plan's own chunks, and are found anew.
  const own = plan.chunks.filter(({ halfOf }) => halfOf === undefined);
  const sources = found === null ? null : findSources(core, run, { ...plan, chunks: own }, found);
  return sources === null || found === null
    ? call.end({ kind: "stale", reason: "gone" })
    : planReceipt(call, { ...sources, messages: found.messages }, models);
}

function planReceipt(
  call: PortCall,
  { parts, messages }: Sources & { readonly messages: number },
  models: readonly string[],
): PlanReceipt {
  const { run, core } = call;
  const { headTokens, spanTokens, tailTokens } = planOf(run);
  call.close();
  return {
    kind: "planned",
    digest: run.planDigest ?? "",
    messages,
    headTokens,
    spanTokens,
    tailTokens,
    policy: run.policy,
    parts,
    resting: models.filter((model) => admitCall(core, run, model).kind === "no"),
  };
}

/** False for an answer that is on the bill already, which a repeated report after a lost receipt sends again. */
function bill(call: PortCall, answerId: string, asked: AskedCall): boolean {
  const billed = call.step?.billed ?? [];
  if (billed.includes(answerId)) return false;
  call.bill(asked);
  call.close({ billed: [...billed, answerId] });
  return true;
}

/** The answer without secrets. What it made up is kept only where it still stands in the text. */
function withoutSecrets(answer: DraftInput, { text: redact }: Redaction): DraftInput {
  const text = redact(answer.text);
  const stands = (each: string): boolean => text.includes(each);
  const { answers } = answer;
  return {
    ...answer,
    text,
    unfounded: answer.unfounded.filter(stands),
    answers: answers.kind === "room" ? answers : { ...answers, unfounded: answers.unfounded.filter(stands) },
  };
}
