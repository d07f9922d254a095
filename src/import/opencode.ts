/**
 * Sessions that `opencode export` writes, a document each.
 *
 * A message has parts much like the AI SDK's. What the harness added to the user's message (files that it read, reminders) is a message of its
 * own behind it, which the metadata marks. So is the summary with which OpenCode went on.
 */
import { z } from "zod";
import { filePiece, reasoningPiece, stepPiece, textPiece, UNKNOWN_BLOCK } from "./blocks.ts";
import { checkCount, choose, list, parseItems, type Item } from "./items.ts";
import type { Part } from "../steps/message/tool-parts.ts";
import type { Slices } from "../steps/text/slices.ts";
import {
  noMessage,
  type Chat,
  type ImportedMetadata,
  type ImportedTurn,
  type Settled,
  type TurnPiece,
} from "./turns.ts";

/** A part of a message. `null` stands for bookkeeping, such as a snapshot of the files. */
interface ReadPart {
  readonly piece: TurnPiece | null;
  /** True where the harness wrote it into the user's message. */
  readonly isSynthetic: boolean;
}

function own(piece: TurnPiece | null): ReadPart {
  return { piece, isSynthetic: false };
}

const text = z
  .looseObject({ text: z.string(), synthetic: z.boolean().nullish(), ignored: z.boolean().nullish() })
  .transform(({ text: said, synthetic, ignored, ...rest }): ReadPart => {
    // The harness showed an ignored part and did not send it.
    const shown: Part = { type: UNKNOWN_BLOCK, data: { ...rest, text: said, ignored: true } };
    const piece: TurnPiece = ignored === true ? { kind: "part", part: shown } : textPiece(said);
    return { piece, isSynthetic: synthetic === true };
  });

const reasoning = z
  .object({ text: z.string(), metadata: z.record(z.string(), z.unknown()).nullish() })
  .transform(({ text: thought, metadata }): ReadPart => {
    const piece = reasoningPiece(thought);
    // OpenCode keeps here what the AI SDK calls the provider's metadata.
    if (metadata && piece.kind === "part") Object.assign(piece.part, { providerMetadata: metadata });
    return own(piece);
  });

const file = z
  .looseObject({ mime: z.string(), url: z.string(), filename: z.string().nullish() })
  .transform((block): ReadPart => own(filePiece(block.mime, { url: block.url }, block.filename)));

const tool = z
  .object({
    callID: z.string(),
    tool: z.string(),
    state: z.looseObject({
      status: z.string(),
      input: z.unknown().optional(),
      output: z.unknown().optional(),
      error: z.unknown().optional(),
      attachments: z.array(z.unknown()).nullish(),
    }),
  })
  .transform(({ callID: callId, tool: toolName, state }): ReadPart => {
    const settled = settledIn(state);
    return own({ kind: "call", callId, toolName, input: state.input ?? {}, settled });
  });

function settledIn(state: {
  readonly status: string;
  readonly output?: unknown;
  readonly error?: unknown;
  readonly attachments?: readonly unknown[] | null | undefined;
}): Settled | undefined {
  const { status, output = "", error = "", attachments } = state;
  if (status === "error") return { output: error, failed: true };
  if (status !== "completed") return undefined;
  return { output: attachments?.length ? { output, attachments } : output, failed: false };
}

const step = z.object({}).transform((): ReadPart => own(stepPiece()));
const bookkeeping = z.object({}).transform((): ReadPart => own(null));
const unknownPart = z
  .looseObject({ type: z.string() })
  .transform((block): ReadPart => own({ kind: "part", part: { type: UNKNOWN_BLOCK, data: block } }));

const parts = new Map<string, z.ZodType<ReadPart>>([
  ["text", text],
  ["reasoning", reasoning],
  ["file", file],
  ["tool", tool],
  ["step-start", step],
  ["step-finish", bookkeeping],
  ["snapshot", bookkeeping],
  ["patch", bookkeeping],
  ["retry", bookkeeping],
  ["compaction", bookkeeping],
]);
const anyPart = choose("type", (type) => parts.get(type) ?? unknownPart);

const tokens = z
  .object({
    input: z.number(),
    output: z.number(),
    reasoning: z.number().default(0),
    cache: z.object({ read: z.number(), write: z.number() }).default({ read: 0, write: 0 }),
  })
  .transform((value) => ({
    inputTokens: value.input + value.cache.read + value.cache.write,
    outputTokens: value.output + value.reasoning,
  }));

const info = z.object({
  id: z.string().nullish(),
  role: z.enum(["user", "assistant"]),
  time: z.object({ created: z.number() }).nullish(),
  modelID: z.string().nullish(),
  tokens: tokens.nullish().catch(null),
  error: z.looseObject({ name: z.string() }).nullish().catch(null),
  /** True for a summary in an assistant's message, and an account of changed files in a user's. */
  summary: z.unknown().optional(),
});

const message = z.object({ info, parts: list(anyPart) }).transform((value): ImportedTurn[] => {
  const { role, id } = value.info;
  const metadata = metadataOf(value.info);
  const turnOf = (isSynthetic: boolean): TurnPiece[] =>
    value.parts.flatMap((part) => (part.piece !== null && part.isSynthetic === isSynthetic ? [part.piece] : []));
  const [said, added] = role === "user" ? [turnOf(false), turnOf(true)] : [[...turnOf(false), ...turnOf(true)], []];
  const turns: ImportedTurn[] = [];
  if (said.length > 0 || (role === "assistant" && metadata.error !== undefined)) {
    turns.push({ role, pieces: said, metadata, id: id ?? null });
  }
  if (added.length > 0) {
    const addedId = said.length > 0 && id ? `${id}-added` : (id ?? null);
    turns.push({ role, pieces: added, metadata: { ...metadata, isMeta: true }, id: addedId });
  }
  return turns.length > 0 ? turns : [noMessage(value.parts.length > 0 ? "bookkeeping" : "empty message")];
});

function metadataOf(value: z.infer<typeof info>): ImportedMetadata {
  const { time, modelID: model, tokens: usage, error, summary } = value;
  return {
    ...(time && { createdAt: time.created }),
    ...(model && { model }),
    ...(usage && usage.inputTokens + usage.outputTokens > 0 && { usage }),
    ...(error && { error: error.name }),
    ...(value.role === "assistant" && summary === true && { isCompactSummary: true }),
  };
}

const session = z
  .object({
    info: z.looseObject({ id: z.string().nullish(), title: z.string().nullish() }),
    messages: list(message),
  })
  .transform((value): Chat => ({ label: value.info.title ?? value.info.id ?? null, turns: value.messages.flat() }));

/** Returns the conversations of `items`. Throws `import_failed`. */
export function* readOpenCode(items: readonly Item[]): Slices<Chat[]> {
  const chats = yield* parseItems(items, session, "opencode");
  checkCount(chats.reduce((sum, chat) => sum + chat.turns.length, 0));
  return chats;
}
