/**
 * Compacts one conversation over and over in memory, with the real planner, gathering and pinning, and a summariser of the caller.
 *
 * Takes messages and returns the view's content after each compaction. It does the work of a run between "plan the cut" and "add
 * compaction". Each chunk is summarised from its messages alone, drafts and folded overlays merge into one text in rounds, a rebuild folds
 * the first drafts, and the commit's own function chooses pinned facts. It leaves out prompts, answers that fail an audit, repairs, edits
 * and other faults. Those are tested elsewhere.
 */
import { SOURCE_PER_SUMMARY_TOKEN } from "../../src/agent/runs/drafts/brief.ts";
import type { UIMessage } from "ai";
import { withoutEmptySections, withoutState } from "../../src/steps/draft/empty-sections.ts";
import { SUMMARY_FRAME_TOKENS } from "../../src/limits.ts";
import { groupDrafts } from "../../src/steps/plan/window.ts";
import { measureMessage } from "../../src/steps/message/measure.ts";
import { WHOLE_MESSAGE, type Outline, type OutlineRow, type Span } from "../../src/steps/plan/outline.ts";
import { besideEarlier, type Facts, type Pinned } from "../../src/facts/fact.ts";
import { gatherFacts } from "../../src/facts/gather.ts";
import { lookAround } from "../../src/facts/around.ts";
import { NOTHING_AROUND, keepFacts, tokensOfSummary, type Around } from "../../src/facts/keep.ts";
import { WEIGHTS, type Weights } from "../../src/facts/names/choose.ts";
import { exceedsShare, tellsWithout } from "../../src/facts/names-budget.ts";
import { mergeFacts } from "../../src/facts/merge.ts";
import { renderInForce, renderNames } from "../../src/facts/render.ts";
import { planCut, type Plan } from "../../src/steps/plan/plan.ts";
import type { Policy } from "../../src/steps/plan/policy.ts";
import { sliceMessage } from "../../src/steps/message/slice.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

/** A summary with its text, its tokens, the facts of its source, and how often its text was rewritten. */
export interface Draft {
  readonly text: string;
  readonly tokens: number;
  readonly facts: Facts;
  readonly generation: number;
}

/** A summary in the view. */
export interface Standing extends Draft {
  readonly id: string;
  readonly level: number;
  readonly pinned: Pinned;
  /** The first drafts that it was made of. */
  readonly leaves: readonly Draft[];
  /** The names that other weights choose, in the same room and at the same moment. */
  readonly namesBy: (weights: Weights) => readonly string[];
}

/** Summarises a chunk's messages, or folds drafts, in at most `tokens`. */
export interface Summariser {
  /** True where no model writes, so that a summary may give its room to names. */
  readonly offline?: boolean;
  tell(messages: readonly UIMessage[], tokens: number): Pick<Draft, "text" | "tokens">;
  fold(drafts: readonly Draft[], tokens: number): Pick<Draft, "text" | "tokens">;
}

/** One compaction, after its commit. */
export interface Compaction {
  /** The outline that was planned from. */
  readonly outline: Outline;
  readonly plan: SpanPlan;
  /** Oldest first. */
  readonly standing: readonly Standing[];
  /** The view's outline after the compaction. */
  readonly after: Outline;
}

export type SpanPlan = Extract<Plan, { kind: "span" }>;

export interface Replay {
  readonly messages: readonly UIMessage[];
  readonly policy: Policy;
  readonly summariser: Summariser;
  /** Compactions after which it ends. */
  readonly most: number;
  /** False for a policy that keeps no first drafts. Its text is rewritten each time. */
  readonly rebuilds: boolean;
  /**
   * Whether names are chosen by the rest of the view and by other hidden messages too, as in a session. Reads the view each time. Default
   * false.
   */
  readonly looks?: boolean | undefined;
}

/** Compacts wherever the conversation crosses the threshold. */
export function* compactAlong({ messages, policy, summariser, most, rebuilds, looks }: Replay): Generator<Compaction> {
  const view = new View(messages, rebuilds);
  let made = 0;
  for (const message of messages) {
    view.append(message);
    const outline = view.outline();
    const plan = planCut(outline, policy);
    if (plan.kind === "nothing") continue;
    view.lay(plan, overlayOf(view, plan, { policy, summariser, looks, id: `overlay ${++made}` }));
    yield { outline, plan, standing: view.standing(), after: view.outline() };
    if (made === most) return;
  }
}

