/**
 * Lists the names that a summary has not said yet: ids, URLs, commands, codes. Cheap in tokens, dear when lost.
 *
 * Boundary: the conversation and the bullets chosen so far in, one bullet per kind out. Names are taken from what was
 * said and from what tools were asked, not from their output, which is full of names that nobody used.
 */
import type { Bullet } from "./bullet.ts";
import type { Entry } from "./entries.ts";
import { extractIdentifiers, type IdentifierKind } from "../facts/facts.ts";

/** Kinds worth listing, in the order of listing, with the label of each list. */
const LABELS: readonly (readonly [IdentifierKind, string])[] = [
  ["id", "IDs"],
  ["path", "Paths"],
  ["url", "URLs"],
  ["command", "Commands"],
  ["error", "Error codes"],
  ["env", "Variables"],
  ["version", "Versions"],
  ["symbol", "Symbols"],
  ["date", "Dates"],
  ["quantity", "Amounts"],
];
/** Kinds of which one mention is not worth a place. */
const SAID_IN_PASSING: ReadonlySet<IdentifierKind> = new Set(["date", "quantity", "symbol"]);
/** A module specifier in code, which names no file by itself. */
const IMPORT = /^\.{1,2}\/[\w./-]+\.js$/;
/** Longest argument of a tool that is read for names, in characters. */
const MAX_ARGUMENT = 200;
/** Names of one kind that are looked for in what is told already. */
const MAX_CANDIDATES = 200;
/** Most names in one list. */
const MAX_NAMES = 16;

/** A bullet that this module wrote. */
export const NAME_LIST = new RegExp(`^(?:${LABELS.map(([, label]) => label).join("|")}): `);

/** One bullet for each kind that has names not yet in `chosen`: most said first, those of earlier summaries last. */
export function listNames(entries: readonly Entry[], carried: readonly string[], chosen: readonly Bullet[]): Bullet[] {
  const said = extractIdentifiers(entries.map((entry) => sayable(entry)).join("\n"));
  const told = chosen.map((bullet) => bullet.text).join("\n");
  return LABELS.flatMap(([kind, label], index) => {
    const own = said
      .filter(
        (each) => each.kind === kind && (each.count > 1 || !SAID_IN_PASSING.has(kind)) && !IMPORT.test(each.value),
      )
      .toSorted((one, other) => other.count - one.count);
    const earlier = carried.toReversed().flatMap((summary) => listed(summary, label));
    const names = [...new Set([...own.map((each) => each.value), ...earlier])]
      .slice(0, MAX_CANDIDATES)
      .filter((name) => !told.includes(name));
    if (names.length === 0) return [];
    const text = `${label}: ${names.slice(0, MAX_NAMES).join(", ")}`;
    return [
      {
        topic: "files" as const,
        text,
        weight: 0.5 - index * 0.02,
        order: Number.MAX_SAFE_INTEGER - 100 + index,
        references: [],
      },
    ];
  });
}

function sayable(entry: Entry): string {
  if (entry.kind === "said") return entry.text;
  return entry.kind === "call" ? stringsOf(entry.input) : "";
}

/** The short strings in a tool's arguments, which are JSON as a rule: long ones are content, full of passing names. */
function stringsOf(input: string): string {
  const strings: string[] = [];
  try {
    JSON.parse(input, (_key, value: unknown) => {
      if (typeof value === "string" && value.length <= MAX_ARGUMENT) strings.push(value);
      return value;
    });
  } catch {
    return input.slice(0, MAX_ARGUMENT);
  }
  return strings.join("\n");
}

function listed(summary: string, label: string): string[] {
  return summary.split("\n").flatMap((line) => {
    const text = line.replace(/^- /, "");
    return text.startsWith(`${label}: `) ? text.slice(label.length + 2).split(", ") : [];
  });
}
