/**
 * Takes over a conversation from another store, which is `agents/sessions` or the tables that the Agents SDK wrote until 0.20.
 *
 * The other store is only read. First come its messages in pages, each parent before its children, then its summaries and its context blocks. The
 * active branch ends last, because the newest message of a session is its active leaf. A page is one transaction, and a message that the session
 * already has is not changed. Repeating an interrupted call therefore continues it, and repeating a finished one changes nothing. The call is
 * refused if the session goes on behind the store's messages and lacks some of them.
 */
import type { UIMessage } from "ai";
import type { Session as SdkSession } from "agents/sessions";
import { chooseByHand, layByHand } from "../agent/runs/read-beside.ts";
import type { SessionState } from "../agent/sessions/session-state.ts";
import { errorCode, PalimpsestError, type ErrorCode } from "../errors.ts";
import type { AppendResult, History } from "../memory/messages/history.ts";
import { WHOLE_MESSAGE, type Span } from "../steps/plan/outline.ts";
import { timeSaid } from "./items.ts";

/** A message's id and its parent's id. The parent is null for a root. */
export interface StoredPlace {
  readonly id: string;
  readonly parentId: string | null;
  /** When it was said (epoch ms). By default `createdAt` of its metadata, or now. */
  readonly createdAt?: number | null;
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
        "SELECT id, parent_id, unixepoch(created_at) * 1000 AS said FROM assistant_messages WHERE session_id = ? ORDER BY created_at, rowid",
        sessionId,
      ).map((row): StoredPlace => ({
        id: textOf(row, "id"),
        parentId: textOrNull(row, "parent_id"),
        createdAt: row["said"] as number | null,
      }));
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
      ordered.set(place.id, isRoot ? { ...place, parentId: null } : place);
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

/** Messages of one transaction. The number needs few transactions and fits in memory. */
const PAGE_MESSAGES = 100;

/** What came of taking in a stored conversation. */
export interface TakenIn {
  /** Number of messages in the store. */
  readonly messages: number;
  /** Number of messages that were new. */
  readonly inserted: number;
  /** Number of summaries that are in force now and were not before. */
  readonly summaries: number;
  /** Number of context blocks whose texts the session's blocks hold now. */
  readonly blocks: number;
  /** Describes what was left out. */
  readonly notes: readonly string[];
}

export async function takeIn(state: SessionState, source: StoredConversation): Promise<TakenIn> {
  state.stored.assertOwnsMessages();
  if (typeof source?.places !== "function") {
    throw new PalimpsestError(
      "invalid_input",
      "importFrom takes a store, such as fromSessions(…) or fromLegacyTables(…), or one of your own with places, message and summaries.",
    );
  }
  const places = await source.places();
  mustHaveNothingElse(state, source, places);
  const notes: string[] = [];
  /** New parent for the children of each message that was left out. */
  const instead = new Map<string, string | null>();
  let inserted = 0;
  for (let at = 0; at < places.length; at += PAGE_MESSAGES) {
    inserted += await takePage(state, { source, page: places.slice(at, at + PAGE_MESSAGES), instead, notes });
  }
  const summaries = takeSummaries(state, { summaries: await source.summaries(), places, notes });
  // Checks the threshold once, after all messages are stored.
  if (inserted > 0) state.write(() => undefined);
  const blocks = await takeBlocks(state, source, notes);
  return { messages: places.length, inserted, summaries, blocks, notes };
}

/** A block that has a text of its own keeps it, so a repeated call undoes nothing that the model wrote since. */
async function takeBlocks(state: SessionState, source: StoredConversation, notes: string[]): Promise<number> {
  const found = await source.blocks?.();
  if (found === undefined) return 0;
  notes.push(...found.notes);
  const { takeText } = state.core.rooms;
  // Reading the settings first declares the session's blocks.
  void state.settings;
  let taken = 0;
  for (const { label, content } of found.blocks) {
    const why = takeText === undefined ? "the agent has no room context()" : await takeText(state.id, label, content);
    if (why === null) taken++;
    else notes.push(`The context block "${label}" (${content.length} characters) was left out: ${why}.`);
  }
  return taken;
}

