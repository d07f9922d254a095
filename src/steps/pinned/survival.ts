/**
 * Measures what of a span's facts a text still says.
 *
 * Boundary: the text that replaces the span (summary and pinned facts) and the span's facts in, a score out. Safe to
 * compare between runs: deterministic, and a fact counts by what losing it would cost.
 */
import { MAX_MISSING_FACTS } from "../../limits.ts";
import type { Fact, FactKind, Facts, PinnedFact } from "./fact.ts";
import { prohibits } from "./ledger.ts";
import { oneLine } from "./render.ts";
import { byWorth } from "./worth.ts";

export interface Survival {
  /** From 0 (nothing is left) to 1 (everything is), weighted. 1 when there was nothing to keep. */
  readonly score: number;
  readonly kinds: Readonly<Partial<Record<FactKind, { readonly kept: number; readonly of: number }>>>;
  /** The most important first, at most {@link MAX_MISSING_FACTS}. */
  readonly missing: readonly PinnedFact[];
}

/** How much of `facts` the text says word for word. */
export function scoreSurvival(text: string, facts: Facts): Survival {
  const shown = oneLine(text).toLowerCase();
  const kinds: Partial<Record<FactKind, { kept: number; of: number }>> = {};
  const missing: Fact[] = [];
  let kept = 0;
  let all = 0;
  const ranked = [
    ...facts.rules.filter(({ value }) => prohibits(value)),
    ...facts.rules.filter(({ value }) => !prohibits(value)),
    ...facts.tasks,
    ...facts.failures,
    ...facts.identifiers.toSorted(byWorth),
  ];
  for (const fact of ranked) {
    const kind = (kinds[fact.kind] ??= { kept: 0, of: 0 });
    const weight = weigh(fact);
    kind.of++;
    all += weight;
    if (shown.includes(oneLine(fact.value).toLowerCase())) {
      kind.kept++;
      kept += weight;
    } else if (missing.length < MAX_MISSING_FACTS) missing.push(fact);
  }
  return {
    score: all === 0 ? 1 : kept / all,
    kinds,
    missing: missing.map(({ kind, value, messageId }) => ({ kind, value, messageId })),
  };
}

function weigh(fact: Fact): number {
  if (fact.kind === "rule") return prohibits(fact.value) ? 10 : 5;
  return fact.kind === "task" || fact.kind === "failure" ? 3 : Math.min(1, fact.heat);
}
