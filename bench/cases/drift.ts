/** What remains of a conversation after thirty compactions by one growing overlay, by a stack, and by a stack with pinned facts. */
import { MAX_GENERATION } from "../../src/steps/plan/stack.ts";
import type { UIMessage } from "ai";
import type { Case } from "../case.ts";
import type { Check, Finding, Table } from "../report/finding.ts";
import { makeConversation } from "../drift/conversation.ts";
import { CONDITIONS, mean, measureDrift, type Conditions, type Drift } from "../drift/measure.ts";
import type { Lab } from "../lab.ts";
import type { Panel } from "../report/plot.ts";
import { ABSENT, readConversations } from "../transcripts.ts";

const QUICK_TURNS = 60;
const QUICK: Conditions = { ...CONDITIONS, seeds: [1], compactions: 6, thresholdTokens: 8_000 };
/** Least lead of the stack at the end, which is twice the share that chance moves. */
const LEAD = 0.06;

interface Replayed {
  readonly title: string;
  readonly drifts: readonly Drift[];
}

export const drift: Case = { name: "drift", timed: false, measure };

async function measure(lab: Lab): Promise<Finding> {
  const [session] = lab.quick ? [] : readConversations("coding");
  const replayed = [
    ...(session === undefined
      ? []
      : [replayAt("a coding session", session, { ...CONDITIONS, thresholdTokens: 20_000 })]),
    lab.quick
      ? replayAt("a generated session", makeConversation(QUICK_TURNS, 1), QUICK)
      : replayAt("a generated session", makeConversation(1_200, 1), { ...CONDITIONS, thresholdTokens: 60_000 }),
  ];
  return {
    title: "Facts alive after many compactions",
    about: `The real planner with a summariser that keeps every fact that it is given but one in twenty, drawn anew at each pass; ${CONDITIONS.perChunk} facts of each chunk, few enough that room is not what is measured; the mean of ${CONDITIONS.seeds.length} seeds. Everything kept before the tail has the same budget, and the one overlay may fill it alone.`,
    tables: replayed.map(tableOf),
    checks: replayed.flatMap(checksOf),
    plots: [
      {
        file: "drift",
        title: "Share of all facts told so far that the view still says, after each compaction",
        panels: replayed.map(panelOf),
      },
    ],
    unmeasured: [
      "what a real model drops, which is not random",
      "prompts, audits and repairs",
      ...(session === undefined ? [ABSENT] : []),
    ],
  };
}

function replayAt(name: string, messages: readonly UIMessage[], conditions: Conditions): Replayed {
  const drifts = measureDrift(messages, conditions);
  const threshold = conditions.thresholdTokens.toLocaleString("en");
  return { title: `${name}, threshold ${threshold} (${drifts[0]?.alive.length ?? 0} compactions)`, drifts };
}

function tableOf({ title, drifts }: Replayed): Table {
  return {
    caption: title,
    columns: [
      "policy",
      "alive at the end",
      "mean of all",
      "of the first fifth",
      "rules",
      "tokens, mean",
      "prefix kept",
      "written at most",
    ],
    rows: drifts.map((each) => [
      each.name,
      each.alive.at(-1) ?? 0,
      mean(each.alive),
      each.aliveOldest,
      each.aliveRules,
      Math.round(mean(each.tokens)),
      each.prefixKept,
      each.generation,
    ]),
  };
}

function checksOf({ title, drifts }: Replayed): Check[] {
  const [one, , ours] = drifts;
  if (one === undefined || ours === undefined) throw new Error("Three policies are compared.");
  const lead = (ours.alive.at(-1) ?? 0) - (one.alive.at(-1) ?? 0);
  return [
    { claim: `${title}: lead of ours over one overlay at the end`, measured: lead, target: LEAD, better: "more" },
    { claim: `${title}: rules alive at the end`, measured: ours.aliveRules, target: 1, better: "more" },
    { claim: `${title}: how often a text was written anew`, measured: ours.generation, target: MAX_GENERATION },
  ];
}

function panelOf({ title, drifts }: Replayed): Panel {
  return {
    title,
    x: { label: "compactions", scale: "linear", unit: "count" },
    y: { label: "facts alive", scale: "linear", unit: "percent" },
    lines: drifts.map(({ name, alive }) => ({ name, points: alive.map((share, at) => [at + 1, share] as const) })),
  };
}
