/**
 * One compaction, as a straight line of durable steps. Every decision is here; every callee is a verb.
 *
 *     read outline ─▶ plan the cut ─▶ summarize k of n … ─▶ merge … ─▶ audit ─▶ add compaction
 *
 * A step's result is kept by the engine, so a crash resumes behind the last one that finished; a step that did not is
 * run again, and its effects are idempotent (see port.ts). Step names are read by people in the Workflows dashboard and
 * are part of the schema: a chunk's name holds its place and the digest of its source, so it is the same in a replay.
 *
 * The run always ends: where no model's answer passes its audit, a deterministic digest stands in (see ladder.ts) and
 * the overlay says `degraded`.
 */
import type { Agent } from "agents";
import { AgentWorkflow, type AgentWorkflowEvent, type AgentWorkflowStep } from "agents/workflows";
import pMap from "p-map";
import { PARALLEL_CHUNKS } from "../limits.ts";
import type { Outcome } from "../memory/runs.ts";
import { chooseModel, type ChosenModel, type ModelEnv } from "../model/choose.ts";
import { fitPolicy, groupDrafts } from "../steps/fit.ts";
import { planCut } from "../steps/plan.ts";
import { openPort, type AgentAddress } from "./agent-stub.ts";
import { digestChunk, digestDrafts, mergeDrafts, repairDraft, summarizeChunk } from "./draft.ts";
import { climbDown, markOf, type Drafted, type ModelHealth } from "./ladder.ts";
import type { CompactionPort, DraftReceipt, PlannedChunk } from "./port.ts";
import { AGENT_CALL } from "./retries.ts";

export interface CompactionParams {
  readonly runId: string;
  readonly agent: AgentAddress;
}

/** What every step of one run works with. */
interface Work {
  readonly step: AgentWorkflowStep;
  readonly model: ChosenModel;
  readonly health: ModelHealth;
  readonly port: () => CompactionPort;
}

export class CompactionWorkflow extends AgentWorkflow<Agent, CompactionParams> {
  /** The summariser. A subclass may bring its own; it must then also define `run`, because the SDK wraps the one it finds. */
  protected model(): ChosenModel {
    return chooseModel(this.env as ModelEnv);
  }

  override async run(event: AgentWorkflowEvent<CompactionParams>, step: AgentWorkflowStep): Promise<Outcome> {
    const { runId, agent } = event.payload;
    const work: Work = {
      step,
      model: this.model(),
      health: { down: false },
      port: () => openPort(this.env, agent, runId),
    };
    const { port, model } = work;

    const outline = await step.do("read outline", AGENT_CALL, (at) => port().readOutline(markOf(at)));
    if (outline.kind === "ended") return outline.outcome;

    const policy = fitPolicy(outline.policy, model.windowTokens);
    const plan = await step.do("plan the cut", AGENT_CALL, (at) =>
      port().recordPlan(markOf(at), planCut(outline.outline, policy, { force: outline.force })),
    );
    if (plan.kind === "ended") return plan.outcome;

    const withPrevious = plan.hasPrevious && plan.chunks.length === 1;
    const drafts = await pMap(
      plan.chunks,
      (chunk) => summarize(work, chunk, { of: plan.chunks.length, withPrevious }),
      {
        concurrency: PARALLEL_CHUNKS,
      },
    );
    const summary = await merge(work, drafts, { limitTokens: policy.chunkTokens, withPrevious: plan.hasPrevious });
    if (summary.kind === "ended") return summary.outcome;

    const verdict = await step.do("audit", AGENT_CALL, (at) => port().auditDraft(markOf(at), summary.key));
    if (verdict.kind === "ended") return verdict.outcome;
    const sound = verdict.kind === "passed" ? summary : await digest(work, drafts, plan.hasPrevious);
    if (sound.kind === "ended") return sound.outcome;

    const ended = await step.do("add compaction", AGENT_CALL, (at) => port().addCompaction(markOf(at), sound.key));
    return ended.outcome;
  }
}

function summarize(work: Work, chunk: PlannedChunk, options: { of: number; withPrevious: boolean }): Promise<Drafted> {
  const { step, port, model, health } = work;
  const request = { index: chunk.index, withPrevious: options.withPrevious };
  return climbDown(step, health, {
    verb: "summarize",
    place: `${chunk.index + 1} of ${options.of} · ${chunk.digest.slice(0, 8)}`,
    draft: (mark) => summarizeChunk({ port: port(), mark, model }, request),
    repair: (mark, rejected) => repairDraft({ port: port(), mark, model }, rejected),
    digest: (mark) => digestChunk({ port: port(), mark }, request),
  });
}

/** Folds drafts into one, in rounds that fit the model's window; only the last round sees the earlier summary. */
async function merge(
  work: Work,
  drafts: readonly Drafted[],
  options: { limitTokens: number; withPrevious: boolean },
): Promise<Drafted> {
  const { step, port, model } = work;
  let layer = drafts;
  for (let round = 1; ; round++) {
    const ended = layer.find((draft) => draft.kind === "ended");
    if (ended !== undefined) return ended;
    const groups = groupDrafts(layer as readonly DraftReceipt[], options.limitTokens);
    const [only] = layer;
    if (layer.length === 1 && only !== undefined) return only;
    const withPrevious = options.withPrevious && groups.length === 1;
    layer = await pMap(
      groups,
      (group, index) => {
        const request = { keys: group.map((draft) => draft.key), withPrevious };
        return climbDown(step, work.health, {
          verb: "merge",
          place: `${index + 1} of ${groups.length} · round ${round}`,
          draft: (mark) => mergeDrafts({ port: port(), mark, model }, request),
          repair: (mark, rejected) => repairDraft({ port: port(), mark, model }, rejected),
          digest: (mark) => digestDrafts({ port: port(), mark }, request),
        });
      },
      { concurrency: PARALLEL_CHUNKS },
    );
  }
}

/** The whole span without a model, when the merged summary did not pass as a whole. */
function digest(work: Work, drafts: readonly Drafted[], withPrevious: boolean): Promise<Drafted> {
  const keys = drafts.flatMap((draft) => (draft.kind === "draft" ? [draft.key] : []));
  return work.step.do("digest the span", AGENT_CALL, (at) =>
    digestDrafts({ port: work.port(), mark: markOf(at) }, { keys, withPrevious }),
  );
}