interface Making extends Pick<Replay, "looks"> {
  readonly policy: Policy;
  readonly summariser: Summariser;
  readonly id: string;
}

function overlayOf(view: View, plan: SpanPlan, { policy, summariser, id, looks = false }: Making): Standing {
  const leaves: Draft[] = [];
  const parts = plan.parts.flatMap((part): readonly Draft[] => {
    if (part.kind === "overlay") {
      const folded = view.overlay(part.id);
      leaves.push(...folded.leaves);
      return plan.rebuild ? folded.leaves : [folded];
    }
    const chunk = plan.chunks[part.index];
    if (chunk === undefined) return [];
    const source = view.source(chunk);
    // Most tokens of a chunk's draft. See the brief of src/agent/runs/drafts/brief.ts.
    const share = Math.ceil(chunk.tokens / SOURCE_PER_SUMMARY_TOKEN);
    const told = summariser.tell(source, Math.min(policy.summaryTokens, share));
    const draft = { ...told, facts: gatherFacts(source), generation: 1 };
    leaves.push(draft);
    return [draft];
  });
  const draft = foldAll(parts, { policy, summariser, id });
  const { spanTokens } = plan;
  const { around, summaryTokens } = looks ? view.around(plan) : { around: NOTHING_AROUND, summaryTokens: 0 };
  const pinAs = (text: string, weights: Weights): Pinned =>
    keepFacts(text, draft.facts, {
      countTokens: estimateTokens,
      spanTokens,
      pinnedTokens: policy.pinnedTokens,
      loadedTokens: looks ? policy.loadedTokens : 0,
      namesTokens: Math.max(0, policy.stackTokens - summaryTokens - tokensOfSummary(withoutEmptySections(text))),
      around: { ...around, weights },
    }).pinned;
  const pin = (weights: Weights): Pinned => {
    const shown = withoutEmptySections(draft.text);
    if (summariser.offline === true && exceedsShare(shown, policy.stackTokens)) {
      const pinned = pinAs("", weights);
      if (tellsWithout(shown, pinned)) return { ...pinned, alone: true };
    }
    return pinAs(draft.text, weights);
  };
  const namesBy = (weights: Weights): readonly string[] => pin(weights).names;
  return { ...draft, id, level: plan.level, pinned: pin(WEIGHTS), leaves, namesBy };
}

/** Merges in rounds, as the workflow does. */
function foldAll(parts: readonly Draft[], { policy, summariser }: Making): Draft {
  let layer = parts;
  for (;;) {
    const [only] = layer;
    if (only !== undefined && layer.length === 1) return only;
    layer = groupDrafts(layer, policy.chunkTokens).map((group) => ({
      ...summariser.fold(group, policy.summaryTokens),
      facts: mergeFacts(group.map(({ facts }) => facts)),
      generation: 1 + Math.max(...group.map(({ generation }) => generation)),
    }));
  }
}

/** Returns the tokens of an overlay in the view. Only the last one has the names, what is open and what was loaded. */
export function weigh(standing: Standing, isLast: boolean): number {
  const { text, tokens, pinned } = standing;
  const { names, ...inForce } = isLast ? pinned : besideEarlier(pinned);
  const shown = isLast && pinned.alone !== true ? withoutEmptySections(text) : lastingText(standing);
  const told = tokens - estimateTokens(withoutEmptySections(text)) + estimateTokens(shown);
  return SUMMARY_FRAME_TOKENS + told + estimateTokens(renderNames(names)) + estimateTokens(renderInForce(inForce));
}

/** What a summary shows with a later one behind it. */
function lastingText({ text, pinned }: Pick<Standing, "text" | "pinned">): string {
  return pinned.alone === true ? "" : withoutEmptySections(withoutState(text));
}

/** A path of messages with overlays over it. */
class View {
  readonly #messages: ReadonlyMap<string, UIMessage>;
  readonly #rebuilds: boolean;
  readonly #overlays = new Map<string, Standing>();
  #rows: OutlineRow[] = [];

  constructor(messages: readonly UIMessage[], rebuilds: boolean) {
    this.#messages = new Map(messages.map((message) => [message.id, message]));
    this.#rebuilds = rebuilds;
  }

