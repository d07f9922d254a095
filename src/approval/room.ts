/**
 * The room of approvals: a person decides on each summary before it comes into force.
 *
 * A proposal is an overlay that nothing shows. The call that approves it lays it anew through the fence of any commit, so one over messages
 * that changed writes nothing. A person's own text passes the same audit as a model's.
 */
import { callOf, showRun, type CallContext } from "../agent/calls.ts";
import type { Extension, Installed } from "../agent/extension.ts";
import { id, summary, words } from "../agent/inputs.ts";
import type { BuilderCall, ApprovalSettings } from "../agent/settings.ts";
import { MAX_REASON_CHARS } from "../limits.ts";
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { checkFields, checkWhole } from "../known-fields.ts";
import type { Deadline } from "../memory/overlays/overlay.ts";
import { type LiveRun, type RunRecord, planOf } from "../memory/runs/runs.ts";
import { auditSummary, type AuditProblem, tellsSomething } from "../steps/draft/audit.ts";
import { digest } from "../steps/text/digest.ts";
import { stripInvisible, tellInvisible } from "../steps/text/text.ts";
import type { AgentCore } from "../agent/agent-core.ts";
import type { Needs } from "../agent/core.ts";
import { addProposed } from "../agent/runs/commit.ts";
import { briefOf } from "../agent/runs/draft-requests.ts";
import { factsOf } from "../agent/runs/sources.ts";

/** The declaration that the room adds to a session and to a manager of sessions. */
export interface ApprovalMethods {
  /** Each summary waits for a person before it comes into force. Throws `invalid_options`. */
  requireApproval(options?: ApprovalOptions): this;
}

class ApprovalBuilder implements ApprovalMethods {
  readonly #collect: (call: BuilderCall) => void;

  /** @internal */
  constructor(collect: (call: BuilderCall) => void) {
    this.#collect = collect;
  }

  requireApproval(options: ApprovalOptions = {}): this {
    const resolved = resolveApproval(options);
    this.#collect({ settings: (settings) => ({ ...settings, approval: resolved }) });
    return this;
  }
}

const call = callOf<object>();

export const approvalCalls = {
  /** Reads the summary that waits for a person, or null when the run proposes none. */
  getProposal: call({
    group: "read",
    input: z.strictObject({ runId: id }),
    run: ({ core }, { runId }) => findProposal(core, core.runs.mustGet(runId)),
  }),
  /** Approves the summary that a run proposes, or another text in its place. */
  approveRun: call({
    group: "steer",
    input: z.strictObject({ runId: id, summary: summary.optional() }),
    run: async (context, { runId, summary }) => showDecided(context, await approveRun(context.core, runId, summary)),
  }),
  /** Rejects the summary that a run proposes, which ends the run without effect. */
  rejectRun: call({
    group: "steer",
    input: z.strictObject({ runId: id, reason: words(MAX_REASON_CHARS).optional() }),
    run: async (context, { runId, reason }) => showDecided(context, await rejectRun(context.core, runId, reason)),
  }),
};

function showDecided(context: CallContext, decided: Decided): Decided {
  return decided.kind === "unsound" ? decided : { ...decided, run: showRun(context, decided.run) };
}

/** The room as an agent is declared with it. */
export interface ApprovalExtension extends Extension<ApprovalMethods, ApprovalMethods, typeof approvalCalls> {}

/** Adds `requireApproval` to each session, and the calls of whom it asks, as in `withCompaction(Base, { rooms: [approval()] })`. */
export function approval(): ApprovalExtension {
  return {
    name: "approval",
    calls: approvalCalls,
    install: (): Installed<ApprovalMethods, ApprovalMethods> => ({
      session: (state) => new ApprovalBuilder((call) => state.collect(call)),
      manager: ({ collect }) => new ApprovalBuilder(collect),
    }),
  };
}

/** How long a summary waits for a person (ms): a day by default, and at most a month, like the retention of finished runs. */
const DEFAULT_APPROVAL_MS = 86_400_000;
const MAX_APPROVAL_MS = 30 * 86_400_000;
const LEAST_APPROVAL_MS = 1_000;

/** How long a person is waited for, and what happens without an answer. */
export interface ApprovalOptions {
  /** How long a summary waits for a person (ms). Default a day. */
  readonly timeoutMs?: number | undefined;
  /** The effect of silence. `discard` (default) leaves the view unchanged, `apply` commits the summary. */
  readonly onTimeout?: "apply" | "discard" | undefined;
}

/** A summary that waits for a person. */
export interface Proposal extends Deadline {
  /** The run that made it, as `approveRun` and `rejectRun` take it. */
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
}

/** The effect of a person's decision. */
export type Decided =
  | { readonly kind: "approved" | "rejected"; readonly run: RunRecord }
  /** Approved, and the fence refused the commit. The run's outcome says why. */
  | { readonly kind: "stale"; readonly run: RunRecord }
  /** Nothing changed, because the run already had its outcome, or its time was over. */
  | { readonly kind: "late"; readonly run: RunRecord }
  /** The person's own text is not sound, and the proposal stays. */
  | { readonly kind: "unsound"; readonly problems: readonly AuditProblem[] };

