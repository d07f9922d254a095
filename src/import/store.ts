/**
 * Reads conversations from other stores, which are `agents/sessions` and the tables that the Agents SDK wrote until 0.20.
 *
 * It only reads and writes nothing. Messages come with each parent before its children. The active branch ends last, because the newest
 * message of a session is its active leaf.
 */
import type { UIMessage } from "ai";
import type { Session as SdkSession } from "agents/sessions";
import { PalimpsestError } from "../errors.ts";

/** A message's id and its parent's id. The parent is null for a root. */
export interface StoredPlace {
  readonly id: string;
  readonly parentId: string | null;
}

/** A summary of another store, over messages of one path. */
export interface StoredSummary {
  /** Its text. */
  readonly summary: string;
  /** The first message that it stands for. */
  readonly fromMessageId: string;
  /** The last one. */
  readonly toMessageId: string;
}

/** A text of another store that its model was always shown, as a context block is. */
export interface StoredBlock {
  readonly label: string;
  readonly content: string;
}

/** A conversation in another store. */
export interface StoredConversation {
  /** The store's name in advice. */
  readonly name: string;
  /** Returns every message, parents first, with the active branch's newest message last. */
  places(): Promise<readonly StoredPlace[]>;
  /** Returns null for a message that was deleted meanwhile or cannot be read. */
  message(id: string): Promise<UIMessage | null>;
  /** Returns the summaries in the order in which they were made. */
  summaries(): Promise<readonly StoredSummary[]>;
  /** Returns the texts of its context blocks, with notes on what else of them the store holds. Left out for a store without any. */
  blocks?(): Promise<{ readonly blocks: readonly StoredBlock[]; readonly notes: readonly string[] }>;
}

/**
 * Reads a session of `agents/sessions` through its own methods, as in `fromSessions(this.sessions.session(), this.ctx.storage)`. Those methods
 * cannot find a branch that shares no message with the active one, so it is not taken over. With the object's storage the blocks of
 * `agents/context` come along, which stand beside all sessions.
 */
export function fromSessions(session: SdkSession, storage?: TableStorage): StoredConversation {
  return {
    name: "agents/sessions",
    ...(storage !== undefined && { blocks: async () => blocksIn(storage, "") }),
    places: async () => {
      const path = await wholePath(session);
      const found = new Map<string, StoredPlace>(path.map((id, at) => [id, { id, parentId: path[at - 1] ?? null }]));
      const open = [...path];
      for (let id = open.pop(); id !== undefined; id = open.pop()) {
        for (const child of await session.getBranches(id)) {
          if (found.has(child.id)) continue;
          found.set(child.id, { id: child.id, parentId: id });
          open.push(child.id);
        }
      }
      return parentsFirst([...found.values()], path.at(-1));
    },
    message: async (id) => (await session.getMessage(id)) as UIMessage | null,
    summaries: async () => session.getCompactions(),
  };
}

/** One read returns at most some ten thousand messages. The next read starts at the oldest of them. */
async function wholePath(session: SdkSession): Promise<string[]> {
  const path = (await session.getHistoryRowStats()).map(({ id }) => id);
  for (;;) {
    const [oldest] = path;
    if (oldest === undefined) return path;
    const before = (await session.getHistoryRowStats(oldest)).map(({ id }) => id);
    if (before.length <= 1) return path;
    path.unshift(...before.slice(0, -1));
  }
}

/** The owner of the tables, such as `this.ctx.storage`. */
export interface TableStorage {
  readonly sql: { exec(query: string, ...bindings: unknown[]): { toArray(): Record<string, unknown>[] } };
}

/**
 * Reads the tables `assistant_messages`, `assistant_compactions` and `cf_agents_context_blocks` that the SDK's experimental session wrote
 * until 0.20, as in `fromLegacyTables(this.ctx.storage)`. A session without rows there is empty.
 */
export function fromLegacyTables(storage: TableStorage, sessionId = ""): StoredConversation {
  const { rows, has } = tablesOf(storage);
  return {
    blocks: async () => blocksIn(storage, sessionId),
    name: "the tables of agents 0.20",
    places: async () => {
      if (!has("assistant_messages")) return [];
      const stored = rows(
        "SELECT id, parent_id FROM assistant_messages WHERE session_id = ? ORDER BY created_at, rowid",
        sessionId,
      ).map((row): StoredPlace => ({ id: textOf(row, "id"), parentId: textOrNull(row, "parent_id") }));
      const parents = new Set(stored.map(({ parentId }) => parentId));
      return parentsFirst(stored, stored.findLast(({ id }) => !parents.has(id))?.id);
    },
    message: async (id) => {
      const [row] = rows("SELECT content FROM assistant_messages WHERE id = ? AND session_id = ?", id, sessionId);
      return row === undefined ? null : parsed(textOf(row, "content"));
    },
    summaries: async () => {
      if (!has("assistant_compactions")) return [];
      return rows(
        "SELECT summary, from_message_id, to_message_id FROM assistant_compactions WHERE session_id = ? ORDER BY created_at, rowid",
        sessionId,
      ).map((row) => ({
        summary: textOf(row, "summary"),
        fromMessageId: textOf(row, "from_message_id"),
        toMessageId: textOf(row, "to_message_id"),
      }));
    },
  };
}

