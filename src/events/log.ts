/**
 * A session as a log of events over its message rows.
 *
 * It reads pages of events, appends them and deletes them, and stores whole turns. Only messages and overlays are stored, so every view, search and export shows
 * the events written here, and the reverse. Each call is first checked as a whole and then runs in one transaction.
 */
import type { UIMessage } from "ai";
import { PalimpsestError } from "../errors.ts";
import { checkWhole } from "../known-fields.ts";
import { MAX_BATCH_MESSAGES, MAX_PAGE } from "../limits.ts";
import type { History } from "../memory/messages/history.ts";
import type { Memory } from "../memory/memory.ts";
import type { OverlayInput, OverlayRecord } from "../memory/overlays/overlay.ts";
import { WHOLE_MESSAGE } from "../steps/plan/outline.ts";
import { messageSteps } from "../steps/message/message.ts";
import { overlayMessageId, parseSyntheticId } from "../steps/view/view.ts";
import type { WorkingContext } from "./context.ts";
import {
  parseEvent,
  type ConversationEvent,
  type EventOf,
  eventsToMessages,
  firstPart,
  messageIdOf,
  messageToEvents,
} from "./event.ts";

/** A page of events. */
export interface LoadEventsOptions {
  /** Most events of a page. Default 50, at most 500. */
  readonly limit?: number | undefined;
  /** Id of an event. Returns the events before it. Default: the newest. */
  readonly before?: string | undefined;
  /** Leaf of the branch to read. Default: the active one. */
  readonly leafId?: string | undefined;
}

/** An event to append. A missing id is created, and a string becomes one text part. */
export type NewEvent =
  | (Spoken & { readonly action: "system_instruction" | "user_message" | "agent_message" })
  | (Optional & Pick<EventOf<"tool_call_request">, "action" | "toolCallId" | "toolName" | "input">)
  | (Optional & Pick<EventOf<"tool_result">, "action" | "toolCallId" | "toolName" | "status" | "output" | "errorText">)
  | Pick<EventOf<"compaction">, "action" | "summary" | "fromMessageId" | "toMessageId">;

interface Optional {
  readonly id?: string;
  /** Neighbours with the same id become one message. Default: the event's id. */
  readonly messageId?: string;
}

interface Spoken extends Optional {
  readonly content: string | UIMessage["parts"];
}

/** The messages of one turn as plain data, which may cross RPC. */
export interface Turn {
  /** The newest message that the turn's model was shown. Null for an empty session. */
  readonly leafId: string | null;
  /** The messages of the turn, oldest first. */
  readonly messages: readonly UIMessage[];
}

/** What became of a turn that was to be stored. */
export interface PersistedTurn {
  /** False when the turn was stored before. */
  readonly inserted: boolean;
  /** Leaf of the turn's branch, where the turn ends. Null for a turn without messages. */
  readonly leafId: string | null;
}

/**
 * Returns the newest events of a branch in its view, oldest first. A compaction event stands in place of the events that it hides. The rows
 * read are in proportion to the result. Throws `invalid_options`, `unknown_leaf`, and `unknown_message` when `before` is not in the log.
 */
export function loadEvents(memory: Memory, sessionId: string, options: LoadEventsOptions = {}): ConversationEvent[] {
  const { before, leafId, limit = 50 } = options;
  checkWhole("limit", limit, 1, MAX_PAGE);
  const history = memory.session(sessionId);
  const start = before === undefined ? leafId : anchorOf(history, before);
  const newestFirst: ConversationEvent[] = [];
  let isReached = before === undefined;
  for (const message of history.history({ leafId: start ?? null, newestFirst: true })) {
    for (const event of eventsOf(history, message).toReversed()) {
      if (isReached) newestFirst.push(event);
      isReached ||= event.id === before;
    }
    if (newestFirst.length >= limit) break;
  }
  if (!isReached) throw unknownEvent(before ?? "");
  return newestFirst.slice(0, limit).toReversed();
}

