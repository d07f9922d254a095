/** UIMessages as the AI SDK defines them, one JSON value each. They are checked and passed on unchanged. */
import type { UIMessage } from "ai";
import type { Slices } from "../../steps/text/text.ts";
import { ownMark } from "../../steps/view/view.ts";
import { checkCount, Fields, readEach, type Item } from "../items.ts";
import { disown, UniqueIds, type Assembled } from "../turns.ts";
import { messagesIn } from "./lists.ts";

const STATES = [
  "input-streaming",
  "input-available",
  "approval-requested",
  "approval-responded",
  "output-available",
  "output-error",
  "output-denied",
];

function checkPart(part: Fields): void {
  const type = part.text("type");
  if (type === "") part.fail("type", "is empty");
  if (type === "text" || type === "reasoning") part.text("text");
  if (type === "file" || type === "reasoning-file") void [part.text("mediaType"), part.text("url")];
  if (type === "dynamic-tool") mustHaveText(part, "toolName");
  if (type !== "dynamic-tool" && !type.startsWith("tool-")) return;
  mustHaveText(part, "toolCallId");
  if (part.oneOf("state", STATES) === "output-error") part.text("errorText");
}

function mustHaveText(fields: Fields, key: string): void {
  if (fields.text(key) === "") fields.fail(key, "is empty");
}

function checkMessage(value: unknown): UIMessage {
  const message = new Fields(value);
  mustHaveText(message, "id");
  message.oneOf("role", ["system", "user", "assistant"]);
  message.list("parts", checkPart);
  return value as UIMessage;
}

/** Returns the messages of `items` unchanged, but with unique ids, and without marks of ours. Throws `import_failed`. */
export function* readUIMessages(items: readonly Item[]): Slices<Assembled> {
  // An application may keep its messages in a list of a document.
  const values = items.flatMap((item) => messagesIn(item) ?? [item]);
  checkCount(values.length);
  const given = yield* readEach(values, checkMessage, "uimessage-jsonl");
  const ids = new UniqueIds();
  const disowned = new Map<string, string>();
  const messages = given.map((each) => {
    const message = ownMark(each) === null ? each : disown(each);
    const id = ids.take(message.id, "message");
    if (message !== each) disowned.set(id, each.id);
    return id === message.id ? message : { ...message, id };
  });
  return { messages, branches: new Map(), danglingCalls: 0, strayResults: 0, renamedIds: ids.renamed, disowned };
}
