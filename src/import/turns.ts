/**
 * Turns to UIMessages: the half of an import that all formats share.
 *
 * Job: put each tool result into the call that it answers, give every message an id that is unique, and say where the
 * source was a tree. Boundary: a format module parses its lines into turns; nothing here knows where they came from.
 * Safe because it cannot fail: whatever a turn holds ends up in some message, also a result that nobody asked for.
 */
import type { UIMessage } from "ai";
import { RESERVED_PREFIX } from "../steps/view/view.ts";
import { ordinaryId } from "./ours.ts";
import type { Pieces } from "../steps/text/pieces.ts";
import { importPace } from "./pace.ts";

export type Part = UIMessage["parts"][number];
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

export type Piece = { readonly kind: "part"; readonly part: Part } | ToolCall | ToolResult;

/** What an importer knows of a message beyond its parts. Kept as `metadata` where the source has it. */
export interface ImportedMetadata {
  /** Milliseconds since 1970. */
  readonly createdAt?: number;
  readonly model?: string;
  /** Shared by messages that the provider counts as one (thinking and tool use streamed apart). */
  readonly providerMessageId?: string;
  /** Tokens of the model call as the provider counted them; `inputTokens` includes what came from a cache. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  /** Why the provider's reply broke off. */
  readonly error?: string;
}

/** One entry of a source, in the words of this module. An entry that is no message (`pieces` empty, role null) only links. */
export interface Turn {
  readonly role: "system" | "user" | "assistant" | null;
  readonly pieces: readonly Piece[];
  readonly metadata: ImportedMetadata;
  readonly id: string | null;
  /** Source id of the entry before this one: `undefined` where the source does not say, null for a root. */
  readonly parentId?: string | null | undefined;
}

/** One conversation of a source. `label`: what the source calls it; null where it has no name for it. */
export interface Chat {
  readonly label: string | null;
  readonly turns: Turn[];
}

export interface Assembled {
  readonly messages: UIMessage[];
  /**
   * Parents of the messages that do not follow the one before them, by message id; null starts a new root. Empty for a
   * transcript without branches. `append(message, branches.get(message.id))`, in order, builds the same tree.
   */
  readonly branches: Map<string, string | null>;
  readonly danglingCalls: number;
  readonly strayResults: number;
  readonly renamedIds: number;
  /** By the new id of a message whose id was one of ours, the one that it had. */
  readonly disowned: ReadonlyMap<string, string>;
}

/** The messages of `turns`, in their order. Ids that the source lacks or repeats become `<prefix>-<place>`. */
export function* assemble(turns: readonly Turn[], prefix: string): Pieces<Assembled> {
  const pace = importPace();
  const messages: UIMessage[] = [];
  const branches = new Map<string, string | null>();
  const calls = new ToolCalls();
  const ids = new UniqueIds();
  /** The message in which each entry of the source ended up; null before the first. */
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
      role: turn.role,
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

/** Tool calls that wait for their result. Some providers count call ids from zero in every turn: ids are made unique. */
class ToolCalls {
  readonly #open = new Map<string, ToolPart[]>();
  readonly #ids = new UniqueIds();
  unanswered = 0;
  strays = 0;

  get renamed(): number {
    return this.#ids.renamed;
  }

  /** The part that a piece becomes; null for a result that went into its call. */
  place(piece: Piece): Part | null {
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

  /** False when no call waits for this result. Of several calls with one id, the newest is answered. */
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
  /** By what was wanted, the copy that is tried next: however often one id comes, each time costs the same. */
  readonly #next = new Map<string, number>();
  renamed = 0;
  /** By the id that a message was given for one of ours, the one that it had. */
  readonly disowned = new Map<string, string>();

  /** As {@link take}, and an ordinary id for one of ours. */
  takeForMessage(wanted: string | null, fallback: string): string {
    if (wanted === null || !wanted.startsWith(RESERVED_PREFIX)) return this.take(wanted, fallback);
    const id = this.take(ordinaryId(wanted), fallback);
    this.disowned.set(id, wanted);
    return id;
  }

  /** `wanted` where it is free, else the first free id made from it or, without it, from `fallback`. */
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
 * True when following `parent` is following `previous`. Results of parallel calls hang off different lines of one
 * provider message, so its next message may name any of those lines as its parent without being a branch.
 */
function isSameStep(parent: UIMessage | null, previous: UIMessage): boolean {
  if (parent === null) return false;
  if (parent === previous) return true;
  return groupOf(parent) !== undefined && groupOf(parent) === groupOf(previous);
}

function groupOf(message: UIMessage): string | undefined {
  return (message.metadata as ImportedMetadata | undefined)?.providerMessageId;
}

/** A message needs a part. A data part is kept and never sent to a model, but a user message may not be sent empty. */
function emptyPart(turn: Turn): Part {
  if (turn.role === "assistant") return { type: "data-empty", data: { error: turn.metadata.error ?? null } };
  return { type: "text", text: "(empty message)" };
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}
