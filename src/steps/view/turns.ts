/**
 * The order of the messages that a model is sent.
 *
 * 1. The first message is the user's.
 * 2. User and assistant alternate, as the chat templates of open models demand. Neighbours of one role become one message, in their order.
 *    Results count as none of them in these templates, so words of the assistant stand between a result and the user.
 * 3. An assistant's step ends with a call or with the turn, because Gemini takes a call only after a user's message or a result.
 * 4. A system message is shown as the user's, with a mark. The AI SDK refuses one among the messages, and most providers refuse a later one.
 * 5. A tool's name is one that every provider takes, unless the caller has a tool of that name.
 *
 * Works on a repaired view, last of all, because a joined message stands for several stored ones. A joined message has a reserved id. With a summary in
 * it that is the summary's. So an echo of it is never taken for one of the stored messages. A message that stands alone is the same object.
 */
import type { UIMessage } from "ai";
import { innerParts, isOpenCall, isSaid, toolName, toolPart, type Part } from "../message/message.ts";
import { acceptedName } from "./accepted.ts";
import { withoutItem } from "./items.ts";
import { fittedMessageId, isSummary, parseSyntheticId, RESERVED_PREFIX } from "./view.ts";

export interface TurnsOptions {
  /** The caller's own tools, whose names its provider takes. */
  readonly tools?: Readonly<Record<string, unknown>> | undefined;
  /** Whether system messages stay, for a format with a place of its own for them. */
  readonly keepsSystem?: boolean;
  /** Whether these messages stand behind others, so that the assistant may begin. */
  readonly continues?: boolean;
}

const SYSTEM_MARK = "[System]";
/** Stands between the result of a call and what the user says instead of an answer. */
const UNANSWERED: readonly Part[] = [
  { type: "step-start" },
  { type: "text", text: "[The user went on before an answer.]" },
];
/** Stands for a step in the id of a message that comes before all steps. */
const BEFORE = 1_000_000;
const BEGINS_WITHOUT_USER = "[The conversation begins with the assistant's words.]";

/** Messages of one role that follow one another. */
interface Turn {
  readonly role: UIMessage["role"];
  readonly from: UIMessage[];
  parts: Part[];
}

/** Returns the same array, and the same objects in it, wherever nothing has to change. */
export function inTurns(
  messages: UIMessage[],
  { tools = {}, keepsSystem = false, continues = false }: TurnsOptions = {},
): UIMessage[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    for (const turn of turnsOf(keepsSystem ? message : withoutSystem(message))) {
      const last = turns.at(-1);
      if (last === undefined || !joins(last, turn)) turns.push(turn);
      else {
        last.parts = [...last.parts, ...turn.parts];
        last.from.push(...turn.from);
      }
    }
  }
  const shown = turns.map((turn, at) =>
    asMessage({ ...turn, parts: turn.parts.map((part) => renamed(part, tools)) }, isUsersNext(turns, at + 1)),
  );
  const [first] = shown;
  if (!continues && first?.role === "assistant") shown.unshift(opening(first));
  return shown.length === messages.length && shown.every((each, at) => each === messages[at]) ? messages : shown;
}

/** Whether the user speaks next. A system message has a place of its own, so it does not count. */
function isUsersNext(turns: readonly Turn[], from: number): boolean {
  let at = from;
  while (turns[at]?.role === "system") at++;
  return turns[at]?.role === "user";
}

function withoutSystem(message: UIMessage): UIMessage {
  if (message.role !== "system") return message;
  const at = message.parts.findIndex(({ type }) => type === "text");
  const marked = message.parts.map((part, index): Part =>
    index === at && part.type === "text" ? { ...part, text: `${SYSTEM_MARK} ${part.text}` } : part,
  );
  return { ...message, id: joinedId(message.id), role: "user", parts: marked };
}

