/**
 * One compaction as a straight line of durable steps. Every decision is here, and the functions that it calls only act.
 *
 *     plan the cut ─▶ summarize ─▶ add compaction          one call, which also gets the summary that it carries on
 *     plan the cut ─▶ summarize k of n … ─▶ merge ─▶ add compaction
 *
 * The planning step reads, cuts and aligns the outline here, off the agent's thread. The call that stores a draft also audits it. The
 * receipt says whether the draft would pass as the summary of the whole span. The commit of a split opens its child.
 * Where a person is asked, the commit proposes the summary, and the line ends there too.
 *
 * The engine keeps each step's result, so a crash resumes after the last finished step. An unfinished step runs again, and its effects are
 * idempotent (see port.ts). People read step names in the Workflows dashboard, and the names are part of the schema.
 *
 * The run always ends. Where no model's answer passes its audit, a summary without a model replaces it (see ladder.ts) and the overlay says
 * `degraded`.
 */
import type { WorkflowStep } from "cloudflare:workers";
import { assert } from "../errors.ts";
import { chooseBeside } from "../facts/beside.ts";
import { PARALLEL_CHUNKS } from "../limits.ts";
import type { ChosenModel } from "../model/chosen.ts";
import { findSmallWindow, fitPolicy, groupDrafts, planCut, type Plan } from "../steps/plan/plan.ts";
import {
  EXTRACTIVE,
  mergeDrafts,
  repairDraft,
  summarizeChunk,
  type Drafted,
  type MergeSource,
  type Drafting,
  type NextTry,
} from "./draft.ts";
import { inParallel } from "./parallel.ts";
import { Asked, climbDown, markOf, type Rungs, AGENT_CALL } from "./ladder.ts";
import type {
  CommitRequest,
  CompactionPort,
  DraftReceipt,
  OutlineRead,
  PlannedChunk,
  PlannedOverlay,
  PlanReceipt,
  RunEnded,
  StepMark,
} from "./port.ts";

/** Shared input of every step of one run. */
interface Work {
  readonly step: WorkflowStep;
  readonly asked: Asked;
  /** The models that summarise a chunk of several. They equal `asked` unless the Workflow brings others for chunks. */
  readonly askedForChunks: Asked;
  readonly port: CompactionPort;
}

/** A chunk with what its steps' names say behind their verb. */
interface LabelledChunk extends PlannedChunk {
  readonly label: string;
  /** True for the only chunk behind the summaries that it carries on, which makes the whole summary. */
  readonly isWhole: boolean;
}

/** A chunk's draft with the chunk's place in the plan. A later rebuild starts from these. */
type IndexedDraft = DraftReceipt & { readonly index: number };

/** The plan in the form that the engine keeps. */
type Planned = Omit<Extract<PlanReceipt, { kind: "planned" }>, "policy"> & {
  /** Most source tokens of one call, fitted to the window of the smallest model. */
  readonly chunkTokens: number;
};

/** Goes from the outline to the overlay, which ends the run. */
export async function compact(step: WorkflowStep, model: ChosenModel, port: CompactionPort): Promise<RunEnded> {
  const models = [...new Asked(model, []).models, ...new Asked(model.chunks ?? model, []).models];
  const plan = await step.do("plan the cut", AGENT_CALL, (at) => planTheCut(port, markOf(at), models));
  if (plan.kind !== "planned") return plan;

  const asked = new Asked(model, plan.resting);
  const askedForChunks = model.chunks === undefined ? asked : new Asked(model.chunks, plan.resting);
  const work: Work = { step, port, asked, askedForChunks };
  const chunks = plan.parts.filter((part) => part.kind === "chunk");
  const isWhole = chunks.length === 1 && plan.parts.at(-1)?.kind === "chunk";
  const drafted = await inParallel(PARALLEL_CHUNKS, plan.parts, async (part) =>
    part.kind === "chunk" ? summarize(work, { ...part, isWhole, label: numbered(part.index, chunks.length) }) : [part],
  );
  const parts: readonly (IndexedDraft | PlannedOverlay | RunEnded)[] = drafted.flat();
  const ended = parts.find((part) => part.kind === "ended");
  if (ended !== undefined) return ended;

  const made = parts.filter((part) => part.kind !== "ended");
  const whole = isWhole && made.filter(({ kind }) => kind === "draft").length === 1;
  const sources = whole ? made.filter(({ kind }) => kind === "draft") : made;
  const leaves = sources.flatMap((part) => (part.kind === "draft" ? [{ index: part.index, key: part.key }] : []));
  const summary = await merge(work, sources, plan.chunkTokens);
  if (summary.kind === "ended") return summary;

  const sound = summary.unfit.length === 0 ? summary : await extractAll(work, sources);
  if (sound.kind === "ended") return sound;
  const { key } = sound;
  return step.do("add compaction", AGENT_CALL, (at) => addCompaction(port, markOf(at), { key, leaves }));
}

