/**
 * Turns and their pieces, which every format's reader makes, and the messages that are made of them.
 *
 * It puts each tool result into its call, gives every message a unique id, and reports the branches of the source. It knows no format and cannot
 * fail: all content of a turn ends up in some message, even a result without a call.
 *
 * A file may hold messages that claim to be ours, such as the summary of a session that continues another one. A file may claim anything, so
 * each becomes an ordinary message under a new id. Text that nobody said becomes the assistant's, so no line of a summary is taken for a rule of
 * the user.
 */
import type { UIMessage } from "ai";
import { MAX_ID_CHARS } from "../limits.ts";
import { innerParts, type Part } from "../steps/message/message.ts";
import type { Slices } from "../steps/text/text.ts";
import { RESERVED_METADATA, RESERVED_PREFIX } from "../steps/view/view.ts";
import { attempt, importPace, isRecord, Misfit, type Fields } from "./items.ts";

type ToolPart = Extract<Part, { type: "dynamic-tool" }>;

/** What came of a call. */
export interface Settled {
  readonly output: unknown;
  readonly failed: boolean;
}

export interface ToolCall {
  readonly type: "call";
  /** Null where the source gives calls no id. No result can name such a call. */
  readonly callId: string | null;
  readonly toolName: string;
  readonly input: unknown;
  /** True when the provider itself ran the tool (web search and the like). */
  readonly providerExecuted?: boolean;
  /** The result, where the source keeps it with the call. */
  settled?: Settled | undefined;
}

export interface ToolResult extends Settled {
  readonly type: "result";
  readonly callId: string;
  readonly toolName: string | null;
}

export type TurnPiece = Part | ToolCall | ToolResult;

/** Facts about a message beyond its parts. Kept as `metadata` where the source has them. */
export interface ImportedMetadata {
  /** Milliseconds since 1970. */
  readonly createdAt?: number;
  readonly model?: string;
  /** Shared by messages that the provider counts as one, such as thinking and tool use that were streamed apart. */
  readonly providerMessageId?: string;
  /** Tokens of the model call as the provider counted them. `inputTokens` includes tokens from a cache. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** Why the provider's reply broke off. */
  readonly error?: string;
  /** True for a message in the user's role that the tool wrote itself. No word of it is the user's. */
  readonly isMeta?: true;
  /** True for a summary with which the tool continued a conversation that had grown too long. No word of it is the user's. */
  readonly isCompactSummary?: true;
}

/** Metadata of the fields that a source has. */
export function metadataOf(fields: {
  readonly [Key in keyof ImportedMetadata]: ImportedMetadata[Key] | null | undefined;
}): ImportedMetadata {
  const present = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(present) as ImportedMetadata;
}

/** One entry of a source. An entry that is no message has no pieces and the role null, and only links others. */
export interface ImportedTurn {
  readonly role: "system" | "user" | "assistant" | null;
  readonly pieces: readonly TurnPiece[];
  readonly metadata: ImportedMetadata;
  readonly id: string | null;
  /** Source id of the entry before this one. It is `undefined` where the source names none, and null for a root. */
  readonly parentId?: string | null | undefined;
  /** What the source calls an entry that is no message. Null for one that only links others, which no note counts. */
  readonly kind?: string | null;
  /** Names of fields that say something and were not read. */
  readonly unread?: readonly string[];
}

/** An entry of a source that is no message. */
export function noMessage(kind: string | null, id: string | null = null): ImportedTurn {
  return { role: null, pieces: [], metadata: {}, id, kind };
}

/** One conversation of a source. `label` is the source's name for it, or null where it has none. */
export interface Chat {
  readonly label: string | null;
  readonly turns: readonly ImportedTurn[];
  /** True for the conversation of an agent that another one of the same source started. */
  readonly isSubAgent?: boolean;
}

/** The type of the part that holds a block of an unknown kind. It stays in the history and is never sent to a model. */
export const UNKNOWN_BLOCK = "data-imported-block";

export function unknownBlock(data: unknown): Part {
  return { type: UNKNOWN_BLOCK, data };
}

export function textPart(text: string): Part {
  return { type: "text", text };
}

/** Begins another step of a reply. A step is one call of a model. */
export function stepPart(): Part {
  return { type: "step-start" };
}