/** Returns all events of a branch's view, oldest first. Throws `unknown_leaf`. */
export function viewEvents(memory: Memory, sessionId: string, leafId?: string): ConversationEvent[] {
  const history = memory.session(sessionId);
  return [...history.history({ leafId: leafId ?? null })].flatMap((message) => eventsOf(history, message));
}

/**
 * Appends all events or none to the active branch and returns them as stored. Appending the same events again, by id, changes nothing. A
 * compaction may only cover messages before it. Throws `invalid_input` and the errors of `History.append`. A compaction that is not
 * possible throws `unknown_message` or `invalid_range`.
 */
export function appendEvents(
  memory: Memory,
  sessionId: string,
  events: readonly NewEvent[],
  choose: ChooseBeside = () => ({ details: {} }),
): ConversationEvent[] {
  if (!Array.isArray(events) || events.length > MAX_BATCH_MESSAGES) {
    throw new PalimpsestError("invalid_input", `Give a list of at most ${MAX_BATCH_MESSAGES} events.`);
  }
  const complete = events.map((event) => parseEvent(completed(event)));
  const history = memory.session(sessionId);
  return memory.db.transaction<ConversationEvent[]>(() => {
    const stored: ConversationEvent[] = [];
    for (const [at, event] of complete.entries()) {
      if (event.action === "compaction") {
        stored.push(compactionEvent(history, addCompaction(history, event, choose)));
      } else if (complete[at - 1]?.messageId !== event.messageId) {
        const next = complete.findIndex((each, index) => index > at && each.messageId !== event.messageId);
        const [message] = eventsToMessages(complete.slice(at, next < 0 ? complete.length : next));
        if (message === undefined) continue;
        appendOnce(history, message);
        stored.push(...storedEvents(history, message));
      }
    }
    return stored;
  });
}

/**
 * Deletes events in one transaction and returns their number. Unknown ids are skipped. Deleting a call deletes its result. A message
 * without events left is deleted. Deleting a compaction event rolls the compaction back.
 */
export function deleteEvents(memory: Memory, sessionId: string, ids: readonly string[]): number {
  const history = memory.session(sessionId);
  const wanted = new Set(ids);
  return memory.db.transaction<number>(() => {
    let gone = 0;
    for (const messageId of new Set(ids.map((id) => ownerOf(history, id)))) {
      const synthetic = parseSyntheticId(messageId);
      if (synthetic?.kind === "overlay") gone += rollBack(history, synthetic.overlayId);
      else gone += deleteFrom(history, messageId, wanted);
    }
    return gone;
  });
}

/**
 * Appends a message under a parent, by default the active leaf. A message that is already stored must be the same. Throws `invalid_input`
 * when it differs, and the errors of `History.append`.
 */
export function appendOnce(history: History, message: UIMessage, parentId?: string | null): { inserted: boolean } {
  const { inserted, synthetic, message: stored } = history.append(message, parentId);
  if (inserted || synthetic || JSON.stringify(stored) === JSON.stringify(message)) return { inserted };
  throw new PalimpsestError(
    "invalid_input",
    `Message "${message.id}" is stored with another content. Give the new one an id of its own, or update the old one.`,
  );
}

/** Stores the context's new messages with {@link persistTurn}. */
export function persistWorkingContext(memory: Memory, sessionId: string, context: WorkingContext): PersistedTurn {
  return persistTurn(memory, sessionId, { leafId: context.leafId, messages: context.getNewMessages() });
}

/**
 * Stores a whole turn or nothing of it, in one transaction, so of two concurrent requests each reads the other's whole turn or nothing of it. The turn goes behind messages that came meanwhile on its branch. Where the conversation continued
 * from an earlier message, the turn stays on its own branch. Repeating the call changes nothing. Throws `unknown_leaf` when the turn's leaf
 * is gone and `invalid_input` when one of its ids is stored with other content. Also throws the errors of `History.append`.
 */
