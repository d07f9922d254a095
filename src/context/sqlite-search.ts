/**
 * Entries in the agent's SQLite with a full-text index over key and content.
 *
 * An entry and its index row change in one transaction and have the same id, so the two never differ.
 */
import { indexWords, matchExpression } from "../recall/index-text.ts";
import { digest } from "../steps/text/digest.ts";
import type { SearchProvider } from "./provider.ts";
import type { BlockScope } from "./scope.ts";
import type { ContextStatements, EntryRow, BlockId } from "./statements.ts";

/** Most entries that one search returns, and the characters after which no further entry is added. */
const SEARCH_ENTRIES = 10;
const SEARCH_ANSWER_CHARS = 40_000;

/**
 * Makes the provider of a scope. Pass it as `provider`. A write replaces the entry of its key, and the cost of its index row does not
 * depend on the number of entries.
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
        statements.mustHoldMore();
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
