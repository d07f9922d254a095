/** What pinning the names of most worth is worth, beside pinning the most frequent ones. */
import type { Case } from "../case.ts";
import type { Check, Finding, Table } from "../finding.ts";
import { makeReturning } from "../drift/conversation.ts";
import type { Lab } from "../lab.ts";
import {
  byFrequency,
  byWorth,
  LONG,
  MEDIUM,
  replay,
  replayPinned,
  SHORT,
  type Stage,
  type Use,
} from "../pinned/replay.ts";
import type { Panel } from "../plot.ts";
import { ABSENT, readConversations } from "../transcripts.ts";

const QUICK_TURNS = 60;

/** Conversations that are looked at together. */
interface Sample {
  readonly name: string;
  readonly stages: readonly Stage[];
  /** Tokens of what is pinned. */
  readonly budgets: readonly number[];
  /** From which on ours promises more: in some six names there is nothing to choose. */
  readonly promisedFrom: number;
}

/** One budget: shares of the names used again that are to be seen, by frequency and by worth. */
type Shares = Readonly<Record<Use, readonly [frequency: number, worth: number]>>;

export const pinned: Case = { name: "pinned", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const sets = lab.quick ? [] : realSets();
  const all = sets.length === 0 ? [generated(lab.quick)] : sets;
  const measured = all.map((set) => ({ set, shares: set.budgets.map((budget) => sharesAt(set.stages, budget)) }));
  return {
    title: "Names that are pinned beside a summary",
    about:
      "Real conversations through the real planner, without any summary's text. Of the names in what was replaced so far that come again soon after (within 120, 60 and 30 messages), the share that is still in view: in head and tail, or pinned. Written: again by user or agent; anywhere: also in tool outputs. The rival pins the most frequent names, in the same words.",
    tables: measured.map(({ set, shares }) => tableOf(set, shares)),
    checks: measured.map(({ set, shares }) => leadOf(set, shares)),
    plots: [
      {
        file: "pinned",
        title: "Share of the names used again that are in view, over the budget for pinned names",
        panels: measured.map(({ set, shares }) => panelOf(set, shares)),
      },
    ],
    unmeasured: [
      "what summaries say themselves",
      "rules, which are pinned first",
      ...(sets.length === 0 ? [ABSENT] : []),
    ],
  };
}

function realSets(): Sample[] {
  const [session] = readConversations("coding");
  const halves = Object.groupBy(readConversations("service"), (_, index) => (index % 2 === 0 ? "even" : "odd"));
  const coding = (name: string, options: typeof LONG, budgets: readonly number[]): Sample[] =>
    session === undefined ? [] : [{ name, stages: replay(session, options), budgets, promisedFrom: 1 }];
  return [
    ...coding("a coding session, threshold 60,000", LONG, [0, 500, 1_000, 2_000, 4_000]),
    ...coding("the same, threshold 30,000", MEDIUM, [0, 250, 500, 1_000, 2_000]),
    ...Object.entries(halves).map(([half, conversations]) => ({
      name: `customers, ${half} ones, threshold 4,000`,
      stages: conversations.flatMap((messages) => replay(messages, SHORT)),
      budgets: [0, 50, 100, 200, 400],
      promisedFrom: 100,
    })),
  ];
}

function generated(quick: boolean): Sample {
  const stages = replay(makeReturning(quick ? QUICK_TURNS : 5 * QUICK_TURNS, 1), SHORT);
  return { name: "a generated session, threshold 4,000", stages, budgets: [0, 200, 400], promisedFrom: 200 };
}

function sharesAt(stages: readonly Stage[], budget: number): Shares {
  const of = (use: Use) =>
    [replayPinned(stages, byFrequency(budget), use), replayPinned(stages, byWorth(budget), use)] as const;
  return { written: of("written"), anywhere: of("anywhere") };
}

function tableOf({ name, stages, budgets }: Sample, shares: readonly Shares[]): Table {
  return {
    caption: `${name} (${stages.length} compactions)`,
    columns: ["tokens for names", "written: by frequency", "ours", "anywhere: by frequency", "ours"],
    rows: shares.map(({ written, anywhere }, at) => [budgets[at] ?? 0, ...written, ...anywhere]),
  };
}

function leadOf({ name, budgets, promisedFrom }: Sample, shares: readonly Shares[]): Check {
  const promised = shares.filter((_, at) => (budgets[at] ?? 0) >= promisedFrom);
  const leads = promised.map(({ written: [frequency, worth] }) => worth - frequency);
  return {
    claim: `${name}: least lead of ours, written names, from ${Math.max(promisedFrom, budgets[1] ?? 0)} tokens on`,
    measured: Math.min(...leads),
    target: 0,
    better: "more",
  };
}

function panelOf({ name, budgets }: Sample, shares: readonly Shares[]): Panel {
  const line = (title: string, pick: (each: Shares) => number) => ({
    name: title,
    points: shares.map((each, at) => [budgets[at] ?? 0, pick(each)] as const),
  });
  return {
    title: name,
    x: { label: "tokens for names", scale: "linear", unit: "count" },
    y: { label: "written names in view", scale: "linear", unit: "percent" },
    lines: [line("by worth (ours)", ({ written }) => written[1]), line("by frequency", ({ written }) => written[0])],
  };
}
