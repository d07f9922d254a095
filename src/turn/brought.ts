/**
 * The messages that a turn has brought, as the AI SDK holds them, in the form that every provider takes.
 *
 * The view before them has gone through the rules of steps/view. These have not: a host keeps them, and stores them when the turn is over. So
 * the same rules are applied here. Each message depends on those before it alone, so the prompt of a step begins with the one before.
 */
import type { ModelMessage, ToolSet } from "ai";
import { acceptedInput, acceptedName, unusedId, wellFormed } from "../steps/view/accepted.ts";
import { holdsBytes } from "../steps/message/message.ts";
import { isCallOfClient } from "./joined.ts";
import { sentOf } from "./model-output.ts";

type Fields = Record<string, unknown>;

/** `before` is the view in front of them, whose ids of calls no other call may have. */
export function asTaken(
  brought: readonly ModelMessage[],
  before: readonly ModelMessage[],
  tools: ToolSet = {},
): ModelMessage[] {
  const used = new Set(before.flatMap(({ content }) => (typeof content === "string" ? [] : idsOf(content))));
  /** By the id of their calls, those without a result, oldest first. The last stays, because a call may be answered again. */
  const open = new Map<string, string[]>();
  const answered = new Set<string>();
  const named = (name: unknown): string => {
    const text = typeof name === "string" ? name : "";
    return Object.hasOwn(tools, text) ? text : acceptedName(text);
  };
  const taken = (part: Fields): Fields[] => {
    const { type, text, toolCallId, toolName, input, output, providerExecuted } = part;
    if (type === "text") return String(text).trim() === "" ? [] : [part];
    if (type !== "tool-call" && type !== "tool-result") return [part];
    const id = String(toolCallId);
    if (type === "tool-call") {
      const own = unusedId(id, used);
      used.add(own);
      if (providerExecuted === true) return [part];
      open.set(id, [...(open.get(id) ?? []).filter((each) => !answered.has(each)), own]);
      return [changed(part, { toolCallId: own, toolName: named(toolName), input: acceptedInput(input) })];
    }
    if (providerExecuted === true) return [part];
    const waiting = open.get(id) ?? [];
    const own = waiting.length > 1 ? (waiting.shift() ?? id) : (waiting[0] ?? id);
    answered.add(own);
    return [changed(part, { toolCallId: own, toolName: named(toolName), output: shownOutput(output) })];
  };
  return brought.flatMap((message): ModelMessage[] => {
    if (typeof message.content === "string") return message.content.trim() === "" ? [] : [formed(message)];
    const all = message.content.flatMap((part) => taken(part as unknown as Fields));
    // A thought behind which its step says nothing is refused.
    const parts = all.slice(0, all.findLastIndex(({ type }) => type !== "reasoning") + 1);
    if (parts.length === 0) return [];
    const isSame = parts.length === message.content.length && parts.every((part, at) => part === message.content[at]);
    return [formed(isSame ? message : ({ ...message, content: parts } as unknown as ModelMessage))];
  });
}

function idsOf(content: readonly object[]): string[] {
  return content.flatMap((part) => ("toolCallId" in part && isCallOfClient(part) ? [String(part.toolCallId)] : []));
}

function formed(message: ModelMessage): ModelMessage {
  return wellFormed(message) as ModelMessage;
}

function changed(part: Fields, fields: Fields): Fields {
  return Object.entries(fields).every(([name, value]) => part[name] === value) ? part : { ...part, ...fields };
}

/** Bytes as the provider counts them, where a tool did not say itself what the model sees. */
function shownOutput(output: unknown): unknown {
  const { type, value } = (output ?? {}) as { type?: unknown; value?: unknown };
  return (type === "json" || type === "text") && holdsBytes(value) ? sentOf(value) : output;
}
