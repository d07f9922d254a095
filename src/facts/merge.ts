/**
 * Merges the facts of parts of a conversation.
 *
 * {@link Facts} in and out, without reading a message again. Repeated merges are safe. A word's heat fades by the same
 * factor for each message. A rule is removed only when a later one takes it back (rules-in-force.ts). Every list is bounded.
 */
import { MAX_CHANGED, MAX_FAILURES, MAX_OPEN_MESSAGES, MAX_RULES, MAX_TASKS } from "../limits.ts";
import { firmestFirst } from "./rules/prohibitions.ts";
import { mergeWords, NO_WORDS } from "./names/table.ts";
import { mergeLoaded } from "./loaded.ts";
import { NO_FACTS, QUESTION, type Fact, type Facts } from "./fact.ts";
import { readRevision } from "./rules/rules-in-force.ts";

/** Most successful calls that the facts of a span remember. A failed call is retried soon or never. */
export const MAX_WORKED = 100;

/** The number of a user's newest messages with requests whose requests stay open. */
const STANDING = 2;

/** The facts of all parts, given oldest first. */
export function mergeFacts(parts: readonly Facts[]): Facts {
  const words = mergeWords(parts.map((part) => part.words));
  return { ...parts.reduce(mergeTwo, NO_FACTS), words };
}

/** Calls that have a result or a failure. */
function settledBy({ worked, failures }: Facts): ReadonlySet<string | undefined> {
  return new Set([...worked, ...failures.map(({ about }) => about)]);
}

/**
 * What earlier tasks are about that later ones and an answer settle. A question or one request may only make clear what
 * an earlier request means, so requests stay until two later messages bring requests.
 */
export function tasksSettledBy({ tasks, worked }: Pick<Facts, "tasks" | "worked">): ReadonlySet<string | undefined> {
  const settled = new Set([...worked, ...tasks.map(({ about }) => (about === "assistant" ? about : QUESTION))]);
  return askingIn(tasks).length < STANDING ? settled : settled.add("user");
}

/** The messages that bring requests, oldest first. */
function askingIn(tasks: readonly Fact[]): string[] {
  return [...new Set(tasks.filter(({ about }) => about === "user").map(({ messageId }) => messageId))];
}

/** The tasks without requests of more than the newest messages that bring some. */
function standing(tasks: readonly Fact[]): Fact[] {
  const asking = new Set(askingIn(tasks).slice(-STANDING));
  return tasks.filter(({ about, messageId }) => about !== "user" || asking.has(messageId));
}

/** Merges all but the words. */
function mergeTwo(earlier: Facts, later: Facts): Facts {
  const aged = (facts: readonly Fact[]): Fact[] => facts.map((fact) => ({ ...fact, age: fact.age + later.messages }));
  const settled = settledBy(later);
  const isAccepted = earlier.answers === true && later.goesOn === true;
  const worked = isAccepted ? [...later.worked, QUESTION] : later.worked;
  const closed = tasksSettledBy({ tasks: later.tasks, worked });
  const open = (facts: readonly Fact[], ended: ReadonlySet<string | undefined>): Fact[] =>
    aged(facts).filter(({ about, age }) => age < MAX_OPEN_MESSAGES && !ended.has(about));
  return {
    messages: earlier.messages + later.messages,
    rules: boundRules(addRules(aged(earlier.rules), later.rules)),
    words: NO_WORDS,
    goesOn: (earlier.messages === 0 ? later : earlier).goesOn ?? false,
    answers: (later.messages === 0 ? earlier : later).answers ?? false,
    tasks: standing([...notRevised(open(earlier.tasks, closed), later.rules), ...later.tasks]).slice(-MAX_TASKS),
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

/** A rule without what it may lack where it is said again. */
const sayingOf = (rule: string): string =>
  rule.toLowerCase().replaceAll(/(?<![\s,.!*_])[\s,.!*_]+(?=please\b|$)|please[\s,]*/g, "");

/** What no later rule takes back. */
function notRevised(facts: readonly Fact[], later: readonly Fact[]): readonly Fact[] {
  const revisions = later.flatMap(({ value, revises }) => (revises === true ? (readRevision(value) ?? []) : []));
  return facts.filter(({ value }) => !revisions.some((revises) => revises(value)));
}

/** The rules in force after `later` ones. A rule said again moves to the end as it was first said. */
export function addRules(earlier: readonly Fact[], later: readonly Fact[]): Fact[] {
  let standing = [...earlier];
  if (later.length === 0) return standing;
  const sayings = new Map(standing.map((rule) => [rule, sayingOf(rule.value)]));
  for (const rule of later) {
    const saying = sayingOf(rule.value);
    const before = standing.find((each) => sayings.get(each) === saying && each.revises === rule.revises);
    standing = notRevised(standing, [rule]).filter((each) => each !== before);
    const last = before === undefined ? rule : { ...before, age: rule.age };
    standing.push(last);
    sayings.set(last, saying);
  }
  return standing;
}

/** Over the bound, the least firm are dropped, and older ones before newer. */
export function boundRules(rules: readonly Fact[]): readonly Fact[] {
  if (rules.length <= MAX_RULES) return rules;
  const kept = new Set(firmestFirst(rules.toReversed()).slice(0, MAX_RULES));
  return rules.filter((rule) => kept.has(rule));
}
