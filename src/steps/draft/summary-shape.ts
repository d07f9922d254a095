/**
 * Parses and writes the markdown of a summary, with `##` headings over bullets, and finds the topic of each heading.
 *
 * A heading is recognized by its words. So summaries with other templates, or written by a model, can be read like our
 * own.
 */
import { isNothing } from "./empty-sections.ts";
import { SECTION_BUDGET } from "./template.ts";
import { LIST_MARK, withoutMarkup } from "../text/markdown.ts";

/** The kind of a slice. Template sections are matched to these topics. */
export type Topic =
  | "goal"
  | "constraints"
  | "decisions"
  | "done"
  | "doing"
  | "files"
  | "errors"
  | "questions"
  | "state";

/** The text of an empty section. */
export const NOTHING = "None.";

/** Label of the user's last words. */
export const USER_SAID = "User last said: ";
/** Labels of the assistant's last words, and of its last call if it said nothing after it. */
export const ASSISTANT_SAID = "Last said: ";
export const LAST_ACTION = "Last action: ";
/** Labels of open work, and of its obstacles. */
export const TO_DO = "To do: ";
export const BLOCKED = "Blocked: ";
/** Label of a question by the assistant that is not answered yet. */
export const ASKED_USER = "To the user: ";
/** Labels of bullets that hold only until a newer one or an answer replaces them. */
export const PASSING_LABELS: readonly string[] = [USER_SAID, ASSISTANT_SAID, LAST_ACTION, TO_DO, BLOCKED, ASKED_USER];

const HEADING_WORDS: readonly (readonly [Topic, RegExp])[] = [
  ["state", /\b(?:current|state|next|status|situation)\b/i],
  ["doing", /^(?:in progress|pending|to-?do|remaining|blocked|blockers)\b/i],
  ["constraints", /\b(?:constraints?|preferences?|rules?|requirements?|instructions?)\b/i],
  ["goal", /\b(?:goals?|objectives?|intent|purpose|tasks?|requests?|asks?)\b/i],
  ["decisions", /\b(?:decisions?|agreed|agreements?|rationale|choices)\b/i],
  ["files", /\b(?:files?|artifacts?|resources?|references?|paths?)\b/i],
  ["errors", /\b(?:errors?|fix(?:es)?|problems?|issues?|failures?|bugs?)\b/i],
  ["questions", /\b(?:open|questions?|unresolved|unknowns?)\b/i],
  ["done", /\b(?:progress|done|completed|work|history|happened|results?|accomplishments?|actions?)\b/i],
];
/** A topic without a heading of its own goes to the first of these topics that has one. */
const STAND_INS: readonly Topic[] = ["done", "state", "goal", "decisions", "constraints"];

/** The topic of a heading. Null when its words tell none. */
export function topicOf(title: string): Topic | null {
  return HEADING_WORDS.find(([, words]) => words.test(title))?.[0] ?? null;
}

/** The heading for each topic. If there is any heading, every topic gets one. */
export function placeTopics(titles: readonly string[]): ReadonlyMap<Topic, string> {
  const homes = new Map<Topic, string>();
  for (const title of titles) {
    const topic = topicOf(title);
    if (topic !== null && !homes.has(topic)) homes.set(topic, title);
  }
  const standIn = STAND_INS.map((topic) => homes.get(topic)).find((title) => title !== undefined) ?? titles[0];
  for (const [topic] of HEADING_WORDS) {
    if (!homes.has(topic) && standIn !== undefined) homes.set(topic, standIn);
  }
  return homes;
}

/** Markdown with every title in order, each with its bullets or {@link NOTHING}. */
export function joinSections(titles: readonly string[], bodies: ReadonlyMap<string, readonly string[]>): string {
  return titles
    .map((title) => {
      const lines = bodies.get(title) ?? [];
      return `## ${title}\n${lines.length === 0 ? NOTHING : lines.map((line) => `- ${line}`).join("\n")}`;
    })
    .join("\n\n");
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

/** The bullets of a summary with their topics, in order. Lines under an unknown heading or none count as done. */
export function readSummary(markdown: string): { topic: Topic; text: string }[] {
  return readBullets(markdown).map(({ section, text }) => ({ topic: topicOf(section) ?? "done", text }));
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
