/**
 * The closed union of events, with its schema and its flat record.
 *
 * The record has plain columns for a queue, a log or another store. This module knows no storage. Events are plain data and cross RPC
 * unchanged. No table holds events, because they are read from and written to message rows (project.ts, log.ts).
 */
import { z } from "zod";
import { PalimpsestError } from "../errors.ts";
import { isWellFormed, NOT_WELL_FORMED, summary, viewId } from "../agent/inputs.ts";
import {
  type Part,
  hasResult,
  isBareResult,
  isOpenCall,
  toolName,
  toolPart,
  type ToolPart,
} from "../steps/message/message.ts";
import type { UIMessage } from "ai";
import { summaryMessage } from "../facts/render.ts";

/** Parts as a UIMessage holds them. Only the type of a part is checked. */
const parts = z.array(z.custom<Part>((part) => typeof (part as { type?: unknown } | null)?.type === "string"));
const fields = z.record(z.string(), z.unknown());
const toolText = z.string().min(1).refine(isWellFormed, NOT_WELL_FORMED);

const base = z.strictObject({
  /** Stays the same while the message grows. The first event of a message has the message's id. */
  id: viewId,
  /** Id of the message that the event is a part of. */
  messageId: viewId,
  /** Epoch ms, or 0 when the event was not stored. */
  createdAt: z.number().int().nonnegative(),
  /** The event's place, which grows along a branch and stays while the message grows. Absent when the event was not stored. */
  seq: z.number().int().nonnegative().optional(),
  /** Fields of the message beyond id, role and parts, on its first event. */
  message: fields.optional(),
});

const tool = base.extend({
  toolCallId: toolText,
  toolName: toolText,
  /** The fields of the tool part beyond the event's own. It may be empty. */
  part: fields.default({}),
});

const event = z.discriminatedUnion("action", [
  base.extend({ action: z.literal("system_instruction"), content: parts }),
  base.extend({ action: z.literal("user_message"), content: parts }),
  base.extend({ action: z.literal("agent_message"), content: parts }),
  tool.extend({ action: z.literal("tool_call_request"), input: z.unknown().optional() }),
  tool.extend({
    action: z.literal("tool_result"),
    status: z.enum(["ok", "error", "denied"]),
    /** Present with the status "ok". */
    output: z.unknown().optional(),
    /** Present with the status "error". */
    errorText: z.string().optional(),
  }),
  base.extend({
    action: z.literal("compaction"),
    overlayId: viewId,
    summary: summary.min(1),
    /** The summary as a view shows it, with what stands beside it word for word. Present in events that were loaded. */
    shown: z.string().optional(),
    fromMessageId: viewId,
    toMessageId: viewId,
    /** Number of messages that the summary replaces. */
    messages: z.number().int().nonnegative(),
  }),
]);

/** One thing that happened in a conversation. `action` says which. */
export type ConversationEvent = Readonly<z.infer<typeof event>>;
/** The kinds of events. */
export type EventAction = ConversationEvent["action"];
export type EventOf<Action extends EventAction> = Extract<ConversationEvent, { action: Action }>;

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

// Projects messages to events and events to messages.
//
// The projection is exact, so a message that is split and joined is the same message. It is pure. A user's or a system's message is one
// event. An assistant's message has one event for each stretch of content within a step, one for each tool call and one for each result, in
// the order of its parts.

/** Fields of a tool part that describe how the call ended. */
const RESULT_FIELDS = new Set(["state", "approval", "preliminary", "resultProviderMetadata"]);

const STATES = { ok: "output-available", error: "output-error", denied: "output-denied" } as const;

/** Part number and kind in an event's id. */
const PLACE = /#(\d+)(:result)?$/;

type Fields = Record<string, unknown>;
type Body = ConversationEvent extends infer Each ? (Each extends unknown ? Omit<Each, keyof Base> : never) : never;
type Base = Pick<ConversationEvent, "id" | "messageId" | "createdAt" | "message">;

