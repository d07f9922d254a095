/**
 * Reads the markdown of a summary, with `##` headings over bullets, and finds the topic of a heading.
 *
 * A heading is recognized by its words. So summaries and notes with other templates can be read like our own.
 */
import { isNothing } from "./empty-sections.ts";
import { SECTION_BUDGET } from "./template.ts";
import { LIST_MARK, withoutMarkup } from "../text/markdown.ts";

/** What a section is about. */
type Topic = "goal" | "constraints" | "decisions" | "done" | "doing" | "files" | "errors" | "questions" | "state";

/** The text of an empty section. */
export const NOTHING = "None.";

/** Label of the assistant's last words, which a newer one replaces. */
export const LAST_REPLY = "Last reply: ";

const HEADING_WORDS: readonly (readonly [Topic, RegExp])[] = [
  ["state", /\b(?:current|state|next|status|situation)\b/i],
  ["doing", /^(?:in progress|pending|to-?do|remaining|blocked|blockers)\b/i],
  ["constraints", /\b(?:constraints?|preferences?|rules?|requirements?|instructions?)\b/i],
  ["goal", /\b(?:goals?|objectives?|intent|purpose|tasks?|requests?|asks?)\b/i],
  ["decisions", /\b(?:decisions?|agreed|agreements?|rationale|choices)\b/i],
  ["files", /\b(?:files?|artifacts?|resources?|references?|paths?)\b/i],
  ["errors", /\b(?:errors?|fix(?:es)?|problems?|issues?|failures?|bugs?)\b/i],
  ["questions", /\b(?:open|questions?|unresolved|unknowns?)\b/i],
  ["done", /\b(?:progress|done|completed|work|(?:work)?log|history|happened|results?|accomplishments?|actions?)\b/i],
];

/** The topic of a heading. Null when its words tell none. */
export function topicOf(title: string): Topic | null {
  return HEADING_WORDS.find(([, words]) => words.test(title))?.[0] ?? null;
}

/**
 * Whether a summary or a section of it tells anything. False for headings alone, for "None." under each, and for lines
 * that only repeat one of `hints` or the token budget after it.
 */
export function tellsSomething(markdown: string, hints: readonly string[] = []): boolean {
  const asked = new Set(hints.map(plainWords));
  return readBullets(markdown).some(({ text }) => {
    const words = plainWords(text);
    return words !== "" && !asked.has(words);
  });
}

function plainWords(text: string): string {
  return withoutMarkup(text.replace(SECTION_BUDGET, "").toLowerCase());
}

export interface SummaryBullet {
  /** The heading over it. Empty above the first heading. */
  readonly section: string;
  readonly text: string;
}

/** The bullets of a summary with their headings, in order. */
export function readBullets(markdown: string): SummaryBullet[] {
  const found: SummaryBullet[] = [];
  let section = "";
  let nested = false;
  for (const raw of markdown.split("\n")) {
    const line = raw.trim();
    const title = /^#{1,6}\s+(\S.*)$/.exec(line)?.[1] ?? /^\*\*([^*]{1,80})\*\*:?$/.exec(line)?.[1];
    if (title !== undefined) {
      section = title;
      nested = false;
      continue;
    }
    const text = oneLine(line.replace(LIST_MARK, ""));
    if (isNothing(text)) continue;
    const continues = nested && !LIST_MARK.test(line) && /^\s/.test(raw);
    const last = found.at(-1);
    if (continues && last !== undefined) found[found.length - 1] = { ...last, text: `${last.text} ${text}` };
    else found.push({ section, text });
    nested = true;
  }
  return found;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
