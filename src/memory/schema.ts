/**
 * The tables, in families. {@link Db} makes a family when its first row is written, so an agent pays only for tables
 * that it uses.
 *
 * This module owns the DDL of the core. A room's own stands beside its statements, as all queries do. The core names no table of a room. It
 * tells what it forgets by an insert into a view ({@link FORGOTTEN}), and a room's tables come with triggers on that view. They stay in the
 * database, so what a room stored is forgotten also by code without the room (S2, S3).
 *
 * The keys serve these purposes:
 * - A message's place is `(session_id, seq)`. `seq` rises by one per append and is never reused. So the row with the
 *   highest `seq` is always a leaf and is found with one read, and a path is walked in key order. The hot path has no
 *   secondary index, so an append writes one row. A message id is found through `fingerprints`, which hold packed
 *   32-bit hashes of ids in `seq` order. One fingerprint row serves thousands of messages, and the reader verifies a
 *   hit against the message's own row.
 * - `branch = 1` marks the rows whose parent was not the newest row when they were stored. Only those are indexed by
 *   parent. A linear conversation pays nothing for it, and the children of any message are found without a scan.
 * - An overlay hangs on its last message (`to_seq`, `to_step`), so a walk from a leaf meets it without a look-up by id.
 *   Of the overlays that end in one place the widest comes first, then the newest.
 *
 * M2: code older than the database refuses to open it.
 */
import { assert, PalimpsestError } from "../errors.ts";

/** The part of a Durable Object's storage that the memory layer uses. */
export interface Storage {
  readonly sql: Pick<SqlStorage, "exec" | "databaseSize">;
  transactionSync<T>(closure: () => T): T;
}

/**
 * The version of the tables below. They may change in place until the first release. After it, each change raises the
 * version.
 */
export const SCHEMA_VERSION = 1;

/** Tables that are made together, by name. A statement finds rows only once every family that it reads exists ({@link StatementFamilies}). */
export type Family = string;

/**
 * The view to which the core tells what it forgets: the messages of a session with these numbers were `edited` or `deleted`, all of them
 * were `cleared`, or the session is `gone`. `seqs` is a JSON array. A trigger of a room on it is
 * `CREATE TRIGGER … INSTEAD OF INSERT ON palimpsest_forgotten WHEN NEW.what = 'gone' BEGIN … END`.
 */
export const FORGOTTEN: Family = "forgotten";

/** Marks a room's family among those that were made. Code without the room leaves it alone. */
const ROOM = "+";

