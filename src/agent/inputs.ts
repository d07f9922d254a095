/**
 * The inputs of calls and methods, field by field. One schema serves both, so the agent's own code cannot pass what a client may not send.
 *
 * Checks shapes only. The code that uses an input checks whether named things exist and whether numbers fit together.
 */
import type { UIMessage } from "ai";
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import {
  MAX_BATCH_MESSAGES,
  MAX_FOCUS_CHARS,
  MAX_ID_CHARS,
  MAX_LABEL_CHARS,
  MAX_NAME_CHARS,
  MAX_PAGE,
  MAX_SESSION_ID_CHARS,
} from "../limits.ts";
import type { ExpandOptions } from "../memory/overlays/overlays.ts";
import type { CreateSessionOptions, ListSessionsOptions, SessionInfo } from "../memory/sessions/sessions.ts";
import type { TruncateOptions } from "../fit/truncate.ts";
import { MAX_CALL_TOKENS, type UsageReport } from "./reports/usage-report.ts";
import type { SplitOptions } from "./runs/split.ts";
import type { GetViewOptions } from "./sessions/shown-view.ts";

/** Options of a compaction that is asked for by hand. A wrong one throws `invalid_input`. */
export interface CompactOptions {
  /** A person's words about the summary's focus. */
  readonly focus?: string | undefined;
  /** Asks the model again, even where an earlier draft exists. Use it after a summary that was rolled back. */
  readonly fresh?: boolean | undefined;
  /** Asks the model although it is down or the budget is spent. It never overrides an invariant. */
  readonly ignoreBudget?: boolean | undefined;
  /** Makes the summaries of the branch again from their first drafts, instead of summarising more of it. */
  readonly rebuild?: boolean | undefined;
  /** The branch to compact, which is the active one by default. */
  readonly leafId?: string | undefined;
}

/** A field for each of a method's options. A missing or an extra field does not compile. */
export type FieldsOf<Options> = { readonly [Name in keyof Required<Options>]: z.ZodType<Options[Name]> };

export const NOT_WELL_FORMED = "must be well-formed Unicode";
export const isWellFormed = (text: string): boolean => text.isWellFormed();
export const words = (most: number) => z.string().max(most).refine(isWellFormed, NOT_WELL_FORMED);

export const wholeNumber = z.number().int();

export const id = words(MAX_ID_CHARS).min(1);
export const sessionId = words(MAX_SESSION_ID_CHARS).default("");
export const parentId = id.nullable().optional();
export const leafId = id.optional();
export const name = words(MAX_NAME_CHARS);
export const label = words(MAX_LABEL_CHARS).min(1);
export const focus = words(MAX_FOCUS_CHARS).optional();
export const flag = z.boolean().default(false);
/** Characters of a summary that a person wrote, some ten times the largest budget. The audit reports a text that is too large. */
const MAX_SUMMARY_CHARS = 200_000;
export const summary = words(MAX_SUMMARY_CHARS);
/** An id under which a view shows a message or a part of it, which is longer than the message's own. */
const VIEW_ID_EXTRA_CHARS = 100;
export const viewId = words(MAX_ID_CHARS + VIEW_ID_EXTRA_CHARS).min(1);
const viewIds = z.array(viewId).max(MAX_BATCH_MESSAGES);
export const tokens = wholeNumber.nonnegative();
export const page = wholeNumber.positive().max(MAX_PAGE);
export const ids = z.array(id).max(MAX_BATCH_MESSAGES);

/** Messages keep every field. Memory checks their validity. */
export const message = z.custom<UIMessage>(
  (value) => typeof value === "object" && value !== null,
  "expected a UIMessage object",
);
export const messages = z.array(message).max(MAX_BATCH_MESSAGES);

/** Ranges are checked where messages are shortened. See src/fit/truncate.ts. */
const truncate = z.strictObject({
  keepRecent: z.number().optional(),
  maxToolOutputChars: z.number().optional(),
  maxTextChars: z.number().optional(),
  step: z.number().optional(),
} satisfies FieldsOf<TruncateOptions>);

