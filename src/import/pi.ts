/**
 * pi session files have a header line, then one entry a line. Older files are a list, newer ones a tree by `id` and `parentId`. Entries
 * that are no messages (model changes, another tool's compactions) are counted, not imported.
 */
import { z } from "zod";
import { content, filePiece, reasoningPiece, textPiece, toolOutput, unknownBlock } from "./blocks.ts";
import { choose, parseItems, timestamp, type Item } from "./items.ts";
import type { Slices } from "../steps/text/slices.ts";
import type { Chat, ImportedMetadata, TurnPiece, ImportedTurn } from "./turns.ts";

const text = z.object({ text: z.string() }).transform((block) => textPiece(block.text));
const thinking = z.object({ thinking: z.string(), thinkingSignature: z.string().default("") }).transform((block) =>
  // pi uses many providers. The reasoning's signature is kept under pi's name and never replayed to another provider.
  reasoningPiece(block.thinking, { name: "pi", fields: { signature: block.thinkingSignature } }),
);
const image = z
  .object({ data: z.string(), mimeType: z.string() })
  .transform((block) => filePiece(block.mimeType, { base64: block.data }));
const call = z
  .object({ id: z.string(), name: z.string(), arguments: z.unknown().optional() })
  .transform((block): TurnPiece => {
    return { kind: "call", callId: block.id, toolName: block.name, input: block.arguments ?? {} };
  });
const blocks = new Map<string, z.ZodType<TurnPiece>>([
  ["text", text],
  ["thinking", thinking],
  ["image", image],
  ["toolCall", call],
]);
const anyContent = content(choose("type", (type) => blocks.get(type) ?? unknownBlock));

type Message = Pick<ImportedTurn, "role" | "pieces" | "metadata">;

const usage = z
  .object({
    input: z.number(),
    output: z.number(),
    cacheRead: z.number().default(0),
    cacheWrite: z.number().default(0),
  })
  .transform((value) => ({
    inputTokens: value.input + value.cacheRead + value.cacheWrite,
    outputTokens: value.output,
  }));

const assistant = z
  .object({
    content: anyContent,
    model: z.string().optional(),
    usage: usage.optional(),
    errorMessage: z.string().optional(),
  })
  .transform((message): Message => {
    const metadata: ImportedMetadata = {
      ...(message.model !== undefined && { model: message.model }),
      ...(message.usage !== undefined && { usage: message.usage }),
      ...(message.errorMessage !== undefined && { error: message.errorMessage }),
    };
    return { role: "assistant", pieces: message.content, metadata };
  });

const toolResult = z
  .object({ toolCallId: z.string(), toolName: z.string(), content: toolOutput, isError: z.boolean().default(false) })
  .transform((message): Message => {
    const { toolCallId: callId, toolName, content: output, isError: failed } = message;
    return { role: "user", pieces: [{ kind: "result", callId, toolName, output, failed }], metadata: {} };
  });

/** A command that the user ran beside the agent. The agent sees it afterwards. */
const bashExecution = z
  .object({ command: z.string(), output: z.string(), exitCode: z.number().nullish() })
  .transform((message): Message => {
    const status = message.exitCode === 0 ? "" : `\n(exit code ${message.exitCode ?? "unknown"})`;
    const said = `I ran \`${message.command}\`:\n\n${message.output}${status}`;
    return { role: "user", pieces: [textPiece(said)], metadata: {} };
  });

/** The user, or other authors in the conversation such as extensions and hooks. */
const anyone = z
  .object({ content: anyContent })
  .transform((message): Message => ({ role: "user", pieces: message.content, metadata: {} }));

const messages = new Map<string, z.ZodType<Message>>([
  ["assistant", assistant],
  ["toolResult", toolResult],
  ["bashExecution", bashExecution],
]);

const link = z.object({
  type: z.string(),
  id: z.string().nullish(),
  parentId: z.string().nullish(),
  timestamp: timestamp.optional(),
});
const messageEntry = link
  .extend({ message: choose("role", (role) => messages.get(role) ?? anyone) })
  .transform((entry): ImportedTurn => turnOf(entry, entry.message));
const spokenEntry = link.extend({ content: anyContent }).transform((entry): ImportedTurn => {
  return turnOf(entry, { role: "user", pieces: entry.content, metadata: {} });
});
const otherEntry = link.transform((entry): ImportedTurn => {
  return { ...turnOf(entry, { role: null, pieces: [], metadata: {} }), kind: entry.type };
});

const entry = choose("type", (type) => {
  if (type === "message") return messageEntry;
  return type === "custom_message" ? spokenEntry : otherEntry;
});

function turnOf(entry: z.infer<typeof link>, message: Message): ImportedTurn {
  const createdAt = entry.timestamp;
  return {
    ...message,
    metadata: { ...message.metadata, ...(createdAt !== undefined && { createdAt }) },
    id: entry.id ?? null,
    ...(entry.parentId !== undefined && { parentId: entry.parentId }),
  };
}

/** Returns one turn an entry. Throws `import_failed`. */
export function* readPi(items: readonly Item[]): Slices<Chat[]> {
  return [{ label: null, turns: yield* parseItems(items, entry, "pi") }];
}