function mustHaveNothingElse(state: SessionState, { name }: StoredConversation, places: readonly StoredPlace[]): void {
  const { stored } = state;
  const leafId = stored.leafId();
  const isMissing = places.some(({ id }) => !stored.has(id));
  if (leafId === null || !isMissing || places.some(({ id }) => id === leafId)) return;
  throw new PalimpsestError(
    "import_failed",
    `Something was said in session "${state.id}" before all messages of ${name} were there. Take a conversation in before anything is said in the session, such as in onStart, or into a session of its own.`,
  );
}

interface Page {
  readonly source: StoredConversation;
  readonly page: readonly StoredPlace[];
  readonly instead: Map<string, string | null>;
  readonly notes: string[];
}

async function takePage(state: SessionState, { source, page, instead, notes }: Page): Promise<number> {
  const read: { readonly place: StoredPlace; readonly message: UIMessage | null }[] = [];
  for (const place of page) {
    read.push({ place, message: state.stored.has(place.id) ? null : await source.message(place.id) });
  }
  const now = state.core.platform.now();
  const take = (history: History): number => {
    let inserted = 0;
    for (const { place, message } of read) {
      if (history.has(place.id)) continue;
      const parentId =
        place.parentId !== null && instead.has(place.parentId) ? (instead.get(place.parentId) ?? null) : place.parentId;
      const at = timeSaid(place.createdAt ?? message?.metadata, now);
      const why =
        message === null ? "it cannot be read" : tryAppend(() => history.append(message, parentId, undefined, at));
      if (why === null) inserted++;
      else {
        instead.set(place.id, parentId);
        notes.push(`Message "${place.id}" was left out: ${why}.`);
      }
    }
    return inserted;
  };
  return state.write(take, { quiet: true });
}

/** The errors of an append that are about the message itself. Any other ends the call. */
const REFUSED: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "invalid_message",
  "message_too_large",
  "not_serializable",
  "reserved_id",
  "reserved_metadata",
]);

/** Returns null, or the reason for a refusal. Each append is a transaction within the page's, so a refused message leaves nothing. */
function tryAppend(append: () => AppendResult): string | null {
  try {
    return append().synthetic ? "it is a summary or a part of a message in a view, and nobody's own" : null;
  } catch (error) {
    if (REFUSED.has(errorCode(error))) return String(error);
    throw error;
  }
}

interface Summaries {
  readonly summaries: readonly StoredSummary[];
  readonly places: readonly StoredPlace[];
  readonly notes: string[];
}

/** Of overlapping summaries only the latest is taken, because it was the one in force. */
function takeSummaries(state: SessionState, { summaries, places, notes }: Summaries): number {
  if (summaries.length === 0) return 0;
  const parents = new Map(places.map(({ id, parentId }) => [id, parentId]));
  const covered = new Set<string>();
  const kept: StoredSummary[] = [];
  for (const each of summaries.toReversed()) {
    const span = idsOf(each, parents);
    if (span === null)
      notes.push(`A summary from "${each.fromMessageId}" was left out: its messages are not on one path.`);
    else if (!span.some((id) => covered.has(id))) {
      kept.unshift(each);
      for (const id of span) covered.add(id);
    }
  }
  const known = new Set(state.stored.overlays.list().map(({ span }) => `${span.fromId} ${span.toId}`));
  return kept.filter((each) => {
    if (known.has(`${each.fromMessageId} ${each.toMessageId}`)) return false;
    const why = lay(state, each);
    if (why !== null) notes.push(`A summary from "${each.fromMessageId}" was left out: ${why}.`);
    return why === null;
  }).length;
}

/** Returns the ids of the messages under a summary, or null where its ends are not on one path. */
function idsOf(
  { fromMessageId, toMessageId }: StoredSummary,
  parents: ReadonlyMap<string, string | null>,
): string[] | null {
  const ids: string[] = [];
  for (let id: string | null = toMessageId; id !== null && parents.has(id); id = parents.get(id) ?? null) {
    ids.push(id);
    if (id === fromMessageId) return ids;
  }
  return null;
}

function lay(state: SessionState, { summary, fromMessageId, toMessageId }: StoredSummary): string | null {
  const span: Span = { fromId: fromMessageId, fromStep: 0, toId: toMessageId, toStep: WHOLE_MESSAGE };
  try {
    const made = chooseByHand(state.core, state.id, { span, summary });
    const commit = state.write(() => layByHand(state.core, state.id, made), { quiet: true });
    return commit.kind === "stale" ? `it does not fit there (${commit.reason})` : null;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return String(error);
  }
}
