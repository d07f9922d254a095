/**
 * The shape of a summary: sections with fixed headings, as data.
 *
 * Fixed headings are what makes a summary auditable (a missing section is seen without a model) and updatable (the
 * next one carries each section on).
 */
import * as z from "zod";
import { PalimpsestError } from "../../errors.ts";

export interface Section {
  /** The heading: one line. */
  readonly title: string;
  /** What belongs under it, told to the model: one line, may be empty. */
  readonly hint: string;
}

/** Behind the hint of a section that has a budget of its own: of notes, not of summaries. */
export const SECTION_BUDGET = /(?:^| )At most (\d+) tokens\.$/;

export interface Template {
  readonly sections: readonly Section[];
}

/** As {@link Template}, with hints optional: what a user writes. */
export interface TemplateInput {
  readonly sections: readonly { readonly title: string; readonly hint?: string | undefined }[];
}

export const DEFAULT_TEMPLATE: Template = {
  sections: [
    { title: "Goal", hint: "What the user wants, in their words; the current aim if it changed." },
    { title: "User constraints", hint: "Every rule, prohibition and preference of the user, word for word." },
    { title: "Decisions", hint: "What was decided and why, and what was rejected." },
    { title: "Progress", hint: "Done, in progress, blocked: what was really done, with its result." },
    { title: "Files and artifacts", hint: "Paths, ids and links that matter, and what happened to each." },
    { title: "Errors and fixes", hint: "What failed, with the exact message, and what cured it or did not." },
    { title: "Open questions", hint: "What was asked and not answered, by either side." },
    { title: "Current state and next step", hint: "Where the work stands at the end, and what comes next." },
  ],
};

const oneLine = z
  .string()
  .transform((text) => text.trim())
  .refine((text) => !/[\r\n]/.test(text), "must be one line");

const templateSchema = z.strictObject({
  sections: z
    .array(
      z.strictObject({
        title: oneLine.refine(
          (title) => normalizeTitle(title) !== "" && title.length <= 120 && !title.startsWith("#"),
          "must have 1 to 120 characters, some of them not * _ # or :, and no leading #",
        ),
        hint: oneLine.refine((hint) => !hint.startsWith("#"), "must not start with #").default(""),
      }),
    )
    .min(1, "must hold at least one section")
    .refine(
      (sections) => new Set(sections.map(({ title }) => normalizeTitle(title))).size === sections.length,
      "must have titles that differ by more than case and the signs * _ # :",
    ),
});

/** A checked template. Throws `invalid_options` that says what is wrong where. */
export function parseTemplate(input: TemplateInput): Template {
  const parsed = templateSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .map((issue) => `${["template", ...issue.path].join(".")} ${issue.message}`)
    .join("; ");
  throw new PalimpsestError("invalid_options", `The template cannot be used: ${problems}.`);
}

/** Titles that the text has no heading for: a markdown heading or a bold line, whatever its level and case. */
export function missingSections(text: string, template: Template): readonly string[] {
  const headings = new Set(
    text.split("\n").flatMap((line) => {
      const heading = /^\s{0,3}(?:#{1,6}\s+(.*)|\*\*(.*)\*\*:?\s*)$/.exec(line);
      return heading === null ? [] : [normalizeTitle(heading[1] ?? heading[2] ?? "")];
    }),
  );
  return template.sections.map(({ title }) => title).filter((title) => !headings.has(normalizeTitle(title)));
}

/** A heading as it is looked for: a model may write it in another case, and in bold. */
export function normalizeTitle(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[*_#:]/g, "")
    .trim();
}
