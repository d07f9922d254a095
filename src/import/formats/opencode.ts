/**
 * Sessions that `opencode export` writes, a document each.
 *
 * A message has parts much like the AI SDK's. What the harness added to the user's message (files that it read, reminders) is a message of its
 * own behind it, which the metadata marks. So is the summary with which OpenCode went on.
 */
import type { Slices } from "../../steps/text/text.ts";
import { attempt, checkCount, Fields, isRecord, Misfit, readEach, type Item } from "../items.ts";
import {
  blockReader,
  filePart,
  metadataOf,
  noMessage,
  reasoningPart,
  stepPart,
  textPart,
  unknownBlock,
  type Chat,
  type ImportedMetadata,
  type ImportedTurn,
  type Settled,
  type TurnPiece,
} from "../turns.ts";

/** Parts that say nothing, such as a snapshot of the files. */
const BOOKKEEPING = new Set(["step-finish", "snapshot", "patch", "retry", "compaction"]);

const readPiece = blockReader({
  // The harness showed an ignored part and did not send it.
  text: (part) => {
    const said = textPart(part.text("text"));
    return part.get("ignored") === true ? unknownBlock(part.without("synthetic")) : said;
  },
  // OpenCode keeps here what the AI SDK calls the provider's metadata.
  reasoning: (part) => {
    const { all: providerMetadata } = part.maybeFields("metadata") ?? {};
    return Object.assign(reasoningPart(part.text("text")), providerMetadata && { providerMetadata });
  },
  file: (part) => filePart(part.text("mime"), part.text("url"), part.maybeText("filename")),
  tool: (part) => {
    const state = part.fields("state");
    const [callId, toolName, input] = [part.text("callID"), part.text("tool"), state.get("input") ?? {}];
    return { type: "call", callId, toolName, input, settled: settledIn(state) };
  },
  "step-start": () => stepPart(),
});

function settledIn(state: Fields): Settled | undefined {
  const status = state.text("status");
  if (status === "error") return { output: state.get("error") ?? "", failed: true };
  if (status !== "completed") return undefined;
  const [output, attachments] = [state.get("output") ?? "", state.get("attachments")];
  const hasFiles = Array.isArray(attachments) && attachments.length > 0;
  return { output: hasFiles ? { output, attachments } : output, failed: false };
}

interface ReadPart {
  /** Null for bookkeeping. */
  readonly piece: TurnPiece | null;
  /** True where the harness wrote it into the user's message. */
  readonly isSynthetic: boolean;
}

function readPart(part: Fields): ReadPart {
  const type = part.text("type");
  const isSynthetic = type === "text" && part.get("synthetic") === true;
  return { piece: BOOKKEEPING.has(type) ? null : readPiece(part), isSynthetic };
}

/** A user's message is two turns where the harness added to it. */
function readMessage(message: Fields): ImportedTurn[] {
  const info = message.fields("info");
  const [role, id] = [info.oneOf("role", ["user", "assistant"]), info.maybeText("id")];
  const metadata = metadataIn(info, role);
  const parts = message.list("parts", readPart);
  const piecesOf = (isAdded: boolean): TurnPiece[] =>
    parts.flatMap(({ piece, isSynthetic }) => (piece !== null && isSynthetic === isAdded ? [piece] : []));
  const [own, added] = [piecesOf(false), piecesOf(true)];
  const [pieces, ofHarness] = role === "user" ? [own, added] : [[...own, ...added], []];
  const turns: ImportedTurn[] = [];
  if (pieces.length > 0 || (role === "assistant" && metadata.error !== undefined))
    turns.push({ role, pieces, metadata, id });
  if (ofHarness.length > 0) {
    const addedId = pieces.length > 0 && id ? `${id}-added` : id;
    turns.push({ role, pieces: ofHarness, metadata: { ...metadata, isMeta: true }, id: addedId });
  }
  return turns.length > 0 ? turns : [noMessage(parts.length > 0 ? "bookkeeping" : "empty message")];
}

function metadataIn(info: Fields, role: "user" | "assistant"): ImportedMetadata {
  const usage = attempt(() => usageOf(info));
  const error = info.get("error");
  return metadataOf({
    createdAt: info.maybeFields("time")?.number("created"),
    model: info.maybeText("modelID") || null,
    usage: usage instanceof Misfit || usage.inputTokens + usage.outputTokens === 0 ? null : usage,
    error: isRecord(error) && typeof error["name"] === "string" ? error["name"] : null,
    // In a user's message this is an account of changed files.
    isCompactSummary: role === "assistant" && info.get("summary") === true ? true : null,
  });
}

function usageOf(info: Fields) {
  const tokens = info.fields("tokens");
  const cache = tokens.maybeFields("cache");
  return {
    inputTokens: tokens.number("input") + (cache?.number("read") ?? 0) + (cache?.number("write") ?? 0),
    outputTokens: tokens.number("output") + (tokens.maybeNumber("reasoning") ?? 0),
  };
}

function readSession(value: unknown): Chat {
  const session = new Fields(value);
  const info = session.fields("info");
  const label = info.maybeText("title") ?? info.maybeText("id");
  return { label, turns: session.list("messages", readMessage).flat() };
}

/** Returns the conversations of `items`. Throws `import_failed`. */
export function* readOpenCode(items: readonly Item[]): Slices<Chat[]> {
  const chats = yield* readEach(items, readSession, "opencode");
  checkCount(chats.reduce((sum, chat) => sum + chat.turns.length, 0));
  return chats;
}
