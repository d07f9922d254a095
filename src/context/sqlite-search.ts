/**
 * Entries in the agent's SQLite with a full-text index over key and content.
 *
 * Safe because an entry and its index row change in one transaction and have the same id.
 */
import { SEARCH_ANSWER_CHARS, SEARCH_ENTRIES } from "../limits.ts";
import { digest } from "../steps/digest.ts";
import type { SearchProvider } from "./provider.ts";
import type { BlockScope } from "./scope.ts";
import { indexWords, matchExpression } from "./search-words.ts";
import type { EntryRow } from "./statements.ts";

/** Made per scope: pass it as `provider`. An entry is replaced by its key; its index costs the same however many there are. */
export function sqliteSearch({ statements, place, transactionSync }: BlockScope): SearchProvider {
  const shelf = digest(place.scope, place.label);
  return {
    get: async () => {
      const count = statements.countEntries(place);
      return count === 0 ? null : `${count} ${count === 1 ? "entry" : "entries"}, found with search_context.`;
    },
    search: async (query) => {
      const expression = matchExpression(query);
      if (expression === null) return null;
      const found = statements.searchEntries(place, `shelf : ${shelf} AND ${expression}`, SEARCH_ENTRIES);
      return found.length === 0 ? null : listEntries(found);
    },
    set: async (key, content) => {
      transactionSync(() => {
        const known = statements.entry(place, key);
        if (known?.content === content) return;
        const id = known?.id ?? statements.insertEntry(place, { key, content });
        if (known !== undefined) {
          statements.updateEntry(id, content);
          statements.deleteIndexed(id);
        }
        statements.insertIndexed(id, { shelf, words: indexWords(`${key}\n${content}`) });
      });
    },
  };
}

/** The best one whole, and further ones while they fit. */
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