  append(message: UIMessage): void {
    const measured = measureMessage(message, estimateTokens);
    this.#rows.push({
      ...measured,
      kind: "message",
      id: message.id,
      role: message.role,
      firstStep: 0,
      complete: true,
    });
  }

  outline(): Outline {
    const last = this.#rows.findLastIndex(({ kind }) => kind === "overlay");
    const rows = this.#rows.map((row, at) =>
      row.kind === "overlay" ? this.#rowOf(this.overlay(row.id), at === last) : row,
    );
    const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
    return { sessionId: "", leafId: "", overheadTokens: 0, tokens, rows, truncated: false };
  }

  /** The input for choosing a new overlay's names. It is the view beside its span, and other hidden messages. */
  around({ span, overlayIds, keptId }: SpanPlan): { around: Around; summaryTokens: number } {
    const from = this.#rows.findIndex(({ id }) => id === span.fromId || overlayIds.includes(id));
    const kept = this.#rows.findIndex(({ id }) => id === keptId);
    const to = kept === -1 ? this.#rows.length : Math.max(kept, from);
    const read = (rows: readonly OutlineRow[]): UIMessage[] => rows.flatMap((row) => this.#messages.get(row.id) ?? []);
    const others = this.#rows.slice(0, from).flatMap((row) => (row.kind === "overlay" ? [this.overlay(row.id)] : []));
    const around = lookAround({
      head: read(this.#rows.slice(0, from)),
      tail: read(this.#rows.slice(to)),
      summaries: others.map((each) => `${lastingText(each)}\n${renderInForce(besideEarlier(each.pinned))}`),
      hidden: others.map(({ facts }) => facts),
    });
    return { around, summaryTokens: others.reduce((sum, other) => sum + tokensOfSummary(lastingText(other)), 0) };
  }

  overlay(id: string): Standing {
    const found = this.#overlays.get(id);
    if (found === undefined) throw new Error(`There is no ${id}.`);
    return found;
  }

  /** The messages of a chunk, sliced at its first and last step. */
  source({ fromId, fromStep, toId, toStep }: Span): UIMessage[] {
    const ids = [...this.#messages.keys()];
    const within = ids.slice(ids.indexOf(fromId), ids.indexOf(toId) + 1);
    return within.flatMap((id) => {
      const message = this.#messages.get(id);
      if (message === undefined) return [];
      return [sliceMessage(message, id === fromId ? fromStep : 0, id === toId ? toStep : WHOLE_MESSAGE)];
    });
  }

  lay({ span }: SpanPlan, overlay: Standing): void {
    this.#overlays.set(overlay.id, overlay);
    const from = this.#rows.findIndex((row) => row.id === span.fromId && row.firstStep <= span.fromStep);
    const to = this.#rows.findLastIndex((row) => row.id === span.toId);
    const [first, last] = [this.#rows[from], this.#rows[to]];
    if (first === undefined || last === undefined) throw new Error("The span is not in the view.");
    const before = span.fromStep > first.firstStep ? [visible(first, first.firstStep, span.fromStep - 1)] : [];
    const after = span.toStep === WHOLE_MESSAGE ? [] : [visible(last, span.toStep + 1, WHOLE_MESSAGE)];
    this.#rows.splice(from, to - from + 1, ...before, this.#rowOf(overlay, true), ...after);
  }

  standing(): Standing[] {
    return this.#rows.flatMap((row) => (row.kind === "overlay" ? [this.overlay(row.id)] : []));
  }

  #rowOf(overlay: Standing, isLast: boolean): OutlineRow {
    const tokens = weigh(overlay, isLast);
    const { id, level } = overlay;
    return {
      kind: "overlay",
      id,
      role: "user",
      tokens,
      firstStep: 0,
      steps: [tokens],
      complete: true,
      calls: [],
      results: [],
      texts: [],
      group: null,
      overlay: {
        level,
        generation: this.#rebuilds ? overlay.generation : 1,
        degraded: false,
        summaryTokens: overlay.tokens + SUMMARY_FRAME_TOKENS,
      },
    };
  }
}

/** The steps of a row from one to another, both included. */
function visible(row: OutlineRow, fromStep: number, toStep: number): OutlineRow {
  const steps = row.steps.slice(fromStep - row.firstStep, toStep - row.firstStep + 1);
  const within = ([, step]: readonly [string, number]): boolean => step >= fromStep && step <= toStep;
  return {
    ...row,
    firstStep: fromStep,
    steps,
    tokens: steps.reduce((sum, each) => sum + each, 0),
    complete: row.complete && fromStep + steps.length === row.firstStep + row.steps.length,
    calls: row.calls.filter(within),
    results: row.results.filter(within),
  };
}
