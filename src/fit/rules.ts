/**
 * Keeps the user's standing instructions where fitting cuts or removes a summary that shows them.
 *
 * Reads the original view and writes text beside the remaining one. fit-view.ts decides which parts remain. It is safe because a summary's
 * instructions were checked against the user's messages when it was made, and nothing else is taken for one.
 */
import type { UIMessage } from "ai";
import { type CountTokens, fieldText, type Part } from "../steps/message/message.ts";
import { IN_FORCE_HEADING, readInForce } from "../facts/render.ts";
import { isSummary, RECORD_END } from "../steps/view/view.ts";
import type { Unit } from "./units.ts";

/**
 * Share of the budget's scale (units.ts) for instructions beside what is left. In the smallest useful budget it holds one long line.
 */
const FIT_RULES_SHARE = 1 / 4;

export class Rules {
  readonly #messages: readonly UIMessage[];
  readonly #budgetTokens: number;
  readonly #count: CountTokens;

  /** For the original view, in a budget of this scale (units.ts). */
  constructor(messages: readonly UIMessage[], scale: number, count: CountTokens) {
    this.#messages = messages;
    this.#budgetTokens = Math.floor(scale * FIT_RULES_SHARE);
    this.#count = count;
  }

  /** The instructions in these messages that fit together into the budget, the newest first where not all do. */
  pick(messages: readonly UIMessage[]): readonly string[] {
    return this.#pick(messages.flatMap((message) => (isSummary(message) ? linesIn(message.parts) : [])));
  }

  /** The unit's instructions that its new parts no longer say, as text to show beside them. Empty for none. */
  lostFrom(unit: Unit, parts: readonly Part[]): string {
    const message = this.#messages[unit.message];
    if (message === undefined || !isSummary(message)) return "";
    const left = new Set(linesIn(parts));
    const rules = renderRules(this.#pick(linesIn(message.parts).filter((line) => !left.has(line))));
    return rules === "" ? "" : `${rules}\n\n${RECORD_END}`;
  }

  #pick(lines: readonly string[]): readonly string[] {
    let kept = [...new Set(lines)];
    while (kept.length > 0 && this.#count(renderRules(kept)) > this.#budgetTokens) kept = kept.slice(1);
    return kept;
  }
}

/** Instructions under the heading that they have beside summaries. Empty for none. */
export function renderRules(lines: readonly string[]): string {
  return lines.length === 0 ? "" : [IN_FORCE_HEADING, ...lines].join("\n");
}

function linesIn(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === "text" ? readInForce(fieldText(part.text)) : []));
}