/** Reasoning with the fields that the provider needs to accept it back. They stand under the provider's name, as in the AI SDK. */
export function reasoningPart(text: string, provider = "", fields: Record<string, string | null> = {}): Part {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as Record<
    string,
    string
  >;
  const isSigned = Object.values(given).some((value) => value !== "");
  return { type: "reasoning", text, ...(isSigned && { providerMetadata: { [provider]: given } }) };
}

export function filePart(mediaType: string, url: string, filename: string | null = null): Part {
  return { type: "file", mediaType, url, ...(filename !== null && { filename }) };
}

/** A file of base64 bytes. */
export function bytesPart(mediaType: string, base64: string, filename: string | null = null): Part {
  return filePart(mediaType, `data:${mediaType};base64,${base64}`, filename);
}

/** The media type in a data URL. */
export function mediaTypeOf(url: string, fallback: string): string {
  return /^data:([^;,]+)/.exec(url)?.[1] ?? fallback;
}

export type ReadBlock = (block: Fields) => TurnPiece;

/** Reads a block by its type. One of another type is kept as an unknown one. */
export function blockReader(readers: Readonly<Record<string, ReadBlock>>): ReadBlock {
  const known = new Map(Object.entries(readers));
  return (block) => (known.get(block.text("type")) ?? asUnknown)(block);
}

function asUnknown(block: Fields): Part {
  return unknownBlock(block.all);
}

/** Reads a block with the first reader that it fits. A block that fits none is kept as an unknown one. */
export function orUnknown(...readers: readonly ReadBlock[]): ReadBlock {
  return (block) => {
    for (const read of readers) {
      const piece = attempt(() => read(block));
      if (!(piece instanceof Misfit)) return piece;
    }
    return asUnknown(block);
  };
}

/** Reads content that is a string, a list of blocks, or absent. */
export function piecesOf(message: Fields, readBlock: ReadBlock): TurnPiece[] {
  const content = message.get("content") ?? "";
  if (typeof content !== "string") return message.list("content", readBlock);
  return content === "" ? [] : [textPart(content)];
}

const TEXT_TYPES: ReadonlySet<unknown> = new Set(["text", "input_text", "output_text"]);

/** A tool's output. It is text where all blocks are text, else the blocks as they are. */
export function toolOutput(value: unknown): unknown {
  if (!Array.isArray(value)) return value ?? "";
  const texts = value.map((block: unknown) =>
    isRecord(block) && TEXT_TYPES.has(block["type"]) ? block["text"] : null,
  );
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : value;
}

/** One entry of a source that writes a reply in pieces. */
export interface StreamTurn extends ImportedTurn {
  /** True where a tool's output came, so what follows it is the next step of the reply. */
  readonly isAnswer?: boolean;
  /** True for a text that goes on where the one before it ended. */
  readonly continues?: boolean;
}

/**
 * Joins the pieces of each reply into one turn, up to the next message of anybody else. It has the metadata and the place of its first piece,
 * so its id stays the same when a longer file is imported again.
 */
export function joinReplies(entries: readonly StreamTurn[]): ImportedTurn[] {
  const turns: ImportedTurn[] = [];
  let reply: (Omit<ImportedTurn, "id"> & { id: string | null; readonly pieces: TurnPiece[] }) | null = null;
  let isAnswered = false;
  for (const { isAnswer = false, continues = false, ...entry } of entries) {
    if (entry.role !== "assistant") {
      turns.push(entry);
      if (entry.role !== null) reply = null;
      continue;
    }
    const { pieces } = entry;
    if (isAnswer && pieces.length === 0) {
      isAnswered = true;
      continue;
    }
    if (reply === null) {
      isAnswered = false;
      reply = { ...entry, pieces: [] };
      turns.push(reply);
    }
    reply.id ??= entry.id;
    if (isAnswered && !isAnswer && pieces.some(({ type }) => type !== "result")) {
      reply.pieces.push(stepPart());
      isAnswered = false;
    }
    const [last, first] = [reply.pieces.at(-1), pieces[0]];
    if (continues && last?.type === "text" && first?.type === "text") last.text += first.text;
    else reply.pieces.push(...pieces);
    isAnswered ||= isAnswer;
  }
  return turns;
}

export interface Assembled {
  readonly messages: UIMessage[];
  /** Parents of the messages that do not follow the one before them, by message id. Null starts a new root. */
  readonly branches: Map<string, string | null>;
  readonly danglingCalls: number;
  readonly strayResults: number;
  readonly renamedIds: number;
  /** Original ids by new id, for messages whose id was one of ours. */
  readonly disowned: ReadonlyMap<string, string>;
}