/** The statements that make each family of the core, and of each room that is loaded. */
const MAKING: Record<Family, readonly string[]> = {
  sessions: [
    `CREATE TABLE palimpsest_sessions (
       session_id        TEXT PRIMARY KEY,
       name              TEXT,
       created_at        INTEGER NOT NULL,
       next_seq          INTEGER NOT NULL,
       parent_session_id TEXT,
       model             TEXT,
       source            TEXT,
       metadata          TEXT,
       input_tokens      INTEGER NOT NULL DEFAULT 0,
       output_tokens     INTEGER NOT NULL DEFAULT 0,
       cost              REAL NOT NULL DEFAULT 0,
       ended_at          INTEGER,
       end_reason        TEXT,
       continued_by      TEXT
     ) WITHOUT ROWID`,
    // Lists sessions by age. Creating a session writes one more row for it. A page of the list reads only that page.
    `CREATE INDEX palimpsest_sessions_by_age ON palimpsest_sessions (created_at, session_id)`,
    // Small columns come first, so that SQLite reads a row's facts without loading the pages of a long content.
    `CREATE TABLE palimpsest_messages (
       session_id TEXT NOT NULL,
       seq        INTEGER NOT NULL,
       parent_seq INTEGER,
       branch     INTEGER NOT NULL,
       id         TEXT NOT NULL,
       role       TEXT NOT NULL,
       tokens     INTEGER NOT NULL,
       bytes      INTEGER NOT NULL,
       parts      INTEGER NOT NULL,
       digest     TEXT NOT NULL,
       facts      TEXT NOT NULL,
       created_at INTEGER NOT NULL,
       content    TEXT NOT NULL,
       PRIMARY KEY (session_id, seq)
     ) WITHOUT ROWID`,
    `CREATE INDEX palimpsest_branches ON palimpsest_messages (session_id, parent_seq) WHERE branch = 1`,
  ],
  // They find the sessions that name a deleted one. A session that belongs to no other has no row in them.
  lineage: [
    `CREATE INDEX palimpsest_children ON palimpsest_sessions (parent_session_id) WHERE parent_session_id IS NOT NULL`,
    `CREATE INDEX palimpsest_continued ON palimpsest_sessions (continued_by) WHERE continued_by IS NOT NULL`,
  ],
  messageParts: [
    `CREATE TABLE palimpsest_message_parts (
       session_id TEXT NOT NULL,
       seq        INTEGER NOT NULL,
       part       INTEGER NOT NULL,
       content    TEXT NOT NULL,
       PRIMARY KEY (session_id, seq, part)
     ) WITHOUT ROWID`,
  ],
  fingerprints: [
    `CREATE TABLE palimpsest_fingerprints (
       session_id TEXT NOT NULL,
       page       INTEGER NOT NULL,
       hashes     BLOB NOT NULL,
       PRIMARY KEY (session_id, page)
     ) WITHOUT ROWID`,
  ],
  // What a run writes. An agent that never compacts has none of these.
  runs: [
    // The run ledger. `live = 1` until the run's one outcome is written. A wake-up reads the partial index.
    `CREATE TABLE palimpsest_runs (
       session_id TEXT NOT NULL,
       n          INTEGER NOT NULL,
       run_id     TEXT NOT NULL,
       live       INTEGER NOT NULL,
       record     TEXT NOT NULL,
       PRIMARY KEY (session_id, n)
     ) WITHOUT ROWID`,
    `CREATE UNIQUE INDEX palimpsest_run_ids ON palimpsest_runs (run_id)`,
    `CREATE INDEX palimpsest_live_runs ON palimpsest_runs (session_id, n) WHERE live = 1`,
    // `n` numbers a session's overlays. The newest wins where two cover exactly the same span. `top_seq` is the newest
    // message when the overlay was added. `changes` records how its state changed since (overlays/overlay.ts).
    `CREATE TABLE palimpsest_overlays (
       session_id    TEXT NOT NULL,
       n             INTEGER NOT NULL,
       overlay_id    TEXT NOT NULL,
       state         TEXT NOT NULL,
       from_seq      INTEGER NOT NULL,
       from_step     INTEGER NOT NULL,
       to_seq        INTEGER NOT NULL,
       to_step       INTEGER NOT NULL,
       from_id       TEXT NOT NULL,
       to_id         TEXT NOT NULL,
       tokens        INTEGER NOT NULL,
       span_tokens   INTEGER NOT NULL,
       span_messages INTEGER NOT NULL,
       span_digest   TEXT NOT NULL,
       run_id        TEXT,
       details       TEXT NOT NULL,
       created_at    INTEGER NOT NULL,
       summary       TEXT NOT NULL,
       top_seq       INTEGER NOT NULL,
       changes       TEXT NOT NULL DEFAULT '[]',
       PRIMARY KEY (session_id, n)
     ) WITHOUT ROWID`,
    // Overlays are few and each is written once per run, so they can afford two indexes. The second index holds only
    // active overlays, so a walk pays nothing for overlays that were rolled back or invalidated by an edit.
    `CREATE UNIQUE INDEX palimpsest_overlay_ids ON palimpsest_overlays (session_id, overlay_id)`,
    `CREATE INDEX palimpsest_active_overlays
       ON palimpsest_overlays (session_id, to_seq DESC, to_step DESC, from_seq ASC, from_step ASC, n DESC) WHERE state = 'active'`,
    `CREATE INDEX palimpsest_proposals ON palimpsest_overlays (session_id, to_seq) WHERE state = 'proposed'`,
    // Drafts already paid for: a chunk's summary by the digest of its source, the prompt version and the model.
    `CREATE TABLE palimpsest_drafts (
       session_id    TEXT NOT NULL,
       key           TEXT NOT NULL,
       tokens        INTEGER NOT NULL,
       details       TEXT NOT NULL,
       created_at    INTEGER NOT NULL,
       text          TEXT NOT NULL,
       PRIMARY KEY (session_id, key)
     ) WITHOUT ROWID`,
    // Tokens that summarisers cost. The key is a session's id or the number of a day, and no text equals a number (runs/health.ts).
    `CREATE TABLE palimpsest_spend (key PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID`,
    // The health of each summariser across the agent (runs/health.ts).
    `CREATE TABLE palimpsest_health (
       model    TEXT PRIMARY KEY,
       failures INTEGER NOT NULL,
       openings INTEGER NOT NULL,
       until    INTEGER,
       probe    TEXT,
       code     TEXT,
       heard_at INTEGER NOT NULL
     ) WITHOUT ROWID`,
  ],
  // Ended runs whose hook was not called yet (runs/runs.ts).
  hookOutbox: [
    `CREATE TABLE palimpsest_hook_outbox (
       run_id     TEXT PRIMARY KEY,
       session_id TEXT NOT NULL,
       attempts   INTEGER NOT NULL
     ) WITHOUT ROWID`,
  ],
  // Token counts of model calls, by session and model (runs/usage.ts).
  usage: [
    `CREATE TABLE palimpsest_usage (
       session_id       TEXT NOT NULL,
       model            TEXT NOT NULL,
       calls            INTEGER NOT NULL,
       input_tokens     INTEGER NOT NULL,
       output_tokens    INTEGER NOT NULL,
       counted_growth   INTEGER NOT NULL,
       estimated_growth INTEGER NOT NULL,
       last_counted     INTEGER NOT NULL,
       last_estimate    INTEGER NOT NULL,
       recorded_at      INTEGER NOT NULL,
       PRIMARY KEY (session_id, model)
     ) WITHOUT ROWID`,
  ],
  // What each signed thought was made on (runs/usage.ts).
  thoughts: [
    `CREATE TABLE palimpsest_thoughts (
       mark       TEXT NOT NULL,
       session_id TEXT NOT NULL,
       prefix     TEXT NOT NULL,
       PRIMARY KEY (mark)
     ) WITHOUT ROWID`,
  ],
  // Made with the first table of a room that hears of it. Until then nothing is told.
  [FORGOTTEN]: [
    "CREATE VIEW palimpsest_forgotten AS SELECT NULL AS session_id, NULL AS what, NULL AS seqs",
    "CREATE TRIGGER palimpsest_forget INSTEAD OF INSERT ON palimpsest_forgotten BEGIN SELECT 1; END",
  ],
};

