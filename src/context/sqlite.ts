/**
 * What an agent's SQLite keeps of context blocks, and the two providers over it. Every statement takes a scope and sees only that
 * session's rows or the shared ones (S1).
 */
import { PalimpsestError } from "../errors.ts";
import { MAX_PROMPT_BYTES } from "../limits.ts";
import type { Db } from "../memory/db.ts";
import { defineTables } from "../memory/schema.ts";
import { indexWords, matchExpression } from "../recall/index-text.ts";
import { digest } from "../steps/text/digest.ts";
import type { SearchProvider, WritableContextProvider } from "./provider.ts";

export type EntryRow = { key: string; content: string };
/** `loaded` is 1, or 0 for a skill that was unloaded again. */
export type SkillRow = { label: string; key: string; loaded: number };

/** Names a block's rows by a scope, which is one session's or the shared one, and a label. */
export interface BlockId {
  readonly scope: string;
  readonly label: string;
}

/** The scope of a session's blocks. The prefix keeps a session named "shared" apart from the shared scope. */
export function sessionScope(sessionId: string): string {
  return `session:${sessionId}`;
}

/** The rows of a session go with it. A clear keeps them, because they hold no message. */
function forgetsSession(table: string): string {
  return `CREATE TRIGGER palimpsest_${table}_gone INSTEAD OF INSERT ON palimpsest_forgotten WHEN NEW.what = 'gone' BEGIN
     DELETE FROM palimpsest_${table} WHERE scope = 'session:' || NEW.session_id;
   END`;
}

// `scope` is one session's scope or the shared one.
defineTables("blocks", [
  `CREATE TABLE palimpsest_blocks (
     scope   TEXT NOT NULL,
     label   TEXT NOT NULL,
     content TEXT NOT NULL,
     PRIMARY KEY (scope, label)
   ) WITHOUT ROWID`,
  forgetsSession("blocks"),
]);
// Frozen prompts. Without a row nothing is frozen. An empty prompt has a row.
defineTables("prompts", [
  `CREATE TABLE palimpsest_prompts (scope TEXT PRIMARY KEY, prompt TEXT NOT NULL) WITHOUT ROWID`,
  forgetsSession("prompts"),
]);
// `loaded` is 0 for a skill that was unloaded again.
defineTables("skills", [
  `CREATE TABLE palimpsest_loaded_skills (
     scope  TEXT NOT NULL,
     label  TEXT NOT NULL,
     key    TEXT NOT NULL,
     loaded INTEGER NOT NULL,
     PRIMARY KEY (scope, label, key)
   ) WITHOUT ROWID`,
  forgetsSession("loaded_skills"),
]);
defineTables("entries", [
  `CREATE TABLE palimpsest_block_entries (
     id      INTEGER PRIMARY KEY,
     scope   TEXT NOT NULL,
     label   TEXT NOT NULL,
     key     TEXT NOT NULL,
     content TEXT NOT NULL,
     UNIQUE (scope, label, key)
   )`,
  // The index keeps no text of its own. The entry with the same id has it, so an entry is replaced by id without a
  // scan. `shelf` is one word that names scope and label, so a search touches one block's entries only.
  `CREATE VIRTUAL TABLE palimpsest_block_index
     USING fts5 (shelf, words, content = '', contentless_delete = 1, tokenize = 'porter unicode61')`,
  // An index without texts of its own only marks deleted rows. Rewriting it removes their words (S2).
  `CREATE TRIGGER palimpsest_block_index_gone INSTEAD OF INSERT ON palimpsest_forgotten WHEN NEW.what = 'gone'
     AND EXISTS (SELECT 1 FROM palimpsest_block_entries WHERE scope = 'session:' || NEW.session_id) BEGIN
       DELETE FROM palimpsest_block_index
         WHERE rowid IN (SELECT id FROM palimpsest_block_entries WHERE scope = 'session:' || NEW.session_id);
       INSERT INTO palimpsest_block_index (palimpsest_block_index) VALUES ('optimize');
       DELETE FROM palimpsest_block_entries WHERE scope = 'session:' || NEW.session_id;
     END`,
]);

export class ContextStatements {
  readonly #db: Db;

  /** @internal */
  constructor(db: Db) {
    this.#db = db;
  }

  /** Call this before a write that a caller asks for. Throws `storage_full`. */
  assertStorageLeft(): void {
    this.#db.assertStorageLeft();
  }

  // Blocks and prompts

  block({ scope, label }: BlockId): string | null {
    const sql = "SELECT content FROM palimpsest_blocks WHERE scope = ? AND label = ?";
    return this.#db.run<{ content: string }>(sql, scope, label)[0]?.content ?? null;
  }

  /** Writes no row when the content is unchanged. */
  putBlock({ scope, label }: BlockId, content: string): void {
    const changed = "ON CONFLICT DO UPDATE SET content = excluded.content WHERE content <> excluded.content";
    this.#db.insert("palimpsest_blocks", { scope, label, content }, changed);
  }