export const viewOptions = {
  leafId,
  asOf: id.optional(),
  maxTokens: wholeNumber.positive().optional(),
  truncate: z.union([z.boolean(), truncate]).optional(),
  apart: z.boolean().optional(),
} satisfies FieldsOf<GetViewOptions>;

export const compactOptions = {
  leafId,
  focus,
  fresh: flag,
  rebuild: flag,
  ignoreBudget: flag,
} satisfies FieldsOf<CompactOptions>;

export const expandOptions = {
  depth: wholeNumber.positive().optional(),
  limit: page.optional(),
  after: id.optional(),
} satisfies FieldsOf<ExpandOptions>;

/** A page of a session's runs. `before` is the `n` of the last run of the page before. */
export const runsPage = {
  limit: page.default(50),
  before: wholeNumber.positive().optional(),
};

/** For calls that a person makes. Left out, they ignore the budget as far as the caller may. */
export const byHand = { ignoreBudget: z.boolean().optional() };

/** Tokens of one call. */
const callTokens = tokens.max(MAX_CALL_TOKENS);

export const usageReport = {
  inputTokens: callTokens,
  outputTokens: callTokens.optional(),
  cachedTokens: callTokens.optional(),
  writtenTokens: callTokens.optional(),
  cost: z.number().nonnegative().optional(),
  model: name.optional(),
  leafId,
  viewTokens: callTokens.optional(),
} satisfies FieldsOf<UsageReport>;

export const splitOptions = {
  focus: focus.nullable(),
  fresh: flag,
  ignoreBudget: flag,
  summary: summary.optional(),
} satisfies FieldsOf<SplitOptions>;

export const newSession = {
  parentSessionId: words(MAX_SESSION_ID_CHARS).min(1).optional(),
  model: name.optional(),
  source: name.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
} satisfies FieldsOf<CreateSessionOptions>;

/** Default number of sessions on one page of a list. */
const DEFAULT_SESSIONS_PAGE = 50;

/** A listed session, whole or as the two fields that matter. */
const anything = z.unknown().optional();
const listedSession = {
  createdAt: wholeNumber,
  id: words(MAX_SESSION_ID_CHARS),
  name: anything,
  lastMessageAt: wholeNumber.nullish(),
  parentSessionId: anything,
  model: anything,
  source: anything,
  metadata: anything,
  inputTokens: anything,
  outputTokens: anything,
  cost: anything,
  endedAt: anything,
  endReason: anything,
  continuedBy: anything,
} satisfies { readonly [Name in keyof SessionInfo]: z.ZodType };

export const sessionsPage = {
  limit: page.default(DEFAULT_SESSIONS_PAGE),
  order: z.enum(["activity", "creation"]).default("activity"),
  before: z.strictObject(listedSession).optional(),
} satisfies FieldsOf<ListSessionsOptions>;

export const ofSession = z.strictObject({ sessionId });
export const ofMessages = z.strictObject({ sessionId, ids });
/** Ids of events begin with their message's and are longer. */
export const ofEvents = z.strictObject({ sessionId, ids: viewIds });

/** Object inputs of a session's methods. */
export const inputs = {
  compact: z.strictObject(compactOptions),
  compactNow: z.strictObject({ ...compactOptions, reason: z.enum(["overflow", "manual"]).default("overflow") }),
  split: z.strictObject({ name: name.optional(), ...splitOptions }),
  getView: z.strictObject(viewOptions),
  history: z.strictObject({ leafId, newestFirst: z.boolean().optional() }),
  branch: z.strictObject({ leafId }),
  recordUsage: z.strictObject(usageReport),
  expand: z.strictObject({ ...expandOptions, limit: wholeNumber.positive().optional() }),
  createSession: z.strictObject(newSession),
  listSessions: z.strictObject(sessionsPage),
  runs: z.strictObject(runsPage),
};

