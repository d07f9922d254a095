/**
 * The agent's side of a shadow's steps. Each call is one transaction of a run that has its outcome.
 *
 * It changes nothing of the run: no step of its record, no budget and no breaker of real runs. Safe because each call asks first whether the
 * overlay beside which the shadow stands is in force. After an edit, a rollback, a clearing or a deletion it is not, and nothing is written
 * (S2). A draft is stored under the key of a real one with the same source, model, template and size, so that neither pays for the other.
 */
import { assert } from "../errors.ts";
import { MODEL_CALL_MS, PROMPT_OVERHEAD_TOKENS } from "../limits.ts";
import type { Core, Needs, FollowUpRoom, Graded } from "../agent/core.ts";
import { redactionOf } from "../agent/redaction.ts";
import { readAround } from "../agent/runs/around.ts";
import { pinBeside } from "../agent/runs/commit.ts";
import { findChunk, findFold } from "../agent/runs/drafts/askable.ts";
import { auditAnswer } from "../agent/runs/drafts/audit-answer.ts";
import { briefOf } from "../agent/runs/drafts/brief.ts";
import { receiptOf } from "../agent/runs/drafts/receipt.ts";
import { readSource, type Folded } from "../agent/runs/drafts/sources.ts";
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import { textOf } from "../memory/messages/since.ts";
import { toRecord } from "../memory/overlays/record.ts";
import { planOf, type Outcome, type RunRecord } from "../memory/runs/runs.ts";
import type { OverlayRow } from "../memory/statements.ts";
import type { CallCost } from "../model/call-cost.ts";
import { utcDay } from "../steps/decide/budget.ts";
import { digest } from "../steps/text/digest.ts";
import type {
  Brief,
  ChunkRequest,
  DraftInput,
  DraftReceipt,
  DraftsReading,
  DraftsRequest,
  FailureReceipt,
  FollowUp,
  FoldSource,
  ModelFailure,
  RunEnded,
  StepMark,
} from "../workflows/port.ts";
import { gradeShadows, shownAs, withSummary } from "./grade.ts";
import type { ShadowPort, ShadowTask } from "./workflow-port.ts";
import { newRecord, type Reserved, type ShadowOutcome, type ShadowRecord, type ShadowWords } from "./record.ts";
import { shadowsOf, type Shadow } from "./settings.ts";
import type { ShadowStatements } from "./statements.ts";

/** One call of a shadow's step. */
interface ShadowCall {
  readonly core: Core;
  readonly sql: ShadowStatements;
  readonly shadow: Shadow;
  /** The run with the shadow's policy. */
  readonly run: RunRecord;
  readonly overlay: OverlayRow;
  readonly mark: StepMark;
}

const NO_WORDS: ShadowWords = { key: null, pinned: null, namesOf: [], reason: null };

export class Shadows implements FollowUpRoom {
  readonly #core: Core;
  readonly #sql: ShadowStatements;

  constructor(core: Core, sql: ShadowStatements) {
    this.#core = core;
    this.#sql = sql;
  }

