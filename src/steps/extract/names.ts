/**
 * Lists the names that a summary does not mention yet, such as ids, URLs, commands and codes. They cost few tokens, and
 * their loss is expensive.
 *
 * The conversation and the chosen bullets in, one bullet per kind of name out. Names come from statements and tool
 * inputs. Tool outputs are not read, because they are full of names that nobody used.
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
/** Kinds that need more than one mention to be listed. */
const SAID_IN_PASSING: ReadonlySet<IdentifierKind> = new Set(["date", "quantity", "symbol"]);
/** A module specifier in code, which names no file by itself. */
const IMPORT = /^\.{1,2}\/[\w./-]+\.js$/;
/** Longest tool argument that is read for names, in characters. */
const MAX_ARGUMENT = 200;
/** Most names of one kind that are searched in the chosen text. */
const MAX_CANDIDATES = 200;
/** Most names in one list. */
const MAX_NAMES = 16;

/** Recognizes a bullet written by this module. */
export const NAME_LIST = new RegExp(`^(?:${LABELS.map(([, label]) => label).join("|")}): `);

/**
 * One bullet for each kind with names that are not in `chosen`. Most mentioned names come first, names of earlier
 * summaries last.
 */
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

/** The short strings in a tool's arguments, which are usually JSON. Long strings are content, full of names in passing. */
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
