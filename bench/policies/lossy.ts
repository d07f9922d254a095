/**
 * A summariser that forgets a known share of its input at every pass, and writes the rest as bullets under the given headings.
 *
 * It reads names and rules. These are the identifiers of each line with a few words around them, the user's rules word for word, and each
 * bullet of an earlier summary. It aims at the requested size.
 *
 * Safe to compare between policies. Whether a fact goes is drawn from the seed, the fact and the whole input, so neither the order of calls
 * nor a repetition changes it.
 */
import { extractConstraints } from "../../src/facts/rules/constraints.ts";
import { extractIdentifiers, type IdentifierKind } from "./identifiers.ts";
import { digest } from "../../src/steps/text/digest.ts";
import { readTranscript, type Entry } from "../../src/extractive/entries.ts";
import { joinSections, placeTopics, readSummary, type Topic } from "../../src/steps/draft/summary-shape.ts";
import { readSectionTokens } from "../../src/notes/steps/prompt.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import type { Asked } from "./asked.ts";

interface Told {
  readonly topic: Topic;
  /** The text that is kept or lost as one. */
  readonly value: string;
  readonly bullet: string;
}

/** Words of its line on each side of a name. */
const WORDS_AROUND = 3;
/** Longest of them, in characters. */
const MAX_WORD_CHARS = 30;
/** Tokens of a list mark and a line break. */
const BULLET_TOKENS = 2;
/** Most of a summary that rules take, as a divisor. */
const RULES_SHARE = 4;

const TOPICS: Partial<Record<IdentifierKind, Topic>> = {
  path: "files",
  url: "files",
  error: "errors",
  symbol: "decisions",
};

/** Writes an answer that leaves out the share `loss` of the facts. */
export function forget(asked: Asked, { loss, seed }: { readonly loss: number; readonly seed: number }): string {
  const read = digest(asked.transcript, ...asked.earlier, ...asked.problems);
  const keep = ({ value }: Told): boolean => drawLot(`${seed} ${read} ${value}`) >= loss;
  const earlier = unique([...asked.earlier, ...asked.problems].flatMap(readBullets)).filter(keep);
  const known = new Set(earlier.map(({ value }) => value));
  const fresh = unique(readTranscript(asked.transcript).entries.flatMap(readEntry)).filter(
    (told) => !known.has(told.value) && keep(told),
  );
  const titles = asked.sections.map(({ title }) => title);
  const room = asked.tokens - estimateTokens(joinSections(titles, new Map()));
  const rules = thin([...earlier, ...fresh].filter(isRule), room / RULES_SHARE);
  const left = room - cost(rules);
  // Earlier and new facts get half of the room each. One takes what the other does not need.
  const [old, young] = [earlier, fresh].map((told) => told.filter((each) => !isRule(each))) as [Told[], Told[]];
  const forOld = Math.max(left / 2, left - cost(young));
  const kept = thin(old, forOld);
  return lay(asked, [...rules, ...kept, ...thin(young, left - cost(kept))]);
}

/** Headings without content. */
export function keepNothing({ sections }: Asked): string {
  return joinSections(
    sections.map(({ title }) => title),
    new Map(),
  );
}

function isRule({ topic }: Told): boolean {
  return topic === "constraints";
}

function readBullets(summary: string): Told[] {
  return readSummary(summary).map(({ topic, text }) => ({
    topic,
    value: /^`([^`]+)`/.exec(text)?.[1] ?? text,
    bullet: text,
  }));
}

function readEntry(entry: Entry): Told[] {
  if (entry.kind === "file") return [];
  const text = entry.kind === "said" ? entry.text : entry.kind === "call" ? entry.input : entry.output;
  const rules = entry.kind === "said" && entry.by === "user" ? extractConstraints(text) : [];
  return [
    ...rules.map((rule): Told => {
      const bullet = rule.replaceAll(/\s+/g, " ");
      return { topic: "constraints", value: bullet, bullet };
    }),
    ...text.split("\n").flatMap((line) => readLine(line)),
  ];
}

function readLine(line: string): Told[] {
  return extractIdentifiers(line).map(({ kind, value }) => {
    const around = wordsAround(line, value);
    const bullet = `\`${value}\`${around === "" ? "" : ` ${around}`}`;
    return { topic: TOPICS[kind] ?? "done", value, bullet };
  });
}

function wordsAround(line: string, value: string): string {
  const at = line.indexOf(value);
  const before = plainWords(line.slice(0, at)).slice(-WORDS_AROUND);
  return [...before, ...plainWords(line.slice(at + value.length)).slice(0, WORDS_AROUND)].join(" ");
}

/** Excludes names, because a name here would be told although its own lot was to go. */
function plainWords(text: string): string[] {
  return text
    .split(/[^\p{L}'’]+/u)
    .filter((word) => word.length > 1 && word.length < MAX_WORD_CHARS && extractIdentifiers(word).length === 0);
}

function unique(told: readonly Told[]): Told[] {
  const found = new Map<string, Told>();
  for (const each of told) if (!found.has(each.value)) found.set(each.value, each);
  return [...found.values()];
}

function cost(told: readonly Told[]): number {
  return told.reduce((sum, { bullet }) => sum + estimateTokens(bullet) + BULLET_TOKENS, 0);
}

/** As many as fit, taken evenly from all of them. */
function thin(told: readonly Told[], room: number): Told[] {
  const share = Math.min(1, Math.max(0, room) / Math.max(1, cost(told)));
  let [passed, taken] = [0, 0];
  return told.filter((each) => {
    const tokens = cost([each]);
    passed += tokens;
    if (taken + tokens > passed * share + Number.EPSILON) return false;
    taken += tokens;
    return true;
  });
}

function lay({ sections, notes }: Asked, told: readonly Told[]): string {
  const titles = sections.map(({ title }) => title);
  const homes = placeTopics(titles);
  const bodies = new Map<string, readonly string[]>();
  for (const { title, hint } of sections) {
    const own = told.filter(({ topic }) => homes.get(topic) === title);
    const fitting = notes ? thin(own, (readSectionTokens(hint) ?? Number.POSITIVE_INFINITY) - BULLET_TOKENS) : own;
    bodies.set(
      title,
      fitting.map(({ bullet }) => bullet),
    );
  }
  return joinSections(titles, bodies);
}

/** From 0 to 1. */
function drawLot(name: string): number {
  return Number.parseInt(digest(name).slice(0, 8), 16) / 0x1_0000_0000;
}