  due(run: RunRecord, outcome: Outcome): readonly FollowUp[] {
    if (run.plan === null || (outcome.kind !== "applied" && outcome.kind !== "rebased")) return [];
    const { chunks, parts } = run.plan;
    const shadows = shadowsOf(this.#core.settings.get(run.sessionId));
    if (shadows.length > 0) this.#sql.open(run.id, run.sessionId);
    return shadows.map(({ name, model, policy }): ShadowTask => ({
      name,
      model,
      summaryTokens: policy.summaryTokens ?? run.policy.summaryTokens,
      parts: parts.map((part) => {
        if (part.kind === "overlay") return part;
        const { index } = part;
        return {
          kind: "chunk",
          index,
          tokens: chunks[index]?.tokens ?? 0,
          digest: run.chunkDigests[index] ?? "",
        };
      }),
    }));
  }

  open(): readonly string[] {
    return this.#sql.openRuns();
  }

  close(runId: string): void {
    this.#sql.close(runId);
    const run = this.#core.runs.get(runId);
    const overlay = run === null ? undefined : overlayOf(this.#core, run);
    if (run === null || overlay === undefined) return;
    for (const row of this.#sql.beside(run.sessionId, overlay.n)) {
      const { record } = row;
      if (record.outcome !== null) continue;
      spend({ core: this.#core, sql: this.#sql }, row.name, { reserved: record.reserved, tokens: 0 });
      this.#sql.put(run.sessionId, {
        ...row,
        record: { ...record, reserved: [], outcome: { kind: "failed", code: "unfinished" } },
      });
    }
  }

  async doStep(run: RunRecord, mark: StepMark, asked: Asked): Promise<unknown> {
    const core = this.#core;
    const answer = await core.read(run.sessionId, () => core.db.transaction(() => this.#do(run, mark, asked)));
    if (!isUnread(answer)) return answer;
    const source = await answer.unread.read();
    if (source !== null) return { ...source, leftMs: MODEL_CALL_MS };
    return core.db.transaction(() => this.#do(run, mark, { ...asked, step: "changed" }));
  }

  #do(run: RunRecord, mark: StepMark, { step, args: [name, ...args] }: Asked): unknown {
    const { sessionId, outcome, policy } = run;
    assert(outcome !== null, "A shadow begins after the end of its run.");
    const core = this.#core;
    const shadow = shadowsOf(core.settings.get(sessionId)).find((each) => each.name === name);
    const overlay = overlayOf(core, run);
    if (shadow === undefined || overlay === undefined) return over(run);
    const as = { ...run, policy: { ...policy, ...shadow.policy } };
    const call: ShadowCall = { core, sql: this.#sql, shadow, run: as, overlay, mark };
    if (overlay.state !== "active") return leave(call, args[0]);
    const work = STEPS[step as keyof Steps] as ((call: ShadowCall, ...args: readonly unknown[]) => unknown) | undefined;
    assert(work !== undefined, `A workflow asked for the step "${step}", which a shadow does not have.`);
    return work(call, ...args);
  }

  graded(sessionId: string, graded: Graded): void {
    for (const row of gradeShadows(this.#core, this.#sql, sessionId, graded)) this.#sql.put(sessionId, row);
  }
}

/** The overlay that a run committed. Undefined where it has none, or none any more. */
function overlayOf({ memory }: Needs<"memory">, { sessionId, outcome }: RunRecord): OverlayRow | undefined {
  const overlayId = outcome !== null && "overlayId" in outcome ? outcome.overlayId : null;
  return overlayId === null ? undefined : memory.statements.overlayById(sessionId, overlayId);
}

interface Asked {
  readonly step: string;
  readonly args: readonly unknown[];
}

/** A chunk whose messages are read outside of the transaction, in slices. */
interface Unread {
  readonly unread: ReturnType<typeof findChunk>;
}

function isUnread(answer: unknown): answer is Unread {
  return typeof answer === "object" && answer !== null && "unread" in answer;
}

type Steps = {
  readonly [Name in Exclude<keyof ShadowPort, "readChunk">]: (
    call: ShadowCall,
    ...args: Parameters<ShadowPort[Name]> extends [StepMark, ...infer Rest] ? Rest : never
  ) => Awaited<ReturnType<ShadowPort[Name]>>;
} & {
  readonly readChunk: (call: ShadowCall, request: ChunkRequest) => DraftReceipt | RunEnded | Unread;
  /** The messages of a chunk are not those of the plan any more. */
  readonly changed: (call: ShadowCall) => RunEnded;
};

const STEPS: Steps = {
  readChunk: (call, request) => {
    const { core, run, shadow } = call;
    const unread = findChunk(core, run, request, shadow.template ?? undefined);
    return find(call, request.model, unread) ?? { unread };
  },
  changed: (call) => end(call, { kind: "stale" }),
  readDrafts: (call, request: DraftsRequest): DraftsReading => {
    const { core, run, shadow } = call;
    const sources = request.sources.map((source) => sourceOf(call, source));
    const fold = findFold(core, run, { request, sources }, shadow.template ?? undefined);
    return find(call, request.model, fold) ?? { ...fold.read(), leftMs: MODEL_CALL_MS };
  },
  saveDraft,
  noteFailure,
  keep,
  refuse: (call, { code, reason }) => end(call, { kind: "failed", code }, { reason }),
};

/** The draft that was paid for, or the end where the day's tokens do not suffice. Null where the model is asked. */
function find(
  call: ShadowCall,
  model: string,
  { key: soundKey, tokens }: { readonly key: string; readonly tokens: number },
): DraftReceipt | RunEnded | null {
  const { core, run, mark } = call;
  const { record } = stored(call);
  const refused = record.refused[mark.step];
  const key = refused?.soundKey === soundKey ? refused.key : soundKey;
  const known = core.memory.drafts.get(run.sessionId, soundKey) ?? core.memory.drafts.get(run.sessionId, key);
  if (known !== null) {
    if (record.model === null) put(call, { model });
    return { ...receiptOf(core, run, known, wholeOf(call)), soundKey };
  }
  const input = record.calls === 0 ? Math.max(tokens, planOf(run).spanTokens) : tokens;
  const day = utcDay(core.platform.now());
  const needed: Reserved = { day, tokens: input + PROMPT_OVERHEAD_TOKENS + run.policy.summaryTokens };
  const skipped = findObstacle(call, model, needed);
  if (skipped !== null) return end(call, { kind: "skipped", reason: skipped });
  call.sql.addSpend(day, call.shadow.name, needed.tokens);
  put(call, { model, reserved: [...record.reserved, needed] });
  return null;
}

/** Why no model is asked: another call of this size would go past the day's tokens, or the real runs wait for the model as well. */
function findObstacle({ core, sql, shadow }: ShadowCall, model: string, { day, tokens }: Reserved) {
  if (core.health.isOpen(model, core.platform.now())) return "breaker-open";
  return sql.spend(day, shadow.name) + tokens > shadow.dayTokens ? "budget-spent" : null;
}

/** Adds tokens to the day's, in place of those that were set aside for them. */
function spend({ core, sql }: Pick<ShadowCall, "core" | "sql">, name: string, { reserved, tokens }: Bill): void {
  const today = utcDay(core.platform.now());
  const more = reserved.reduce((left, each) => (each.day === today ? left - each.tokens : left), tokens);
  if (more !== 0) sql.addSpend(today, name, more);
}

interface Bill {
  readonly reserved: readonly Reserved[];
  readonly tokens: number;
}

function saveDraft(call: ShadowCall, answered: DraftInput): DraftReceipt | RunEnded {
  const { core, run, mark } = call;
  const { sessionId } = run;
  const input = { ...answered, text: redactionOf(core.settings.get(sessionId)).text(answered.text) };
  const { cost, answerId, again, answers: _, ...answer } = input;
  const whole = wholeOf(call);
  const audited = auditAnswer(core, run, input, whole);
  const { problems } = audited;
  const key = problems.length === 0 ? input.key : digest(input.key, "rejected", input.text);
  const source = { ...planOf(run).span, digest: run.planDigest ?? "" };
  const draft = core.memory.drafts.save(sessionId, { ...answer, ...audited, key, source });
  const billed = cost === null ? {} : bill(call, { answerId, model: input.model, cost });
  const refused = { ...stored(call).record.refused, [mark.step]: { key, soundKey: input.key } };
  put(call, {
    ...billed,
    ...(problems.length > 0 && { refused }),
    ...(problems.length > 0 && again && { outcome: { kind: "refused", problems: problems.map(({ kind }) => kind) } }),
  });
  return { ...receiptOf(core, run, draft, whole), reused: false, soundKey: input.key };
}

function noteFailure(call: ShadowCall, { model, code, reason, cost, answerId }: ModelFailure): FailureReceipt {
  const redacted = redactionOf(call.core.settings.get(call.run.sessionId)).text(reason);
  const billed = cost === null ? {} : bill(call, { answerId, model, cost });
  put(call, { ...billed, outcome: { kind: "failed", code } }, { reason: redacted });
  return { kind: "noted", again: true };
}

/** The facts and names beside it are chosen from the view as it was at the commit, so that later messages give it no advantage. */
function keep(call: ShadowCall, key: string): RunEnded {
  const { core, sql, run, overlay } = call;
  const { sessionId } = run;
  const { name } = call.shadow;
  const draft = core.memory.drafts.get(sessionId, key);
  if (draft === null) return end(call, { kind: "stale" });
  const { unfit } = receiptOf(core, run, draft, wholeOf(call));
  if (unfit.length > 0) return end(call, { kind: "refused", problems: unfit }, { key });
  const ownRecord = (row: OverlayRow) =>
    toRecord(shownAs(core, sql.find(sessionId, { n: row.n, name }), { sessionId, row }) ?? row);
  const around = readAround(core, { sessionId, ...topOf(call) }, planOf(run), ownRecord);
  const { text, facts } = draft;
  const pinned = pinBeside(core, run, { text, facts }, around);
  const tokens = core.settings.counterOf(sessionId)(textOf(withSummary(overlay, { text, pinned }), undefined));
  return end(call, { kind: "kept", tokens }, { key, pinned, namesOf: around.namesOf, reason: null });
}

/** The newest message on the run's branch at the commit, and its last step then. */
function topOf({ core, run, overlay }: ShadowCall): { readonly leafId: string | null; readonly toStep?: number } {
  const history = core.memory.session(run.sessionId);
  const { tree } = history;
  const leafId = history.leafAfter(run.leafId);
  const leaf = leafId === null ? null : tree.find(leafId);
  if (leaf === null) return { leafId: null };
  for (const seq of tree.pathDown(leaf.seq, 0)) {
    if (seq > overlay.topSeq) continue;
    const { topStep } = toRecord(overlay).details;
    return { leafId: tree.shape(seq).id, toStep: seq === overlay.topSeq && topStep !== null ? topStep : WHOLE_MESSAGE };
  }
  return { leafId: null };
}

/** Where this shadow has a summary of its own for an earlier overlay, that one is folded in. */
function sourceOf({ core, sql, run, shadow }: ShadowCall, source: FoldSource): Folded {
  const folded = readSource(core, run, source);
  if (source.kind !== "overlay") return folded;
  const row = core.memory.statements.overlayById(run.sessionId, source.id);
  const own = row === undefined ? null : sql.find(run.sessionId, { n: row.n, name: shadow.name });
  const key = own?.record.outcome?.kind === "kept" ? own.words?.key : null;
  const draft = key == null ? null : core.memory.drafts.get(run.sessionId, key);
  return draft === null ? folded : { ...folded, text: draft.text, name: draft.key, generation: draft.generation };
}

/** Adds a call to the bill of this shadow, once. Real runs have budgets of their own. */
function bill(
  call: ShadowCall,
  { answerId, model, cost }: { readonly answerId: string; readonly model: string; readonly cost: CallCost },
): Partial<ShadowRecord> {
  const { core, shadow, run } = call;
  const { billed, reserved, calls, inputTokens, outputTokens } = stored(call).record;
  if (billed.includes(answerId)) return {};
  const tokens = cost.inputTokens + cost.outputTokens;
  spend(call, shadow.name, { reserved: reserved.slice(0, 1), tokens });
  core.rooms.counted?.(run.sessionId, { model, summariser: cost, isShadow: true });
  return {
    reserved: reserved.slice(1),
    billed: [...billed, answerId],
    calls: calls + 1,
    inputTokens: inputTokens + cost.inputTokens,
    outputTokens: outputTokens + cost.outputTokens,
  };
}

function wholeOf({ core, run, shadow }: ShadowCall): Brief {
  return briefOf(core, run, shadow.template ?? undefined);
}

function stored({ core, sql, shadow, run, overlay }: ShadowCall) {
  const { n, overlayId } = overlay;
  const { tokens, details } = toRecord(overlay);
  return (
    sql.find(run.sessionId, { n, name: shadow.name }) ?? {
      n,
      overlayId,
      name: shadow.name,
      record: newRecord(run, core.platform.now(), { model: details.model, tokens }),
      words: null,
    }
  );
}

function put(call: ShadowCall, patch: Partial<ShadowRecord>, words: Partial<ShadowWords> = {}): void {
  const row = stored(call);
  const merged = { ...NO_WORDS, ...row.words, ...words };
  const isEmpty = merged.key === null && merged.reason === null;
  const { reserved, ...rest } = { ...row.record, ...patch };
  const isDone = rest.outcome !== null;
  // A call that was cut off has no bill.
  if (isDone) spend(call, row.name, { reserved, tokens: 0 });
  const record = { ...rest, reserved: isDone ? [] : reserved };
  call.sql.put(call.run.sessionId, { ...row, record, words: isEmpty ? null : merged });
}

function end(
  call: ShadowCall,
  outcome: ShadowOutcome,
  words: Partial<ShadowWords> = {},
  billed: Partial<ShadowRecord> = {},
): RunEnded {
  put(call, { ...billed, outcome }, words);
  return over(call.run);
}

/** The overlay left force. Of a late answer only its cost is kept. */
function leave(call: ShadowCall, late: unknown): RunEnded {
  const { answerId, model, cost } = (late ?? {}) as Partial<ModelFailure>;
  const isPaid = answerId !== undefined && model !== undefined && cost != null;
  const { record } = stored(call);
  const billed = isPaid ? bill(call, { answerId, model, cost }) : {};
  return end(call, record.outcome ?? { kind: "stale" }, {}, billed);
}

/** Ends the steps of one shadow. The run ended before. */
function over({ outcome }: RunRecord): RunEnded {
  assert(outcome !== null, "A shadow begins after the end of its run.");
  return { kind: "ended", outcome };
}