export function persistTurn(memory: Memory, sessionId: string, { leafId, messages }: Turn): PersistedTurn {
  const history = memory.session(sessionId);
  return memory.db.transaction<PersistedTurn>(() => {
    if (leafId !== null && !history.has(leafId)) {
      throw new PalimpsestError(
        "unknown_leaf",
        `Message "${leafId}", on which this turn was made, is not in session "${sessionId}" any more. Load the events again and make the turn on them.`,
      );
    }
    const active = history.leafId();
    const follows = leafId === null || active === null || history.isOnPath(leafId, active);
    let parentId: string | null = follows ? active : leafId;
    let inserted = false;
    for (const message of messages) {
      inserted = appendOnce(history, message, parentId).inserted || inserted;
      if (history.has(message.id)) parentId = message.id;
    }
    return { inserted, leafId: messages.length === 0 ? null : parentId };
  });
}

/** Returns the events of one message of a view. */
function eventsOf(history: History, message: UIMessage): ConversationEvent[] {
  const synthetic = parseSyntheticId(message.id);
  if (synthetic === null) return storedEvents(history, message);
  if (synthetic.kind === "overlay") return compactionOf(history, message);
  if (synthetic.kind === "fitted") return [];
  const stored = history.get(synthetic.messageId);
  return stored === null ? [] : eventsWithin(history, stored, synthetic);
}

/** Returns the events of some steps of a whole message. */
function eventsWithin(
  history: History,
  message: UIMessage,
  { fromStep, toStep }: { readonly fromStep: number; readonly toStep: number },
): ConversationEvent[] {
  if (fromStep === 0 && toStep === WHOLE_MESSAGE) return storedEvents(history, message);
  const steps = messageSteps(message);
  const [from, to] = [steps.slice(0, fromStep).flat().length, steps.slice(0, toStep + 1).flat().length];
  return storedEvents(history, message).filter((event) => firstPart(event) >= from && firstPart(event) < to);
}

/** Returns the event of a summary, which is given as the view shows it. */
function compactionOf(history: History, { id, parts }: UIMessage): ConversationEvent[] {
  const synthetic = parseSyntheticId(id);
  const overlay = synthetic?.kind === "overlay" ? history.overlays.get(synthetic.overlayId) : null;
  const [part] = parts;
  if (overlay === null || part?.type !== "text") return [];
  return [{ ...compactionEvent(history, overlay), shown: part.text }];
}

/** Most parts of a message that {@link ConversationEvent.seq} tells apart. With 2^31 messages, every place is a safe whole number. */
const PARTS = 2 ** 20;

/** The events of a stored message, with their places. */
function storedEvents(history: History, message: UIMessage): ConversationEvent[] {
  const stored = history.storedAs(message.id);
  const events = messageToEvents(message, stored?.createdAt ?? 0);
  if (stored === null) return events;
  return events.map((event) => ({
    ...event,
    seq: seqAt(stored.seq, { part: firstPart(event), isResult: event.action === "tool_result" }),
  }));
}

/** A result comes right behind its call. */
function seqAt(message: number, { part, isResult }: { readonly part: number; readonly isResult: boolean }): number {
  return 2 * (message * PARTS + Math.min(part, PARTS - 1)) + (isResult ? 1 : 0);
}

/** Its place is that of the last part that it hides. */
function compactionEvent(history: History, overlay: OverlayRecord): EventOf<"compaction"> {
  const { id, span, summary, spanMessages, createdAt } = overlay;
  const [fromMessageId, toMessageId] = [span.fromId, span.toId];
  const messageId = overlayMessageId(id);
  const said = { overlayId: id, summary, fromMessageId, toMessageId, messages: spanMessages };
  const last = history.storedAs(toMessageId);
  const seq = last === null ? {} : { seq: seqAt(last.seq, { part: lastHidden(history, overlay), isResult: true }) };
  return { id: messageId, messageId, createdAt, ...seq, action: "compaction", ...said };
}

