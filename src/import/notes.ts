/** Notes for the reader about what of a file is not as it was there. */

/** Counts of what is noted. */
export const NOTES = {
  branches: "messages that do not follow the one before them",
  danglingCalls: "tool calls without a result",
  strayResults: "tool results without a call, kept as text",
  renamedIds: "repeated ids made unique",
  disowned:
    "summaries and parts of messages by Palimpsest, kept as ordinary messages under new ids, whose rules do not count",
};

/** Counts of what is noted by kind. */
export const NOTES_BY_KIND = {
  skipped: "entries without a message left out",
  unsent: "blocks of a kind that no model will be sent, kept as data",
  unread: "fields of messages left out",
};

/** Kinds that one note names, and characters of each. A file may have thousands. */
const NAMED_KINDS = 12;
const KIND_CHARS = 40;

/** Returns a line for each count that is not zero. */
export function notesOf(
  counts: Partial<Record<keyof typeof NOTES, number>>,
  kinds: Partial<Record<keyof typeof NOTES_BY_KIND, readonly string[]>> = {},
): string[] {
  const byKind = (Object.keys(NOTES_BY_KIND) as (keyof typeof NOTES_BY_KIND)[])
    .map((key) => ({ key, found: kinds[key] ?? [] }))
    .filter(({ found }) => found.length > 0)
    .map(({ key, found }) => `${NOTES_BY_KIND[key]}: ${found.length} (${kindsOf(found)})`);
  const plain = (Object.keys(NOTES) as (keyof typeof NOTES)[])
    .filter((key) => (counts[key] ?? 0) > 0)
    .map((key) => `${NOTES[key]}: ${counts[key]}`);
  return [...byKind, ...plain];
}

function kindsOf(found: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const kind of found) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const named = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, NAMED_KINDS);
  const rest = counts.size - named.length;
  const texts = named.map(([kind, count]) => `${kind.slice(0, KIND_CHARS).toWellFormed()}: ${count}`);
  return [...texts, ...(rest > 0 ? [`and ${rest} more kinds`] : [])].join(", ");
}
