/**
 * The notes of a session as a document: sections with fixed headings, each with its own text.
 *
 * Defines shapes and converts them from and to text. It does not know who writes the notes or how far they cover the
 * branch. {@link fitNotes} bounds every section and the whole, so any content is safe to show.
 */
import { NOTES_SECTION_SHARE, NOTES_SECTION_TOKENS, NOTES_SHARE_OF_THRESHOLD, NOTES_TOKENS } from "../limits.ts";
import { checkWhole } from "../../known-fields.ts";
import { NOTHING, tellsSomething, CAP_STEP, cutSection, isWithin } from "../../steps/draft/audit.ts";
import type { CountTokens } from "../../steps/message/message.ts";
import { normalizeTitle, parseTemplate, type Section, type TemplateInput } from "../../steps/draft/prompt.ts";

/** One section with its heading and its text, which is trimmed, and empty when there is nothing yet. */
export interface NotesSection {
  /** The heading. */
  readonly title: string;
  /** Markdown. Empty when there is nothing yet. */
  readonly text: string;
}

/** The sections and their limits, in tokens of words without references. */
export interface NotesShape {
  readonly sections: readonly Section[];
  readonly sectionTokens: number;
  readonly maxTokens: number;
}

export interface NotesShapeOptions {
  /** Headings with hints for the model, in order. Defaults to {@link DEFAULT_NOTES_SECTIONS}. */
  readonly sections?: TemplateInput["sections"] | undefined;
  /** Most tokens of one section. Default: 2,000, at most a quarter of the whole. */
  readonly sectionTokens?: number | undefined;
  /** Most tokens of all sections. Default: 12,000, at most a tenth of the threshold. */
  readonly maxTokens?: number | undefined;
}

export const DEFAULT_NOTES_SECTIONS: readonly Section[] = [
  {
    title: "Current state",
    hint: "A title: a line that names the session. What is being worked on now, and what comes next.",
  },
  { title: "Task", hint: "What the user asked for, in their words, and the decisions about it." },
  { title: "User rules", hint: "Every rule, prohibition and preference of the user, word for word." },
  { title: "Files and functions", hint: "Those that matter, what each is for, and what happened to it." },
  { title: "Workflow and commands", hint: "Commands that are run, in their order, and how to read what they print." },
  {
    title: "Errors and corrections",
    hint: "What failed and what cured it; what the user corrected; what not to try again.",
  },
  { title: "Learnings", hint: "What worked well, what did not, what to avoid." },
  { title: "Key results", hint: "What the user asked to be told: an answer, a table, a number, in full." },
  { title: "Worklog", hint: "What was tried and done, a line each, the newest last." },
];

/** Validates the options. A null `thresholdTokens` means no threshold to scale by. Throws `invalid_options`. */
export function resolveNotesShape(options: NotesShapeOptions, thresholdTokens: number | null): NotesShape {
  const sections =
    options.sections === undefined ? DEFAULT_NOTES_SECTIONS : parseTemplate({ sections: options.sections }).sections;
  const budget = thresholdTokens === null ? NOTES_TOKENS : Math.floor(thresholdTokens / NOTES_SHARE_OF_THRESHOLD);
  const maxTokens = options.maxTokens ?? Math.max(1, Math.min(NOTES_TOKENS, budget));
  const sectionTokens =
    options.sectionTokens ?? Math.max(1, Math.min(NOTES_SECTION_TOKENS, Math.floor(maxTokens / NOTES_SECTION_SHARE)));
  for (const [name, value] of Object.entries({ sectionTokens, maxTokens })) checkWhole(name, value, 1);
  return { sections, sectionTokens, maxTokens };
}

/** The sections of a shape, filled with the texts of `known` under the same headings. Other sections stay at the end. */
export function arrangeSections(shape: NotesShape, known: readonly NotesSection[]): NotesSection[] {
  const titles = new Set(shape.sections.map(({ title }) => normalizeTitle(title)));
  const arranged = shape.sections.map(({ title }) => ({
    title,
    text: known.find((each) => normalizeTitle(each.title) === normalizeTitle(title))?.text ?? "",
  }));
  const others = known.filter((each) => each.text !== "" && !titles.has(normalizeTitle(each.title)));
  return [...arranged, ...others];
}

/**
 * False for an untouched template. It has only headings, sections that say there is nothing in any wording, or sections
 * that only repeat one of `hints`.
 */
