/**
 * The tables, in families. A family is made when a row of it is first written ({@link Db}), so that an agent pays for
 * what it uses: most have no notes, no search and no context blocks.
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
 * M2: code older than the database refuses to open it.
 */
import { PalimpsestError } from "../errors.ts";

/** The part of a Durable Object's storage that the memory layer uses. */
export interface Storage {
  readonly sql: Pick<SqlStorage, "exec" | "databaseSize">;
  transactionSync<T>(closure: () => T): T;
}

/** The version of the tables below. They may change in place until the first release, and never after it. */
export const SCHEMA_VERSION = 1;

/** What is made together. Statements that read several tables read those of one family. */
export type Family = keyof typeof FAMILIES;

const FAMILIES = {
  conversation: [
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
       end_reason        TEXT,
       continued_by      TEXT
     ) WITHOUT ROWID`,
    // Sessions by age. One more row is written when a session is created, none later; a page of a list reads that page.
    `CREATE INDEX palimpsest_sessions_by_age ON palimpsest_sessions (created_at, session_id)`,
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
  overlays: [
    // `n` counts a session's overlays; the newest wins where two cover exactly the same span. `top_seq` is the newest message
    // when it was added, `changes` how its state changed since (overlays/changes.ts).
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
    // Overlays are few and written once per run, so both ways of finding one may have an index. The second holds only
    // what a view may show: overlays that were rolled back or gave way to an edit cost a walk nothing.
    `CREATE UNIQUE INDEX palimpsest_overlay_ids ON palimpsest_overlays (session_id, overlay_id)`,
    `CREATE INDEX palimpsest_active_overlays
       ON palimpsest_overlays (session_id, to_seq DESC, to_step DESC, from_seq ASC, from_step ASC, n DESC) WHERE state = 'active'`,
  ],
  // What was already paid for: a chunk's summary by the digest of its source, prompt version and model.
  drafts: [
    `CREATE TABLE palimpsest_drafts (
       session_id    TEXT NOT NULL,
       key           TEXT NOT NULL,
       tokens        INTEGER NOT NULL,
       details       TEXT NOT NULL,
       created_at    INTEGER NOT NULL,
       text          TEXT NOT NULL,
       PRIMARY KEY (session_id, key)
     ) WITHOUT ROWID`,
  ],
  // The ledger. `live = 1` until the one outcome is written; the partial index is what a wake-up reads.
  runs: [
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
  // Ends of runs that a caller's function is yet to be told of (runs/hook-outbox.ts).
  hookOutbox: [
    `CREATE TABLE palimpsest_hook_outbox (
       run_id     TEXT PRIMARY KEY,
       session_id TEXT NOT NULL,
       attempts   INTEGER NOT NULL
     ) WITHOUT ROWID`,
  ],
  // What model calls were counted at, by session and model (runs/usage-statements.ts).
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
  // How summarisers fare, agent-wide, and what they cost (runs/health-statements.ts).
  health: [
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
  // The last versions of each session. They tell of a message as far as a step: it may grow behind that. Absent: to its end.
  notes: [
    `CREATE TABLE palimpsest_notes (
       session_id   TEXT NOT NULL,
       n            INTEGER NOT NULL,
       standing     INTEGER NOT NULL,
       covers       TEXT NOT NULL,
       told_seq     INTEGER,
       told_step    INTEGER,
       covered_id   TEXT,
       covered_step INTEGER,
       created_at   INTEGER NOT NULL,
       sections     TEXT NOT NULL,
       details      TEXT NOT NULL,
       PRIMARY KEY (session_id, n)
     ) WITHOUT ROWID`,
  ],
  search: [
    // How far each session is indexed; none is until it is searched.
    `CREATE TABLE palimpsest_searched_sessions (
       n          INTEGER PRIMARY KEY,
       session_id TEXT NOT NULL UNIQUE,
       indexed_to INTEGER NOT NULL
     )`,
    `CREATE VIRTUAL TABLE palimpsest_search USING fts5 (words, forms, tokenize = 'unicode61 remove_diacritics 2')`,
    "INSERT INTO palimpsest_search (palimpsest_search, rank) VALUES ('secure-delete', 1)",
    // Messages that are too long to be searched whole.
    `CREATE TABLE palimpsest_search_partial (number INTEGER PRIMARY KEY)`,
  ],
  // Context blocks (src/context). `scope` is one session's, or the one that is shared on purpose.
  blocks: [
    `CREATE TABLE palimpsest_blocks (
       scope   TEXT NOT NULL,
       label   TEXT NOT NULL,
       content TEXT NOT NULL,
       PRIMARY KEY (scope, label)
     ) WITHOUT ROWID`,
  ],
  // No row: nothing is frozen. An empty prompt is a row.
  prompts: [`CREATE TABLE palimpsest_prompts (scope TEXT PRIMARY KEY, prompt TEXT NOT NULL) WITHOUT ROWID`],
  // `loaded` is 0 for a skill that was unloaded again.
  skills: [
    `CREATE TABLE palimpsest_loaded_skills (
       scope  TEXT NOT NULL,
       label  TEXT NOT NULL,
       key    TEXT NOT NULL,
       loaded INTEGER NOT NULL,
       PRIMARY KEY (scope, label, key)
     ) WITHOUT ROWID`,
  ],
  entries: [
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
} as const satisfies Record<string, readonly string[]>;

const NAME = /palimpsest_\w+/g;

/** The family of each table. */
const FAMILY_OF: ReadonlyMap<string, Family> = new Map(
  (Object.keys(FAMILIES) as Family[]).flatMap((family) =>
    FAMILIES[family].flatMap((statement) => {
      const name = /^CREATE (?:VIRTUAL )?TABLE (\w+)/.exec(statement)?.[1];
      return name === undefined ? [] : [[name, family] as const];
    }),
  ),
);

/** What a statement needs to be there. */
export interface Needs {
  /** What it writes new rows into; null for any other statement. */
  readonly makes: Family | null;
  /** Where one of these is not there, the statement finds nothing and changes nothing. */
  readonly reads: readonly Family[];
}

/** What a statement needs, by the tables that it names. */
export function needsOf(sql: string): Needs {
  const target = /^\s*(?:INSERT|REPLACE)\b[^]*?\bINTO\s+(palimpsest_\w+)/.exec(sql);
  const makes = FAMILY_OF.get(target?.[1] ?? "") ?? null;
  const source = makes === null ? sql : sql.slice(sql.search(/\bSELECT\b/));
  const copies = makes === null || /\bSELECT\b/.test(sql);
  const names = copies ? (source.match(NAME) ?? []) : [];
  const families = names.map((name) => FAMILY_OF.get(name)).filter((family) => family !== undefined);
  return { makes, reads: [...new Set(families)] };
}

/** The families that are there. Reads one row. Throws `newer_schema`. */
export function openSchema({ sql }: Storage): ReadonlySet<Family> {
  const row = readSchema(sql);
  if (row === null) return new Set();
  if (row.version > SCHEMA_VERSION) {
    throw new PalimpsestError(
      "newer_schema",
      `This database is at schema version ${row.version}; this code knows versions up to ${SCHEMA_VERSION}. Deploy the newer code again: rolling back past a schema version is not supported.`,
    );
  }
  return new Set(row.made.split(" ") as Family[]);
}

/** Makes a family, and writes down which are there now. Call inside a transaction. */
export function makeFamily(storage: Storage, family: Family): ReadonlySet<Family> {
  const { sql } = storage;
  // Asked for, not remembered: somebody else may have opened the same storage and made it meanwhile.
  const before = openSchema(storage);
  if (before.has(family)) return before;
  const made = new Set([...before, family]);
  if (before.size === 0) sql.exec(SCHEMA);
  for (const statement of FAMILIES[family]) sql.exec(statement);
  sql.exec("INSERT OR REPLACE INTO palimpsest_schema VALUES (1, ?, ?)", SCHEMA_VERSION, [...made].join(" "));
  return made;
}

/** One row: the version, and the families that were made. */
const SCHEMA =
  "CREATE TABLE palimpsest_schema (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, made TEXT NOT NULL)";

type SchemaRow = { version: number; made: string };

/** Null in a database that holds nothing of ours yet. Asked for and not looked up: the list of tables would be read whole. */
function readSchema(sql: Storage["sql"]): SchemaRow | null {
  try {
    return sql.exec<SchemaRow>("SELECT version, made FROM palimpsest_schema").toArray()[0] ?? null;
  } catch (error) {
    if (error instanceof Error && /no such table/.test(error.message)) return null;
    throw error;
  }
}
