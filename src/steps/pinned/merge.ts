/**
 * Merges the facts of parts of a conversation.
 *
 * {@link Facts} in and out, without reading a message again. Repeated merges are safe. A word's heat fades by the same
 * factor for each message. A rule is removed only when a later one takes it back (ledger.ts). Every list is bounded.
 */
import { MAX_CHANGED, MAX_FAILURES, MAX_OPEN_MESSAGES, MAX_RULES, MAX_TASKS, MAX_WORKED } from "../../limits.ts";
import { prohibits } from "../facts/prohibitions.ts";
import { mergeWords, NO_WORDS } from "../salience/table.ts";
import { mergeLoaded } from "./loaded.ts";
import { NO_FACTS, QUESTION, type Fact, type Facts } from "./fact.ts";
import { readRevision } from "./ledger.ts";

/** The facts of all parts, given oldest first. */
export function mergeFacts(parts: readonly Facts[]): Facts {
  const words = mergeWords(parts.map((part) => part.words));
  return { ...parts.reduce(mergeTwo, NO_FACTS), words };
}

/** Calls that have a result or a failure. */
function settledBy({ worked, failures }: Facts): ReadonlySet<string | undefined> {
  return new Set([...worked, ...failures.map(({ about }) => about)]);
}

/** What earlier tasks are about that later ones and an answer settle. */
export function tasksSettledBy({ tasks, worked }: Pick<Facts, "tasks" | "worked">): ReadonlySet<string | undefined> {
  return new Set([...worked, ...tasks.flatMap(({ about }) => (about === "assistant" ? about : ["user", QUESTION]))]);
}

/** Merges all but the words. */
function mergeTwo(earlier: Facts, later: Facts): Facts {
  const aged = (facts: readonly Fact[]): Fact[] => facts.map((fact) => ({ ...fact, age: fact.age + later.messages }));
  const settled = settledBy(later);
  const isAccepted = earlier.answers === true && later.goesOn === true;
  const worked = isAccepted ? [...later.worked, QUESTION] : later.worked;
  const open = (facts: readonly Fact[], closed: ReadonlySet<string | undefined>): Fact[] =>
    aged(facts).filter(({ about, age }) => age < MAX_OPEN_MESSAGES && !closed.has(about));
  return {
    messages: earlier.messages + later.messages,
    rules: boundRules(addRules(aged(earlier.rules), later.rules)),
    words: NO_WORDS,
    goesOn: (earlier.messages === 0 ? later : earlier).goesOn ?? false,
    answers: (later.messages === 0 ? earlier : later).answers ?? false,
    tasks: [...open(earlier.tasks, tasksSettledBy({ tasks: later.tasks, worked })), ...later.tasks].slice(-MAX_TASKS),
    failures: [...open(earlier.failures, settled), ...later.failures].slice(-MAX_FAILURES),
    changed: newestOfEach([...aged(earlier.changed), ...later.changed]).slice(-MAX_CHANGED),
    loaded: mergeLoaded(earlier.loaded, later.loaded),
    worked: [...new Set([...earlier.worked, ...worked].toReversed())].slice(0, MAX_WORKED).toReversed(),
  };
}

function newestOfEach(facts: readonly Fact[]): Fact[] {
  const last = new Map(facts.map((fact) => [fact.value, fact]));
  return facts.filter((fact) => fact.age < MAX_OPEN_MESSAGES && last.get(fact.value) === fact);
}

/** The rules in force after `later` ones. A repeated rule moves to the end and keeps its first message. */
export function addRules(earlier: readonly Fact[], later: readonly Fact[]): Fact[] {
  let standing = [...earlier];
  for (const rule of later) {
    const revises = rule.revises === true ? readRevision(rule.value) : null;
    const before = standing.find((each) => each.value === rule.value && each.revises === rule.revises);
    standing = standing.filter((each) => each !== before && revises?.(each.value) !== true);
    standing.push(before === undefined ? rule : { ...rule, messageId: before.messageId });
  }
  return standing;
}

/** Over the bound, wishes are dropped before prohibitions, and older ones before newer. */
export function boundRules(rules: readonly Fact[]): readonly Fact[] {
  let over = rules.length - MAX_RULES;
  if (over <= 0) return rules;
  return rules.filter(({ value }) => prohibits(value) || over-- <= 0).slice(-MAX_RULES);
}
