/**
 * The agent's ledger, read from its database file: what is seen here was asked of nobody, so it cannot have woken anyone.
 *
 * Safe beside a live Worker: a copy is read, never the file that the Worker writes; a copy torn by a write is an error
 * of SQLite's, and whoever polls reads again.
 */
import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RunRecord } from "../../src/memory/runs/runs.ts";

export interface Ledger {
  /** Oldest first. */
  readonly runs: readonly RunRecord[];
  /** As many as are stored, whoever stored them. */
  readonly messages: number;
  readonly overlays: number;
  readonly drafts: number;
  /** What they say: of a summariser that names what it was asked, which of its answers are stored. */
  readonly draftTexts: readonly string[];
  /** Versions of notes, oldest first. */
  readonly notes: readonly { readonly n: number; readonly standing: number; readonly sections: string }[];
}

/** Throws when the agent has no database yet, or when it was caught in the middle of a write. */
export async function readLedger(stateDir: string): Promise<Ledger> {
  const objects = join(stateDir, "v3", "do", "palimpsest-PalimpsestAgent");
  const files = await readdir(objects);
  const name = files.find((file) => /^[0-9a-f]{64}\.sqlite$/.test(file));
  if (name === undefined) throw new Error("The agent has stored nothing yet.");
  const copies = await mkdtemp(join(tmpdir(), "palimpsest-ledger-"));
  try {
    for (const file of files.filter((each) => each === name || each === `${name}-wal`)) {
      await copyFile(join(objects, file), join(copies, file));
    }
    return read(join(copies, name));
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

function read(path: string): Ledger {
  const db = new DatabaseSync(path);
  try {
    // A table is made when it is first written to.
    const all = <Row>(table: string, columns: string): Row[] => {
      const found = db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table);
      return found === undefined ? [] : (db.prepare(`SELECT ${columns} FROM ${table}`).all() as Row[]);
    };
    const count = (table: string): number => all<{ n: number }>(table, "count(*) AS n")[0]?.n ?? 0;
    const drafts = all<{ text: string }>("palimpsest_drafts", "text");
    const rows = all<{ n: number; record: string }>("palimpsest_runs", "n, record").toSorted((a, b) => a.n - b.n);
    return {
      runs: rows.map(({ record }) => JSON.parse(record) as RunRecord),
      messages: count("palimpsest_messages"),
      overlays: count("palimpsest_overlays"),
      drafts: drafts.length,
      draftTexts: drafts.map(({ text }) => text),
      notes: all<Ledger["notes"][number]>("palimpsest_notes", "n, standing, sections").toSorted((a, b) => a.n - b.n),
    };
  } finally {
    db.close();
  }
}