const NAME = /palimpsest_\w+/g;

/** The family of each table. */
const FAMILY_OF = new Map<string, Family>();
for (const [family, statements] of Object.entries(MAKING)) learnTables(family, statements);

function learnTables(family: Family, statements: readonly string[]): void {
  for (const sql of statements) {
    const name = /^\s*CREATE (?:(?:VIRTUAL )?TABLE|VIEW) (?:IF NOT EXISTS )?(palimpsest_\w+)/.exec(sql)?.[1];
    if (name !== undefined) FAMILY_OF.set(name, family);
  }
}

/** Says how a room's tables are made, and how they forget. Call it where the room's statements stand. */
export function defineTables(name: string, statements: readonly string[]): void {
  const family = ROOM + name;
  MAKING[family] = statements;
  learnTables(family, statements);
}

/** The families that a statement needs. */
export interface StatementFamilies {
  /** The family that the statement inserts into. Null for any other statement. */
  readonly makes: Family | null;
  /** If one of these families does not exist yet, the statement finds nothing and changes nothing. */
  readonly reads: readonly Family[];
}

/** By statement, for all objects of the isolate. The code has a fixed set of statements, so the map does not grow without bound. */
const needs = new Map<string, StatementFamilies>();

export function needsOf(sql: string): StatementFamilies {
  const known = needs.get(sql) ?? readNeeds(sql);
  needs.set(sql, known);
  return known;
}