/** Arguments of a session's and a manager's methods that are no objects, by name. */
export const given = {
  session: z.strictObject({ sessionId }),
  message: z.strictObject({ id }),
  shownMessage: z.strictObject({ id: viewId }),
  messages: z.strictObject({ ids }),
  events: z.strictObject({ ids: viewIds }),
  overlay: z.strictObject({ overlayId: id }),
  run: z.strictObject({ runId: id }),
  summary: z.strictObject({ summary, fromMessageId: viewId, toMessageId: viewId }),
  fork: z.strictObject({ sessionId, atMessageId: id }),
  label: z.strictObject({ label }),
  leaf: z.strictObject({ leafId: id.nullish() }),
  parent: z.strictObject({ parentId: id.nullish() }),
  instruction: z.strictObject({ quote: z.string().min(1).max(MAX_FOCUS_CHARS), messageId: id }),
};

/** Checks what a method was given in place. Throws `invalid_input` with the name of each wrong argument. */
export function checkGiven<Schema extends z.ZodObject>(
  schema: Schema,
  args: Record<keyof z.output<Schema>, unknown>,
): void {
  const parsed = schema.safeParse(args);
  if (parsed.success) return;
  const wrong = parsed.error.issues.flatMap((issue) => describe(issue, []));
  throw new PalimpsestError("invalid_input", `${wrong.join("; ")}. Nothing was read or written.`);
}

/** Throws `invalid_input` with the name of each wrong and each unknown field. */
export function parseInput<Schema extends z.ZodObject>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.flatMap((issue) => describe(issue, []));
  const known = Object.keys(schema.shape).join(", ");
  throw new PalimpsestError("invalid_input", `${wrong.join("; ")}. Send one object; it may have: ${known}.`);
}

const line = (path: readonly PropertyKey[], what: string): string =>
  `${path.map(String).join(".") || "input"}: ${what}`;

/** One line for each wrong field. */
function describe(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): string[] {
  const path = [...above, ...issue.path];
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => line([...path, key], "no such field"));
  if (issue.code === "invalid_union") {
    // In a union, the meant alternative is the one whose errors lie inside it.
    const inside = issue.errors.flat().filter((each) => each.path.length > 0 || each.code === "unrecognized_keys");
    if (inside.length > 0) return inside.flatMap((each) => describe(each, path));
  }
  return [line(path, issue.message)];
}

/** Removes undefined fields, for methods that distinguish them from absent ones. */
export function defined<T extends object>(options: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]: Exclude<T[Name], undefined>;
  };
}

/** A message's id or `{ leafId }` names the branch that ends there. Undefined or null is the active one. */
export type LeafInput = string | null | { readonly leafId?: string | null | undefined } | undefined;

/** A message's id, null for a new root, or `{ parentId }` with either. Undefined is the active leaf. */
export type ParentInput = string | null | { readonly parentId?: string | null | undefined } | undefined;

/** Throws `invalid_input`. */
export function leafOf(leaf: LeafInput): string | undefined {
  return idIn(leaf, "leafId") ?? undefined;
}

/** Throws `invalid_input`. */
export function parentOf(parent: ParentInput): string | null | undefined {
  return idIn(parent, "parentId");
}

function idIn(input: unknown, field: "leafId" | "parentId"): string | null | undefined {
  const isObject = typeof input === "object" && input !== null && Object.keys(input).every((key) => key === field);
  const id: unknown = isObject ? Reflect.get(input, field) : input;
  if (id === undefined || id === null) return id;
  if (typeof id === "string") {
    if (field === "leafId") checkGiven(given.leaf, { leafId: id });
    else checkGiven(given.parent, { parentId: id });
    return id;
  }
  const fields = typeof input === "object" && input !== null ? ` with ${Object.keys(input).join(", ")}` : "";
  throw new PalimpsestError(
    "invalid_input",
    `${field} is of type ${typeof input}${fields}: give a message's id, or { ${field} } with one and nothing else.`,
  );
}