function lastHidden(history: History, { span }: OverlayRecord): number {
  const last = span.toStep === WHOLE_MESSAGE ? null : history.get(span.toId);
  return last === null
    ? PARTS
    : messageSteps(last)
        .slice(0, span.toStep + 1)
        .flat().length - 1;
}

/** Returns the stored id of an event's owner, which is a message's id or the id under which a view shows an overlay. */
function ownerOf(history: History, eventId: string): string {
  return history.has(eventId) || parseSyntheticId(eventId) !== null ? eventId : messageIdOf(eventId);
}

/** Returns the message from which a walk meets the event first. */
function anchorOf(history: History, eventId: string): string {
  const owner = ownerOf(history, eventId);
  const synthetic = parseSyntheticId(owner);
  const anchor = synthetic?.kind === "overlay" ? history.overlays.get(synthetic.overlayId)?.span.toId : owner;
  if (anchor !== undefined && history.has(anchor)) return anchor;
  throw unknownEvent(eventId);
}

function unknownEvent(id: string): PalimpsestError {
  return new PalimpsestError("unknown_message", `There is no event "${id}" in this log. Load the newest events again.`);
}

/** Fills in the fields that a caller may leave out. {@link parseEvent} reports a value that is no event. */
function completed(event: NewEvent): unknown {
  if (typeof event !== "object" || event === null) return event;
  const id = "id" in event && event.id !== undefined ? event.id : crypto.randomUUID();
  const ids = { id, messageId: ("messageId" in event ? event.messageId : undefined) ?? id, createdAt: 0 };
  if (event.action === "compaction") return { ...event, ...ids, overlayId: id, messages: 0 };
  if (!("content" in event) || typeof event.content !== "string") return { ...event, ...ids };
  return { ...event, ...ids, content: [{ type: "text", text: event.content }] };
}

/** Chooses what stands beside a summary. */
type ChooseBeside = (made: Pick<OverlayInput, "span" | "summary">) => Pick<OverlayInput, "details">;

function addCompaction(history: History, event: EventOf<"compaction">, choose: ChooseBeside): OverlayRecord {
  const { summary, fromMessageId: fromId, toMessageId: toId } = event;
  const same = (each: OverlayRecord): boolean =>
    each.state === "active" && each.summary === summary && each.span.fromId === fromId && each.span.toId === toId;
  const known = history.overlays.list().find(same);
  if (known !== undefined) return known;
  const span = { fromId, fromStep: 0, toId, toStep: WHOLE_MESSAGE };
  const details = { model: "caller", degraded: false, trigger: "manual", focus: null };
  const beside = choose({ span, summary }).details;
  const result = history.overlays.add({ span, summary, details: { ...beside, ...details } });
  if (result.kind !== "stale") return result.overlay;
  throw new PalimpsestError(
    "invalid_range",
    `The compaction of ${fromId} to ${toId} was not added (${result.reason}): it must stand for messages of one branch, be smaller than they are, and cut through no other.`,
  );
}

function rollBack(history: History, overlayId: string): number {
  if (history.overlays.get(overlayId)?.state !== "active") return 0;
  history.overlays.rollback(overlayId);
  return 1;
}

function deleteFrom(history: History, messageId: string, wanted: ReadonlySet<string>): number {
  const message = history.get(messageId);
  if (message === null) return 0;
  const events = messageToEvents(message);
  const calls = new Set(
    events.flatMap((event) => (wanted.has(event.id) && "toolCallId" in event ? [event.toolCallId] : [])),
  );
  const left = events.filter(
    (event) => !wanted.has(event.id) && !(event.action === "tool_result" && calls.has(event.toolCallId)),
  );
  if (left.length === events.length) return 0;
  const parts = eventsToMessages(left)[0]?.parts;
  if (parts === undefined) history.delete([messageId]);
  else history.update({ ...message, parts });
  return events.length - left.length;
}