  /** Copies a scope's texts and the names of its loaded skills into an empty scope. {@link entriesOf} serves the entries. */
  copyTexts(from: string, to: string): void {
    const blocks = `INSERT INTO palimpsest_blocks (scope, label, content)
       SELECT ?, label, content FROM palimpsest_blocks WHERE scope = ?`;
    this.#db.run(blocks, to, from);
    const skills = `INSERT INTO palimpsest_loaded_skills (scope, label, key, loaded)
       SELECT ?, label, key, loaded FROM palimpsest_loaded_skills WHERE scope = ?`;
    this.#db.run(skills, to, from);
  }

  prompt(scope: string): string | null {
    const sql = "SELECT prompt FROM palimpsest_prompts WHERE scope = ?";
    return this.#db.run<{ prompt: string }>(sql, scope)[0]?.prompt ?? null;
  }

  putPrompt(scope: string, prompt: string): void {
    const changed = "ON CONFLICT DO UPDATE SET prompt = excluded.prompt WHERE prompt <> excluded.prompt";
    this.#db.insert("palimpsest_prompts", { scope, prompt }, changed);
  }

  // Skills that were loaded, and those of them that were unloaded again

  skills(scope: string): SkillRow[] {
    const sql = "SELECT label, key, loaded FROM palimpsest_loaded_skills WHERE scope = ? ORDER BY label, key";
    return this.#db.run<SkillRow>(sql, scope);
  }

  loadSkill({ scope, label }: BlockId, key: string): void {
    const again = "ON CONFLICT DO UPDATE SET loaded = 1 WHERE loaded = 0";
    this.#db.insert("palimpsest_loaded_skills", { scope, label, key, loaded: 1 }, again);
  }

  /** Returns false when the skill was not loaded. */
  unloadSkill({ scope, label }: BlockId, key: string): boolean {
    const sql = `UPDATE palimpsest_loaded_skills SET loaded = 0
       WHERE scope = ? AND label = ? AND key = ? AND loaded = 1 RETURNING key`;
    return this.#db.run(sql, scope, label, key).length > 0;
  }

  /** Unloads all skills of a block. */
  unloadSkills({ scope, label }: BlockId): void {
    const sql = "UPDATE palimpsest_loaded_skills SET loaded = 0 WHERE scope = ? AND label = ? AND loaded = 1";
    this.#db.run(sql, scope, label);
  }

  deleteSkills(scope: string): void {
    this.#db.run("DELETE FROM palimpsest_loaded_skills WHERE scope = ?", scope);
  }

  // Entries and their index

  /** Returns the names of a scope's entries in the order in which they were stored. */
  entriesOf(scope: string): { label: string; key: string }[] {
    const sql = "SELECT label, key FROM palimpsest_block_entries WHERE scope = ? ORDER BY id";
    return this.#db.run(sql, scope);
  }

  countEntries({ scope, label }: BlockId): number {
    const sql = "SELECT count(*) AS n FROM palimpsest_block_entries WHERE scope = ? AND label = ?";
    return this.#db.run<{ n: number }>(sql, scope, label)[0]?.n ?? 0;
  }

  entry({ scope, label }: BlockId, key: string): { id: number; content: string } | undefined {
    const sql = "SELECT id, content FROM palimpsest_block_entries WHERE scope = ? AND label = ? AND key = ?";
    return this.#db.run<{ id: number; content: string }>(sql, scope, label, key)[0];
  }

  /** Returns the new entry's id. */
  insertEntry({ scope, label }: BlockId, row: EntryRow): number {
    const sql = "INSERT INTO palimpsest_block_entries (scope, label, key, content) VALUES (?, ?, ?, ?) RETURNING id";
    return this.#db.run<{ id: number }>(sql, scope, label, row.key, row.content)[0]?.id ?? 0;
  }

  updateEntry(id: number, content: string): void {
    this.#db.run("UPDATE palimpsest_block_entries SET content = ? WHERE id = ?", content, id);
  }

  insertIndexed(id: number, row: { shelf: string; words: string }): void {
    const sql = "INSERT INTO palimpsest_block_index (rowid, shelf, words) VALUES (CAST(? AS INTEGER), ?, ?)";
    this.#db.run(sql, id, row.shelf, row.words);
  }

  deleteIndexed(id: number): void {
    this.#db.run("DELETE FROM palimpsest_block_index WHERE rowid = CAST(? AS INTEGER)", id);
  }

  /** Returns the best matches of an FTS5 expression, best first. The place is checked on the row as well as in the expression. */
  searchEntries({ scope, label }: BlockId, expression: string, limit: number): EntryRow[] {
    const sql = `SELECT entry.key, entry.content FROM palimpsest_block_index AS found
       CROSS JOIN palimpsest_block_entries AS entry ON entry.id = found.rowid
       WHERE palimpsest_block_index MATCH ? AND entry.scope = ? AND entry.label = ?
       ORDER BY bm25(palimpsest_block_index, 0, 1), entry.id LIMIT ?`;
    return this.#db.run<EntryRow>(sql, expression, scope, label, limit);
  }
}

