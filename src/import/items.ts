/**
 * Text to JSON values with a place each, and the one way in which an import fails.
 *
 * Job: find the values of a file (one JSON document, an array, or one value a line) and hold each against a schema.
 * Boundary: knows no format. Safe because nothing is handed on before every value passed: a file is imported whole or
 * not at all.
 */
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";

/** A JSON value and where a person finds it: `line 17`, `item 3`, `item 3, message 5`. */
export interface Item {
  readonly place: string;
  readonly value: unknown;
}

const REPORTED_PROBLEMS = 5;

/** An `import_failed` that names at most five of `problems`, each already starting with its place. */
export function importFailed(problems: readonly string[]): PalimpsestError {
  const more = problems.length - REPORTED_PROBLEMS;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return new PalimpsestError("import_failed", [...problems.slice(0, REPORTED_PROBLEMS), ...rest].join("; "));
}

/** The values of `text`: the elements of a JSON array, one JSON document, or one value a line. Throws `import_failed`. */
export function readItems(text: string): Item[] {
  const source = text.replace(/^\uFEFF/, "");
  if (source.trim() === "") throw importFailed(["The text is empty: there is nothing to import"]);
  const document = parseJson(source);
  if (document.ok) {
    if (!Array.isArray(document.value)) return [{ place: "line 1", value: document.value }];
    return document.value.map((value: unknown, index) => ({ place: `item ${index + 1}`, value }));
  }
  const items: Item[] = [];
  const problems: string[] = [];
  for (const [index, line] of source.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = parseJson(line);
    const place = `line ${index + 1}`;
    if (parsed.ok) items.push({ place, value: parsed.value });
    else problems.push(`${place}: not JSON (${parsed.reason})`);
  }
  if (problems.length > 0) throw importFailed(problems);
  return items;
}

/** Every item in the shape that `schema` gives it, or one `import_failed` that names the items that do not fit. */
export function parseItems<T>(items: readonly Item[], schema: z.ZodType<T>, format: string): T[] {
  const parsed: T[] = [];
  const problems: string[] = [];
  for (const { place, value } of items) {
    const result = schema.safeParse(value);
    if (result.success) parsed.push(result.data);
    else problems.push(`${place}: ${reasonOf(result.error)} (format ${format})`);
  }
  if (problems.length > 0) throw importFailed(problems);
  return parsed;
}

/**
 * A schema chosen by a value's `type` or `role`, as a discriminated union is, but open: `pick` also answers for what was
 * invented after this was written, so that it is carried along and not refused.
 */
export function choose<T>(key: "type" | "role", pick: (name: string) => z.ZodType<T>): z.ZodType<T> {
  return z
    .looseObject({ [key]: z.string() })
    .transform((value, context): T => parseInside(pick(String(value[key])), value, context));
}

/** Parses with `schema` inside another schema's transform, and reports its problems as that one's. */
export function parseInside<T>(schema: z.ZodType<T>, value: unknown, context: z.core.$RefinementCtx): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const { message, path } of result.error.issues) context.addIssue({ code: "custom", message, path: [...path] });
  return z.NEVER;
}

/** Milliseconds since 1970 from what transcripts write: a number of milliseconds or an ISO date. */
export const timestamp = z
  .union([z.number(), z.string()])
  .transform((value) => (typeof value === "number" ? value : Date.parse(value)))
  .refine(Number.isFinite, "is not a date");

/** True for a JSON object: not an array, not null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reasonOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return "does not fit";
  const path = issue.path.map(String).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

type Parsed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    // The engine's message quotes the input: keep its first words, never the content.
    const reason = error instanceof Error ? error.message.replace(/,? ?(?:"|\.\.\.).*$/s, "") : "unreadable";
    return { ok: false, reason };
  }
}