/** Throws `invalid_options`. */
export function resolveApproval(options: ApprovalOptions = {}): ApprovalSettings {
  checkFields("requireApproval", options, { timeoutMs: true, onTimeout: true });
  const { timeoutMs = DEFAULT_APPROVAL_MS, onTimeout = "discard" } = options;
  checkWhole("timeoutMs", timeoutMs, LEAST_APPROVAL_MS, MAX_APPROVAL_MS);
  if (onTimeout !== "apply" && onTimeout !== "discard") {
    throw new PalimpsestError(
      "invalid_options",
      `onTimeout is ${JSON.stringify(onTimeout)}: give "apply" or "discard".`,
    );
  }
  return { timeoutMs, onTimeout };
}

/** Null for a run that proposes nothing. */
export function findProposal(core: Needs<"memory" | "settings">, { id: runId, sessionId }: RunRecord): Proposal | null {
  const proposal = core.memory.session(sessionId).overlays.proposalOf(runId);
  if (proposal?.details.deadline == null) return null;
  const { summary, spanTokens, createdAt, details } = proposal;
  const { degraded } = details;
  const tokens = core.settings.counterOf(sessionId)(summary);
  return { runId, summary, tokens, spanTokens, degraded, askedAt: createdAt, ...proposal.details.deadline };
}

/** A person's approval of what a run proposes, or of a text of their own. Throws `invalid_state`, `unknown_run`. */
export async function approveRun(core: AgentCore, runId: string, summary: string | undefined): Promise<Decided> {
  const proposed = await mustPropose(core, runId);
  if (proposed.outcome !== null) return { kind: "late", run: proposed };
  return core.read(proposed.sessionId, () =>
    core.db.transaction((): Decided => {
      const run = core.runs.mustGet(runId);
      if (run.state !== "proposed") return { kind: "late", run };
      const own = summary === undefined ? null : saveOwn(core, run, summary);
      if (own?.kind === "unsound") return own;
      const outcome = addProposed(core, run, own);
      return { kind: outcome.kind === "stale" ? "stale" : "approved", run: core.runs.mustGet(runId) };
    }),
  );
}

/** A person's rejection, which ends the run without effect. Throws `invalid_state`, `unknown_run`. */
export async function rejectRun(core: AgentCore, runId: string, reason: string | undefined): Promise<Decided> {
  const run = await mustPropose(core, runId);
  if (run.outcome !== null) return { kind: "late", run };
  const detail = reason === undefined || reason === "" ? "A person rejected the summary." : reason;
  return { kind: "rejected", run: core.dispatcher.end(runId, { kind: "nothing", reason: "declined", detail }) };
}

/** The run as it is, after a look whether its time is over. Throws `invalid_state` while it is still at work. */
async function mustPropose(core: AgentCore, runId: string): Promise<RunRecord> {
  const run = core.runs.mustGet(runId);
  if (run.outcome !== null) return run;
  if (run.state !== "proposed") {
    throw new PalimpsestError(
      "invalid_state",
      `Run "${runId}" proposes nothing yet. Wait for its event, or cancel it.`,
    );
  }
  await core.dispatcher.lookAtProposal(run);
  return core.runs.mustGet(runId);
}

type Own = { kind: "saved"; key: string; text: string; model: string } | Extract<Decided, { kind: "unsound" }>;

/** Audits a person's own text and stores it as a draft. */
function saveOwn(core: Needs<"memory" | "settings">, run: LiveRun, summary: string): Own {
  const { sessionId } = run;
  const proposal = core.memory.session(sessionId).overlays.proposalOf(run.id);
  const before = proposal?.summary ?? "";
  const hasMatter = (): boolean => tellsSomething(before);
  const text = stripInvisible(summary);
  const countTokens = core.settings.counterOf(sessionId);
  const audit = auditSummary({ text, finishReason: "stop", ...briefOf(core, run), hasMatter, countTokens });
  const problems = audit.ok ? [] : [...audit.problems];
  const hidden = tellInvisible(summary);
  if (hidden !== null) problems.push({ kind: "unseen", detail: `The text ${hidden}` });
  if (problems.length > 0) return { kind: "unsound", problems };
  if (proposal === null) return { kind: "saved", key: "", text, model: "edited" };
  const { generation, pinned } = proposal.details;
  const saved = core.memory.drafts.save(sessionId, {
    key: digest(run.id, "by a person", text),
    text,
    tokens: countTokens(text),
    model: `${proposal.details.model} · edited`,
    finishReason: "stop",
    degraded: false,
    generation,
    facts: factsOf(core, proposal, sessionId),
    problems: [],
    unfounded: pinned.unfounded.filter((each) => text.includes(each)),
    source: { ...planOf(run).span, digest: run.planDigest ?? "" },
  });
  return { kind: "saved", key: saved.key, text, model: saved.model };
}
