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
    {
      title: "Goal",
      hint: "What the user wants now, and what it is for. Who speaks and acts, where there are several.",
    },
    {
      title: "Done",
      hint: "Numbered, in order, one line for each closed piece of work or case: who or what, what was asked, what was done with which ids and amounts, the result, and what was refused or promised.",
    },
    { title: "Decisions", hint: "What holds and why; what was rejected or replaced, and by what." },
    {
      title: "Findings",
      hint: "What files, pages, tools and people said that the work may need: each value with its subject and its place.",
    },
    {
      title: "Failures",
      hint: "What did not work, with the exact message, its cause if it was found, and what cured it or did not.",
    },
    {
      title: "Open",
      hint: "Requests not finished, questions not answered, promises not kept, calls without a result.",
    },
    { title: "State", hint: "Where the work stands at the end of the transcript, and what comes next." },
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

/** Normalizes a heading for comparison, because a model may change its case or make it bold. */
export function normalizeTitle(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[*_#:]/g, "")
    .trim();
}
