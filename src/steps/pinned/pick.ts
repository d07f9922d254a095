/**
 * Chooses what is still in force beside a summary: rules first, then open tasks and failures.
 *
 * Boundary: facts and a budget in, a choice out. Safe because the budget is held by measuring the rendering itself: the
 * estimates below only decide what is tried.
 */
import type { CountTokens } from "../message/measure.ts";
import { prohibits } from "../facts/prohibitions.ts";
import { NOTHING_PINNED, type Fact, type Facts, type Pinned, type PinnedFact } from "./fact.ts";
import { IN_FORCE_HEADING, LEFT_RULES_NOTE, renderInForce } from "./render.ts";

/** What the rendering grows by where it counts up to 999 rules. */
const COUNTED = `\n${LEFT_RULES_NOTE}999`;
/** Least budget that is counted in, as a multiple of that: in a smaller one the room is for a rule. */
const COUNT_FROM = 8;

export interface PickOptions {
  /** Most tokens of the rendering. */
  readonly budgetTokens: number;
  readonly countTokens: CountTokens;
  /**
   * True for a value that the reader sees anyway: elsewhere in the view, or in the summary's own text. Of rules, those only
   * come last: a summary may quote one as taken back, and a rule holds until the user takes it back.
   */
  readonly omit?: ((value: string) => boolean) | undefined;
}

/**
 * Rules: prohibitions before wishes, the newest first where not all fit; then open tasks and failures. Rules without room are
 * counted in the rendering, which may take the place of one more, but never of the only one.
 */
export function pickInForce(facts: Facts, options: PickOptions): Pinned {
  const countTokens = options.countTokens(COUNTED);
  const whole = choose(facts, options, 0);
  if (whole.rules.length === facts.rules.length || options.budgetTokens < COUNT_FROM * countTokens) return whole;
  const counted = choose(facts, options, countTokens);
  return counted.rules.length === 0 && whole.rules.length > 0 ? whole : counted;
}

/** Chooses; where room is kept back to count the rules that are left out, it does. */
function choose(facts: Facts, { budgetTokens, omit, countTokens: count }: PickOptions, keptBack: number): Pinned {
  const { rules } = facts;
  const newest = Object.groupBy(rules.toReversed(), ({ value }) => (omit?.(value) === true ? "seen" : "unseen"));
  const open = [...facts.tasks, ...facts.failures].filter(({ value }) => omit?.(value) !== true);
  const queue = [...prohibitionsFirst(newest.unseen), ...prohibitionsFirst(newest.seen), ...open.toReversed()];
  const chosen: Fact[] = [];
  let room = budgetTokens - keptBack - count(IN_FORCE_HEADING);
  let left = 0;
  for (const fact of queue) {
    const cost = count(renderInForce(layOut([fact], [fact], 0))) - count(IN_FORCE_HEADING);
    if (cost > room) {
      left++;
      continue;
    }
    chosen.push(fact);
    room -= cost;
  }
  for (;;) {
    const pinned = { ...layOut(rules, chosen, left), ...(keptBack > 0 ? countLeft(rules, chosen) : {}) };
    if (chosen.length === 0 || count(renderInForce(pinned)) <= budgetTokens) return pinned;
    chosen.pop();
    left++;
  }
}

function prohibitionsFirst(rules: readonly Fact[] = []): Fact[] {
  return [...rules.filter(({ value }) => prohibits(value)), ...rules.filter(({ value }) => !prohibits(value))];
}

function layOut(rules: readonly Fact[], chosen: readonly Fact[], left: number): Pinned {
  const taken = new Set(chosen);
  return {
    ...NOTHING_PINNED,
    rules: rules.filter((fact) => taken.has(fact)).map(pin),
    facts: chosen.filter(({ kind }) => kind !== "rule").map(pin),
    left,
  };
}

function countLeft(rules: readonly Fact[], chosen: readonly Fact[]): { leftRules: number } {
  return { leftRules: rules.length - chosen.filter(({ kind }) => kind === "rule").length };
}

function pin({ kind, value, messageId }: Fact): PinnedFact {
  return { kind, value, messageId };
}