/** The block for which a provider is made. A provider function receives it. */
export interface BlockScope {
  /** Id of the agent's Durable Object, for providers that store elsewhere. */
  readonly agentId: string;
  /** Null for a block that sessions share. */
  readonly sessionId: string | null;
  readonly label: string;
  /**
   * Names this block's rows.
   * @internal
   */
  readonly blockId: BlockId;
  /** @internal */
  readonly statements: ContextStatements;
  readonly transaction: <T>(work: () => T) => T;
}

/** The default provider of a block, which keeps one text in one row. Pass it as `provider`, or leave `provider` out. */
export function sqliteBlock(scope: BlockScope): WritableContextProvider {
  const { statements, blockId } = scope;
  return {
    get: async () => statements.block(blockId),
    set: async (content) => {
      statements.assertStorageLeft();
      statements.putBlock(blockId, content);
    },
  };
}

/** Keeps a frozen prompt in one row per session. `set` throws `block_full` when the prompt is too large for one row. */
export function sqlitePrompt(statements: ContextStatements, scope: string): WritableContextProvider {
  return {
    get: async () => statements.prompt(scope),
    set: async (prompt) => {
      const bytes = new TextEncoder().encode(prompt).length;
      if (bytes > MAX_PROMPT_BYTES) {
        throw new PalimpsestError(
          "block_full",
          `The system prompt takes ${bytes} bytes, and at most ${MAX_PROMPT_BYTES} can be kept. Give the largest blocks a maxTokens.`,
        );
      }
      statements.putPrompt(scope, prompt);
    },
  };
}

/** Most entries that one search returns, and the characters after which no further entry is added. */
const SEARCH_ENTRIES = 10;
const SEARCH_ANSWER_CHARS = 40_000;

/**
 * Entries with a full-text index over key and content. Pass it as `provider`. A write replaces the entry of its key, and the cost of its
 * index row does not depend on the number of entries. Both change in one transaction, so they never differ.
 */
export function sqliteSearch(scope: BlockScope): SearchProvider {
  const { statements, blockId, transaction } = scope;
  const shelf = shelfOf(blockId);
  return {
    get: async () => {
      const count = statements.countEntries(blockId);
      return count === 0 ? null : `${count} ${count === 1 ? "entry" : "entries"}, found with search_context.`;
    },
    search: async (query) => {
      const expression = matchExpression(query);
      if (expression === "") return null;
      const found = statements.searchEntries(blockId, `shelf : ${shelf} AND words : (${expression})`, SEARCH_ENTRIES);
      return found.length === 0 ? null : listEntries(found);
    },
    set: async (key, content) => {
      transaction(() => {
        const known = statements.entry(blockId, key);
        if (known?.content === content) return;
        statements.assertStorageLeft();
        if (known === undefined) {
          insertEntry(statements, blockId, { key, content });
        } else {
          statements.updateEntry(known.id, content);
          statements.deleteIndexed(known.id);
          statements.insertIndexed(known.id, indexRow(blockId, { key, content }));
        }
      });
    },
  };
}

/**
 * Copies every entry of a scope into an empty one. It reads one at a time, because an entry may take a megabyte. Call inside a transaction.
 */
export function copyEntries(statements: ContextStatements, from: string, to: string): void {
  for (const { label, key } of statements.entriesOf(from)) {
    const content = statements.entry({ scope: from, label }, key)?.content ?? "";
    insertEntry(statements, { scope: to, label }, { key, content });
  }
}

function insertEntry(statements: ContextStatements, blockId: BlockId, entry: EntryRow): void {
  statements.insertIndexed(statements.insertEntry(blockId, entry), indexRow(blockId, entry));
}

function indexRow(blockId: BlockId, { key, content }: EntryRow): { shelf: string; words: string } {
  return { shelf: shelfOf(blockId), words: indexWords(`${key}\n${content}`) };
}

/** Returns one word that identifies a block. The index tells blocks apart by it. */
function shelfOf({ scope, label }: BlockId): string {
  return digest(scope, label);
}

/** Lists the best entry whole, and further ones while they fit. */
function listEntries(found: readonly EntryRow[]): string {
  const texts: string[] = [];
  let length = 0;
  for (const { key, content } of found) {
    const text = `[${key}]\n${content}`;
    length += text.length;
    if (texts.length > 0 && length > SEARCH_ANSWER_CHARS) break;
    texts.push(text);
  }
  const more = found.length - texts.length;
  return (
    texts.join("\n\n") + (more === 0 ? "" : `\n\n(${more} more did not fit. Ask for fewer with a narrower query.)`)
  );
}
