/**
 * Renders pinned facts for the model. Facts in force stand under one heading, with a line for each open item, one for the
 * changed files and one for each rule, followed by loaded texts. The names stand on one line, or on one for each role.
 *
 * Facts in, markdown out. Hostile values are safe. Each stands inside a line that begins with our own words, so it
 * cannot open a heading, a fence, a list or a message. It cannot close a tag of a prompt either.
 */
import type { FactKind, Pinned, PinnedFact } from "./fact.ts";
import { renderLoaded } from "./loaded/render-loaded.ts";
import { safeLine } from "../steps/text/safe-text.ts";

/** The heading of the facts in force, which have a token budget of their own. */
export const IN_FORCE_HEADING = "## Still in force";
/** The heading of the names. */
export const NAMES_HEADING = "## Names";
/** A list of names has a line for each role from so many characters. */
export const LABELLED_CHARS = 1_000;
/** Shown because both of two differing rules stay where it is not clear that one took back the other. */
const RULES_NOTE = "- The user's rules, word for word; where two differ, the later holds:";

/** Precedes the number of omitted rules, so that a reader knows to ask for them. */
export const LEFT_RULES_NOTE = "- Rules said earlier that found no room here (use recall): ";

const LABELS: Readonly<Partial<Record<FactKind, string>>> = { task: "Open", failure: "Not put right" };

/** Precedes the files that tools changed lately, the newest first. */
const CHANGED_LABEL = "- Changed lately: ";

/** A name with a common ending of files, or a full path with a folder. Words joined by slashes are no path. */
const FILE =
  /[\w)\]]\.(?:[cm]?[jt]sx?|jsonl?|mdx?|ya?ml|toml|lock|sql|py|rs|go|mod|rb|php|java|kt|swift|cc?|cpp|h|cs|sh|css|html?|txt|csv|env|proto|vue|svelte|tf)$|^(?:\.{1,2}|~|[A-Za-z]:)?\/[^:]*\/[^:]*$/;
/** An amount of money, an address of mail or a handle, or any other name with two digits that is no number with a unit. */
const ID = /^(?![\d.,]{1,6}[\p{L}%]{1,3}$)(?:[#$]|.*(?:\d.*\d|@))/u;
const IDENTIFIER = /^\D*(?:[._:$]|\p{Ll}\p{Lu})/u;
/** The roles of names with their labels, as a reader looks for them. A name has the first one whose form it has. */
const ROLES = [
  ["Files: ", FILE],
  ["Ids: ", ID],
  ["Code: ", IDENTIFIER],
  ["Words: ", /^/],
] as const;
/** Characters of the labels with a break for each. */
export const LABELS_CHARS = ROLES.reduce((sum, [label]) => sum + label.length + 1, 0);

/** A rule's line as rendered below. No shown id has a bracket. */
const RULE_LINE = /^- Rule \(([^()]*)\): (.+)$/;

/** Characters of a message's id that distinguish it from others. */
const ID_CHARS = 16;

/** All pinned facts, with a blank line between the parts. Empty when nothing is pinned. */
export function renderPinned(pinned: Pinned): string {
  return [renderInForce(pinned), renderNames(pinned.names)].filter((part) => part !== "").join("\n\n");
}

/** Empty when nothing is in force. Otherwise a heading and at least one line, without a break at the end. */
export function renderInForce(pinned: Omit<Pinned, "names">): string {
  const rules = pinned.rules.map(({ value, messageId }) => `- Rule (${shortId(messageId)}): ${safeLine(value)}`);
  if (rules.length > 1) rules.unshift(RULES_NOTE);
  const lines = pinned.facts.flatMap(({ kind, value }) => {
    const label = LABELS[kind];
    return label === undefined ? [] : [`- ${label}: ${safeLine(value)}`];
  });
  const changed = pinned.facts.filter(({ kind }) => kind === "change").map(({ value }) => safeLine(value));
  if (changed.length > 0) lines.push(`${CHANGED_LABEL}${changed.join(", ")}`);
  const { leftRules = 0 } = pinned;
  lines.push(...rules);
  if (leftRules > 0) lines.push(`${LEFT_RULES_NOTE}${leftRules}`);
  const loaded = renderLoaded(pinned.loaded);
  if (loaded !== "") lines.push(loaded);
  return lines.length === 0 ? "" : [IN_FORCE_HEADING, ...lines].join("\n");
}

/** Empty for none. No name has a blank, so blanks separate the names. A long list has a line for each role, named by its label. */
export function renderNames(names: readonly string[]): string {
  if (names.length === 0) return "";
  const lines = names.map(safeLine);
  const all = lines.join(" ");
  if (all.length < LABELLED_CHARS) return `${NAMES_HEADING}\n${all}`;
  const byRole = Map.groupBy(lines, (name) => ROLES.find(([, form]) => form.test(name))?.[0]);
  const roles = ROLES.flatMap(([label]) => {
    const some = byRole.get(label) ?? [];
    return some.length > 0 ? [label + some.join(" ")] : [];
  });
  return [NAMES_HEADING, ...roles].join("\n");
}

/** The rules in a text that contains the rendering, with their messages' ids as shown there. */
export function readPinnedRules(text: string): PinnedFact[] {
  const lines = text.split("\n");
  const from = lines.lastIndexOf(IN_FORCE_HEADING) + 1;
  if (from === 0) return [];
  const end = lines.findIndex((line, at) => at >= from && !line.startsWith("- "));
  return lines.slice(from, end === -1 ? lines.length : end).flatMap((line) => {
    const [, messageId = "", value = ""] = RULE_LINE.exec(line) ?? [];
    return value === "" ? [] : [{ kind: "rule", value, messageId }];
  });
}

function shortId(messageId: string): string {
  const id = safeLine(messageId).replaceAll(/[():]/g, "");
  return id.length <= ID_CHARS ? id : `${id.slice(0, ID_CHARS - 1)}…`;
}