/** The prompt that the SDK froze. It is made of the blocks. */
const FROZEN = "_system_prompt";

/** A block of the session `id` has the label `label_id`, and one of the only session its plain label. */
function blocksIn(
  storage: TableStorage,
  sessionId: string,
): { readonly blocks: readonly StoredBlock[]; readonly notes: readonly string[] } {
  const { rows, has } = tablesOf(storage);
  if (!has("cf_agents_context_blocks")) return { blocks: [], notes: entryNotes(storage) };
  const others = has("assistant_messages")
    ? rows("SELECT DISTINCT session_id FROM assistant_messages WHERE session_id <> ''").map((row) =>
        textOf(row, "session_id"),
      )
    : [];
  const stored = rows("SELECT label, content FROM cf_agents_context_blocks ORDER BY label").map((row) => {
    return { label: textOf(row, "label"), content: textOf(row, "content") };
  });
  const own = sessionId === "" ? stored.filter(({ label }) => !others.some((id) => label.endsWith(`_${id}`))) : stored;
  const suffix = sessionId === "" ? "" : `_${sessionId}`;
  const blocks = own
    .filter(({ label, content }) => label.endsWith(suffix) && content !== "" && !label.startsWith(FROZEN))
    .map(({ label, content }) => ({ label: label.slice(0, label.length - suffix.length), content }));
  return { blocks, notes: entryNotes(storage) };
}

/** Entries of searchable blocks are many, and no declaration says which of ours is meant. */
function entryNotes(storage: TableStorage): string[] {
  const { rows, has } = tablesOf(storage);
  if (!has("cf_agents_search_entries")) return [];
  return rows("SELECT label, count(*) AS n FROM cf_agents_search_entries GROUP BY label ORDER BY label").map(
    (row) =>
      `The entries of the searchable block "${textOf(row, "label")}" were left out: ${Number(row["n"])}. They stay in the table cf_agents_search_entries.`,
  );
}

function tablesOf(storage: TableStorage) {
  const rows = (query: string, ...bindings: unknown[]) => storage.sql.exec(query, ...bindings).toArray();
  const has = (table: string): boolean =>
    rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?", table).length > 0;
  return { rows, has };
}

/**
 * Orders messages with each parent before its children and the leaf last. A missing parent, or one in a circle, counts as none, so its
 * message becomes a root.
 */
export function parentsFirst(places: readonly StoredPlace[], leafId: string | undefined): StoredPlace[] {
  const byId = new Map(places.map((place) => [place.id, place]));
  const active = new Set<string>();
  for (let at = leafId === undefined ? undefined : byId.get(leafId); at !== undefined && !active.has(at.id);) {
    active.add(at.id);
    at = at.parentId === null ? undefined : byId.get(at.parentId);
  }
  const children = new Map<string | null, StoredPlace[]>();
  for (const place of places) {
    const parentId = place.parentId !== null && byId.has(place.parentId) ? place.parentId : null;
    const siblings = children.get(parentId);
    if (siblings === undefined) children.set(parentId, [place]);
    else siblings.push(place);
  }
  const ordered = new Map<string, StoredPlace>();
  const walk = (roots: readonly StoredPlace[]): void => {
    // Messages of the active branch go to the bottom of the stack, so they are visited last.
    const bottom = (list: readonly StoredPlace[]): StoredPlace[] =>
      list.toSorted((one, other) => Number(active.has(other.id)) - Number(active.has(one.id)));
    const stack = bottom(roots);
    for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
      if (ordered.has(place.id)) continue;
      const isRoot = place.parentId === null || !ordered.has(place.parentId);
      ordered.set(place.id, isRoot ? { id: place.id, parentId: null } : place);
      stack.push(...bottom(children.get(place.id) ?? []));
    }
  };
  walk(children.get(null) ?? []);
  // Rows that refer to each other in a circle hang under no root.
  walk(places.filter(({ id }) => !ordered.has(id)));
  return [...ordered.values()];
}

function textOf(row: Record<string, unknown>, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw new PalimpsestError(
    "import_failed",
    `Column ${column} holds no text: these are not the tables of agents 0.20.`,
  );
}

function textOrNull(row: Record<string, unknown>, column: string): string | null {
  return row[column] === null ? null : textOf(row, column);
}

function parsed(content: string): UIMessage | null {
  try {
    return JSON.parse(content) as UIMessage;
  } catch {
    return null;
  }
}
