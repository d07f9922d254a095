/**
 * Adds up the facts of parts of a conversation.
 *
 * Boundary: {@link Facts} in and out, no text is read again but that of rules. Safe in any number of rounds: what fades
 * does so by the same factor for each message, and a rule only goes when a later one takes it back (ledger.ts).
 */
import { MAX_FAILURES, MAX_IDENTIFIERS, MAX_RULES, MAX_TASKS, MAX_WORKED } from "../../limits.ts";
import { NO_FACTS, type Fact, type Facts } from "./fact.ts";
import { prohibits, supersedes } from "./ledger.ts";
import { byWorth, fade } from "./worth.ts";

/** The facts of all parts, oldest first. */
export function mergeFacts(parts: readonly Facts[]): Facts {
  return parts.reduce(mergeTwo, NO_FACTS);
}

function mergeTwo(earlier: Facts, later: Facts): Facts {
  const aged = (facts: readonly Fact[]): Fact[] =>
    facts.map((each) => ({ ...each, age: each.age + later.messages, heat: fade(each.heat, later.messages) }));
  const putRight = new Set([...later.worked, ...later.failures.map(({ about }) => about)]);
  return {
    messages: earlier.messages + later.messages,
    rules: boundRules(later.rules.reduce(addRule, aged(earlier.rules))),
    identifiers: addIdentifiers(aged(earlier.identifiers), later.identifiers),
    tasks: [...aged(earlier.tasks), ...later.tasks].slice(-MAX_TASKS),
    failures: [...aged(earlier.failures).filter(({ about }) => !putRight.has(about)), ...later.failures].slice(
      -MAX_FAILURES,
    ),
    worked: [...new Set([...earlier.worked, ...later.worked])].slice(-MAX_WORKED),
  };
}

function addRule(rules: readonly Fact[], rule: Fact): Fact[] {
  const same = rules.find((each) => each.value === rule.value);
  const standing = rules.filter((each) => each !== same && !supersedes(rule.value, each.value));
  return [...standing, same === undefined ? rule : { ...rule, messageId: same.messageId }];
}

/** Over the bound, wishes go before prohibitions, and of each the oldest. */
function boundRules(rules: readonly Fact[]): readonly Fact[] {
  let over = rules.length - MAX_RULES;
  if (over <= 0) return rules;
  const kept = rules.filter(({ value }) => prohibits(value) || over-- <= 0);
  return kept.slice(-MAX_RULES);
}

function addIdentifiers(earlier: readonly Fact[], later: readonly Fact[]): readonly Fact[] {
  const all = new Map(earlier.map((fact) => [`${fact.kind} ${fact.value}`, fact]));
  for (const fact of later) {
    const key = `${fact.kind} ${fact.value}`;
    const heat = fact.heat + (all.get(key)?.heat ?? 0);
    all.delete(key);
    all.set(key, { ...fact, heat });
  }
  const facts = [...all.values()];
  if (facts.length <= MAX_IDENTIFIERS) return facts;
  const kept = new Set(facts.toSorted(byWorth).slice(0, MAX_IDENTIFIERS));
  return facts.filter((fact) => kept.has(fact));
}