export function hasContent(sections: readonly NotesSection[], hints: readonly string[] = []): boolean {
  return sections.some(({ text }) => tellsSomething(text, hints));
}

/** Markdown with every heading and its text, or {@link NOTHING}. */
export function renderNotes(sections: readonly NotesSection[]): string {
  return sections.map(({ title, text }) => `## ${title}\n${text === "" ? NOTHING : text}`).join("\n\n");
}

/** Tokens of the notes as they are shown. */
export function notesTokens(sections: readonly NotesSection[], count: CountTokens): number {
  return count(renderNotes(sections));
}

/**
 * Fits the sections into their budgets. A section over its budget is cut at the end of a line and ends with `pointer`.
 * When all sections together are over, the longest are cut first. Returns the same sections when none is over.
 */
export function fitNotes(
  sections: readonly NotesSection[],
  { sectionTokens, maxTokens }: Pick<NotesShape, "sectionTokens" | "maxTokens">,
  { pointer, countTokens }: { readonly pointer: (title: string) => string; readonly countTokens: CountTokens },
): NotesSection[] {
  for (let cap = sectionTokens; ; cap = Math.floor(cap * CAP_STEP)) {
    const fitted = sections.map(({ title, text }) => ({
      title,
      text: cutSection(text, cap, { pointer: pointer(title), countTokens }),
    }));
    if (cap < 1 || isWithin(renderNotes(fitted), maxTokens, countTokens)) return fitted;
  }
}

/** A version as a model is shown it, within the budgets, with pointers to the full text of cut sections. */
export function fitVersion(
  { n, sections }: { readonly n: number; readonly sections: readonly NotesSection[] },
  shape: NotesShape,
  countTokens: CountTokens,
): NotesSection[] {
  const pointer = (section: string): string => `[Cut here. The whole section: ${pointTo(n, { section })}]`;
  return fitNotes(sections, shape, { pointer, countTokens });
}

/** The hints of the sections. A model with nothing to say may repeat them as its answer. */
export function hintsOf(shape: NotesShape): string[] {
  return shape.sections.map(({ hint }) => hint).filter((hint) => hint !== "");
}

/** The beginning of every pointer. */
export const POINTER = "recall({ notes: ";

/** `from` is the character at which the text continues. */
export function pointTo(n: number, { section, from }: { readonly section?: string; readonly from?: number }): string {
  const fields = [
    `${n}`,
    ...(section === undefined ? [] : [`section: ${JSON.stringify(section)}`]),
    ...(from === undefined ? [] : [`from: ${from}`]),
  ];
  return `${POINTER}${fields.join(", ")} })`;
}

/** The versions named in a text, or in JSON that contains one. */
export function pointedVersions(text: string): number[] {
  return [...text.matchAll(/recall\(\{ notes: (\d{1,9})\b/g)].map(([, n]) => Number(n));
}

interface Version {
  readonly standing: boolean;
  readonly by: "update" | "hand";
  /** The update that the version goes back to. Null where a person wrote all of it. */
  readonly runId: string | null;
  readonly sections: readonly NotesSection[];
}

/**
 * Filters versions that describe messages edited or deleted since. Takes and returns versions newest first. Versions in force stay
 * unchanged, and the others keep only lines written by hand.
 *
 * A line counts as a person's only if it first came with a version by hand. Where the update that this goes back to is no longer kept, no
 * line counts as a person's, because the version before it may be of another branch.
 */
export function withholdNotes<Kept extends Version>(
  versions: readonly Kept[],
): (Kept & { readonly withheld?: true })[] {
  const seen = new Set<string>();
  const byHand = new Set<string>();
  const shown = versions.toReversed().map((version): Kept & { readonly withheld?: true } => {
    const { by, runId, sections, standing } = version;
    const isKnown = runId === null || versions.some((each) => each.by === "update" && each.runId === runId);
    for (const line of sections.flatMap(({ text }) => text.split("\n"))) {
      if (by === "hand" && isKnown && !seen.has(line)) byHand.add(line);
      seen.add(line);
    }
    if (standing) return version;
    const kept = sections.map(({ title, text }) => ({ title, text: linesIn(text, byHand).join("\n") }));
    return { ...version, sections: kept, withheld: true };
  });
  return shown.toReversed();
}

function linesIn(text: string, wanted: ReadonlySet<string>): string[] {
  return text.split("\n").filter((line) => wanted.has(line));
}
