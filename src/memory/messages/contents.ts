/**
 * Reads the content of a row, from our own store or from a host that keeps the messages. Decides nothing about which
 * rows are read.
 *
 * Reads are synchronous. A read of content that a host must deliver first throws {@link NotAtHand}. The outermost
 * caller then fetches it and repeats the read (`Core.read`). Each message from a host is checked against the digest of its
 * row, so a missed change is noticed before anything is derived from it.
 */
import type { UIMessage } from "ai";
import { decodeMessage } from "./content.ts";
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

/** Content must be fetched from the host first. Never leaves the package, because the reader of a hosted session fetches it. */
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

  read(row: Omit<ReadableRow, "digest">): UIMessage {
    if (row.parts === 1) return decodeMessage([row.content], row);
    const rest = this.#sql.messageParts(this.#sessionId, row.seq).map((piece) => piece.content);
    return decodeMessage([row.content, ...rest], row);
  }
}
