/**
 * The index of a session whose messages a host keeps: a row for each message, without content.
 *
 * Takes in what the host has stored already, so it refuses no message but one that is too large to be indexed.
 */
import type { UIMessage } from "ai";
import type { Needs } from "../agent/core.ts";
import { PalimpsestError } from "../errors.ts";
import { encodeHosted, type Encoded, HOSTED, isPruned } from "../memory/messages/content.ts";
import type { History } from "../memory/messages/history.ts";
import type { SourceEvent } from "./message-source.ts";
import type { ShapeRow } from "../memory/statements.ts";

export class HostIndex {
  readonly #core: Needs<"memory" | "settings">;
  readonly #sessionId: string;
  /** Messages of the active path that were not pruned, by session. Missing until they are counted. */
  readonly #kept: Map<string, number>;

  constructor(core: Needs<"memory" | "settings">, sessionId: string) {
    this.#core = core;
    this.#sessionId = sessionId;
    this.#kept = core.memory.db.cached(new Map());
  }

  get #history(): History {
    return this.#core.memory.session(this.#sessionId);
  }

  leafId(): string | null {
    return this.#history.leafId();
  }

  /** Whether a message with this id may exist. False positives are possible, and no message row is read. */
  mayHave(id: string): boolean {
    return this.#history.tree.mayHave(id);
  }

  /** The digest of a message. Empty for a pruned message, null for an unknown one. */
  digestOf(id: string): string | null {
    return this.#history.digestOf(id);
  }

  /** Encodes a message whose content the host keeps. Reads nothing. Throws `invalid_message`, `message_too_large`. */
  measure(message: UIMessage): Encoded {
    return encodeHosted(message, this.#core.settings.counterOf(this.#sessionId));
  }

  /**
   * Adds a message under the parent that the host chose, and returns whether it is a new one. A known id changes nothing, unless the host
   * pruned it. A client that still had it posted it back, and it takes its place again.
   */
  append(message: UIMessage, parentId?: string | null): boolean {
    const known = this.#history.tree.find(message.id);
    if (known !== null && isPruned(known)) this.update(message);
    if (known !== null) return false;
    this.add(this.measure(message), parentId);
    return true;
  }

  /** Adds a message that the index does not have. */
  add(message: Encoded, parentId?: string | null): void {
    const { tree } = this.#history;
    if (tree.find(message.id) !== null) return;
    this.#core.memory.db.assertStorageLeft();
    const parent = typeof parentId === "string" ? (tree.find(parentId)?.seq ?? null) : null;
    const leaf = tree.newest()?.seq ?? null;
    const parentSeq = parentId === undefined ? leaf : parent;
    this.#history.insertRow(message, parentSeq);
    this.#count(parentSeq === leaf ? 1 : null);
  }

  /** Takes in the new content of a message. */
  update(message: UIMessage): void {
    const row = this.#history.tree.find(message.id);
    const encoded = this.measure(message);
    if (row === null || (encoded.digest === row.digest && !isPruned(row))) return;
    this.#core.memory.db.assertStorageLeft();
    // A message that the host has again, with the same content, is no edit.
    if (encoded.digest === row.digest) this.#history.rewriteRow(row, encoded);
    else this.#history.replaceRow(row, encoded);
    if (isPruned(row)) this.#count(1);
  }

  /** Takes in another form of a message. Its meaning did not change. */
  rewrite(message: UIMessage): void {
    const row = this.#history.tree.find(message.id);
    const encoded = this.measure(message);
    if (row === null || isPruned(row) || encoded.digest === row.digest) return;
    this.#core.memory.db.assertStorageLeft();
    this.#history.rewriteRow(row, encoded);
  }

  /**
   * Removes messages. Where the host pruned by a rule of its own (`retention`), their rows keep their places. It prunes what it stored first,
   * which is not the oldest where a client posted pruned messages back.
   */
  delete(ids: readonly string[], { retention }: Pick<Extract<SourceEvent, { kind: "delete" }>, "retention">): void {
    const history = this.#history;
    const rows = [...new Set(ids)].flatMap((id) => history.tree.find(id) ?? []);
    const kept = rows.filter((row) => !isPruned(row));
    const isRetention = retention !== null && !this.#haveNewest(rows) && retention(this.#keptOnPath() - kept.length);
    if (isRetention) history.pruneRows(kept);
    else history.removeRows(rows);
    this.#count(isRetention ? -kept.length : null);
  }

  /** Removes everything after the host deleted all its messages. */
  clear(): void {
    this.#history.empty();
    this.#count(null);
  }

  /**
   * Ids that the index has and the host lacks, without pruned ones. Reads a row for each message. Throws `conflict` where the session holds
   * messages of its own, because a host would take them for messages that it deleted.
   */
  unknownTo(known: ReadonlySet<string>): string[] {
    const { tree } = this.#history;
    const rows = [...tree.sql.shapesDown(this.#sessionId, tree.newest()?.seq ?? -1)];
    if (rows.some(({ parts }) => parts > HOSTED)) {
      throw new PalimpsestError(
        "conflict",
        `Session "${this.#sessionId}" holds messages of its own, from before ${tree.contents.host ?? "a host"} kept them. Move them there and delete the session, or let the host use another session id.`,
      );
    }
    return rows.flatMap((row) => (known.has(row.id) || isPruned(row) ? [] : [row.id]));
  }

  #haveNewest(rows: readonly ShapeRow[]): boolean {
    const newest = this.#history.tree.newest();
    return newest === null || rows.some(({ seq }) => seq === newest.seq);
  }

  /** Notes that as many messages came or went, or with null that they have to be counted again. */
  #count(change: number | null): void {
    const kept = this.#kept.get(this.#sessionId);
    if (change === null) this.#kept.delete(this.#sessionId);
    else if (kept !== undefined) this.#kept.set(this.#sessionId, kept + change);
  }

  /** Messages of the active path that were not pruned. Reads two rows for each message, once in the life of the object. */
  #keptOnPath(): number {
    const { tree } = this.#history;
    const known = this.#kept.get(this.#sessionId);
    const newest = tree.newest();
    if (known !== undefined || newest === null) return known ?? 0;
    let kept = 0;
    for (const seq of tree.pathDown(newest.seq, 0)) if (!isPruned(tree.shape(seq))) kept++;
    this.#kept.set(this.#sessionId, kept);
    return kept;
  }
}