/** Returns at least one event. `createdAt` is when the message was stored, in epoch ms. Throws `invalid_input`. */
export function messageToEvents(message: UIMessage, createdAt = 0): ConversationEvent[] {
  checkArguments(message, createdAt);
  const { id: messageId, role, parts, ...rest } = message;
  const bodies = role === "assistant" ? assistantBodies(parts) : [{ at: "#0", body: spoken(role, parts) }];
  return bodies.map(({ at, body }, index) => {
    const first = index === 0;
    const base: Base = { id: first ? messageId : messageId + at, messageId, createdAt };
    const more = first && Object.keys(rest).length > 0 ? { message: rest } : {};
    return Object.assign(base, more, body) as ConversationEvent;
  });
}

/** Code without types may pass anything, such as the two in the wrong order. */
function checkArguments(message: unknown, createdAt: unknown): void {
  const { id, role, parts } = (message ?? {}) as Partial<Record<"id" | "role" | "parts", unknown>>;
  const isMessage = typeof id === "string" && typeof role === "string" && Array.isArray(parts);
  if (!isMessage) throw new PalimpsestError("invalid_input", "The first argument is a message: { id, role, parts }.");
  if (Number.isSafeInteger(createdAt) && (createdAt as number) >= 0) return;
  throw new PalimpsestError(
    "invalid_input",
    "createdAt is when the message was stored: give it in epoch ms, as a number.",
  );
}

/** Returns the event of a message that has only one. Throws `invalid_input` when it has several. */
export function messageToEvent(message: UIMessage, createdAt = 0): ConversationEvent {
  const [event, ...more] = messageToEvents(message, createdAt);
  if (event !== undefined && more.length === 0) return event;
  throw new PalimpsestError(
    "invalid_input",
    `Message "${message.id}" is ${more.length + 1} events. Take it apart with messageToEvents.`,
  );
}

/**
 * Returns the messages of the events, in order. Neighbours with the same message id become one message. A call without a result among the
 * events is open. A result without its call becomes a part of its own, as in separate messages. Throws `invalid_input` for neighbours with
 * one message id of which another role said each.
 */
export function eventsToMessages(events: readonly ConversationEvent[]): UIMessage[] {
  const messages: UIMessage[] = [];
  for (const event of events) {
    const last = messages.at(-1);
    if (event.action === "compaction") {
      const { overlayId, summary, messages: spanMessages, shown } = event;
      const message = summaryMessage({ overlayId, summary, spanMessages });
      messages.push(shown === undefined ? message : { ...message, parts: [{ type: "text", text: shown }] });
    } else if (last?.id === event.messageId) {
      if (last.role !== roleOf(event)) throw mixed(event, last);
      addTo(last.parts, event);
    } else {
      const parts: Part[] = [];
      addTo(parts, event);
      const own = { id: event.messageId, role: roleOf(event), parts };
      messages.push({ ...own, ...event.message, ...own });
    }
  }
  return messages;
}

/** Returns a message that holds this event alone. */
export function eventToMessage(event: ConversationEvent): UIMessage {
  return eventsToMessages([event])[0] as UIMessage;
}

/** Returns the index of the part at which an event of a message begins. */
export function firstPart(event: ConversationEvent): number {
  return event.id === event.messageId ? 0 : Number(PLACE.exec(event.id)?.[1] ?? 0);
}

/** Returns the id of the message that an event id belongs to. */
export function messageIdOf(eventId: string): string {
  return eventId.replace(PLACE, "");
}

function roleOf(event: ConversationEvent): UIMessage["role"] {
  if (event.action === "user_message") return "user";
  return event.action === "system_instruction" ? "system" : "assistant";
}

/** As one message, the words of the one would pass for the other's. */
function mixed({ action, messageId }: ConversationEvent, { role }: UIMessage): PalimpsestError {
  return new PalimpsestError(
    "invalid_input",
    `The event "${action}" has the messageId "${messageId}" of the message before it, whose role is "${role}". Give it an id of its own.`,
  );
}

function spoken(role: "user" | "system", content: Part[]): Body {
  return { action: role === "user" ? "user_message" : "system_instruction", content };
}

