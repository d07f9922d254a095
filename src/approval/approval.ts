/**
 * A person's approval between a sound draft and its commit.
 *
 * Keeps the decision in the run's ledger row, written in one transaction before any event. The workflow asks here until there is a decision
 * (wait.ts). The commit is fenced as without a person, so a late or repeated approval, or one after an edit, writes nothing.
 * A person's own text passes the same audit as a model's.
 */
import { inWords, PalimpsestError } from "../errors.ts";
import { checkFields } from "../known-fields.ts";
import { LEAST_APPROVAL_MS } from "../limits.ts";
import { waitsForPerson } from "../memory/runs/record.ts";
import type { Approval, LiveRun, Outcome, RunRecord } from "../memory/runs/runs.ts";
import { auditSummary, type AuditProblem } from "../steps/draft/audit.ts";
import { digest } from "../steps/text/digest.ts";
import { tellsSomething } from "../steps/draft/summary-shape.ts";
import { findInvisible, stripInvisible } from "../steps/text/invisible-characters.ts";
import type { ApprovalReading, RunEnded } from "../workflows/port.ts";
import type { AgentCore } from "../agent/agent-core.ts";
import type { Needs, StepCall } from "../agent/core.ts";
import { beginApproval, declined, decideApproval } from "../agent/runs/approved.ts";
import { briefOf } from "../agent/runs/drafts/brief.ts";
import { mustDraft } from "../agent/runs/drafts/sources.ts";
import type { ApprovalSettings } from "../agent/settings.ts";

/** How long a summary waits for a person (ms). A day by default, and at most a month, like the retention of finished runs. */
const DEFAULT_APPROVAL_MS = 86_400_000;
const MAX_APPROVAL_MS = 30 * 86_400_000;

/** How long a person is waited for, and what happens without an answer. */
export interface ApprovalOptions {
  /** How long a summary waits for a person (ms). Default a day. */
  readonly timeoutMs?: number | undefined;
  /** The effect of silence. `discard` (default) leaves the view unchanged, `apply` commits the summary. */
  readonly onTimeout?: "apply" | "discard" | undefined;
}

/** A summary that waits for a person. */
export interface Proposal {
  /** The run that waits, as `approveRun` and `rejectRun` take it. */
  readonly runId: string;
  /** The text that would stand in the view. */
  readonly summary: string;
  /** Its estimated tokens. */
  readonly tokens: number;
  /** Estimated tokens of the span that it would replace. */
  readonly spanTokens: number;
  /** True when no model made it. */
  readonly degraded: boolean;
  /** Epoch ms. */
  readonly askedAt: number;
  /** When the waiting ends, epoch ms. */
  readonly expiresAt: number;
  /** What happens then. */
  readonly onTimeout: ApprovalSettings["onTimeout"];
}

/** The effect of a person's decision. */
export type Decided =
  | { readonly kind: "approved" | "rejected"; readonly run: RunRecord }
  /** Nothing changed, because the run already had its outcome or its decision, or its time was over. */
  | { readonly kind: "late"; readonly run: RunRecord }
  /** The person's own text is not sound, and the run still waits. */
  | { readonly kind: "unsound"; readonly problems: readonly AuditProblem[] };

/** Throws `invalid_options`. */
export function resolveApproval(options: ApprovalOptions = {}): ApprovalSettings {
  checkFields("requireApproval", options, { timeoutMs: true, onTimeout: true });
  const { timeoutMs = DEFAULT_APPROVAL_MS, onTimeout = "discard" } = options;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < LEAST_APPROVAL_MS || timeoutMs > MAX_APPROVAL_MS) {
    throw new PalimpsestError(
      "invalid_options",
      `timeoutMs is ${inWords(timeoutMs)}: give whole milliseconds from ${LEAST_APPROVAL_MS} to ${MAX_APPROVAL_MS}.`,
    );
  }
  if (onTimeout !== "apply" && onTimeout !== "discard") {
    throw new PalimpsestError(
      "invalid_options",
      `onTimeout is ${JSON.stringify(onTimeout)}: give "apply" or "discard".`,
    );
  }
  return { timeoutMs, onTimeout };
}

/**
 * For the workflow's port. Returns the decision, or how long to wait for one. The first call starts the wait, and so does a call with
 * another draft than the undecided one.
 */
export function askApproval(call: StepCall, key: string): ApprovalReading | RunEnded {
  const { run, core } = call;
  const now = core.platform.now();
  const standing = run.approval;
  const isOther = standing?.approvedKey === null && standing.key !== key;
  const begun = standing === undefined || isOther ? beginApproval(core, run, key) : standing;
  if (begun === null) {
    call.close();
    return { kind: "approved", key };
  }
  const asked = decideApproval(core, begun);
  if ("kind" in asked) return call.end(asked);
  call.note({ approval: asked });
  call.close();
  if (asked.approvedKey !== null) return { kind: "approved", key: asked.approvedKey };
  call.wait();
  return { kind: "waiting", timeoutMs: asked.expiresAt - now };
}

