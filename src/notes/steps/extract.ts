/**
 * Updates notes without a model: what the user said, the calls and the last reply of the new messages go under the headings that they
 * belong to.
 *
 * Answers in the form of edits.ts, with only what changes. Existing text stays word for word. Where a section or the whole has no room, the
 * oldest of the new lines are left out.
 */
import { fallbackSummary, type OfflineTask } from "../../steps/draft/fallback.ts";
import { topicOf } from "../../steps/draft/summary-shape.ts";
import { normalizeTitle } from "../../steps/draft/template.ts";
import { wordTokens } from "../../steps/draft/cut-section.ts";
import { renderNotes } from "./document.ts";
import { NO_CHANGES, splitSections } from "./edits.ts";
import { ADDED, readSectionTokens } from "./prompt.ts";

/** Share of the whole that one update without a model may add. */
const SHARE_OF_UPDATE = 1 / 4;

export function extractEdits(input: OfflineTask): string {
  const { sections, countTokens, previous, summaryTokens } = input;
  const before = new Map(
    splitSections(previous ?? "").flatMap(({ title, text }) =>
      title === null ? [] : [[normalizeTitle(title), text.trim()] as const],
    ),
  );
  const textOf = (title: string): string => before.get(normalizeTitle(title)) ?? "";
  const titles = sections.map(({ title }) => title);
  const taken = wordTokens(previous ?? "", countTokens);
  const free = Math.min(summaryTokens - taken, Math.floor(summaryTokens * SHARE_OF_UPDATE));
  if (free <= 0) return NO_CHANGES;
  const fresh = fallbackSummary({ ...input, previous: null, drafts: [], titles: ["", "State"], summaryTokens: free });
  const found = splitSections(fresh).flatMap(({ title, text }) => (title === null ? [] : [{ title, text }]));
  const state = titles.find((title) => topicOf(title) === "state");
  const task = titles.find((title) => topicOf(title) === "goal") ?? titles[0];
  const log = titles.findLast((title) => topicOf(title) === "done") ?? titles.at(-1);
  const edits = found.flatMap(({ title, text }) => {
    const isState = title === "State";
    const home = isState ? (state ?? log) : title === "What the user said" ? task : log;
    const section = sections.find((each) => each.title === home);
    if (home === undefined || section === undefined || text.trim() === "") return [];
    const most =
      (readSectionTokens(section.hint) ?? Infinity) - (home === state ? 0 : wordTokens(textOf(home), countTokens));
    const lines = text.split("\n").filter((line) => line.trim() !== "" && !textOf(home).includes(line));
    while (lines.length > 0 && wordTokens(lines.join("\n"), countTokens) > most) lines.shift();
    if (lines.length === 0) return [];
    return [{ title: home === state ? home : `${home} ${ADDED}`, text: lines.join("\n") }];
  });
  const joined = edits.filter(({ title }, at) => edits.findIndex((each) => each.title === title) === at);
  return joined.length === 0 ? NO_CHANGES : renderNotes(joined);
}
