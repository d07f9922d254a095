/**
 * Brings notes up to date without a model: real sentences and names of the new messages, under the headings of the notes.
 *
 * Boundary: as {@link extractSummary}, but the answer has the shape of edits.ts: the sections that change, and no other.
 */
import { extractSummary, type ExtractInput } from "../extract.ts";
import { NOTHING } from "../extract/summary-shape.ts";
import { cutSection, normalizeTitle } from "./document.ts";
import { NO_CHANGES, splitSections } from "./edits.ts";
import { readSectionTokens } from "./prompt.ts";

export function extractEdits(input: ExtractInput): string {
  const before = new Map(sectionsOf(input.previous ?? ""));
  const sectionTokens = new Map(
    input.template.sections.map(({ title, hint }) => [normalizeTitle(title), readSectionTokens(hint)]),
  );
  const edits = sectionsOf(extractSummary(input)).flatMap(([title, text]) => {
    const fitted = cutSection(text, sectionTokens.get(normalizeTitle(title)) ?? Number.POSITIVE_INFINITY, "");
    return fitted === (before.get(title) ?? NOTHING) ? [] : [`## ${title}\n${fitted === "" ? NOTHING : fitted}`];
  });
  return edits.length === 0 ? NO_CHANGES : edits.join("\n\n");
}

function sectionsOf(markdown: string): [title: string, text: string][] {
  return splitSections(markdown).flatMap(({ title, text }) => (title === null ? [] : [[title, text]]));
}
