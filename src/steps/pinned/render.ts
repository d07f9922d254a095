/**
 * Writes pinned facts as the model reads them: one heading, a line for each rule, a line for each kind of name.
 *
 * Boundary: facts in, markdown out. Safe with hostile values: every value stands inside a line that begins with our own
 * words, so none can open a heading, a fence, a list or a message, and none can close a tag of a prompt.
 */
import type { FactKind, Pinned } from "./fact.ts";

const HEADING = "## Pinned facts";
const LABELS: Readonly<Record<Exclude<FactKind, "rule">, string>> = {
  task: "Open",
  failure: "Not yet put right",
  path: "Paths",
  symbol: "Names",
  id: "IDs",
  url: "URLs",
  command: "Commands",
  error: "Error codes",
  env: "Variables",
  version: "Versions",
  date: "Dates",
  quantity: "Amounts",
};
const BY_LINE: ReadonlySet<FactKind> = new Set(["task", "failure", "command"]);
/** Characters of a message's id that tell it from others. */
const SHORT_ID = 12;
const TAG = /<(?=\/|(?:sections|previous-summary|draft|transcript|problem|focus)\b)/gi;

/** Empty for nothing pinned. */
export function renderPinned(pinned: Pinned): string {
  const rules = pinned.rules.map(({ value, messageId }) => `- Rule (${shortId(messageId)}): ${oneLine(value)}`);
  const lists = Object.entries(LABELS).flatMap(([kind, label]) => {
    const values = pinned.facts.filter((fact) => fact.kind === kind).map(({ value }) => oneLine(value));
    if (values.length === 0) return [];
    return BY_LINE.has(kind as FactKind)
      ? values.map((value) => `- ${label}: ${value}`)
      : [`- ${label}: ${values.join(", ")}`];
  });
  const lines = [...rules, ...lists];
  return lines.length === 0 ? "" : [HEADING, ...lines].join("\n");
}

/** The value as it stands in the rendering: itself, unless it holds breaks, controls or a tag of a prompt. */
export function oneLine(value: string): string {
  return value
    .replaceAll(/[\s\p{C}]+/gu, " ")
    .replaceAll(TAG, "‹")
    .trim();
}

function shortId(messageId: string): string {
  const id = oneLine(messageId).replaceAll(/[()]/g, "");
  return id.length <= SHORT_ID + 4 ? id : `${id.slice(0, SHORT_ID)}…`;
}
