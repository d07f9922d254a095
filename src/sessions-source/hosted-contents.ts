/** Contents of messages that a host keeps. Each is compared with its row's digest, so that a missed change is noticed. */
import type { UIMessage } from "ai";
import {
  messageDigest,
  HOSTED,
  HostDiffers,
  NotAtHand,
  type Contents,
  type ReadableRow,
} from "../memory/messages/content.ts";
import type { MessageSource } from "./message-source.ts";
import { ownMark, unmarked } from "../steps/view/view.ts";

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

  /** A copy, because whoever gets it may change it, and the host goes on with its own (M1). */
  read(row: ReadableRow): UIMessage {
    const message = this.#inMemory().get(row.id) ?? this.#fetched.get(row.id);
    if (message === undefined) throw new NotAtHand([row.id]);
    if (message === null || this.digestOf(message) !== row.digest) throw new HostDiffers(row.id);
    // As JSON, which is how the host stores it and how its digest was taken.
    return JSON.parse(JSON.stringify(ownMark(message) === null ? message : unmarked(message))) as UIMessage;
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
