/**
 * The prompt of an update of notes, and what answers it without a model.
 *
 * Each section's token budget follows its hint, where the offline answer reads it too.
 */
import { isWithin, wordTokens, LAST_REPLY, NOTHING, topicOf } from "../../steps/draft/audit.ts";
import { fallbackSummary, SAID_TITLE, type OfflineTask } from "../../steps/draft/fallback.ts";
import { normalizeTitle, SECTION_BUDGET, type Section, rules, type RoomTask } from "../../steps/draft/prompt.ts";
import { renderNotes, type NotesSection, type NotesShape } from "./document.ts";
import { ADDED, AND_SO_ON, applyChanges, NO_CHANGES, plainLine, splitSections } from "./edits.ts";

/** The sections of the notes for the model, with the shape's hints where the shape has the section. */
export function describeSections(notes: readonly NotesSection[], { sections, sectionTokens }: NotesShape): Section[] {
  return notes.map(({ title }) => {
    const hint = sections.find((section) => section.title === title)?.hint ?? "";
    return { title, hint: `${hint === "" ? "" : `${hint} `}At most ${sectionTokens} tokens.` };
  });
}

/** The budget after a section's hint. Null where there is none. */
function readSectionTokens(hint: string): number | null {
  const found = SECTION_BUDGET.exec(hint)?.[1];
  return found === undefined ? null : Number(found);
}

const TASK =
  "Bring the notes up to date with the transcript, which goes on where they end. Answer with what changes and no other " +
  `section. Of a section whose lines mostly stay, write the changes alone: the heading "## Title ${ADDED}", then the new ` +
  `lines, which come behind the old, and each line that no longer holds as ~~its beginning${AND_SO_ON}~~, which takes it ` +
  'out. A section of which most changes, like the current state, write whole: its heading as a line "## Title", then all of ' +
  "its text, the old that still holds in its wording included. A section that you do not write stays as it is. If nothing " +
  'changes, answer "No changes." Where a draft is given, it is an answer that was refused: write it again without the ' +
  "problems listed.";

const SYSTEM = `You keep the notes of an assistant at work. When messages no longer fit its context, the notes take their place, and the assistant goes on from them without seeing the messages again. What you take out is forgotten; what you invent is believed.

Rules:
${rules("Use only the section headings you are given. Keep each section within its budget; condense what is old and settled first.", "sections")}`;

/**
 * Brings notes (`previous`) up to date with a transcript. A second try has the refused answer in `drafts` and its
 * `problems`.
 */
export const NOTES_TASK: RoomTask = {
  name: "notes",
  system: SYSTEM,
  task: TASK,
  closing: "Now write what changes.",
};

/** Share of the whole that one update without a model may add. */
const SHARE_OF_UPDATE = 1 / 4;

/**
 * Updates notes without a model: what the user said, the calls and the last reply of the new messages go under the headings that they
 * belong to.
 *
 * Answers in the form of edits.ts, with only what changes. Existing text stays word for word, but for an earlier last reply. Where a section
 * or the whole has no room, the oldest of the new lines are left out.
 */
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