/**
 * Null once the run no longer waits for a person. Null as well while its messages differ from those that were summarised, because a yes
 * would commit nothing, and the summary may hold words that were edited or deleted.
 */
export function findProposal(core: Needs<"memory">, run: RunRecord): Proposal | null {
  if (run.outcome !== null || run.approval?.approvedKey !== null) return null;
  const found = run.plan === null ? null : core.memory.session(run.sessionId).spans.digest(run.plan.span);
  if (found === null || found.digest !== run.planDigest) return null;
  const { approval } = run;
  const { text, tokens, degraded } = mustDraft(core, run, approval.key);
  const { askedAt, expiresAt, onTimeout } = approval;
  const spanTokens = run.plan?.spanTokens ?? 0;
  return { runId: run.id, summary: text, tokens, spanTokens, degraded, askedAt, expiresAt, onTimeout };
}

/**
 * A person's approval of the draft, or of a text of their own. It is written before the engine is told. The watchdog repeats a lost
 * event. Throws `invalid_state`, `unknown_run`.
 */
export async function approveRun(core: AgentCore, runId: string, summary: string | undefined): Promise<Decided> {
  const run = core.runs.mustGet(runId);
  if (run.outcome !== null) return { kind: "late", run };
  const decided = core.db.transaction(() => approve(core, run, summary));
  if (decided.kind !== "approved") return decided;
  return { ...decided, run: await core.dispatcher.goOn(run) };
}

/** A person's rejection, which ends the run without effect. Throws `invalid_state`, `unknown_run`. */
export async function rejectRun(core: AgentCore, runId: string, reason: string | undefined): Promise<Decided> {
  const run = core.runs.mustGet(runId);
  if (run.outcome !== null) return { kind: "late", run };
  const outcome = reject(core, run, reason);
  if (outcome === null) return { kind: "late", run };
  return { kind: "rejected", run: await core.dispatcher.endAndStop(run, outcome) };
}

/** Records a person's approval. Call inside a transaction. Throws `invalid_state`. */
function approve(
  core: Needs<"memory" | "platform" | "runs" | "settings">,
  run: LiveRun,
  summary: string | undefined,
): Decided {
  const waiting = mustHaveAsked(core, run);
  if (waiting === null) return { kind: "late", run };
  const edited = summary === undefined ? null : saveEdited(core, run, { key: waiting.key, summary });
  if (edited?.kind === "unsound") return edited;
  const approval = { ...waiting, approvedKey: edited?.key ?? waiting.key };
  const state = run.state === "waiting" ? "running" : run.state;
  return { kind: "approved", run: core.runs.change(run.id, { approval, state }) };
}

/** The outcome of a run that a person rejected. Null when the rejection comes too late. Throws `invalid_state`. */
function reject(core: Needs<"platform">, run: LiveRun, reason: string | undefined): Outcome | null {
  if (mustHaveAsked(core, run) === null) return null;
  return declined(reason === undefined || reason === "" ? "A person rejected the summary." : reason);
}

/** Null when it is too late to decide. */
function mustHaveAsked(core: Needs<"platform">, run: LiveRun): Approval | null {
  if (run.approval === undefined) {
    throw new PalimpsestError(
      "invalid_state",
      `Run "${run.id}" does not wait for approval. Wait for its event, or cancel it.`,
    );
  }
  return waitsForPerson(run, core.platform.now()) ? run.approval : null;
}

function saveEdited(
  core: Needs<"memory" | "settings">,
  run: LiveRun,
  { key, summary }: { key: string; summary: string },
): { kind: "saved"; key: string } | Extract<Decided, { kind: "unsound" }> {
  const draft = mustDraft(core, run, key);
  const hasMatter = (): boolean => tellsSomething(draft.text);
  const text = stripInvisible(summary);
  const countTokens = core.settings.counterOf(run.sessionId);
  const audit = auditSummary({ text, finishReason: "stop", ...briefOf(core, run), hasMatter, countTokens });
  const problems = [...(audit.ok ? [] : audit.problems), ...findHidden(summary)];
  if (problems.length > 0) return { kind: "unsound", problems };
  const edited = {
    ...draft,
    text,
    tokens: countTokens(text),
    degraded: false,
    unfounded: draft.unfounded.filter((each) => text.includes(each)),
    model: `${draft.model} · edited`,
  };
  const saved = core.memory.drafts.save(run.sessionId, { ...edited, key: digest(key, "by a person", text) });
  return { kind: "saved", key: saved.key };
}

/** Refused instead of cleaned, because the author of a text with invisible characters read another text than a model would. */
function findHidden(summary: string): AuditProblem[] {
  const found = findInvisible(summary);
  if (found.length === 0) return [];
  const named = found.slice(0, MAX_NAMED).join(", ") + (found.length > MAX_NAMED ? ", …" : "");
  return [{ kind: "unseen", detail: `The text holds characters that cannot be seen: ${named}. Take them out.` }];
}

/** Most characters that one sentence names. */
const MAX_NAMED = 8;
