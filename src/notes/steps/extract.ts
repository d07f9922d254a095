/**
 * Updates notes without a model: what the user said, the calls and the last reply of the new messages go under the headings that they
 * belong to.
 *
 * Answers in the form of edits.ts, with only what changes. Existing text stays word for word, but for an earlier last reply. Where a section
 * or the whole has no room, the oldest of the new lines are left out.
 */
import { isWithin, wordTokens, LAST_REPLY, NOTHING, topicOf } from "../../steps/draft/audit.ts";
import { fallbackSummary, SAID_TITLE, type OfflineTask } from "../../steps/draft/fallback.ts";
import { normalizeTitle, type Section } from "../../steps/draft/prompt.ts";
import { renderNotes } from "./document.ts";
import { applyChanges, NO_CHANGES, plainLine, splitSections } from "./edits.ts";
import { ADDED, readSectionTokens } from "./prompt.ts";

/** Share of the whole that one update without a model may add. */
const SHARE_OF_UPDATE = 1 / 4;

export function extractEdits(input: OfflineTask): string {
  const { sections, countTokens, previous, summaryTokens } = input;
  const before = new Map(
    splitSections(previous ?? "").flatMap(({ title, text }) =>
      title === null ? [] : [[normalizeTitle(title), text === NOTHING ? "" : text] as const],
    ),
  );
  const free = Math.min(
    summaryTokens - wordTokens(previous ?? "", countTokens),
    Math.floor(summaryTokens * SHARE_OF_UPDATE),
  );
  if (free <= 0) return NO_CHANGES;
  const fresh = fallbackSummary({ ...input, previous: null, drafts: [], titles: ["", STATE], summaryTokens: free });
  const edits = [...placeLines(fresh, sections)].flatMap(([{ title, hint }, lines]) => {
    const text = before.get(normalizeTitle(title)) ?? "";
    const known = new Set(text.split("\n").map(plainLine));
    const added = lines.filter((line) => line.trim() !== "" && !known.has(plainLine(line)));
    const over = added.some(isLastReply) ? text.split("\n").filter(isLastReply) : [];
    const gone = over.map((line) => `~~${plainLine(line)}~~`);
    const most = readSectionTokens(hint) ?? Infinity;
    const changes = (): string => [...gone, ...added].join("\n");
    const isTooLong = (): boolean => !isWithin(lengthen(applyChanges(text, changes()).text), most, countTokens);
    while (added.length > 0 && isTooLong()) added.shift();
    return added.length === 0 ? [] : [{ title: `${title} ${ADDED}`, text: changes() }];
  });
  return edits.length === 0 ? NO_CHANGES : renderNotes(edits);
}

function isLastReply(line: string): boolean {
  return line.startsWith(`- ${LAST_REPLY}`);
}

/** The title under which the last reply stands in the summary that is taken apart here. */
const STATE = "State";

/** The new lines by the section that they go to, oldest first. */
function placeLines(fresh: string, sections: readonly Section[]): Map<Section, string[]> {
  const task = sections.find(({ title }) => topicOf(title) === "goal") ?? sections[0];
  const log = sections.findLast(({ title }) => topicOf(title) === "done") ?? sections.at(-1);
  const state = sections.find(({ title }) => topicOf(title) === "state") ?? log;
  const placed = new Map<Section, string[]>();
  for (const { title, text } of splitSections(fresh)) {
    const home = title === SAID_TITLE ? task : title === STATE ? state : log;
    if (title !== null && home !== undefined && text !== "")
      placed.set(home, [...(placed.get(home) ?? []), ...text.split("\n")]);
  }
  return placed;
}

/** A text with each number of a message as long as the reference that takes its place. */
function lengthen(text: string): string {
  return text.replaceAll(/(?<=\[)#\d{1,9}(?=\])/g, "@1mq3z2k");
}
