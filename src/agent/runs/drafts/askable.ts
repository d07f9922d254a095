/**
 * What a model is asked about: a chunk, or several drafts, with the key of the answer.
 *
 * The key is found first, and the content is read only where no draft stands under it. So nothing is rendered for an answer that was
 * already paid for.
 */
import { assert } from "../../../errors.ts";
import { planOf, type RunRecord } from "../../../memory/runs/runs.ts";
import type { Template } from "../../../steps/draft/template.ts";
import { measureMessage, type CountTokens } from "../../../steps/message/measure.ts";
import { mergeFacts } from "../../../steps/pinned/merge.ts";
import type { ChunkPlan } from "../../../steps/plan/chunk.ts";
import type { Brief, ChunkReading, ChunkRequest, DraftsReading, DraftsRequest } from "../../../workflows/port.ts";
import type { Needs } from "../../core.ts";
import { redactionOf } from "../../redaction.ts";
import { readSlices } from "../read-slices.ts";
import { tellBudget } from "../../token-counter.ts";
import { briefOf, briefOfChunk, draftKey } from "./brief.ts";
import type { Folded } from "./sources.ts";

/** Drafts with the key of their answer. `read` returns what a model is shown. */
export interface Found<Source> {
  readonly key: string;
  read(): Omit<Source, "leftMs">;
}

type ChunkSource = Extract<ChunkReading, { kind: "source" }>;
type DraftsSource = Extract<DraftsReading, { kind: "drafts" }>;
type Reads = Needs<"memory" | "settings">;

/** A chunk of a plan with the key of its answer. */
export interface FoundChunk {
  readonly key: string;
  readonly sessionId: string;
  readonly chunk: ChunkPlan;
  /** The digest of its messages when they were planned. */
  readonly planned: string;
  readonly brief: Brief;
  readonly redaction: ReturnType<typeof redactionOf>;
}

/** Reads no message. */
export function findChunk(
  core: Needs<"settings">,
  run: RunRecord,
  request: ChunkRequest,
  template?: Template,
): FoundChunk {
  const chunk = planOf(run).chunks[request.index];
  const planned = run.chunkDigests[request.index];
  assert(chunk !== undefined && planned !== undefined, `Chunk ${request.index} is not in the plan.`);
  const brief = briefOfChunk(core, run, chunk, template);
  const redaction = redactionOf(core.settings.get(run.sessionId));
  const source = ["chunk", planned, ...redaction.names];
  const key = request.repairOf ?? draftKey(run, { model: request.model, brief, source });
  return { key, sessionId: run.sessionId, chunk, planned, brief, redaction };
}

/** What a model is shown of a chunk, read in slices. Null where its messages changed since the plan. */
export async function readChunkSource(
  core: Needs<"memory" | "read" | "settings" | "uses">,
  { key, sessionId, chunk, planned, brief, redaction }: FoundChunk,
): Promise<Omit<ChunkSource, "leftMs"> | null> {
  const history = core.memory.session(sessionId);
  const reader = history.spanReader(chunk);
  if (reader === null) return null;
  const slices = await readSlices(core, { sessionId, reader }, (each) => each.map(redaction.message));
  if (reader.digest !== planned) return null;
  const messages = slices.flat();
  const weigh = (count: CountTokens): number =>
    messages.reduce((sum, message) => sum + measureMessage(message, count).tokens, 0);
  const askTokens = tellBudget(core.settings.counterOf(sessionId), brief.summaryTokens, weigh);
  return { kind: "source", key, messages, brief, askTokens };
}

/** `sources` are what the request names, oldest first. */
export function findFold(
  core: Reads,
  run: RunRecord,
  { request, sources }: { readonly request: DraftsRequest; readonly sources: readonly Folded[] },
  template?: Template,
): Found<DraftsSource> {
  // A person may have written an earlier summary, or the notes that it was made of, and it may be older than the rules.
  const redaction = redactionOf(core.settings.get(run.sessionId));
  const brief = briefOf(core, run, template);
  const named = ["fold", ...redaction.names, ...sources.map(({ name }) => name)];
  const key = request.repairOf ?? draftKey(run, { model: request.model, brief, source: named });
  return {
    key,
    read: () => {
      const firstDraft = sources.findIndex(({ kind }) => kind === "draft");
      const earlier = firstDraft === -1 ? [] : sources.slice(0, firstDraft);
      const weigh = (count: CountTokens): number => sources.reduce((sum, { text }) => sum + count(text), 0);
      return {
        kind: "drafts",
        key,
        drafts: sources.slice(earlier.length).map(({ text }) => redaction.text(text)),
        previous: earlier.length === 0 ? null : earlier.map(({ text }) => redaction.text(text)).join("\n\n"),
        degraded: sources.some((source) => source.degraded),
        generation: 1 + Math.max(...sources.map(({ generation }) => generation)),
        lost: sources.flatMap(({ lost }) => lost.map(redaction.text)),
        facts: redaction.facts(mergeFacts(sources.map(({ facts }) => facts))),
        brief,
        askTokens: tellBudget(core.settings.counterOf(run.sessionId), brief.summaryTokens, weigh),
      };
    },
  };
}
