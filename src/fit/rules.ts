/**
 * Keeps the user's rules word for word where fitting cuts or removes the text that states them.
 *
 * Reads the original view and writes text beside the remaining one. fit-view.ts decides which parts remain. It is safe
 * because rules come only from users' words and from facts pinned beside summaries (src/facts/gather.ts). Words of a
 * summary, a tool or a model never become rules. A message's rules stay with that message, so they do not change an
 * earlier prefix.
 */
import type { UIMessage } from "ai";
import type { CountTokens } from "../steps/message/measure.ts";
import { NO_FACTS, type Fact, type PinnedFact } from "../facts/fact.ts";
import { gatherRules } from "../facts/gather.ts";
import { pickInForce } from "../facts/pick.ts";
import { renderInForce } from "../facts/render.ts";
import { contains } from "../facts/contains.ts";
import { messageSteps } from "../steps/message/slice.ts";
import { fieldText, innerParts, type Part } from "../steps/message/tool-parts.ts";
import type { Unit } from "./units.ts";

/**
 * Share of the budget's scale (units.ts) for the user's rules beside an extractive summary or a cut message. In the smallest useful
 * budget it holds one long rule.
 */
const FIT_RULES_SHARE = 1 / 4;

export class Rules {
  readonly #messages: readonly UIMessage[];
  readonly #budgetTokens: number;
  readonly #count: CountTokens;
  readonly #known = new Map<string, readonly Fact[]>();

  /** For the original view, in a budget of this scale (units.ts). */
  constructor(messages: readonly UIMessage[], scale: number, count: CountTokens) {
    this.#messages = messages;
    this.#budgetTokens = Math.floor(scale * FIT_RULES_SHARE);
    this.#count = count;
  }

  /** The rules of these messages that fit together into the budget. */
  pick(messages: readonly UIMessage[]): readonly PinnedFact[] {
    return this.#pick(gatherRules(messages));
  }

  /** The unit's rules that its new parts no longer say, as text to show beside them. Empty for none. */
  lostFrom(unit: Unit, parts: readonly Part[]): string {
    const rules = this.#rulesOf(unit);
    if (rules.length === 0) return "";
    const says = contains(wordsOf(parts));
    return renderRules(this.#pick(rules.filter(({ value }) => !says(value))));
  }

  #rulesOf(unit: Unit): readonly Fact[] {
    const key = `${unit.message} ${unit.step}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const message = this.#messages[unit.message] as UIMessage;
    const rules = gatherRules([{ ...message, parts: [...(messageSteps(message)[unit.step] ?? [])] }]);
    this.#known.set(key, rules);
    return rules;
  }

  #pick(rules: readonly Fact[]): readonly PinnedFact[] {
    const options = { budgetTokens: this.#budgetTokens, countTokens: this.#count };
    return pickInForce({ ...NO_FACTS, rules }, options).rules;
  }
}

/** Rules under the heading of pinned facts. Empty for none. */
export function renderRules(rules: readonly PinnedFact[]): string {
  return renderInForce({ rules, facts: [], loaded: [], left: 0 });
}

function wordsOf(parts: readonly Part[]): string {
  return parts
    .flatMap((part) => {
      if (part.type === "text") return [fieldText(part.text)];
      return part.type === "steering-message" ? [wordsOf(innerParts(part))] : [];
    })
    .join("\n");
}
