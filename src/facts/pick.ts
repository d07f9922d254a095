/**
 * Chooses the facts in force that are shown beside a summary: rules first, then open tasks, failures and changed files.
 *
 * Facts and a budget in, a choice out. The budget holds because the final rendering is measured. The estimates only
 * decide which facts are tried.
 */
import type { CountTokens } from "../steps/message/measure.ts";
import { firmestFirst } from "./rules/prohibitions.ts";
import { NOTHING_PINNED, type Fact, type Facts, type Pinned, type PinnedFact } from "./fact.ts";
import { IN_FORCE_HEADING, LEFT_RULES_NOTE, renderInForce } from "./render.ts";
import { contains } from "./contains.ts";

/** The growth of the rendering when it counts up to 999 omitted rules. */
const COUNTED = `\n${LEFT_RULES_NOTE}999`;
/** The least budget for that count, as a multiple of its tokens. In a smaller one these tokens are kept for a rule. */
const COUNT_FROM = 8;

export interface PickOptions {
  /** Most tokens of the rendering. */
  readonly budgetTokens: number;
  readonly countTokens: CountTokens;
  /**
   * True for a value that the reader sees anyway, elsewhere in the view or in the summary's own text. Such rules are
   * not omitted but come last. A summary may quote a rule as taken back, but only the user can take it back.
   */
  readonly omit?: ((value: string) => boolean) | undefined;
}

/**
 * Chooses rules first, the firmest and then the newest where not all fit, then open tasks and failures, then
 * changed files.
 * Omitted rules are counted in the rendering. The count may replace one rule, but never the only one.
 */
export function pickInForce(facts: Facts, options: PickOptions): Pinned {
  const countTokens = options.countTokens(COUNTED);
  const whole = choose(facts, options, 0);
  if (whole.rules.length === facts.rules.length || options.budgetTokens < COUNT_FROM * countTokens) return whole;
  const counted = choose(facts, options, countTokens);
  return counted.rules.length === 0 && whole.rules.length > 0 ? whole : counted;
}

/** Chooses within the budget. With `keptBack` above 0 it reserves that many tokens and counts the omitted rules. */
function choose(facts: Facts, { budgetTokens, omit, countTokens: count }: PickOptions, keptBack: number): Pinned {
  const { rules } = facts;
  const newest = Object.groupBy(rules.toReversed(), ({ value }) => (omit?.(value) === true ? "seen" : "unseen"));
  // A request may be a rule as well, and is said once.
  const ruled = contains(rules.map(({ value }) => value).join("\n"));
  const open = [...facts.changed, ...facts.tasks, ...facts.failures].filter(
    ({ value }) => omit?.(value) !== true && !ruled(value),
  );
  const queue = [...firmestFirst(newest.unseen ?? []), ...firmestFirst(newest.seen ?? []), ...open.toReversed()];
  const chosen: Fact[] = [];
  let budget = budgetTokens - keptBack - count(IN_FORCE_HEADING);
  let left = 0;
  for (const fact of queue) {
    const cost = count(renderInForce(layOut([fact], [fact], 0))) - count(IN_FORCE_HEADING);
    if (cost > budget) {
      left++;
      continue;
    }
    chosen.push(fact);
    budget -= cost;
  }
  for (;;) {
    const pinned = { ...layOut(rules, chosen, left), ...(keptBack > 0 ? countLeft(rules, chosen) : {}) };
    if (chosen.length === 0 || count(renderInForce(pinned)) <= budgetTokens) return pinned;
    chosen.pop();
    left++;
  }
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
