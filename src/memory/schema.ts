/**
 * The tables, and how a database of any past version becomes one of this version.
 *
 * Job: own the DDL. Boundary: no query of rows lives here (statements.ts), and nothing outside src/memory sees SQL.
 *
 * What the keys are for:
 * - A message's place is `(session_id, seq)`; `seq` rises by one per append and is never given out twice, so the row
 *   with the highest `seq` is always a leaf, it is found with one read, and a path is walked in key order. There is no
 *   secondary index on the hot path: an append writes one row. A message id is found through `fingerprints`: packed
 *   32-bit hashes of ids in `seq` order, one row for thousands of messages, verified by reading the row itself.
 * - `branch = 1` marks the rows whose parent was not the newest row when they were stored. Only those are indexed by
 *   parent, so a linear conversation pays nothing and the children of any message are still found without a scan.
 * - An overlay hangs on its last message (`to_seq`, `to_step`): a walk from a leaf meets it without knowing it exists,
 *   and among overlays that end in one place the widest comes first, then the newest.
 *
 * M2: the version only rises, all migrations that are due are one transaction with its version, and code older than the database refuses to open it.
 */
import { PalimpsestError } from "../errors.ts";

/** The part of a Durable Object's storage that the memory layer uses. */
export interface Storage {
  readonly sql: Pick<SqlStorage, "exec" | "databaseSize">;
  transactionSync<T>(closure: () => T): T;
}