function assistantBodies(parts: readonly Part[]): { at: string; body: Body }[] {
  const bodies: { at: string; body: Body }[] = [];
  let open: { at: string; body: Body & { content: Part[] } } | null = null;
  parts.forEach((part, index) => {
    const tool = representableTool(part);
    if (tool === null) {
      const begins = part.type === "step-start" && open?.body.content.some((each) => each.type !== "step-start");
      if (open === null || begins === true) {
        open = { at: `#${index}`, body: { action: "agent_message", content: [] } };
        bodies.push(open);
      }
      open.body.content.push(part);
      return;
    }
    // A step mark alone is no content, so it goes into the call's event.
    const stepStart = open !== null && isStepMark(open.body.content);
    if (stepStart) bodies.pop();
    const at = stepStart ? (open?.at ?? "") : `#${index}`;
    open = null;
    const [first, ...more] = toolBodies(tool);
    if (first !== undefined)
      bodies.push({ at, body: stepStart ? { ...first, part: { ...first.part, stepStart } } : first });
    for (const body of more) bodies.push({ at: `#${index}:result`, body });
  });
  return bodies.length > 0 ? bodies : [{ at: "#0", body: { action: "agent_message", content: [] } }];
}

/** Returns a tool part that events can represent exactly. Any other part gives null and stays plain content. */
function representableTool(part: Part): ToolPart | null {
  const tool = toolPart(part);
  if (tool === null || tool.toolCallId === "" || toolName(tool) === "") return null;
  if (tool.type === "dynamic-tool" && typeof tool.toolName !== "string") return null;
  return tool.state === "output-error" && typeof tool.errorText !== "string" ? null : tool;
}

function isStepMark(content: readonly Part[]): boolean {
  return content.length === 1 && content[0]?.type === "step-start" && Object.keys(content[0]).length === 1;
}

type ToolBody = Extract<Body, { part: Fields }>;

function toolBodies(part: ToolPart): ToolBody[] {
  const { toolCallId, toolName: _name, input, output, errorText, ...rest } = part as ToolPart & { toolName?: string };
  const names = { toolCallId, toolName: toolName(part) };
  if (!hasResult(part)) return [{ action: "tool_call_request", ...names, input, part: rest }];
  const bare = isBareResult(part);
  const own = pick(rest, (key) => bare || RESULT_FIELDS.has(key));
  const status = part.state === "output-available" ? "ok" : part.state === "output-error" ? "error" : "denied";
  const ended = { ...(status === "ok" && { output }), ...(status === "error" && { errorText }) };
  const result: ToolBody = { action: "tool_result", ...names, status, ...ended, part: own };
  if (bare) return [result];
  const asked = pick(rest, (key) => !RESULT_FIELDS.has(key));
  return [{ action: "tool_call_request", ...names, input, part: asked }, result];
}

function pick(fields: object, keep: (key: string) => boolean): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => keep(key)));
}

function addTo(parts: Part[], event: Exclude<ConversationEvent, { action: "compaction" }>): void {
  if (!("toolCallId" in event)) {
    parts.push(...event.content);
    return;
  }
  const { stepStart, ...fields } = event.part;
  if (stepStart === true) parts.push({ type: "step-start" });
  if (event.action === "tool_call_request") {
    parts.push(asPart({ ...called(event), input: event.input, state: "input-available", ...fields }));
    return;
  }
  // A result that was stored apart from its call has a type of its own, and stays apart.
  const at =
    "type" in fields
      ? -1
      : parts.findLastIndex((part) => isOpenCall(part) && toolPart(part)?.toolCallId === event.toolCallId);
  const call = at < 0 ? called(event) : parts[at];
  const ended =
    event.status === "ok"
      ? { output: event.output }
      : event.status === "error"
        ? { errorText: event.errorText ?? "" }
        : {};
  const part = asPart({ ...call, state: STATES[event.status], ...ended, ...fields });
  if (at < 0) parts.push(part);
  else parts[at] = part;
}

/** A tool part of unknown type is dynamic. A part of known type has the tool's name in its type. */
function called({ part, toolCallId, toolName }: EventOf<"tool_call_request" | "tool_result">): Fields {
  const { type = "dynamic-tool" } = part;
  return type === "dynamic-tool" ? { type, toolName, toolCallId } : { type, toolCallId };
}

/** The fields are checked when the message is stored. */
function asPart(fields: Fields): Part {
  return fields as unknown as Part;
}