/** Chooses what stands beside the summary, and commits both. */
async function addCompaction(port: CompactionPort, mark: StepMark, commit: CommitRequest): Promise<RunEnded> {
  const source = await port.read(mark, { kind: "beside", key: commit.key });
  if (source.kind === "ended") return source;
  return port.commit(mark, { ...commit, beside: chooseBeside(source) });
}

/** Reads the outline, cuts it and records the plan. The engine keeps only the plan's receipt, never the outline. */
async function planTheCut(
  port: CompactionPort,
  mark: StepMark,
  models: readonly ChosenModel[],
): Promise<Planned | RunEnded> {
  const names = [...new Set(models.map(({ name }) => name))];
  const windowTokens = Math.min(...models.map((each) => each.windowTokens));
  const read = await port.outline(mark, names);
  const receipt =
    read.kind === "outline"
      ? await port.recordPlan(mark, {
          kind: "cut",
          plan: planWithin(windowTokens, read),
          models: names,
          partial: read.outline.truncated,
        })
      : read;
  if (receipt.kind !== "planned") return receipt;
  const { policy, ...planned } = receipt;
  return { ...planned, chunkTokens: fitPolicy(policy, windowTokens).chunkTokens };
}

function planWithin(windowTokens: number, { outline, policy, options }: OutlineRead): Plan {
  return findSmallWindow(policy, windowTokens) ?? planCut(outline, fitPolicy(policy, windowTokens), options);
}

/** Returns the chunk's draft, or the drafts of its two halves where no model could summarise the whole chunk. */
async function summarize(work: Work, chunk: LabelledChunk): Promise<(IndexedDraft | RunEnded)[]> {
  const { step, port } = work;
  const { index, label, half, isWhole } = chunk;
  const halve = async (): Promise<readonly PlannedChunk[] | RunEnded | null> => {
    const halves = await step.do(`split${label}`, AGENT_CALL, (at) =>
      port.recordPlan(markOf(at), { kind: "halves", of: index }),
    );
    return "kind" in halves || halves.length > 0 ? halves : null;
  };
  const drafted = await climbDown<readonly PlannedChunk[] | RunEnded>(step, {
    asked: isWhole ? work.asked : work.askedForChunks,
    name: `summarize${label}`,
    label,
    last: "extract",
    ...rungsOf(port, (by, again) => summarizeChunk(by, index, again)),
    // A half is not split again, because its length is then not the cause of the failure.
    ...(half ? {} : { smaller: halve }),
  });
  if ("kind" in drafted) return [drafted.kind === "ended" ? drafted : { ...drafted, index }];
  const halves = drafted.map((each, at) => ({ ...each, label: `${label} · half ${at + 1}`, isWhole: false }));
  return (await Promise.all(halves.map((each) => summarize(work, each)))).flat();
}

/** Folds summaries and drafts, oldest first, into one draft. Each round fits its groups to the model's window. */
async function merge(
  { step, port, asked }: Work,
  sources: readonly MergeSource[],
  limitTokens: number,
): Promise<Drafted> {
  let layer = sources;
  for (let round = 1; ; round++) {
    const [only] = layer;
    assert(only !== undefined, "A span has at least one source to summarise.");
    if (layer.length === 1 && only.kind === "draft") return only;
    const groups = groupDrafts(layer, limitTokens);
    const folded = await inParallel(PARALLEL_CHUNKS, groups, (group, index) => {
      const label = numbered(index, groups.length) + (round === 1 ? "" : ` · round ${round}`);
      return climbDown<never>(step, {
        asked,
        name: `merge${label}`,
        label: ` the merge${label}`,
        last: "extract",
        ...rungsOf(port, (by, again) => mergeDrafts(by, group, again)),
      });
    });
    const ended = folded.find((draft) => draft.kind === "ended");
    if (ended !== undefined) return ended;
    layer = folded.filter((draft) => draft.kind === "draft");
  }
}

/** Tells the steps of several sources apart. Empty where there is one. */
function numbered(index: number, of: number): string {
  return of === 1 ? "" : ` ${index + 1} of ${of}`;
}

/** The rungs of one draft, by the way it is asked for. */
function rungsOf(
  port: CompactionPort,
  ask: (by: Drafting, again?: NextTry) => Promise<Drafted>,
): Pick<Rungs, "draft" | "repair" | "extract"> {
  return {
    draft: (mark, model) => ask({ port, mark, model }),
    repair: (mark, model, rejected) => {
      const by = { port, mark, model };
      return repairDraft(by, rejected, (again) => ask(by, again));
    },
    extract: (mark) => ask({ port, mark, model: EXTRACTIVE }),
  };
}

/** Summarises the whole span without a model when the merged summary did not pass as a whole. */
function extractAll({ step, port }: Work, sources: readonly MergeSource[]): Promise<Drafted> {
  return step.do("extract the span", AGENT_CALL, (at) =>
    mergeDrafts({ port, mark: markOf(at), model: EXTRACTIVE }, sources),
  );
}
