/**
 * What a model is asked about: a chunk, or several drafts, with the key of the answer.
 *
 * The key is found first, and the content is read only where no draft stands under it. So nothing is rendered for an answer that was
 * already paid for.
 */
import type { UIMessage } from "ai";
import { assert } from "../../../errors.ts";
import { planOf, type RunRecord } from "../../../memory/runs/runs.ts";
import type { Template } from "../../../steps/draft/prompt.ts";
import { measureMessage, type CountTokens, leanMessage } from "../../../steps/message/message.ts";
import { storedId } from "../../../steps/view/view.ts";
import { NO_FACTS, type Facts, type Instruction } from "../../../facts/fact.ts";
import { mergeFacts } from "../../../facts/gather.ts";
import type { ChunkReading, ChunkRequest, DraftsReading, DraftsRequest } from "../../../workflows/port.ts";
import type { Needs } from "../../core.ts";
import { redactionOf } from "../../redaction.ts";
import { readSlices } from "../read-slices.ts";
import { tellBudget } from "../../token-counter.ts";
import { briefOf, briefOfChunk, draftKey } from "./brief.ts";
import { readAround, readBefore } from "../before.ts";
import { carriedBy } from "../../../steps/plan/plan.ts";
import { factsOf, readSource, type Folded } from "./sources.ts";

/** What a model is asked about, with the key of its answer. `read` returns what it is shown. */
export interface Found<Shown> {
  readonly key: string;
  /** Tokens of the source. */
  readonly tokens: number;
  readonly model: string;
  read(): Shown;
}

type ChunkSource = Omit<Extract<ChunkReading, { kind: "source" }>, "leftMs">;
type DraftsSource = Omit<Extract<DraftsReading, { kind: "drafts" }>, "leftMs">;

/** Reads no message yet. What the chunk shows is read in slices, and is null where its messages changed since the plan. */
export function findChunk(
  core: Needs<"memory" | "read" | "settings" | "uses">,
  run: RunRecord,
  request: ChunkRequest,
  template?: Template,
): Found<Promise<ChunkSource | null>> {
  const { sessionId } = run;
  const chunk = planOf(run).chunks[request.index];
  const planned = run.chunkDigests[request.index];
  assert(chunk !== undefined && planned !== undefined, `Chunk ${request.index} is not in the plan.`);
  const plan = planOf(run);
  const brief = briefOfChunk(core, run, chunk, template);
  const redaction = redactionOf(core.settings.get(sessionId));
  const carried = carriedBy(plan, request.index).map((id) => readSource(core, run, { kind: "overlay", id }));
  const history = core.memory.session(sessionId);
  const seen = { sessionId, leafId: history.leafAfter(run.leafId) };
  const { names } = readBefore(core, seen, plan);
  const isLast = chunk.toId === plan.span.toId && chunk.toStep === plan.span.toStep;
  const source = ["chunk", planned, ...redaction.names, ...carried.map(({ name }) => name), "beside", ...names];
  const key = request.repairOf ?? draftKey(run, { model: request.model, brief, source });
  const read = async (): Promise<ChunkSource | null> => {
    const reader = history.spans.reader(chunk);
    if (reader === null) return null;
    const slices = await readSlices(core, { sessionId, reader }, (each) => each.map(redaction.message));
    if (reader.digest !== planned) return null;
    const messages = slices.flat();
    // Files may exceed what RPC takes.
    const lean = messages.map(leanMessage);
    const weigh = (count: CountTokens): number =>
      messages.reduce((sum, message) => sum + measureMessage(message, count).tokens, 0);
    const askTokens = tellBudget(core.settings.counterOf(sessionId), brief.summaryTokens, weigh);
    const around = await core.read(sessionId, () => readAround(core, seen, plan));
    return {
      kind: "source",
      key,
      messages: lean,
      brief,
      askTokens,
      unfounded: carried.flatMap(({ unfounded }) => unfounded),
      previous: carried.length === 0 ? null : carried.map(({ text }) => redaction.text(text)).join("\n\n"),
      facts: redaction.facts(mergeFacts([...carried.map(({ facts }) => facts), rereadFacts(core, run, messages)])),
      generation: 1 + Math.max(0, ...carried.map(({ generation }) => generation)),
      around: { ...around, following: isLast ? around.following : [] },
    };
  };
  return { key, tokens: chunk.tokens, model: request.model, read };
}

/**
 * The instructions that earlier summaries of these messages name, where the messages are read again instead of the summaries. The model is
 * asked not to list them, so the draft has them from here.
 */
function rereadFacts(core: Needs<"memory">, run: RunRecord, messages: readonly UIMessage[]): Facts {
  const { overlayIds, parts } = planOf(run);
  const folded = new Set(parts.flatMap((part) => (part.kind === "overlay" ? [part.id] : [])));
  const { overlays } = core.memory.session(run.sessionId);
  const again = overlayIds.filter((id) => !folded.has(id)).flatMap((id) => overlays.get(id) ?? []);
  const { instructions, ended } = mergeFacts(again.map((overlay) => factsOf(core, overlay, run.sessionId)));
  const shown = new Set(messages.map(({ id }) => storedId(id)));
  const isShown = ({ messageId }: Instruction): boolean => shown.has(messageId);
  return { ...NO_FACTS, instructions: instructions.filter(isShown), ended: ended.filter(isShown) };
}

/** `sources` are what the request names, oldest first. */
export function findFold(
  core: Needs<"settings">,
  run: RunRecord,
  { request, sources }: { readonly request: DraftsRequest; readonly sources: readonly Folded[] },
  template?: Template,
): Found<DraftsSource> {
  // A person may have written an earlier summary, or the notes that it was made of, and it may be older than the rules.
  const redaction = redactionOf(core.settings.get(run.sessionId));
  const brief = briefOf(core, run, template);
  const named = ["fold", ...redaction.names, ...sources.map(({ name }) => name)];
  const key = request.repairOf ?? draftKey(run, { model: request.model, brief, source: named });
  const weigh = (count: CountTokens): number => sources.reduce((sum, { text }) => sum + count(text), 0);
  const countTokens = core.settings.counterOf(run.sessionId);
  return {
    key,
    tokens: weigh(countTokens),
    model: request.model,
    read: () => {
      const firstDraft = sources.findIndex(({ kind }) => kind === "draft");
      const earlier = firstDraft === -1 ? [] : sources.slice(0, firstDraft);
      return {
        kind: "drafts",
        key,
        drafts: sources.slice(earlier.length).map(({ text }) => redaction.text(text)),
        previous: earlier.length === 0 ? null : earlier.map(({ text }) => redaction.text(text)).join("\n\n"),
        degraded: sources.some((source) => source.degraded),
        generation: 1 + Math.max(...sources.map(({ generation }) => generation)),
        facts: redaction.facts(mergeFacts(sources.map(({ facts }) => facts))),
        brief,
        askTokens: tellBudget(countTokens, brief.summaryTokens, weigh),
        unfounded: sources.flatMap(({ unfounded }) => unfounded),
      };
    },
  };
}