/** A message, with what steers it at its beginning and its end apart, because that is the user's. */
function turnsOf(message: UIMessage): Turn[] {
  const { role, parts } = message;
  const at = parts.findIndex(isSaid);
  const end = parts.findLastIndex(isSaid);
  const [first, last] = [parts[at], parts[end]];
  const steered = (part: Part): Turn => ({ role: "user", from: [message], parts: innerParts(part) });
  const others = (rest: Part[]): Turn[] => (rest.some(isSaid) ? turnsOf({ ...message, parts: rest }) : []);
  if (role === "assistant" && first?.type === "steering-message")
    return [steered(first), ...others(parts.slice(at + 1))];
  if (role === "assistant" && last?.type === "steering-message") return [...others(parts.slice(0, end)), steered(last)];
  return [{ role, from: [message], parts }];
}

function joins(last: Turn, next: Turn): boolean {
  if (last.role !== next.role || last.role === "system") return false;
  return last.role === "user" || !endsWithCall(last.parts);
}

function endsWithCall(parts: readonly Part[]): boolean {
  const step = parts.slice(parts.findLastIndex(({ type }) => type === "step-start" || type === "steering-message") + 1);
  return step.some(isClientCall) || parts.some(isOpenCall);
}

/** A call that the provider ran is part of the assistant's own words. */
function isClientCall(part: Part): boolean {
  const tool = toolPart(part);
  return tool !== null && tool.providerExecuted !== true;
}

function asMessage({ role, from, parts: whole }: Turn, isInterrupted: boolean): UIMessage {
  const [first] = from as [UIMessage];
  const parts = role === "assistant" ? withSteps(whole, isInterrupted) : whole;
  if (from.length === 1 && first.role === role) {
    const same = parts.length === first.parts.length && parts.every((part, at) => part === first.parts[at]);
    return same ? first : { ...first, parts };
  }
  const summary = from.findLast(isSummary);
  if (summary !== undefined) return { ...summary, role, parts };
  return { ...first, id: joinedId(first.id), role, parts };
}

function joinedId(id: string): string {
  const synthetic = parseSyntheticId(id);
  if (synthetic?.kind === "slice") return fittedMessageId(synthetic.messageId, synthetic.fromStep);
  return id.startsWith(RESERVED_PREFIX) ? id : fittedMessageId(id, 0);
}

/** Without the step marks before which the assistant called nothing, and with words of his between results and the user. */
function withSteps(parts: Part[], isInterrupted: boolean): Part[] {
  let said = false;
  let called = false;
  let waits = false;
  const shown = parts.flatMap((part): Part[] => {
    const isMark = part.type === "step-start";
    const isSteering = part.type === "steering-message";
    if (isMark && said && !called) return [];
    const before = isSteering && waits ? UNANSWERED : [];
    if (isMark || isSteering) [said, called] = [false, false];
    else if (isSaid(part) || part.type === "custom") {
      said = true;
      called ||= isClientCall(part);
      waits = called;
    }
    return [...before, part];
  });
  if (isInterrupted && waits && !parts.some(isOpenCall)) shown.push(...UNANSWERED);
  return shown.length === parts.length && shown.every((part, at) => part === parts[at]) ? parts : shown;
}

function renamed(part: Part, tools: Readonly<Record<string, unknown>>): Part {
  const tool = toolPart(part);
  if (tool === null) return part;
  const name = toolName(tool);
  const shown = acceptedName(name);
  if (shown === name || Object.hasOwn(tools, name)) return part;
  const own = withoutItem(tool);
  return (tool.type === "dynamic-tool" ? { ...own, toolName: shown } : { ...own, type: `tool-${shown}` }) as Part;
}

function opening({ id }: UIMessage): UIMessage {
  const synthetic = parseSyntheticId(id);
  const messageId = synthetic === null || synthetic.kind === "overlay" ? id : synthetic.messageId;
  return {
    id: fittedMessageId(messageId, BEFORE),
    role: "user",
    parts: [{ type: "text", text: BEGINS_WITHOUT_USER }],
  };
}
