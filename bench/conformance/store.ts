/**
 * The calls that a fact may make on any conversation store.
 *
 * A narrow set of verbs that every adapter in objects/ translates. Knows no store. An adapter refuses a verb that its store lacks with
 * {@link noSuchThing}, and the fact then shows "–" instead of a failure.
 */
import type { UIMessage } from "ai";
import type { Rows } from "../objects/meter.ts";

export interface Range {
  readonly summary: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
}

/** A model that receives a prompt, or a function that receives the visible messages and names the range itself. */
export type Summariser =
  | { readonly model: (prompt: string) => Promise<string>; readonly keepTokens: number }
  | { readonly choose: (visible: readonly UIMessage[]) => Promise<Range | null> };

export interface TriggerOptions {
  /** Called after a compaction failed. */
  readonly onError?: () => Promise<void>;
  /** Counts tokens as NaN. */
  readonly brokenCounter?: boolean;
}

export interface Recent {
  readonly messages: UIMessage[];
  readonly truncated: boolean;
}

export interface Block {
  readonly label: string;
  /** Makes a read-only block. */
  readonly text?: string;
  readonly maxTokens?: number;
  /** One provider object, handed to all sessions. */
  readonly oneObject?: boolean;
}

/** One session of a store. */
export interface SessionStore {
  append(message: UIMessage, parentId?: string | null): Promise<void>;
  /** Uses the store's own call for many messages. */
  appendAll(messages: readonly UIMessage[]): Promise<void>;
  /** Appends in order to the leaf by the shortest way, to prepare a long conversation. */
  storeAll(messages: readonly UIMessage[]): Promise<void>;
  upsert(message: UIMessage): Promise<void>;
  update(message: UIMessage): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  clear(): Promise<void>;
  get(id: string): Promise<UIMessage | null>;
  leaf(): Promise<UIMessage | null>;
  branches(id: string): Promise<UIMessage[]>;
  pathLength(): Promise<number>;
  /** The path with summaries in place of the messages that they cover, oldest first. */
  history(leafId?: string): Promise<UIMessage[]>;
  /** The newest messages of it, newest first, without reading further. */
  newest(count: number): Promise<UIMessage[]>;
  recent(maxBytes: number): Promise<Recent>;
  /** Ids of the messages of this session that match. */
  search(query: string): Promise<string[]>;
  addOverlay(summary: string, fromId: string, toId: string): Promise<void>;
  /** Texts of the active summaries, shown or not. */
  summaries(): Promise<string[]>;
  /** Compacts now. Null uses the configured summariser, which is none. True when a summary was added. */
  compact(summariser: Summariser | null): Promise<boolean>;
  /** Compacts automatically from now on, over `tokens`. */
  compactAfter(tokens: number, summariser: Summariser, options?: TriggerOptions): Promise<void>;
  /** Resolves when no compaction is live. */
  settle(): Promise<void>;
  /** Declares the blocks of all sessions, before any session is used. */
  declare(blocks: readonly Block[]): Promise<void>;
  block(label: string): Promise<string | null>;
  setBlock(label: string, content: string): Promise<void>;
  prompt(): Promise<string>;
  refreshPrompt(): Promise<string>;
  deleteSession(): Promise<void>;
  /** Returns the new session's id. */
  fork(atId: string): Promise<string>;
  /** Ids of matching messages in any session of the object. */
  searchAll(query: string): Promise<string[]>;
  /** The form in which a model gets long older messages, and the given messages after the call. */
  truncate(messages: readonly UIMessage[]): Promise<{ result: UIMessage[]; given: UIMessage[] }>;
  /** Makes the stored row of a message unreadable. */
  corrupt(id: string): Promise<void>;
}

export type Verb = keyof SessionStore;

export interface Store extends SessionStore {
  /** Another session of the same object. */
  session(id: string): Store;
  /** Evicts the object. It starts from its rows at the next call. */
  evict(): Promise<void>;
  /** Rows of one call. */
  rows<V extends Verb>(verb: V, ...args: Parameters<SessionStore[V]>): Promise<Rows>;
  /** True when the text is in any row of any table of the object. */
  holds(text: string): Promise<boolean>;
}

const NO_SUCH_THING = "no such thing: ";

export function noSuchThing(what: string): never {
  throw new Error(NO_SUCH_THING + what);
}

/** Recognised by the message, because only the message crosses from one object to another. */
export function isNoSuchThing(error: unknown): boolean {
  return error instanceof Error && error.message.includes(NO_SUCH_THING);
}
