/**
 * Turns parsed turns into UIMessages. All formats share this half of an import.
 *
 * It puts each tool result into its call, gives every message a unique id, and reports the branches of the source. A format module parses
 * its lines into turns, and nothing here knows the format. It cannot fail, because all content of a turn ends up in some message, even a
 * result without a call.
 */
import type { UIMessage } from "ai";
import type { Part } from "../steps/message/tool-parts.ts";
import { RESERVED_PREFIX } from "../steps/view/view.ts";
import { disownedRole, ordinaryId } from "./ours.ts";
import type { Slices } from "../steps/text/slices.ts";
import { importPace } from "./pace.ts";

type ToolPart = Extract<Part, { type: "dynamic-tool" }>;

export interface ToolCall {
  readonly kind: "call";
  readonly callId: string;
  readonly toolName: string;
  readonly input: unknown;
  /** True when the provider itself ran the tool (web search and the like). */
  readonly providerExecuted?: boolean;
}

export interface ToolResult {
  readonly kind: "result";
  readonly callId: string;
  readonly toolName: string | null;
  readonly output: unknown;
  readonly failed: boolean;
}

export type TurnPiece = { readonly kind: "part"; readonly part: Part } | ToolCall | ToolResult;

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
}

/** One entry of a source. An entry that is no message has no pieces and the role null, and only links others. */
export interface ImportedTurn {
  readonly role: "system" | "user" | "assistant" | null;
  readonly pieces: readonly TurnPiece[];
  readonly metadata: ImportedMetadata;
  readonly id: string | null;
  /** Source id of the entry before this one. It is `undefined` where the source names none, and null for a root. */
  readonly parentId?: string | null | undefined;
}

/** One conversation of a source. `label` is the source's name for it, or null where it has none. */
export interface Chat {
  readonly label: string | null;
  readonly turns: ImportedTurn[];
}

export interface Assembled {
  readonly messages: UIMessage[];
  /**
   * Parents of the messages that do not follow the one before them, by message id. Null starts a new root. Empty for a transcript without
   * branches. Calling `append(message, branches.get(message.id))` in order builds the same tree.
   */
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
  /** The message that holds each entry of the source, or null before the first message. */
  const homes = new Map<string, UIMessage | null>();

  for (const [index, turn] of turns.entries()) {
    if (pace.isOverEntry(0)) yield;
    const parts = turn.pieces.map((piece) => calls.place(piece)).filter((part) => part !== null);
    const previous = messages.at(-1) ?? null;
    const parent = typeof turn.parentId === "string" ? homes.get(turn.parentId) : turn.parentId;
    const follows = parent === undefined ? previous : parent;
    const onlyResults = parts.length === 0 && turn.pieces.length > 0;
    if (turn.role === null || onlyResults) {
      if (turn.id !== null) homes.set(turn.id, follows);
      continue;
    }
    const message: UIMessage = {
      id: ids.takeForMessage(turn.id, `${prefix}-${index + 1}`),
      role: turn.id?.startsWith(RESERVED_PREFIX) === true ? disownedRole(turn.role) : turn.role,
      parts: parts.length > 0 ? parts : [emptyPart(turn)],
      ...(Object.keys(turn.metadata).length > 0 && { metadata: turn.metadata }),
    };
    if (previous !== null && !isSameStep(follows, previous)) branches.set(message.id, follows?.id ?? null);
    messages.push(message);
    if (turn.id !== null) homes.set(turn.id, message);
  }
  const { unanswered, strays } = calls;
  return {
    messages,
    branches,
    danglingCalls: unanswered,
    strayResults: strays,
    renamedIds: ids.renamed + calls.renamed,
    disowned: ids.disowned,
  };
}

/** Tool calls that wait for their result. Their ids are made unique, because some providers count them from zero in every turn. */
class ToolCalls {
  readonly #open = new Map<string, ToolPart[]>();
  readonly #ids = new UniqueIds();
  unanswered = 0;
  strays = 0;

  get renamed(): number {
    return this.#ids.renamed;
  }

  /** Returns the part for a piece, or null for a result that went into its call. */
  place(piece: TurnPiece): Part | null {
    if (piece.kind === "part") return piece.part;
    if (piece.kind === "call") return this.#call(piece);
    return this.#answer(piece) ? null : this.#stray(piece);
  }

  #call(call: ToolCall): Part {
    const part: ToolPart = {
      type: "dynamic-tool",
      toolName: call.toolName,
      toolCallId: this.#ids.take(call.callId, "call"),
      ...(call.providerExecuted === true && { providerExecuted: true }),
      state: "input-available",
      input: call.input,
    };
    const waiting = this.#open.get(call.callId);
    if (waiting === undefined) this.#open.set(call.callId, [part]);
    else waiting.push(part);
    this.unanswered += 1;
    return part;
  }

  /** Returns false when no call waits for this result. Of several calls with one id, the newest gets it. */
  #answer(result: ToolResult): boolean {
    const part = this.#open.get(result.callId)?.pop();
    if (part === undefined) return false;
    const settled = result.failed
      ? { state: "output-error", errorText: textOf(result.output) }
      : { state: "output-available", output: result.output };
    Object.assign(part, settled);
    this.unanswered -= 1;
    return true;
  }

  #stray(result: ToolResult): Part {
    this.strays += 1;
    const name = result.toolName ?? "a tool";
    const text = `[Result of ${name}, whose call (${result.callId}) is not in this transcript]\n${textOf(result.output)}`;
    return { type: "text", text };
  }
}

/** Hands out each id once. */
export class UniqueIds {
  readonly #taken = new Set<string>();
  /** Number of the next copy by wanted id, so that each repetition costs the same. */
  readonly #next = new Map<string, number>();
  renamed = 0;
  /** Original ids by the new id of messages that had an id of ours. */
  readonly disowned = new Map<string, string>();

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
    for (; this.#taken.has(id); copy++) id = `${base}~${copy}`;
    if (id !== base) this.#next.set(base, copy);
    if (wanted !== null && id !== wanted) this.renamed += 1;
    this.#taken.add(id);
    return id;
  }
}

/**
 * True when following `parent` means following `previous`. Results of parallel calls may hang on different lines of one provider message.
 * The next message may name any of those lines as its parent, and that makes no branch.
 */
function isSameStep(parent: UIMessage | null, previous: UIMessage): boolean {
  if (parent === null) return false;
  if (parent === previous) return true;
  return groupOf(parent) !== undefined && groupOf(parent) === groupOf(previous);
}

function groupOf(message: UIMessage): string | undefined {
  return (message.metadata as ImportedMetadata | undefined)?.providerMessageId;
}

/** Returns a part for a message without one. A data part is kept and never sent to a model, but a user message may not be sent empty. */
function emptyPart(turn: ImportedTurn): Part {
  if (turn.role === "assistant") return { type: "data-empty", data: { error: turn.metadata.error ?? null } };
  return { type: "text", text: "(empty message)" };
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}
