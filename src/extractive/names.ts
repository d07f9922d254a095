/**
 * Lists the names that a summary does not mention yet, such as ids, paths and commands. They cost few tokens, and their
 * loss is expensive.
 *
 * The conversation and the chosen bullets in, names out. They come from statements and tool inputs. Tool outputs are not
 * read, because they are full of names that nobody used.
 */
import { gatherWords, heatOf, mergeWords } from "../facts/names/table.ts";
import type { Bullet } from "./bullet.ts";
import type { Entry } from "./entries.ts";

const LABEL = "Names: ";
/** Longest tool argument that is read for names, in characters. */
const MAX_ARGUMENT = 200;
/** Most names in one list. */
const MAX_NAMES = 64;

/** Recognizes a bullet written by this module. */
export const NAME_LIST = new RegExp(`^${LABEL}`);

/** The names that are not in `chosen`, the warmest first, and those of earlier summaries last. */
export function findNames(entries: readonly Entry[], carried: readonly string[], chosen: readonly Bullet[]): string[] {
  const { rows } = mergeWords(entries.map((entry) => gatherWords([{ written: true, text: sayable(entry) }])));
  const own = rows.toSorted((one, other) => heatOf(other) - heatOf(one)).map(([word]) => word);
  const text = chosen.map(({ text }) => text).join("\n");
  const names = new Set([...own, ...carried.toReversed().flatMap(listed)]);
  return [...names].filter((name) => !text.includes(name)).slice(0, MAX_NAMES);
}

/** Names as one bullet. */
export function listNames(names: readonly string[]): Bullet {
  return {
    topic: "files",
    text: `${LABEL}${names.join(", ")}`,
    weight: 0.5,
    order: Number.MAX_SAFE_INTEGER,
    references: [],
  };
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

function listed(summary: string): string[] {
  return summary.split("\n").flatMap((line) => {
    const text = line.replace(/^- /, "");
    return text.startsWith(LABEL) ? text.slice(LABEL.length).split(", ") : [];
  });
}
