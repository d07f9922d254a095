/**
 * What an event is, and how one is written down flat.
 *
 * Job: the closed union of events, their schema, and a record of plain columns for a queue, a log or another store.
 * Boundary: knows no storage. Events are plain data: they cross RPC as they are. They are not kept anywhere: they are
 * read from message rows and written as message rows (project.ts, log.ts).
 */
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import type { Part } from "../steps/message/tool-parts.ts";

/** Parts as a UIMessage holds them. What is inside one is its own matter. */
const parts = z.array(z.custom<Part>((part) => typeof (part as { type?: unknown } | null)?.type === "string"));
const fields = z.record(z.string(), z.unknown());
const id = z.string().min(1);

const base = z.strictObject({
  /** Stable while the message grows. The first event of a message has the message's id. */
  id,
  /** The message that the event is a part of. */
  messageId: id,
  /** Epoch ms; 0 when it was not stored. */
  createdAt: z.number().int().nonnegative(),
  /** On a message's first event: what the message has beside id, role and parts. */
  message: fields.optional(),
});

/** `part`: what the tool part has beside the event's own fields; nothing needs to be in it. */
const tool = base.extend({ toolCallId: id, toolName: z.string().min(1), part: fields.default({}) });

const event = z.discriminatedUnion("action", [
  base.extend({ action: z.literal("system_instruction"), content: parts }),
  base.extend({ action: z.literal("user_message"), content: parts }),
  base.extend({ action: z.literal("agent_message"), content: parts }),
  tool.extend({ action: z.literal("tool_call_request"), input: z.unknown().optional() }),
  tool.extend({
    action: z.literal("tool_result"),
    status: z.enum(["ok", "error", "denied"]),
    /** With "ok". */
    output: z.unknown().optional(),
    /** With "error". */
    errorText: z.string().optional(),
  }),
  base.extend({
    action: z.literal("compaction"),
    overlayId: id,
    summary: z.string().min(1),
    fromMessageId: id,
    toMessageId: id,
    /** How many messages the summary stands for. */
    messages: z.number().int().nonnegative(),
  }),
]);

export type ConversationEvent = z.output<typeof event>;
export type EventAction = ConversationEvent["action"];
export type EventOf<Action extends EventAction> = Extract<ConversationEvent, { action: Action }>;

/** An event in flat columns; `data` is JSON. */
export interface EventRecord {
  readonly id: string;
  readonly messageId: string;
  readonly action: EventAction;
  readonly createdAt: number;
  readonly data: string;
}

/** Throws `not_serializable` when the event holds what JSON cannot keep. */
export function dehydrateEvent({ id, messageId, action, createdAt, ...data }: ConversationEvent): EventRecord {
  try {
    return { id, messageId, action, createdAt, data: JSON.stringify(data) };
  } catch (cause) {
    throw new PalimpsestError("not_serializable", `Event "${id}" cannot be written as JSON: ${String(cause)}`, {
      cause,
    });
  }
}

/** The event that was written down. Throws `invalid_input` that names what is wrong. */
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

/** An event from outside. Throws `invalid_input` that names what is wrong. */
export function parseEvent(value: unknown): ConversationEvent {
  const parsed = event.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PalimpsestError("invalid_input", `This is no event:\n${z.prettifyError(parsed.error)}`);
}
