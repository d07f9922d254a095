/**
 * pi session files have a header line, then one entry a line. Older files are a list, newer ones a tree by `id` and `parentId`. Entries
 * that are no messages (model changes, another tool's compactions) are counted, not imported.
 */
import type { Slices } from "../../steps/text/text.ts";
import { Fields, readEach, type Item } from "../items.ts";
import {
  blockReader,
  bytesPart,
  metadataOf,
  noMessage,
  piecesOf,
  reasoningPart,
  textPart,
  toolOutput,
  type Chat,
  type ImportedTurn,
} from "../turns.ts";

const readBlock = blockReader({
  text: (block) => textPart(block.text("text")),
  // pi uses many providers. The reasoning's signature is kept under pi's name and never replayed to another provider.
  thinking: (block) =>
    reasoningPart(block.text("thinking"), "pi", { signature: block.maybeText("thinkingSignature") ?? "" }),
  image: (block) => bytesPart(block.text("mimeType"), block.text("data")),
  toolCall: (block) => ({
    type: "call",
    callId: block.text("id"),
    toolName: block.text("name"),
    input: block.get("arguments") ?? {},
  }),
});

type Message = Pick<ImportedTurn, "role" | "pieces" | "metadata">;

function assistant(message: Fields): Message {
  const metadata = metadataOf({
    model: message.maybeText("model"),
    usage: usageOf(message),
    error: message.maybeText("errorMessage"),
  });
  return { role: "assistant", pieces: piecesOf(message, readBlock), metadata };
}

function usageOf(message: Fields): ImportedTurn["metadata"]["usage"] {
  const usage = message.maybeFields("usage");
  if (usage === null) return undefined;
  const cached = (usage.maybeNumber("cacheRead") ?? 0) + (usage.maybeNumber("cacheWrite") ?? 0);
  return { inputTokens: usage.number("input") + cached, outputTokens: usage.number("output") };
}

function toolResult(message: Fields): Message {
  const [callId, toolName] = [message.text("toolCallId"), message.text("toolName")];
  const came = { output: toolOutput(message.get("content")), failed: message.get("isError") === true };
  return { role: "user", pieces: [{ type: "result", callId, toolName, ...came }], metadata: {} };
}

/** A command that the user ran beside the agent. The agent sees it afterwards. */
function bashExecution(message: Fields): Message {
  const code = message.maybeNumber("exitCode");
  const status = code === 0 ? "" : `\n(exit code ${code ?? "unknown"})`;
  const said = `I ran \`${message.text("command")}\`:\n\n${message.text("output")}${status}`;
  return { role: "user", pieces: [textPart(said)], metadata: {} };
}

/** The user, or other authors in the conversation such as extensions and hooks. */
function anyone(message: Fields): Message {
  return { role: "user", pieces: piecesOf(message, readBlock), metadata: {} };
}

const ROLES = new Map([
  ["assistant", assistant],
  ["toolResult", toolResult],
  ["bashExecution", bashExecution],
]);

function messageOf(entry: Fields, type: string): Message {
  if (type === "custom_message") return anyone(entry);
  if (type !== "message") return noMessage(type);
  const message = entry.fields("message");
  return (ROLES.get(message.text("role")) ?? anyone)(message);
}

function readEntry(value: unknown): ImportedTurn {
  const entry = new Fields(value);
  const message = messageOf(entry, entry.text("type"));
  const parentId = entry.maybeText("parentId");
  return {
    ...message,
    metadata: metadataOf({ ...message.metadata, createdAt: entry.time("timestamp") }),
    id: entry.maybeText("id"),
    ...("parentId" in entry.all && { parentId }),
  };
}

/** Returns one turn an entry. Throws `import_failed`. */
export function* readPi(items: readonly Item[]): Slices<Chat[]> {
  return [{ label: null, turns: yield* readEach(items, readEntry, "pi") }];
}
