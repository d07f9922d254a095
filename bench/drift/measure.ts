/** The share of a conversation's facts that survives each of many compactions, under three policies of equal size. */
import type { UIMessage } from "ai";
import { renderPinned } from "../../src/facts/render.ts";
import { contains } from "../../src/facts/contains.ts";
import { resolvePolicy, type Policy } from "../../src/steps/plan/policy.ts";
import { compactAlong, weigh, type Compaction, type Standing } from "./compact.ts";
import { forgetful, type Lossy, type Told } from "./lossy.ts";

export interface Drift {
  readonly name: string;
  /** Share of all facts so far that the view still says, after each compaction. */
  readonly alive: readonly number[];
  /** The same share of the facts of the first fifth of the compactions, at the end. */
  readonly aliveOldest: number;
  /** The same share of the user's rules, at the end. */
  readonly aliveRules: number;
  /** Tokens of everything before the tail except the head. */
  readonly tokens: readonly number[];
  /** Mean share of the earlier summaries' tokens, from the first on, that a compaction left unchanged. */
  readonly prefixKept: number;
  /** Largest number of rewrites of a text that stood at any time. */
  readonly generation: number;
}

export interface Conditions extends Omit<Lossy, "seed"> {
  readonly seeds: readonly number[];
  readonly thresholdTokens: number;
  readonly compactions: number;
}

/** Default conditions, with the loss of a good model and few enough facts for every budget. */
export const CONDITIONS = { loss: 0.05, perChunk: 12, compactions: 30, seeds: [1, 2, 3, 4, 5] } as const;

/** One overlay that each compaction rewrites, overlays side by side, and the same with pinned facts. */
export function policiesOf(thresholdTokens: number): { name: string; policy: Policy; rebuilds: boolean }[] {
  const stack = resolvePolicy({ thresholdTokens });
  const room = stack.stackTokens;
  return [
    {
      name: "one overlay",
      policy: { ...stack, summaryTokens: room, pinnedTokens: 0 },
      rebuilds: false,
    },
    { name: "stack", policy: { ...stack, pinnedTokens: 0 }, rebuilds: true },
    { name: "stack + pinned", policy: stack, rebuilds: true },
  ];
}

/** Runs each policy over the same conversation. Chance is drawn anew for each seed, and shares are means over all seeds. */
export function measureDrift(messages: readonly UIMessage[], conditions: Conditions): Drift[] {
  return policiesOf(conditions.thresholdTokens).map((each) => {
    const replays = conditions.seeds.map((seed) => replayOnce(messages, { ...conditions, ...each, seed }));
    return {
      name: each.name,
      alive: meanOf(replays.map(({ alive }) => alive)),
      aliveOldest: mean(replays.map(({ aliveOldest }) => aliveOldest)),
      aliveRules: mean(replays.map(({ aliveRules }) => aliveRules)),
      tokens: meanOf(replays.map(({ tokens }) => tokens)),
      prefixKept: mean(replays.map(({ prefixKept }) => prefixKept)),
      generation: Math.max(...replays.map(({ generation }) => generation)),
    };
  });
}

type Once = Omit<Conditions, "seeds"> & { readonly seed: number; readonly policy: Policy; readonly rebuilds: boolean };

function replayOnce(messages: readonly UIMessage[], once: Once) {
  const told: Told[][] = [[]];
  const summariser = forgetful(once, (facts) => void told.at(-1)?.push(...facts));
  const points: Compaction[] = [];
  const alive: number[] = [];
  let says = contains("");
  const share = (facts: readonly Told[]): number => {
    const values = [...new Set(facts.map(({ value }) => value))];
    return values.filter((value) => says(value)).length / Math.max(1, values.length);
  };
  for (const point of compactAlong({ ...once, messages, summariser, most: once.compactions })) {
    says = contains(point.standing.map(textOf).join("\n"));
    alive.push(share(told.flat()));
    points.push(point);
    told.push([]);
  }
  return {
    alive,
    aliveOldest: share(told.slice(0, Math.ceil(points.length / 5)).flat()),
    aliveRules: share(told.flat().filter(({ rule }) => rule)),
    tokens: points.map(({ standing }) => sizeOf(standing)),
    prefixKept: mean(points.slice(1).map(({ standing }, n) => prefixKept(points[n]?.standing ?? [], standing))),
    generation: Math.max(...points.flatMap(({ standing }) => standing.map(({ generation }) => generation))),
  };
}

function textOf({ text, pinned }: Standing): string {
  return `${text}\n${renderPinned(pinned)}`;
}

function sizeOf(standing: readonly Standing[]): number {
  return standing.reduce((tokens, each, at) => tokens + weigh(each, at === standing.length - 1), 0);
}

function prefixKept(before: readonly Standing[], after: readonly Standing[]): number {
  const changed = before.findIndex(({ id }, at) => after[at]?.id !== id);
  return sizeOf(changed === -1 ? before : before.slice(0, changed)) / Math.max(1, sizeOf(before));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length);
}

/** Mean at each place, as far as all of them reach. */
function meanOf(series: readonly (readonly number[])[]): number[] {
  const length = Math.min(...series.map((each) => each.length));
  return Array.from({ length }, (_, at) => mean(series.map((each) => each[at] ?? 0)));
}
