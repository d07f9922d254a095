/**
 * Replays a conversation through the real planner, without a model: after each compaction, of the names in what was
 * replaced that the conversation soon uses again, how many can the model still see?
 *
 * Pure: messages in, numbers out. The summary's own text counts for nothing here, so that what pinning adds is seen.
 */
import type { UIMessage } from "ai";
import { extractIdentifiers } from "../../src/steps/facts/facts.ts";
import { measureMessage } from "../../src/steps/message/measure.ts";
import type { OutlineRow } from "../../src/steps/plan/outline.ts";
import type { Fact, Facts } from "../../src/steps/pinned/fact.ts";
import { gatherFacts, readSayings } from "../../src/steps/pinned/gather.ts";
import { mergeFacts } from "../../src/steps/pinned/merge.ts";
import { pickPinned } from "../../src/steps/pinned/pick.ts";
import { renderPinned } from "../../src/steps/pinned/render.ts";
import { sayingIn } from "../../src/steps/pinned/said.ts";
import { planCut } from "../../src/steps/plan/plan.ts";
import { resolvePolicy } from "../../src/steps/plan/policy.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";

export interface ReplayOptions {
  readonly thresholdTokens: number;
  readonly tailTokens: number;
  /** Messages after a compaction in which a name counts as used again. */
  readonly ahead: number;
  /** Room in the view for the summary, whatever is pinned: so that all ways of pinning meet the same cuts. */
  readonly summaryTokens: number;
}

/** A long session with a large window. */
export const LONG: ReplayOptions = { thresholdTokens: 60_000, tailTokens: 20_000, ahead: 120, summaryTokens: 4_000 };
/** The same with a small one. */
export const MEDIUM: ReplayOptions = { thresholdTokens: 30_000, tailTokens: 10_000, ahead: 60, summaryTokens: 2_000 };
/** Short conversations that still outgrow their window. */
export const SHORT: ReplayOptions = { thresholdTokens: 4_000, tailTokens: 1_300, ahead: 30, summaryTokens: 400 };

/** One compaction, before anything is pinned. */
export interface Stage {
  /** Of everything replaced so far. */
  readonly facts: Facts;
  /** True for what head or tail show anyway. */
  readonly visible: (value: string) => boolean;
  /** Names of what was replaced that come again: written by user or agent, or anywhere, tool outputs included. */
  readonly wanted: Readonly<Record<Use, readonly string[]>>;
  /** How often everything replaced so far says a name: what the plainest way of pinning goes by. */
  readonly counts: readonly Fact[];
}

export type Use = "written" | "anywhere";

/** Every compaction of the conversation, in order. */
export function replay(messages: readonly UIMessage[], options: ReplayOptions): Stage[] {
  const policy = resolvePolicy({
    thresholdTokens: options.thresholdTokens,
    tailTokenBudget: options.tailTokens,
    summaryTokens: options.summaryTokens,
  });
  const rows = messages.map(outlineRow);
  const stages: Stage[] = [];
  let head = 0;
  let covered = 0;
  let facts = gatherFacts([]);
  for (let end = 1; end <= messages.length; end++) {
    const summary = covered > head ? [overlayRow(options.summaryTokens)] : [];
    const visible = [...rows.slice(0, head), ...summary, ...rows.slice(covered, end)];
    const tokens = visible.reduce((sum, row) => sum + row.tokens, 0);
    if (tokens <= options.thresholdTokens) continue;
    const outline = { sessionId: "", leafId: "", overheadTokens: 0, tokens, rows: visible, truncated: false };
    const plan = planCut(outline, policy);
    if (plan.kind === "nothing") continue;
    if (stages.length === 0) {
      head = rows.findIndex((row) => row.id === plan.span.fromId);
      covered = head;
    }
    const to = rows.findIndex((row) => row.id === plan.span.toId) + 1;
    facts = mergeFacts([facts, gatherFacts(messages.slice(covered, to))]);
    covered = to;
    stages.push(stageOf(messages, { head, covered, end, ahead: options.ahead, facts }));
  }
  return stages;
}

function stageOf(
  messages: readonly UIMessage[],
  at: { head: number; covered: number; end: number; ahead: number; facts: Facts },
): Stage {
  const replaced = messages.slice(at.head, at.covered);
  const counts = extractIdentifiers(textOf(replaced, "anywhere"));
  const known = new Set(counts.map(({ value }) => value));
  const next = messages.slice(at.end, at.end + at.ahead);
  const wanted = (use: Use): string[] => [...namesIn(textOf(next, use))].filter((name) => known.has(name));
  return {
    facts: at.facts,
    visible: sayingIn(textOf([...messages.slice(0, at.head), ...messages.slice(at.covered, at.end)], "anywhere")),
    wanted: { written: wanted("written"), anywhere: wanted("anywhere") },
    counts: counts.map(({ kind, value, count }) => ({ kind, value, messageId: "", age: 0, heat: count })),
  };
}

/** What is pinned of a stage, as text. */
export type Pin = (stage: Stage) => string;

/** Ours, names only: rules are not what is measured here. */
export function byWorth(budgetTokens: number): Pin {
  return ({ facts, visible }) => {
    const { identifiers } = facts;
    return renderPinned(
      pickPinned({ ...gatherFacts([]), identifiers }, { countTokens: estimateTokens, budgetTokens, omit: visible }),
    );
  };
}

/** What was said most often, whatever it is, in the same words and within the same budget. */
export function byFrequency(budgetTokens: number): Pin {
  return ({ counts, visible }) => {
    const ranked = counts.filter(({ value }) => !visible(value)).toSorted((one, other) => other.heat - one.heat);
    const lay = (length: number): string => renderPinned({ rules: [], facts: ranked.slice(0, length), left: 0 });
    let [fits, over] = [0, ranked.length + 1];
    while (over - fits > 1) {
      const middle = Math.floor((fits + over) / 2);
      if (estimateTokens(lay(middle)) <= budgetTokens) fits = middle;
      else over = middle;
    }
    return lay(fits);
  };
}

/** Share of the wanted names that are to be seen, over all stages. 1 when nothing is wanted. */
export function replayPinned(stages: readonly Stage[], pin: Pin, use: Use): number {
  let seen = 0;
  let wanted = 0;
  for (const stage of stages) {
    const pinned = sayingIn(pin(stage));
    wanted += stage.wanted[use].length;
    seen += stage.wanted[use].filter((name) => stage.visible(name) || pinned(name)).length;
  }
  return wanted === 0 ? 1 : seen / wanted;
}

function textOf(messages: readonly UIMessage[], use: Use): string {
  const sayings = messages.flatMap((message) => readSayings(message));
  return sayings.flatMap(({ by, text }) => (use === "anywhere" || by !== "output" ? [text] : [])).join("\n");
}

function namesIn(text: string): Set<string> {
  return new Set(extractIdentifiers(text).map(({ value }) => value));
}

function outlineRow(message: UIMessage): OutlineRow {
  const { tokens, calls, results, texts } = measureMessage(message, estimateTokens);
  return {
    kind: "message",
    id: message.id,
    role: message.role,
    tokens,
    firstStep: 0,
    steps: [tokens],
    complete: true,
    calls: calls.map(([id]) => [id, 0] as const),
    results: results.map(([id]) => [id, 0] as const),
    texts: texts.length > 0 ? [0] : [],
    group: null,
  };
}

function overlayRow(tokens: number): OutlineRow {
  return {
    kind: "overlay",
    id: "overlay",
    role: "user",
    tokens,
    firstStep: 0,
    steps: [tokens],
    complete: true,
    calls: [],
    results: [],
    texts: [],
    group: null,
  };
}
