/**
 * Where the content of a session's messages is, and how a row becomes its message.
 *
 * Job: one way to read for our own rows and for those whose content a host keeps. Boundary: decides nothing about what is read.
 *
 * Reads are synchronous. Content that a host must be asked for is announced with {@link NotAtHand}: whoever is on the outside
 * fetches it and does the read again (agent/hosted-session.ts). What a host returns is held against the digest of its row, so a
 * change that nobody heard of is noticed before anything is made of it.
 */
import type { UIMessage } from "ai";
import { decodeMessage, messageDigest } from "./content.ts";
import type { MessageSource } from "./message-source.ts";
import type { ContentRow, Statements } from "../statements.ts";

/** `parts` of a row whose content a host keeps. */
export const HOSTED = 0;
/** `parts` of a row whose message the host pruned: it keeps its place and digest for the overlays above it. */
export const PRUNED = -1;

/** True for a row that holds a place and shows nothing. */
export function isPruned({ parts }: { readonly parts: number }): boolean {
  return parts === PRUNED;
}

/** A row with what a read needs of it. */
export type ReadableRow = Pick<ContentRow, "seq" | "id" | "role" | "parts" | "content" | "digest">;

export interface Contents {
  /** The host that keeps the messages; null for our own store. */
  readonly host: string | null;
  /** Throws {@link NotAtHand} with everything that must be fetched before the rows can be read. */
  need(rows: readonly ReadableRow[]): void;
  read(row: ReadableRow): UIMessage;
}

/** Content that must be fetched first. Never seen outside: {@link HostedContents.fetch} answers it. */
export class NotAtHand extends Error {
  override readonly name = "NotAtHand";
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    super(`${ids.length} messages are to be fetched from their host first.`);
    this.ids = ids;
  }
}

/** The host's message is not what its row says: a change was missed. Never seen outside. */
export class HostDiffers extends Error {
  override readonly name = "HostDiffers";
  readonly id: string;

  constructor(id: string) {
    super(`Message "${id}" is not what the index says of it.`);
    this.id = id;
  }
}

/** Whether a read is to be done again, once its host was asked. */
export function isToBeReadAgain(error: unknown): error is NotAtHand | HostDiffers {
  return error instanceof NotAtHand || error instanceof HostDiffers;
}

/** Our own store: the content stands in the row, and in further rows where it was split. */
export class StoredContents implements Contents {
  readonly host = null;
  readonly #sql: Statements;
  readonly #sessionId: string;

  constructor(sql: Statements, sessionId: string) {
    this.#sql = sql;
    this.#sessionId = sessionId;
  }

  need(): void {}

  read(row: ReadableRow): UIMessage {
    if (row.parts === 1) return decodeMessage([row.content], row);
    const rest = this.#sql.messageParts(this.#sessionId, row.seq).map((piece) => piece.content);
    return decodeMessage([row.content, ...rest], row);
  }
}

/** A host's messages: from its memory, and from what was fetched for the read that is being done. */
export class HostedContents implements Contents {
  readonly #source: MessageSource;
  readonly #fetched = new Map<string, UIMessage | null>();
  /** Digests of messages that are in the host's memory. */
  readonly #digests = new WeakMap<UIMessage, string>();
  /** The host's memory by id, kept for one turn of the event loop: nobody changes it meanwhile. */
  #live: ReadonlyMap<string, UIMessage> | null = null;

  constructor(source: MessageSource) {
    this.#source = source;
  }

  get host(): string {
    return this.#source.name;
  }

  need(rows: readonly ReadableRow[]): void {
    const live = this.#inMemory();
    const missing = rows.filter((row) => row.parts === HOSTED && !live.has(row.id) && !this.#fetched.has(row.id));
    if (missing.length > 0) throw new NotAtHand(missing.map((row) => row.id));
  }

  read(row: ReadableRow): UIMessage {
    const message = this.#inMemory().get(row.id) ?? this.#fetched.get(row.id);
    if (message === undefined) throw new NotAtHand([row.id]);
    if (message === null || this.digestOf(message) !== row.digest) throw new HostDiffers(row.id);
    return message;
  }

  /** The digest that the message's row must have. */
  digestOf(message: UIMessage): string {
    const known = this.#digests.get(message);
    if (known !== undefined) return known;
    const digest = messageDigest(message);
    this.#digests.set(message, digest);
    return digest;
  }

  async fetch(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#fetched.set(id, await this.#source.get(id));
  }

  /** Drops what was fetched: the read is done, or the host changed. */
  forget(): void {
    this.#fetched.clear();
    this.#live = null;
  }

  #inMemory(): ReadonlyMap<string, UIMessage> {
    if (this.#live === null) {
      this.#live = new Map(this.#source.live().map((message) => [message.id, message]));
      queueMicrotask(() => (this.#live = null));
    }
    return this.#live;
  }
}
