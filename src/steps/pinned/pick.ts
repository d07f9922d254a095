/**
 * Chooses what stands beside a summary: rules first, then what is most likely to be asked for again.
 *
 * Boundary: facts and a budget in, a choice out. Safe because the budget is measured on the rendering itself.
 */
import { estimateTokens } from "../tokens.ts";
import type { Fact, Facts, Pinned, PinnedFact } from "./fact.ts";
import { prohibits } from "./ledger.ts";
import { renderPinned } from "./render.ts";
import { byWorth } from "./worth.ts";

export interface PickOptions {
  /** Most tokens of the rendering, by `estimateTokens`. */
  readonly budgetTokens: number;
  /** True for a value that the reader sees already: in the view, or in the summary's own text. */
  readonly omit?: (value: string) => boolean;
}

/** Prohibitions before wishes, the newest first where not all fit; then everything else by its worth. */
export function pickPinned(facts: Facts, options: PickOptions): Pinned {
  const wanted = (fact: Fact): boolean => options.omit?.(fact.value) !== true;
  const rules = facts.rules.filter(wanted);
  const urgent = [
    ...rules.filter(({ value }) => prohibits(value)).toReversed(),
    ...rules.filter(({ value }) => !prohibits(value)).toReversed(),
  ];
  const rest = [...facts.tasks, ...facts.failures].filter(wanted).toReversed();
  const names = facts.identifiers.filter(wanted).toSorted(byWorth);
  const queue = [...urgent, ...rest, ...names];
  const chosen = new Set<Fact>();
  let fits = queue.length;
  let least = 0;
  const lay = (count: number): Pinned => {
    const taken = new Set(queue.slice(0, count));
    return {
      rules: rules.filter((fact) => taken.has(fact)).map(bare),
      facts: queue.filter((fact) => taken.has(fact) && fact.kind !== "rule").map(bare),
      left: queue.length - count,
    };
  };
  while (least < fits) {
    const middle = Math.ceil((least + fits) / 2);
    if (estimateTokens(renderPinned(lay(middle))) <= options.budgetTokens) least = middle;
    else fits = middle - 1;
  }
  void chosen;
  return lay(least);
}

function bare({ kind, value, messageId }: Fact): PinnedFact {
  return { kind, value, messageId };
}
