/**
 * What callers may send over RPC, parsed before anything is read or written. Sizes are bounded here, so that no later
 * room has to think about a hostile caller. Messages keep their unknown fields; memory checks what they must be.
 */
import type { UIMessage } from "ai";
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import type { NewEvent } from "../events/log.ts";
import { FORMATS } from "../import/import.ts";
import { recallInput } from "./recall.ts";
import {
  MAX_ID_CHARS,
  MAX_PAGE,
  MAX_BATCH_MESSAGES,
  MAX_FOCUS_CHARS,
  MAX_LABEL_CHARS,
  MAX_NAME_CHARS,
  MAX_SEARCH_HITS,
  MAX_REASON_CHARS,
  MAX_SESSION_ID_CHARS,
  MAX_STEP_NAME_CHARS,
  MAX_SUMMARY_CHARS,
  MAX_WAIT_MS,
} from "../limits.ts";
import { MAX_NOTES_BYTES, MAX_NOTES_SECTIONS } from "../limits-of-notes.ts";

const sessionId = z.string().max(MAX_SESSION_ID_CHARS).default("");
const id = z.string().min(1).max(MAX_ID_CHARS);
const parentId = z.union([id, z.null()]).optional();
const leafId = id.optional();
const name = z.string().max(MAX_NAME_CHARS);
const label = z.string().min(1).max(MAX_LABEL_CHARS);
const tokens = z.number().int().nonnegative();
const message = z.custom<UIMessage>(
  (value) => typeof value === "object" && value !== null,
  "expected a UIMessage object",
);

/** What each may be is checked where messages are shortened: see src/steps/truncate.ts. */
const truncate = z.union([
  z.boolean(),
  z.object({
    keepRecent: z.number().optional(),
    maxToolOutputChars: z.number().optional(),
    maxTextChars: z.number().optional(),
    step: z.number().optional(),
  }),
]);

/** What an event must be is checked where events are: see src/events/event.ts. */
const event = z.custom<NewEvent>((value) => typeof value === "object" && value !== null, "expected an event object");

export const inputs = {
  session: z.object({ sessionId }),
  append: z.object({ sessionId, message, parentId }),
  appendAll: z.object({ sessionId, messages: z.array(message).max(MAX_BATCH_MESSAGES), parentId }),
  upsert: z.object({ sessionId, message, parentId }),
  update: z.object({ sessionId, message }),
  deleteMessages: z.object({ sessionId, ids: z.array(id).max(MAX_BATCH_MESSAGES) }),
  branch: z.object({ sessionId, leafId }),
  view: z.object({
    sessionId,
    leafId,
    asOf: id.optional(),
    maxTokens: z.number().int().positive().optional(),
    truncate: truncate.optional(),
  }),
  message: z.object({ sessionId, id }),
  recent: z.object({ sessionId, maxBytes: z.number().int().positive(), leafId }),
  plan: z.object({ sessionId, leafId, force: z.boolean().default(false), rebuild: z.boolean().default(false) }),
  compact: z.object({
    sessionId,
    leafId,
    focus: z.string().max(MAX_FOCUS_CHARS).optional(),
    fresh: z.boolean().default(false),
    rebuild: z.boolean().default(false),
    force: z.boolean().default(false),
  }),
  compactNow: z.object({
    sessionId,
    leafId,
    focus: z.string().max(MAX_FOCUS_CHARS).optional(),
    reason: z.enum(["overflow", "manual"]).default("overflow"),
  }),
  run: z.object({ runId: id }),
  wait: z.object({ runId: id, timeoutMs: z.number().int().positive().max(MAX_WAIT_MS).default(60_000) }),
  retryFrom: z.object({ runId: id, stepName: z.string().min(1).max(MAX_STEP_NAME_CHARS) }),
  approve: z.object({ runId: id, summary: z.string().max(MAX_SUMMARY_CHARS).optional() }),
  reject: z.object({ runId: id, reason: z.string().max(MAX_REASON_CHARS).optional() }),
  runs: z.object({
    sessionId,
    limit: z.number().int().positive().max(MAX_PAGE).default(50),
    before: z.number().int().positive().optional(),
  }),
  liveRuns: z.object({ limit: z.number().int().positive().max(MAX_PAGE).default(MAX_PAGE) }),
  importTranscript: z.object({
    sessionId,
    text: z.string(),
    format: z.enum(FORMATS).optional(),
    index: z.number().int().nonnegative().optional(),
  }),
  exportTranscript: z.object({ sessionId, leafId, redact: z.boolean().default(false) }),
  search: z.object({
    sessionId,
    query: z.string(),
    limit: z.number().int().positive().max(MAX_SEARCH_HITS).optional(),
  }),
  searchSessions: z.object({
    query: z.string(),
    limit: z.number().int().positive().max(MAX_SEARCH_HITS).optional(),
  }),
  loadEvents: z.object({
    sessionId,
    limit: z.number().int().positive().max(MAX_PAGE).optional(),
    before: z.string().optional(),
    leafId,
    under: id.optional(),
  }),
  appendEvents: z.object({ sessionId, events: z.array(event).max(MAX_BATCH_MESSAGES) }),
  persistTurn: z.object({
    sessionId,
    leafId: z.union([id, z.null()]),
    messages: z.array(message).max(MAX_BATCH_MESSAGES),
  }),
  block: z.object({ sessionId, label }),
  writeBlock: z.object({ sessionId, label, content: z.string() }),
  overlay: z.object({ sessionId, overlayId: id }),
  expand: z.object({
    sessionId,
    overlayId: id,
    depth: z.number().int().positive().optional(),
    limit: z.number().int().positive().max(MAX_PAGE).optional(),
    after: id.optional(),
  }),
  updateNotes: z.object({
    sessionId,
    sections: z.array(z.object({ title: z.string(), text: z.string().max(MAX_NOTES_BYTES) })).max(MAX_NOTES_SECTIONS),
    coveredId: z.union([id, z.null()]).optional(),
    basedOn: z.number().int().nonnegative().optional(),
  }),
  recall: recallInput.extend({ sessionId }),
  createSession: z.object({
    name: name.optional(),
    parentSessionId: z.string().max(MAX_SESSION_ID_CHARS).optional(),
    model: name.optional(),
    source: name.optional(),
  }),
  listSessions: z.object({
    limit: z.number().int().positive().max(MAX_PAGE).default(50),
    before: z.object({ createdAt: z.number().int(), id: z.string().max(MAX_SESSION_ID_CHARS) }).optional(),
  }),
  renameSession: z.object({ sessionId, name }),
  compactAndSplit: z.object({
    sessionId,
    name: name.optional(),
    focus: z.string().max(MAX_FOCUS_CHARS).optional(),
    fresh: z.boolean().default(false),
    force: z.boolean().default(false),
  }),
  forkSession: z.object({ sessionId, atMessageId: id, name: name.optional() }),
  recordUsage: z.object({
    sessionId,
    inputTokens: tokens,
    outputTokens: tokens.optional(),
    cost: z.number().nonnegative().optional(),
    model: name.optional(),
    leafId,
    viewTokens: tokens.optional(),
  }),
  addUsage: z.object({
    sessionId,
    inputTokens: z.number().nonnegative(),
    outputTokens: z.number().nonnegative(),
    cost: z.number().nonnegative().default(0),
  }),
} as const;

/** Parses one call's input. Throws `invalid_input` naming each field that is wrong and what was expected. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`).join("; ");
  throw new PalimpsestError("invalid_input", `${wrong}. Send one object with these fields.`);
}