const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE palimpsest_sessions (
       session_id        TEXT PRIMARY KEY,
       name              TEXT,
       created_at        INTEGER NOT NULL,
       next_seq          INTEGER NOT NULL,
       parent_session_id TEXT,
       model             TEXT,
       source            TEXT,
       input_tokens      INTEGER NOT NULL DEFAULT 0,
       output_tokens     INTEGER NOT NULL DEFAULT 0,
       cost              REAL NOT NULL DEFAULT 0,
       ended_at          INTEGER,
       end_reason        TEXT
     ) WITHOUT ROWID`,
    // Small columns first: SQLite then reads a row's facts without loading the pages that hold a long content.
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
    `CREATE TABLE palimpsest_message_parts (
       session_id TEXT NOT NULL,
       seq        INTEGER NOT NULL,
       part       INTEGER NOT NULL,
       content    TEXT NOT NULL,
       PRIMARY KEY (session_id, seq, part)
     ) WITHOUT ROWID`,
    `CREATE TABLE palimpsest_fingerprints (
       session_id TEXT NOT NULL,
       page       INTEGER NOT NULL,
       hashes     BLOB NOT NULL,
       PRIMARY KEY (session_id, page)
     ) WITHOUT ROWID`,
    // `n` counts a session's overlays; the newest wins where two cover exactly the same span.
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
       PRIMARY KEY (session_id, n)
     ) WITHOUT ROWID`,
    // Overlays are few and written once per run, so both ways of finding one may have an index. The second holds only
    // what a view may show: overlays that were rolled back or gave way to an edit cost a walk nothing.
    `CREATE UNIQUE INDEX palimpsest_overlay_ids ON palimpsest_overlays (session_id, overlay_id)`,
    `CREATE INDEX palimpsest_active_overlays
       ON palimpsest_overlays (session_id, to_seq DESC, to_step DESC, from_seq ASC, from_step ASC, n DESC) WHERE state = 'active'`,
    // What was already paid for: a chunk's summary by the digest of its source, prompt version and model.
    `CREATE TABLE palimpsest_drafts (
       session_id    TEXT NOT NULL,
       key           TEXT NOT NULL,
       tokens        INTEGER NOT NULL,
       details       TEXT NOT NULL,
       created_at    INTEGER NOT NULL,
       text          TEXT NOT NULL,
       PRIMARY KEY (session_id, key)
     ) WITHOUT ROWID`,
    // The ledger. `live = 1` until the one outcome is written; the partial index is what a wake-up reads.
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
  ],
  // Context blocks (src/context). `scope` is one session's, or the one that is shared on purpose.
  [
    `CREATE TABLE palimpsest_blocks (
       scope   TEXT NOT NULL,
       label   TEXT NOT NULL,
       content TEXT NOT NULL,
       PRIMARY KEY (scope, label)
     ) WITHOUT ROWID`,
    // No row: nothing is frozen. An empty prompt is a row.
    `CREATE TABLE palimpsest_prompts (scope TEXT PRIMARY KEY, prompt TEXT NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE palimpsest_loaded_skills (
       scope TEXT NOT NULL,
       label TEXT NOT NULL,
       key   TEXT NOT NULL,
       PRIMARY KEY (scope, label, key)
     ) WITHOUT ROWID`,
    `CREATE TABLE palimpsest_block_entries (
       id      INTEGER PRIMARY KEY,
       scope   TEXT NOT NULL,
       label   TEXT NOT NULL,
       key     TEXT NOT NULL,
       content TEXT NOT NULL,
       UNIQUE (scope, label, key)
     )`,
    // Keeps no text of its own: the entry with the same id has it, so an entry is replaced by its id, without a scan.
    // `shelf` is one word that names scope and label: the index itself looks at one block's entries only.
    `CREATE VIRTUAL TABLE palimpsest_block_index
       USING fts5 (shelf, words, content = '', contentless_delete = 1, tokenize = 'porter unicode61')`,
  ],
  // Search. How far each session is indexed; none is until it is searched, which is when the index itself is made.
  [
    `CREATE TABLE palimpsest_searched_sessions (
       n          INTEGER PRIMARY KEY,
       session_id TEXT NOT NULL UNIQUE,
       indexed_to INTEGER NOT NULL
     )`,
  ],
  // Sessions by age. One more row is written when a session is created, none later; a page of a list reads that page.
  [`CREATE INDEX palimpsest_sessions_by_age ON palimpsest_sessions (created_at, session_id)`],
  // What model calls were counted at, by session and model (usage-statements.ts).
  [
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
  // Time travel (overlays/changes.ts): the newest message when an overlay was added, and how its state changed since.
  // Of one that left force before this was written down, no more is known than that it was in force when it came.
  [
    `ALTER TABLE palimpsest_overlays ADD COLUMN top_seq INTEGER NOT NULL DEFAULT 0`,
    `ALTER TABLE palimpsest_overlays ADD COLUMN changes TEXT NOT NULL DEFAULT '[]'`,
    `UPDATE palimpsest_overlays AS overlay SET
       top_seq = max(to_seq, coalesce((SELECT seq FROM palimpsest_messages AS message
         WHERE message.session_id = overlay.session_id AND message.created_at <= overlay.created_at
         ORDER BY seq DESC LIMIT 1), 0)),
       changes = iif(state = 'active', '[]',
         json_array(json_object('state', state, 'afterN', n, 'at', created_at)))`,
  ],
  // How summarisers fare, agent-wide, and what they cost (health-statements.ts).
  [
    `CREATE TABLE palimpsest_health (
       model    TEXT PRIMARY KEY,
       failures INTEGER NOT NULL,
       openings INTEGER NOT NULL,
       until    INTEGER,
       probe    TEXT,
       code     TEXT,
       heard_at INTEGER NOT NULL
     ) WITHOUT ROWID`,
    `CREATE TABLE palimpsest_spend (session_id TEXT PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE palimpsest_day_spend (day INTEGER PRIMARY KEY, tokens INTEGER NOT NULL)`,
  ],
  // Splitting: the session in which the conversation of an ended one goes on.
  [`ALTER TABLE palimpsest_sessions ADD COLUMN continued_by TEXT`],
  // Notes (notes.ts): the last versions of each session.
  [
    `CREATE TABLE palimpsest_notes (
       session_id  TEXT NOT NULL,
       n           INTEGER NOT NULL,
       standing    INTEGER NOT NULL,
       covers      TEXT NOT NULL,
       covered_seq INTEGER,
       covered_id  TEXT,
       created_at  INTEGER NOT NULL,
       sections    TEXT NOT NULL,
       details     TEXT NOT NULL,
       PRIMARY KEY (session_id, n)
     ) WITHOUT ROWID`,
  ],
  // Skills: those that were unloaded again are told from those that were never loaded here.
  [`ALTER TABLE palimpsest_loaded_skills ADD COLUMN loaded INTEGER NOT NULL DEFAULT 1`],
  // Search: words are kept in other forms (search/words.ts). Each session is indexed anew when it is next searched.
  [`DROP TABLE IF EXISTS palimpsest_search`, `DELETE FROM palimpsest_searched_sessions`],
  // Ends of runs that a caller's function is yet to be told of (hook-outbox.ts).
  [
    `CREATE TABLE palimpsest_hook_outbox (
       run_id     TEXT PRIMARY KEY,
       session_id TEXT NOT NULL,
       attempts   INTEGER NOT NULL
     ) WITHOUT ROWID`,
  ],
  // Notes tell of a message as far as a step: it may grow behind that. Absent: to its end.
  // `covered_seq` stays and is used no more: to rename or drop a column writes every row of the schema anew, in each new object.
  [
    `ALTER TABLE palimpsest_notes ADD COLUMN told_seq INTEGER`,
    `UPDATE palimpsest_notes SET told_seq = covered_seq`,
    `ALTER TABLE palimpsest_notes ADD COLUMN told_step INTEGER`,
    `ALTER TABLE palimpsest_notes ADD COLUMN covered_step INTEGER`,
  ],
  // Search: messages that are too long to be searched whole. Each session is indexed anew when it is next searched.
  [
    `CREATE TABLE palimpsest_search_partial (number INTEGER PRIMARY KEY)`,
    `DROP TABLE IF EXISTS palimpsest_search`,
    `DELETE FROM palimpsest_searched_sessions`,
  ],
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Brings a database to {@link SCHEMA_VERSION}. Costs one read when it already is there. Throws `newer_schema`. */
export function migrate(storage: Storage): void {
  const { sql } = storage;
  sql.exec(
    "CREATE TABLE IF NOT EXISTS palimpsest_schema (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL)",
  );
  const found = sql.exec<{ version: number }>("SELECT version FROM palimpsest_schema").toArray()[0]?.version ?? 0;
  if (found > SCHEMA_VERSION) {
    throw new PalimpsestError(
      "newer_schema",
      `This database is at schema version ${found}; this code knows versions up to ${SCHEMA_VERSION}. Deploy the newer code again: rolling back past a migration is not supported.`,
    );
  }
  if (found === SCHEMA_VERSION) return;
  storage.transactionSync(() => {
    for (const statement of MIGRATIONS.slice(found).flat()) sql.exec(statement);
    sql.exec(
      "INSERT INTO palimpsest_schema (one, version) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET version = excluded.version",
      SCHEMA_VERSION,
    );
  });
}