/** Returns the messages of `turns` in their order. A missing id becomes `<prefix>-<place>`, and a repeated one gets a suffix. */
export function* assemble(turns: readonly ImportedTurn[], prefix: string): Slices<Assembled> {
  const pace = importPace();
  const messages: UIMessage[] = [];
  const branches = new Map<string, string | null>();
  const calls = new ToolCalls();
  const ids = new UniqueIds();
  const replies = new Replies();
  /** The message that holds each entry of the source, or null before the first message. */
  const homes = new Map<string, UIMessage | null>();

  for (const [index, turn] of turns.entries()) {
    if (pace.isOverEntry(0)) yield;
    const parts = turn.pieces.map((piece) => calls.place(piece)).filter((part) => part !== null);
    const previous = messages.at(-1) ?? null;
    const parent = typeof turn.parentId === "string" ? homes.get(turn.parentId) : turn.parentId;
    const onlyResults = parts.length === 0 && turn.pieces.length > 0;
    if (turn.role === null || onlyResults) {
      if (turn.id !== null) homes.set(turn.id, parent === undefined ? previous : parent);
      continue;
    }
    const follows = parent === undefined ? previous : replies.joint(parent, previous);
    const message: UIMessage = {
      id: ids.takeForMessage(turn.id, `${prefix}-${index + 1}`),
      role: turn.id?.startsWith(RESERVED_PREFIX) === true ? disownedRole(turn.role) : turn.role,
      parts: parts.length > 0 ? parts : [emptyPart(turn)],
      ...(Object.keys(turn.metadata).length > 0 && { metadata: turn.metadata }),
    };
    if (previous !== null && follows !== previous) branches.set(message.id, follows?.id ?? null);
    messages.push(message);
    replies.add(message, follows);
    if (turn.id !== null) homes.set(turn.id, message);
  }
  const { danglingCalls, strayResults } = calls;
  const renamedIds = ids.renamed + calls.ids.renamed;
  return { messages, branches, danglingCalls, strayResults, renamedIds, disowned: ids.disowned };
}

/** Tool calls that wait for their result. Their ids are made unique, because some providers count them from zero in every turn. */
class ToolCalls {
  readonly #open = new Map<string, ToolPart[]>();
  /** Providers take letters, digits, `_` and `-` in the id of a call. */
  readonly ids = new UniqueIds("_");
  danglingCalls = 0;
  strayResults = 0;

  /** Returns the part for a piece, or null for a result that went into its call. */
  place(piece: TurnPiece): Part | null {
    if (piece.type === "call") return this.#call(piece);
    return piece.type === "result" ? this.#answer(piece) : piece;
  }

  #call({ callId, toolName, input, providerExecuted, settled }: ToolCall): Part {
    const part: ToolPart = {
      type: "dynamic-tool",
      toolName,
      toolCallId: this.ids.take(callId, "call"),
      ...(providerExecuted === true && { providerExecuted: true }),
      state: "input-available",
      input,
    };
    if (settled !== undefined) return settle(part, settled);
    this.danglingCalls += 1;
    if (callId === null) return part;
    const waiting = this.#open.get(callId);
    if (waiting === undefined) this.#open.set(callId, [part]);
    else waiting.push(part);
    return part;
  }

  /** Of several calls with one id, the newest gets the result. Without a call it becomes text. */
  #answer(result: ToolResult): Part | null {
    const part = this.#open.get(result.callId)?.pop();
    if (part !== undefined) {
      settle(part, result);
      this.danglingCalls -= 1;
      return null;
    }
    this.strayResults += 1;
    const { callId, toolName, output } = result;
    return textPart(
      `[Result of ${toolName ?? "a tool"}, whose call (${callId}) is not in this transcript]\n${textOf(output)}`,
    );
  }
}

/** Puts a result into its call, which is part of a message already. */
function settle(part: ToolPart, { output, failed }: Settled): ToolPart {
  const came = failed ? { state: "output-error", errorText: textOf(output) } : { state: "output-available", output };
  return Object.assign(part, came) as ToolPart;
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}

/** Returns a part for a message without one. A data part is kept and never sent to a model, but a user message may not be sent empty. */
function emptyPart({ role, metadata }: ImportedTurn): Part {
  return role === "assistant"
    ? { type: "data-empty", data: { error: metadata.error ?? null } }
    : textPart("(empty message)");
}

