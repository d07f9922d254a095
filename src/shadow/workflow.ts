/**
 * The shadows of one run as durable steps, after its commit.
 *
 *     … add compaction ─▶ shadow cheap · summarize k of n … (─▶ shadow cheap · merge …)
 *
 * The run has its outcome before the first of them. A shadow that fails ends by itself: its outcome is stored by the call that failed, and
 * the next shadow is tried. A draft is stored under the digest of its source, as a real one, so a step that runs again pays nothing.
 */
import type { WorkflowStep, WorkflowStepConfig } from "cloudflare:workers";
import { errorCode } from "../errors.ts";
import { PROMPT_OVERHEAD_TOKENS } from "../limits.ts";
import type { ChosenModel } from "../model/chosen.ts";
import { groupDrafts } from "../steps/plan/window.ts";
import {
  foldDrafts,
  repairDraft,
  summarizeChunk,
  type Drafted,
  type Drafting,
  type MergeSource,
} from "../workflows/draft.ts";
import { isEngineStopping, markOf } from "../workflows/ladder.ts";
import type { After } from "../workflows/run-steps.ts";
import type { DraftReceipt, FollowUp } from "../workflows/port.ts";
import { AGENT_CALL, MODEL_CALL } from "../workflows/retries.ts";
import { shadowPort, type ShadowPort, type ShadowTask } from "./workflow-port.ts";

/** A shadow is worth one more try, and no wait of minutes. */
const SHADOW_CALL = {
  ...MODEL_CALL,
  retries: { ...MODEL_CALL.retries, limit: 1 },
} as const satisfies WorkflowStepConfig;

/** A step reads its answer's key back. The last one also keeps the whole. */
interface ShadowStep {
  readonly place: string;
  readonly isLast: boolean;
  readonly draft: (
    by: Drafting,
    again?: { readonly repairOf: string; readonly problems: readonly string[] },
  ) => Promise<Drafted>;
}

interface Work {
  readonly step: WorkflowStep;
  readonly model: ChosenModel;
  readonly port: ShadowPort;
  readonly name: string;
}

export async function summarizeShadows(
  step: WorkflowStep,
  followUps: readonly FollowUp[],
  { port, choose }: After,
): Promise<void> {
  for (const task of followUps as readonly ShadowTask[]) {
    const own = shadowPort(port, task.name);
    try {
      const model = await chooseModel(choose, task);
      if ("code" in model) await refuse(step, task, own, model);
      else await summarizeShadow({ step, model, port: own, name: task.name }, task);
    } catch (error) {
      // Its outcome is stored. The engine that stops runs this again.
      if (isEngineStopping(error)) throw error;
    }
  }
}

interface Refusal {
  readonly code: string;
  readonly reason: string;
}

/** The shadow's model, if it can read each part of the plan. */
async function chooseModel(choose: After["choose"], { model: name, parts, summaryTokens }: ShadowTask) {
  let model: ChosenModel;
  try {
    model = await choose(name);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { code: errorCode(error) ?? "not_configured", reason };
  }
  const most = Math.max(...parts.map(({ tokens }) => tokens));
  const needed = most + PROMPT_OVERHEAD_TOKENS + 2 * summaryTokens;
  if (needed <= model.windowTokens) return model;
  const reason = `Its window of ${model.windowTokens} tokens does not hold a part of ${most} beside its prompt: lower chunkTokens of the session, or choose another model.`;
  return { code: "window-too-small", reason };
}

function refuse(step: WorkflowStep, { name }: ShadowTask, port: ShadowPort, why: Refusal): Promise<unknown> {
  return step.do(`shadow ${name} · refuse the model`, AGENT_CALL, (at) => port.refuse(markOf(at), why));
}

async function summarizeShadow(work: Work, { parts }: ShadowTask): Promise<void> {
  const chunks = parts.filter((part) => part.kind === "chunk");
  const sources: MergeSource[] = [];
  for (const part of parts) {
    if (part.kind === "overlay") {
      sources.push(part);
      continue;
    }
    const { index, digest } = part;
    const drafted = await makeDraft(work, {
      place: `summarize ${index + 1} of ${chunks.length} · ${digest.slice(0, 8)}`,
      isLast: parts.length === 1,
      draft: (by, again) => summarizeChunk(by, index, again),
    });
    if (drafted === null) return;
    sources.push(drafted);
  }
  await merge(work, sources);
}

/** Folds overlays and drafts into one summary, as many at a time as the model's window holds. */
async function merge(work: Work, sources: readonly MergeSource[]): Promise<void> {
  let layer = sources;
  for (let round = 1; layer.length > 1 || layer[0]?.kind === "overlay"; round++) {
    const groups = groupDrafts(layer, Math.floor(work.model.windowTokens / 2));
    const folded: DraftReceipt[] = [];
    for (const [at, group] of groups.entries()) {
      const drafted = await makeDraft(work, {
        place: `merge ${at + 1} of ${groups.length} · round ${round}`,
        isLast: groups.length === 1,
        draft: (by, again) => foldDrafts(by, group, again),
      });
      if (drafted === null) return;
      folded.push(drafted);
    }
    layer = folded;
  }
}

/** A sound draft, asked for once more where the audit refused the first. Null where the shadow is over. */
async function makeDraft(
  { step, model, port, name }: Work,
  { place, isLast, draft }: ShadowStep,
): Promise<DraftReceipt | null> {
  const ask = (verb: string, work: (by: Drafting) => Promise<Drafted>): Promise<Drafted> =>
    step.do(`shadow ${name} · ${verb}${place}`, SHADOW_CALL, async (at) => {
      const by = { port, mark: markOf(at), model };
      const drafted = await work(by);
      const isDone = isLast && drafted.kind === "draft" && isSound(drafted) && (drafted.lost === 0 || verb !== "");
      return isDone ? port.keep(by.mark, drafted.key) : drafted;
    });
  const first = await ask("", (by) => draft(by));
  if (first.kind === "ended") return null;
  if (isSound(first) && first.lost === 0) return first;
  const second = await ask("repair ", async (by) => {
    const repaired = await repairDraft(by, first, (again) => draft(by, again));
    if (repaired.kind === "ended" || !isSound(first)) return repaired;
    return isSound(repaired) && repaired.score > first.score ? repaired : first;
  });
  return second.kind === "draft" && isSound(second) ? second : null;
}

function isSound({ problems }: DraftReceipt): boolean {
  return problems.length === 0;
}
