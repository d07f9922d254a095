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
  /** Null where the source gives calls no id. No result can name such a call. */
  readonly callId: string | null;
  readonly toolName: string;
  readonly input: unknown;
  /** True when the provider itself ran the tool (web search and the like). */
  readonly providerExecuted?: boolean;
  /** The result, where the source keeps it with the call. */
  readonly settled?: Settled | undefined;
}

/** What came of a call. */
export interface Settled {
  readonly output: unknown;
  readonly failed: boolean;
}

export interface ToolResult extends Settled {
  readonly kind: "result";
  readonly callId: string;
  readonly toolName: string | null;
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
  /** True for a message in the user's role that the tool wrote itself. No word of it is the user's. */
  readonly isMeta?: true;
  /** True for a summary with which the tool continued a conversation that had grown too long. No word of it is the user's. */
  readonly isCompactSummary?: true;
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
  readonly turns: ImportedTurn[];
  /** True for the conversation of an agent that another one of the same source started. */
  readonly isSubAgent?: boolean;
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
  /** Providers take letters, digits, `_` and `-` in the id of a call. */
  readonly #ids = new UniqueIds("_");
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
    if (call.settled !== undefined) return settle(part, call.settled);
    this.unanswered += 1;
    if (call.callId === null) return part;
    const waiting = this.#open.get(call.callId);
    if (waiting === undefined) this.#open.set(call.callId, [part]);
    else waiting.push(part);
    return part;
  }

  /** Returns false when no call waits for this result. Of several calls with one id, the newest gets it. */
  #answer(result: ToolResult): boolean {
    const part = this.#open.get(result.callId)?.pop();
    if (part === undefined) return false;
    settle(part, result);
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

/** Puts a result into its call, which is part of a message already. */
function settle(part: ToolPart, { output, failed }: Settled): ToolPart {
  Object.assign(
    part,
    failed ? { state: "output-error", errorText: textOf(output) } : { state: "output-available", output },
  );
  return part;
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

/** Returns a part for a message without one. A data part is kept and never sent to a model, but a user message may not be sent empty. */
function emptyPart(turn: ImportedTurn): Part {
  if (turn.role === "assistant") return { type: "data-empty", data: { error: turn.metadata.error ?? null } };
  return { type: "text", text: "(empty message)" };
}

function textOf(output: unknown): string {
  return typeof output === "string" ? output : JSON.stringify(output);
}
