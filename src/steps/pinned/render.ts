/**
 * Writes pinned facts as the model reads them: one heading, a line for each rule, a line for each kind of name.
 *
 * Boundary: facts in, markdown out. Safe with hostile values: each stands inside a line that begins with our own words, so
 * none can open a heading, a fence, a list or a message, and none can close a tag of a prompt.
 */
import type { FactKind, Pinned } from "./fact.ts";
import { oneLine } from "./said.ts";

/** First line of the rendering. */
export const PINNED_HEADING = "## Pinned facts";
/** Both of two rules that differ are shown where it is not plain that one took back the other. */
const RULES_NOTE = "- The user's rules, word for word; where two differ, the later holds:";

const LABELS: readonly (readonly [Exclude<FactKind, "rule">, string])[] = [
  ["task", "Open"],
  ["failure", "Not put right"],
  ["command", "Command"],
  ["path", "Paths"],
  ["symbol", "Names"],
  ["id", "IDs"],
  ["url", "URLs"],
  ["error", "Error codes"],
  ["env", "Variables"],
  ["version", "Versions"],
  ["date", "Dates"],
  ["quantity", "Amounts"],
];
/** Kinds that may hold commas and blanks: each value has a line. */
const LINE_EACH: ReadonlySet<FactKind> = new Set(["task", "failure", "command"]);
/** Characters of a message's id that tell it from others. */
const ID_CHARS = 16;

/** Empty when nothing is pinned; otherwise a heading and at least one line, without a break at the end. */
export function renderPinned(pinned: Pinned): string {
  const rules = pinned.rules.map(({ value, messageId }) => `- Rule (${shortId(messageId)}): ${oneLine(value)}`);
  if (rules.length > 1) rules.unshift(RULES_NOTE);
  const others = LABELS.flatMap(([kind, label]) => {
    const values = pinned.facts.filter((fact) => fact.kind === kind).map(({ value }) => oneLine(value));
    if (LINE_EACH.has(kind)) return values.map((value) => `- ${label}: ${value}`);
    return values.length === 0 ? [] : [`- ${label}: ${values.join(", ")}`];
  });
  const lines = [...rules, ...others];
  return lines.length === 0 ? "" : [PINNED_HEADING, ...lines].join("\n");
}

function shortId(messageId: string): string {
  const id = oneLine(messageId).replaceAll(/[():]/g, "");
  return id.length <= ID_CHARS ? id : `${id.slice(0, ID_CHARS - 1)}…`;
}
