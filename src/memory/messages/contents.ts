/**
 * Reads the content of a row, from our own store or from a host that keeps the messages. Decides nothing about which
 * rows are read.
 *
 * Reads are synchronous. A read of content that a host must deliver first throws {@link NotAtHand}. The outermost
 * caller then fetches it and repeats the read (src/agent/sessions/hosted-session.ts). Each message from a host is checked against
 * the digest of its row, so a missed change is noticed before anything is derived from it.
 */
import type { UIMessage } from "ai";
import { decodeMessage, messageDigest } from "./content.ts";
import { ownMark, unmarked } from "../../steps/view/view.ts";
import type { MessageSource } from "./message-source.ts";
import type { ContentRow, Statements } from "../statements.ts";

/** The value of `parts` for a row whose content a host keeps. */
export const HOSTED = 0;
/** The value of `parts` for a row whose message the host pruned. The row keeps its place and digest for overlays above it. */
export const PRUNED = -1;

/** True for a pruned row, which holds a place and shows nothing. */
export function isPruned({ parts }: { readonly parts: number }): boolean {
  return parts === PRUNED;
}

/** The columns that a read needs. */
export type ReadableRow = Pick<ContentRow, "seq" | "id" | "role" | "parts" | "content" | "digest">;

export interface Contents {
  /** The name of the host that keeps the messages. Null for our own store. */
  readonly host: string | null;
  /** Throws {@link NotAtHand} with all ids that must be fetched before the rows can be read. */
  need(rows: readonly ReadableRow[]): void;
  read(row: ReadableRow): UIMessage;
}

/** Content must be fetched from the host first. Never leaves the package, because {@link HostedContents.fetch} handles it. */
export class NotAtHand extends Error {
  override readonly name = "NotAtHand";
  readonly ids: readonly string[];

  constructor(ids: readonly string[]) {
    super(`${ids.length} messages are to be fetched from their host first.`);
    this.ids = ids;
  }
}

/** The host's message differs from its row, so a change was missed. Never leaves the package. */
export class HostDiffers extends Error {
  override readonly name = "HostDiffers";
  readonly id: string;

  constructor(id: string) {
    super(`Message "${id}" is not what the index says of it.`);
    this.id = id;
  }
}

/** Whether to repeat a read after asking the host. */
export function isToBeReadAgain(error: unknown): error is NotAtHand | HostDiffers {
  return error instanceof NotAtHand || error instanceof HostDiffers;
}

/** Our own store. The content stands in the row, and in further rows where it was split. */
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

/** A host's messages, from its memory and from those fetched for the current read. */
export class HostedContents implements Contents {
  readonly #source: MessageSource;
  readonly #fetched = new Map<string, UIMessage | null>();
  /** Digests of messages that are in the host's memory. */
  readonly #digests = new WeakMap<UIMessage, string>();
  /** The host's memory by id, cached for one turn of the event loop. Nothing changes it within a turn. */
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
    return ownMark(message) === null ? message : unmarked(message);
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

  /** Drops the fetched messages when the read is done or the host changed. */
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