/** Hands out each id once. */
export class UniqueIds {
  readonly #mark: string;
  readonly #taken = new Set<string>();
  /** Number of the next copy by wanted id, so that each repetition costs the same. */
  readonly #next = new Map<string, number>();
  renamed = 0;
  /** Original ids by the new id of messages that had an id of ours. */
  readonly disowned = new Map<string, string>();

  /** `mark` stands before the number of a repeated id. */
  constructor(mark = "~") {
    this.#mark = mark;
  }

  /** Works as {@link take}, and replaces an id of ours by an ordinary one. */
  takeForMessage(wanted: string | null, fallback: string): string {
    if (wanted === null || !wanted.startsWith(RESERVED_PREFIX)) return this.take(wanted, fallback);
    const id = this.take(ordinaryId(wanted), fallback);
    this.disowned.set(id, wanted);
    return id;
  }

  /** Returns `wanted` where it is free. Otherwise returns the first free id made from `wanted`, or from `fallback` without it. */
  take(wanted: string | null, fallback: string): string {
    const base = wanted === null || wanted === "" ? fallback : wanted;
    let id = base;
    let copy = this.#next.get(base) ?? 2;
    for (; this.#taken.has(id); copy++) id = `${base}${this.#mark}${copy}`;
    if (id !== base) this.#next.set(base, copy);
    if (wanted !== null && id !== wanted) this.renamed += 1;
    this.#taken.add(id);
    return id;
  }
}

/** Messages between a reply's last line and the next that are looked through. A harness writes a few there. */
const MOST_BETWEEN = 1_000;

/**
 * The replies that a source writes as several lines, as it does with parallel calls.
 *
 * A result hangs on its own call, and the next message may name any of the results. All calls of a reply were sent together, so a message
 * that names one of them follows the whole reply, and what was written between.
 */
class Replies {
  readonly #last = new Map<string, UIMessage>();
  readonly #joints = new Map<string, UIMessage>();
  readonly #parents = new Map<UIMessage, UIMessage | null>();

  add(message: UIMessage, parent: UIMessage | null): void {
    this.#parents.set(message, parent);
    const reply = replyOf(message);
    if (reply !== undefined) this.#last.set(reply, message);
  }

  /** Returns the message that a child of `parent` follows. */
  joint(parent: UIMessage | null, previous: UIMessage | null): UIMessage | null {
    const reply = parent === null ? undefined : replyOf(parent);
    const last = reply === undefined ? undefined : this.#last.get(reply);
    if (reply === undefined || last === undefined || last === parent) return parent;
    // A second message on the same line is a branch beside the first.
    const known = this.#joints.get(reply);
    if (known !== undefined) return known;
    const joint = previous !== null && this.#isBehind(previous, last) ? previous : last;
    this.#joints.set(reply, joint);
    return joint;
  }

  #isBehind(message: UIMessage, earlier: UIMessage): boolean {
    let at: UIMessage | null = message;
    for (let steps = 0; at !== null && steps < MOST_BETWEEN; steps++) {
      if (at === earlier) return true;
      at = this.#parents.get(at) ?? null;
    }
    return false;
  }
}

function replyOf(message: UIMessage): string | undefined {
  return (message.metadata as ImportedMetadata | undefined)?.providerMessageId;
}

/** Returns an id that only this message has. A second import of the same file gives the same id. */
function ordinaryId(id: string): string {
  const rest = id.startsWith(RESERVED_PREFIX) ? id.slice(RESERVED_PREFIX.length) : id;
  return `imported-${rest}`.slice(0, MAX_ID_CHARS).toWellFormed();
}

/** The role of a message that claimed to be ours. No word of it may count as the user's. */
function disownedRole(role: UIMessage["role"]): UIMessage["role"] {
  return role === "user" ? "assistant" : role;
}

/** Returns a message that claims to be ours without any mark of ours. */
export function disown({ metadata, id, role, parts, ...message }: UIMessage): UIMessage {
  const kept = isRecord(metadata) ? Object.entries(metadata).filter(([key]) => key !== RESERVED_METADATA) : null;
  const rest = kept === null ? metadata : kept.length > 0 ? Object.fromEntries(kept) : undefined;
  const own = { ...message, id: ordinaryId(id), role: disownedRole(role), parts: parts.flatMap(withoutSteering) };
  return rest === undefined ? own : { ...own, metadata: rest };
}

/** A user's message during a reply would count as the user's own words. */
function withoutSteering(part: Part): Part[] {
  return part.type === "steering-message" ? innerParts(part).flatMap(withoutSteering) : [part];
}
