/**
 * The index of a session whose messages a host keeps: a row for each message, without content.
 *
 * Takes in what the host has stored already, so it refuses no message but one that is too large to be indexed.
 */
import type { UIMessage } from "ai";
import type { Needs } from "../agent/core.ts";
import { PalimpsestError } from "../errors.ts";
import { encodeHosted, type Encoded } from "../memory/messages/content.ts";
import { HOSTED, isPruned } from "../memory/messages/contents.ts";
import type { History } from "../memory/messages/history.ts";
import type { SourceEvent } from "./message-source.ts";
import type { ShapeRow } from "../memory/statements.ts";

export class HostIndex {
  readonly #core: Needs<"memory" | "settings">;
  readonly #sessionId: string;

  constructor(core: Needs<"memory" | "settings">, sessionId: string) {
    this.#core = core;
    this.#sessionId = sessionId;
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

  /** Adds a message under the parent that the host chose. A known id changes nothing. */
  append(message: Encoded, parentId?: string | null): void {
    const { tree } = this.#history;
    if (tree.find(message.id) !== null) return;
    this.#core.memory.db.mustHoldMore();
    const parent = typeof parentId === "string" ? (tree.find(parentId)?.seq ?? null) : null;
    this.#history.insertRow(message, parentId === undefined ? (tree.newest()?.seq ?? null) : parent);
  }

  /** Takes in the new content of a message. */
  update(message: UIMessage): void {
    const row = this.#history.tree.find(message.id);
    const encoded = this.measure(message);
    if (row === null || (encoded.digest === row.digest && !isPruned(row))) return;
    this.#core.memory.db.mustHoldMore();
    this.#history.replaceRow(row, encoded, message);
  }

  /** Takes in another form of a message. Its meaning did not change. */
  rewrite(message: UIMessage): void {
    const row = this.#history.tree.find(message.id);
    const encoded = this.measure(message);
    if (row === null || isPruned(row) || encoded.digest === row.digest) return;
    this.#core.memory.db.mustHoldMore();
    this.#history.rewriteRow(row, encoded, message);
  }

  /** Removes messages. Where the host pruned its oldest by a rule of its own (`retention`), their rows keep their places. */
  delete(ids: readonly string[], { retention }: Pick<Extract<SourceEvent, { kind: "delete" }>, "retention">): void {
    const history = this.#history;
    const rows = [...new Set(ids)].flatMap((id) => history.tree.find(id) ?? []);
    const isRetention = retention !== null && this.#areOldest(rows) && retention(this.#keptOnPath() - rows.length);
    if (isRetention) history.pruneRows(rows);
    else history.removeRows(rows);
  }

  /** Removes everything after the host deleted all its messages. */
  clear(): void {
    this.#history.empty();
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

  /** True when the path begins with these rows and continues after them. */
  #areOldest(rows: readonly ShapeRow[]): boolean {
    const { tree } = this.#history;
    const seqs = new Set(rows.map(({ seq }) => seq));
    const newest = tree.newest();
    const isRooted = (parentSeq: number | null): boolean =>
      parentSeq === null || seqs.has(parentSeq) || isPruned(tree.shape(parentSeq));
    return newest !== null && !seqs.has(newest.seq) && rows.every(({ parentSeq }) => isRooted(parentSeq));
  }

  /** Messages of the active path that were not pruned. Reads two rows for each. */
  #keptOnPath(): number {
    const { tree } = this.#history;
    const newest = tree.newest();
    let kept = 0;
    if (newest === null) return kept;
    for (const seq of tree.pathDown(newest.seq, 0)) {
      if (isPruned(tree.shape(seq))) break;
      kept++;
    }
    return kept;
  }
}
