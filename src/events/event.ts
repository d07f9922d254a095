/**
 * The closed union of events, with its schema and its flat record.
 *
 * The record has plain columns for a queue, a log or another store. This module knows no storage. Events are plain data and cross RPC
 * unchanged. No table holds events, because they are read from and written to message rows (project.ts, log.ts).
 */
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { isWellFormed, NOT_WELL_FORMED, summary, viewId } from "../agent/inputs.ts";
import type { Part } from "../steps/message/message.ts";

/** Parts as a UIMessage holds them. Only the type of a part is checked. */
const parts = z.array(z.custom<Part>((part) => typeof (part as { type?: unknown } | null)?.type === "string"));
const fields = z.record(z.string(), z.unknown());
const id = viewId;
const toolText = z.string().min(1).refine(isWellFormed, NOT_WELL_FORMED);

/** The fields of every event. */
interface EventBase {
  /** Stays the same while the message grows. The first event of a message has the message's id. */
  readonly id: string;
  /** Id of the message that the event is a part of. */
  readonly messageId: string;
  /** Epoch ms, or 0 when the event was not stored. */
  readonly createdAt: number;
  /** The event's place, which grows along a branch and stays while the message grows. Absent when the event was not stored. */
  readonly seq?: number | undefined;
  /** Fields of the message beyond id, role and parts, on its first event. */
  readonly message?: Record<string, unknown> | undefined;
}

interface TextEvent<Action extends "system_instruction" | "user_message" | "agent_message"> extends EventBase {
  readonly action: Action;
  readonly content: Part[];
}

interface ToolEvent extends EventBase {
  readonly toolCallId: string;
  readonly toolName: string;
  /** The fields of the tool part beyond the event's own. It may be empty. */
  readonly part: Record<string, unknown>;
}

interface ToolCallEvent extends ToolEvent {
  readonly action: "tool_call_request";
  readonly input?: unknown;
}

interface ToolResultEvent extends ToolEvent {
  readonly action: "tool_result";
  readonly status: "ok" | "error" | "denied";
  /** Present with the status "ok". */
  readonly output?: unknown;
  /** Present with the status "error". */
  readonly errorText?: string | undefined;
}

interface CompactionEvent extends EventBase {
  readonly action: "compaction";
  readonly overlayId: string;
  readonly summary: string;
  /** The summary as a view shows it, with what stands beside it word for word. Present in events that were loaded. */
  readonly shown?: string | undefined;
  readonly fromMessageId: string;
  readonly toMessageId: string;
  /** Number of messages that the summary replaces. */
  readonly messages: number;
}

/** One thing that happened in a conversation. `action` says which. */
export type ConversationEvent =
  | TextEvent<"system_instruction">
  | TextEvent<"user_message">
  | TextEvent<"agent_message">
  | ToolCallEvent
  | ToolResultEvent
  | CompactionEvent;
/** The kinds of events. */
export type EventAction = ConversationEvent["action"];
export type EventOf<Action extends EventAction> = Extract<ConversationEvent, { action: Action }>;

const base = z.strictObject({
  id,
  messageId: id,
  createdAt: z.number().int().nonnegative(),
  seq: z.number().int().nonnegative().optional(),
  message: fields.optional(),
});

const tool = base.extend({ toolCallId: toolText, toolName: toolText, part: fields.default({}) });

const event: z.ZodType<ConversationEvent> = z.discriminatedUnion("action", [
  base.extend({ action: z.literal("system_instruction"), content: parts }),
  base.extend({ action: z.literal("user_message"), content: parts }),
  base.extend({ action: z.literal("agent_message"), content: parts }),
  tool.extend({ action: z.literal("tool_call_request"), input: z.unknown().optional() }),
  tool.extend({
    action: z.literal("tool_result"),
    status: z.enum(["ok", "error", "denied"]),
    output: z.unknown().optional(),
    errorText: z.string().optional(),
  }),
  base.extend({
    action: z.literal("compaction"),
    overlayId: id,
    summary: summary.min(1),
    shown: z.string().optional(),
    fromMessageId: id,
    toMessageId: id,
    messages: z.number().int().nonnegative(),
  }),
]);

/** An event in flat columns. `data` is JSON. */
export interface EventRecord {
  readonly id: string;
  readonly messageId: string;
  readonly action: EventAction;
  readonly createdAt: number;
  readonly data: string;
}

/** Writes an event as a record. Throws `not_serializable` when JSON cannot hold it. */
export function dehydrateEvent({ id, messageId, action, createdAt, ...data }: ConversationEvent): EventRecord {
  try {
    return { id, messageId, action, createdAt, data: JSON.stringify(data) };
  } catch (cause) {
    throw new PalimpsestError("not_serializable", `Event "${id}" cannot be written as JSON: ${String(cause)}`, {
      cause,
    });
  }
}

/** Reads an event from its record. Throws `invalid_input` that names the problem. */
export function hydrateEvent(record: EventRecord): ConversationEvent {
  const { data, ...columns } = record;
  let fields: unknown;
  try {
    fields = JSON.parse(data);
  } catch (cause) {
    throw new PalimpsestError("invalid_input", `The data of event record "${record.id}" is no JSON.`, { cause });
  }
  return parseEvent({ ...(fields as object), ...columns });
}

/** Parses an event from outside. Throws `invalid_input` that names the problem. */
export function parseEvent(value: unknown): ConversationEvent {
  const parsed = event.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PalimpsestError("invalid_input", `This is no event:\n${z.prettifyError(parsed.error)}`);
}
