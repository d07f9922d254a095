/** UIMessages as the AI SDK defines them, one JSON value each. They are checked and passed on unchanged. */
import type { UIMessage } from "ai";
import { z } from "zod";
import { ownMark } from "../steps/view/view.ts";
import { chatMessages } from "./chats.ts";
import { checkCount, choose, list, parseItems, type Item } from "./items.ts";
import { disown } from "./ours.ts";
import type { Slices } from "../steps/text/slices.ts";
import { UniqueIds } from "./turns.ts";

const anyPart = z.looseObject({ type: z.string().min(1) });
const text = z.looseObject({ text: z.string() });
const file = z.looseObject({ mediaType: z.string(), url: z.string() });
const tool = z
  .looseObject({
    toolCallId: z.string().min(1),
    state: z.enum([
      "input-streaming",
      "input-available",
      "approval-requested",
      "approval-responded",
      "output-available",
      "output-error",
      "output-denied",
    ]),
  })
  .refine((part) => part.state !== "output-error" || typeof part["errorText"] === "string", {
    path: ["errorText"],
    message: "is missing, though the call failed",
  });
const dynamicTool = tool.and(z.looseObject({ toolName: z.string().min(1) }));

const parts: ReadonlyMap<string, z.ZodType<object>> = new Map<string, z.ZodType<object>>([
  ["text", text],
  ["reasoning", text],
  ["file", file],
  ["reasoning-file", file],
  ["dynamic-tool", dynamicTool],
]);

const part = choose<object>("type", (type) => parts.get(type) ?? (type.startsWith("tool-") ? tool : anyPart));

const message = z.looseObject({
  id: z.string().min(1),
  role: z.enum(["system", "user", "assistant"]),
  parts: list(part),
});

export interface ReadMessages {
  readonly messages: UIMessage[];
  readonly renamedIds: number;
  /** Original ids by new id, for messages that claimed to be ours. */
  readonly disowned: ReadonlyMap<string, string>;
}

/**
 * Returns the messages of `items` unchanged, with two exceptions. Repeated ids are made unique, and messages that claim to be ours are
 * disowned ({@link disown}). Throws `import_failed`.
 */
export function* readUIMessages(values: readonly Item[]): Slices<ReadMessages> {
  const items = values.flatMap(messagesIn);
  checkCount(items.length);
  yield* parseItems(items, message, "uimessage-jsonl");
  const ids = new UniqueIds();
  const disowned = new Map<string, string>();
  const messages = items.map((item) => {
    const given = item.value as UIMessage;
    const message = ownMark(given) === null ? given : disown(given);
    const id = ids.take(message.id, "message");
    if (message !== given) disowned.set(id, given.id);
    return id === message.id ? message : { ...message, id };
  });
  return { messages, renamedIds: ids.renamed, disowned };
}

/** An application may keep its messages in a list of a document. */
function messagesIn(item: Item): Item[] {
  const list = chatMessages(item.value);
  if (list === null) return [item];
  const { place, size } = item;
  return list.map((value, at) => ({ place: `${place}, message ${at + 1}`, value, size: size / list.length }));
}
