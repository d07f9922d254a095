/**
 * The shape of a summary as data: sections with fixed headings.
 *
 * Fixed headings make a summary auditable, because a missing section is seen without a model. They also make it
 * updatable, because the next summary continues each section.
 */
import * as z from "zod";
import { PalimpsestError } from "../../errors.ts";

export interface Section {
  /** The heading, in one line. */
  readonly title: string;
  /** Tells the model what belongs under the heading. One line, may be empty. */
  readonly hint: string;
}

/** Follows the hint of a notes section that has a token budget of its own. Summaries do not use it. */
export const SECTION_BUDGET = /(?:^| )At most (\d+) tokens\.$/;

export interface Template {
  readonly sections: readonly Section[];
}

/** Like {@link Template}, as a user writes it, with optional hints. */
export interface TemplateInput {
  readonly sections: readonly { readonly title: string; readonly hint?: string | undefined }[];
}

export const DEFAULT_TEMPLATE: Template = {
  sections: [
    { title: "Goal", hint: "What the user wants, in their words; the current aim if it changed." },
    { title: "Rules", hint: "Every rule, prohibition and preference of the user, word for word." },
    { title: "Decisions", hint: "What was decided and why, and what was rejected." },
    { title: "Progress", hint: "Done, in progress, blocked: what was really done, with its result." },
    { title: "Files", hint: "Paths, ids and links that matter, and what happened to each." },
    { title: "Errors", hint: "What failed, with the exact message, and what cured it or did not." },
    { title: "Questions", hint: "What was asked and not answered, by either side." },
    { title: "State", hint: "Where the work stands at the end, and what comes next." },
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

/** Checks a template. Throws `invalid_options` with each problem and its place. */
export function parseTemplate(input: TemplateInput): Template {
  const parsed = templateSchema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .map((issue) => `${["template", ...issue.path].join(".")} ${issue.message}`)
    .join("; ");
  throw new PalimpsestError("invalid_options", `The template cannot be used: ${problems}.`);
}

/** Titles without a heading in the text. A markdown heading of any level or a bold line counts, in any case. */
export function missingSections(text: string, template: Template): readonly string[] {
  const headings = new Set(
    text.split("\n").flatMap((line) => {
      const heading = /^\s{0,3}(?:#{1,6}\s+(\S.*)?|\*\*(.*)\*\*:?\s*)$/.exec(line);
      return heading === null ? [] : [normalizeTitle(heading[1] ?? heading[2] ?? "")];
    }),
  );
  return template.sections.map(({ title }) => title).filter((title) => !headings.has(normalizeTitle(title)));
}

/** Normalizes a heading for comparison, because a model may change its case or make it bold. */
export function normalizeTitle(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[*_#:]/g, "")
    .trim();
}