/** Derives the needed families from the tables that the statement names. */
function readNeeds(sql: string): StatementFamilies {
  const target = /^\s*(?:INSERT|REPLACE)\b[^]*?\bINTO\s+(palimpsest_\w+)/.exec(sql);
  const makes = FAMILY_OF.get(target?.[1] ?? "") ?? null;
  const source = makes === null ? sql : sql.slice(sql.search(/\bSELECT\b/));
  const copies = makes === null || /\bSELECT\b/.test(sql);
  const names = copies ? (source.match(NAME) ?? []) : [];
  const families = names.map((name) => FAMILY_OF.get(name)).filter((family) => family !== undefined);
  return { makes, reads: [...new Set(families)] };
}

/** Returns the families that exist. Reads one row. Throws `unknown_schema`. */
export function openSchema({ sql }: Storage): ReadonlySet<Family> {
  const row = readSchema(sql);
  if (row === null) return new Set();
  if (row.version > SCHEMA_VERSION) {
    throw new PalimpsestError(
      "unknown_schema",
      `This database is at schema version ${row.version}; this code knows ${SCHEMA_VERSION}. Deploy the newer code again.`,
    );
  }
  const made = row.made.split(" ");
  // Tables of the core that this code does not know would be left out of views, and of deletions.
  const unknown = made.filter((family) => !family.startsWith(ROOM) && !Object.hasOwn(MAKING, family));
  if (unknown.length > 0) {
    throw new PalimpsestError(
      "unknown_schema",
      `This database has tables that this code does not know: ${unknown.join(", ")}. Deploy the newer code again.`,
    );
  }
  return new Set(made);
}

/** Makes a family and records which families exist now. Call it inside a transaction. */
export function makeFamily(storage: Storage, family: Family): ReadonlySet<Family> {
  const { sql } = storage;
  // Reads the state again, because another instance may have opened the same storage and made the family meanwhile.
  const before = openSchema(storage);
  if (before.has(family)) return before;
  const statements = MAKING[family];
  assert(statements !== undefined, `The room of the tables "${family}" is not loaded.`);
  const hears = statements.some((each) => each.includes("palimpsest_forgotten")) && family !== FORGOTTEN;
  const needed = hears ? makeFamily(storage, FORGOTTEN) : before;
  const made = new Set([...needed, family]);
  if (needed.size === 0) sql.exec(SCHEMA);
  sql.exec(statements.join(";\n"));
  sql.exec("INSERT OR REPLACE INTO palimpsest_schema VALUES (1, ?, ?)", SCHEMA_VERSION, [...made].join(" "));
  return made;
}

/** One row with the version and the families that were made. */
const SCHEMA =
  "CREATE TABLE palimpsest_schema (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, made TEXT NOT NULL)";

type SchemaRow = { version: number; made: string };

/**
 * Returns null in a database that holds none of our tables. Selects from the table directly, because a look-up in
 * `sqlite_master` would read the whole list of tables.
 */
function readSchema(sql: Storage["sql"]): SchemaRow | null {
  try {
    return sql.exec<SchemaRow>("SELECT version, made FROM palimpsest_schema").toArray()[0] ?? null;
  } catch (error) {
    if (error instanceof Error && /no such table/.test(error.message)) return null;
    throw error;
  }
}
