/**
 * Parts that a provider keeps on its own side, as OpenAI does with `store`.
 *
 * A part with an item id is sent as a reference. The provider then reads its own copy, whatever the part says here, and wants the reasoning
 * before it and what followed the reasoning. So a step that differs from the provider's is sent as words of our own: without ids, and
 * without the reasoning that has one.
 */
import type { UIMessage } from "ai";
import { messageSteps, toolName, toolPart, type Part } from "../message/message.ts";

const FIELDS = ["providerMetadata", "callProviderMetadata", "resultProviderMetadata"] as const;
const ITEM_ID = "itemId";
/** The ids of calls that OpenAI ran itself. Its package refers to each by the id of the call. */
export const RUN_ITEM = /^[a-z]{2,4}_[\da-f]{20,}$/;

/** The id under which a provider keeps a part. Null where none does. */
export function itemOf(part: Part): string | null {
  for (const field of FIELDS) {
    for (const options of Object.values(objectIn(part, field) ?? {})) {
      const id: unknown = (options as Record<string, unknown> | null)?.[ITEM_ID];
      if (typeof id === "string" && id !== "") return id;
    }
  }
  const tool = toolPart(part);
  return tool?.providerExecuted === true && RUN_ITEM.test(tool.toolCallId) ? tool.toolCallId : null;
}

/**
 * Who made a part that no other provider reads, as the field of its metadata names the provider. Null for any other part. Only who made one is sent it.
 *
 * Anthropic writes a summary of the conversation before it as a text, and OpenAI as a part of its own kind.
 */
export function madeBy(part: object): string | null {
  const { type, kind } = part as { type?: unknown; kind?: unknown };
  if (type === "custom") return String(kind).split(".")[0] ?? "";
  if (type !== "text") return null;
  const made = Object.entries(objectIn(part, "providerMetadata") ?? objectIn(part, "providerOptions") ?? {}).find(
    ([, options]) => (options as { type?: unknown } | null)?.type === "compaction",
  );
  return made?.[0] ?? null;
}

/** The parts of one step that no provider keeps. Returns the same array where none has an id. */
export function withoutItems(parts: Part[]): Part[] {
  if (parts.every((part) => itemOf(part) === null)) return parts;
  return parts
    .filter((part) => (!isReasoning(part) && part.type !== "custom") || itemOf(part) === null)
    .map(withoutItem);
}

/** The message with each step as words of our own, for items that are gone. The same message where it has none. */
export function withoutAllItems(message: UIMessage): UIMessage {
  if (message.parts.every((part) => itemOf(part) === null)) return message;
  return { ...message, parts: messageSteps(message).flatMap((step) => withoutItems([...step])) };
}

/** The parts of one step after a change of each, as the provider's where its copy still says the same. */
export function ownWhereChanged(before: readonly Part[], after: Part[]): Part[] {
  const isOurs = after.some((part, at) => {
    const stored = before[at];
    return stored !== undefined && itemOf(stored) !== null && !isCopy(stored, part);
  });
  const told = after.map((part, at) => {
    const stored = before[at];
    // The signature of a provider's summary is of its very words.
    if (stored === undefined || stored === part || madeBy(part) === null || part.type !== "text") return part;
    return { type: "text", text: part.text } satisfies Part;
  });
  const own = told.every((part, at) => part === after[at]) ? after : told;
  return isOurs ? withoutItems(own) : own;
}

/** Whether a provider's copy of the first part says what the second does. The result of a call is no part of that copy. */
export function isCopy(before: Part, after: Part): boolean {
  if (before === after) return true;
  const [was, is] = [toolPart(before), toolPart(after)];
  if (was === null || is === null) return false;
  return was.toolCallId === is.toolCallId && was.input === is.input && toolName(was) === toolName(is);
}

export function isReasoning(part: Part): boolean {
  return part.type === "reasoning" || part.type === "reasoning-file";
}

/** The part without its ids at providers. */
export function withoutItem(part: Part): Part {
  if (itemOf(part) === null) return part;
  const copy: Record<string, unknown> = { ...part };
  for (const field of FIELDS) {
    const metadata = objectIn(part, field);
    if (metadata !== null) copy[field] = withoutKey(metadata, ITEM_ID);
  }
  const tool = toolPart(part);
  // By another id, and without the provider's mark, the call is told in words.
  if (tool?.providerExecuted === true && RUN_ITEM.test(tool.toolCallId))
    return { ...copy, toolCallId: `told-${tool.toolCallId}`, callProviderMetadata: {} } as unknown as Part;
  return copy as unknown as Part;
}

function objectIn(part: object, field: string): Record<string, unknown> | null {
  const value: unknown = (part as unknown as Record<string, unknown>)[field];
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
}

/** A part's metadata without this key of each provider. */
export function withoutKey(metadata: object, key: string): object {
  return Object.fromEntries(
    Object.entries(metadata).map(([provider, options]: [string, unknown]) => {
      const { [key]: _left, ...rest } = Object(options) as Record<string, unknown>;
      return [provider, rest];
    }),
  );
}
