/**
 * What the user ruled, kept word for word where a view that is made to fit leaves out or cuts the place that said it.
 *
 * Boundary: reads the view as it was, and writes what stands beside what is left; what is left is decided in fit-view.ts.
 * Safe because rules are taken from users' words and from what is pinned beside summaries, never from what a summary, a
 * tool or a model says (pinned/gather.ts); a message's rules stay with that message, so that they move no prefix.
 */
import type { UIMessage } from "ai";
import type { CountTokens } from "../../message/measure.ts";
import { NO_FACTS, type Fact, type PinnedFact } from "../../pinned/fact.ts";
import { gatherRules } from "../../pinned/gather.ts";
import { pickInForce } from "../../pinned/pick.ts";
import { renderInForce } from "../../pinned/render.ts";
import { sayingIn } from "../../pinned/said.ts";
import { messageSteps } from "../../message/slice.ts";
import { fieldText, innerParts, type Part } from "../../message/tool-parts.ts";
import type { Unit } from "./units.ts";

/** Share of that power that the user's rules may take beside a digest, and beside a message that is cut: one long rule of the least useful rooms. */
const FIT_RULES_SHARE = 1 / 4;

export class Rules {
  readonly #messages: readonly UIMessage[];
  readonly #budgetTokens: number;
  readonly #count: CountTokens;
  readonly #known = new Map<string, readonly Fact[]>();

  /** Of a view as it was, in a room of this scale (units.ts). */
  constructor(messages: readonly UIMessage[], scale: number, count: CountTokens) {
    this.#messages = messages;
    this.#budgetTokens = Math.floor(scale * FIT_RULES_SHARE);
    this.#count = count;
  }

  /** Those of these messages that find room together. */
  pick(messages: readonly UIMessage[]): readonly PinnedFact[] {
    return this.#pick(gatherRules(messages));
  }

  /** Those of the unit that its new parts do not say, as they stand beside them; empty for none. */
  lostFrom(unit: Unit, parts: readonly Part[]): string {
    const rules = this.#rulesOf(unit);
    if (rules.length === 0) return "";
    const says = sayingIn(wordsOf(parts));
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

/** Under the heading of what is pinned; empty for none. */
export function renderRules(rules: readonly PinnedFact[]): string {
  return renderInForce({ rules, facts: [], left: 0 });
}

function wordsOf(parts: readonly Part[]): string {
  return parts
    .flatMap((part) => {
      if (part.type === "text") return [fieldText(part.text)];
      return part.type === "steering-message" ? [wordsOf(innerParts(part))] : [];
    })
    .join("\n");
}
