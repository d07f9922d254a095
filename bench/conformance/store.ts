/**
 * What a fact may ask of a conversation store, whoever made it.
 *
 * Job: one narrow set of verbs that every adapter in objects/ translates. Boundary: knows no store. What a store has no
 * way to do, its adapter refuses with {@link noSuchThing}, and the fact is shown as "–" and not as broken.
 */
import type { UIMessage } from "ai";
import type { Rows } from "../objects/meter.ts";

export interface Range {
  readonly summary: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
}

/** A model, which is given a prompt, or a function, which is given what is visible and names the range itself. */
export type Summariser =
  | { readonly model: (prompt: string) => Promise<string>; readonly keepTokens: number }
  | { readonly choose: (visible: readonly UIMessage[]) => Promise<Range | null> };

export interface TriggerOptions {
  /** Is told of a compaction that failed. */
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
  /** Makes it a block that nobody can write. */
  readonly text?: string;
  readonly maxTokens?: number;
  /** One provider object, handed to all sessions. */
  readonly oneObject?: boolean;
}

/** One session of a store. */
export interface SessionStore {
  append(message: UIMessage, parentId?: string | null): Promise<void>;
  /** As the store's own call for many does it. */
  appendAll(messages: readonly UIMessage[]): Promise<void>;
  /** In order, onto the leaf, by the shortest way that does so: how a long conversation comes to be. */
  storeAll(messages: readonly UIMessage[]): Promise<void>;
  upsert(message: UIMessage): Promise<void>;
  update(message: UIMessage): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  clear(): Promise<void>;
  get(id: string): Promise<UIMessage | null>;
  leaf(): Promise<UIMessage | null>;
  branches(id: string): Promise<UIMessage[]>;
  pathLength(): Promise<number>;
  /** The path with summaries in place of what they cover, oldest first. */
  history(leafId?: string): Promise<UIMessage[]>;
  /** The newest of it, newest first, reading no further. */
  newest(count: number): Promise<UIMessage[]>;
  recent(maxBytes: number): Promise<Recent>;
  /** Ids of this session's messages that are found. */
  search(query: string): Promise<string[]>;
  addOverlay(summary: string, fromId: string, toId: string): Promise<void>;
  /** Texts of the summaries that are kept and in force, shown or not. */
  summaries(): Promise<string[]>;
  /** Compacts now; null: with what was configured, which is nothing. True when a summary was added. */
  compact(summariser: Summariser | null): Promise<boolean>;
  /** Compacts by itself from now on, over `tokens`. */
  compactAfter(tokens: number, summariser: Summariser, options?: TriggerOptions): Promise<void>;
  /** Resolves when no compaction is at work. */
  settle(): Promise<void>;
  /** Declares the blocks of all sessions, before any is used. */
  declare(blocks: readonly Block[]): Promise<void>;
  block(label: string): Promise<string | null>;
  setBlock(label: string, content: string): Promise<void>;
  prompt(): Promise<string>;
  refreshPrompt(): Promise<string>;
  deleteSession(): Promise<void>;
  /** Returns the new session's id. */
  fork(atId: string): Promise<string>;
  /** Ids found in any session of the object. */
  searchAll(query: string): Promise<string[]>;
  /** What a model is sent of long older messages, and the messages given, as they are after it. */
  truncate(messages: readonly UIMessage[]): Promise<{ result: UIMessage[]; given: UIMessage[] }>;
  /** Makes the stored row of a message unreadable. */
  corrupt(id: string): Promise<void>;
}

export type Verb = keyof SessionStore;

export interface Store extends SessionStore {
  /** Another session of the same object. */
  session(id: string): Store;
  /** The object is gone, and starts from its rows at the next call. */
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

/** By its message, which is all that crosses from one object to another. */
export function isNoSuchThing(error: unknown): boolean {
  return error instanceof Error && error.message.includes(NO_SUCH_THING);
}
