/**
 * Chooses what stands beside a summary: rules first, then what is open, then the names most likely to be needed again.
 *
 * Boundary: facts and a budget in, a choice out. Safe because the budget is held by measuring the rendering itself: the
 * estimates below only decide what is tried.
 */
import type { CountTokens } from "../message/measure.ts";
import { prohibits } from "../facts/prohibitions.ts";
import type { Fact, Facts, Pinned, PinnedFact } from "./fact.ts";
import { isName, LEFT_RULES_NOTE, PINNED_HEADING, renderPinned } from "./render.ts";
import { sayingIn } from "./said.ts";
import { rankFacts } from "./worth.ts";

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
 * Rules: prohibitions before wishes, the newest first where not all fit; then open tasks, failures, and names by worth. Rules
 * without room are counted in the rendering, which may take the place of one more, but never of the only one.
 */
export function pickPinned(facts: Facts, options: PickOptions): Pinned {
  const countTokens = options.countTokens(COUNTED);
  const whole = choose(facts, options, 0);
  if (whole.rules.length === facts.rules.length || options.budgetTokens < COUNT_FROM * countTokens) return whole;
  const counted = choose(facts, options, countTokens);
  return counted.rules.length === 0 && whole.rules.length > 0 ? whole : counted;
}

/** Chooses; where room is kept back to count the rules that are left out, it does. */
function choose(facts: Facts, { budgetTokens, omit, countTokens: count }: PickOptions, keptBack: number): Pinned {
  const wanted = (list: readonly Fact[]): Fact[] => list.filter(({ value }) => omit?.(value) !== true);
  const { rules } = facts;
  const newest = Object.groupBy(rules.toReversed(), ({ value }) => (omit?.(value) === true ? "seen" : "unseen"));
  const queue = [
    ...prohibitionsFirst(newest.unseen),
    ...prohibitionsFirst(newest.seen),
    ...wanted([...facts.tasks, ...facts.failures]).toReversed(),
    ...rankFacts(wanted(facts.identifiers)),
  ];
  let chosen: readonly Fact[] = [];
  let room = budgetTokens - keptBack - count(PINNED_HEADING);
  let left = 0;
  for (const fact of queue) {
    if (isName(fact) && chosen.some((longer) => says(longer, fact))) continue;
    const parts = chosen.filter((shorter) => isName(shorter) && isName(fact) && says(fact, shorter));
    const cost = costOf(fact, chosen, count) - parts.reduce((sum, part) => sum + count(`, ${part.value}`), 0);
    if (cost > room) {
      left++;
      continue;
    }
    chosen = [...chosen.filter((each) => !parts.includes(each)), fact];
    room -= cost;
  }
  for (;;) {
    const pinned = { ...layOut(rules, chosen, left), ...(keptBack > 0 ? countLeft(rules, chosen) : {}) };
    if (chosen.length === 0 || count(renderPinned(pinned)) <= budgetTokens) return pinned;
    chosen = chosen.slice(0, -1);
    left++;
  }
}

function prohibitionsFirst(rules: readonly Fact[] = []): Fact[] {
  return [...rules.filter(({ value }) => prohibits(value)), ...rules.filter(({ value }) => !prohibits(value))];
}

/** True when the longer of two says the other: a path the name of its file. */
function says(longer: Fact, shorter: Fact): boolean {
  return longer.value.includes(shorter.value) && sayingIn(longer.value)(shorter.value);
}

/** About what the rendering grows by. */
function costOf(fact: Fact, chosen: readonly Fact[], count: CountTokens): number {
  if (isName(fact) && chosen.some(isName)) return count(`, ${fact.value}`);
  return count(renderPinned(layOut([fact], [fact], 0))) - count(PINNED_HEADING);
}

function layOut(rules: readonly Fact[], chosen: readonly Fact[], left: number): Pinned {
  const taken = new Set(chosen);
  return {
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
