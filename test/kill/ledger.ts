/**
 * Reads the agent's ledger from its database file. Reading does not call the agent, so it cannot wake it.
 *
 * Safe beside a live Worker, because it reads a copy and never the file that the Worker writes. A write during the copy shows as an error
 * of SQLite, and a polling caller reads again.
 */
import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RunRecord } from "../../src/memory/runs/runs.ts";

export interface Ledger {
  /** Oldest first. */
  readonly runs: readonly RunRecord[];
  /** Number of stored messages, from any writer. */
  readonly messages: number;
  readonly overlays: number;
  readonly drafts: number;
  /** Texts of the drafts. A summariser that names its prompts shows here which of its answers are stored. */
  readonly draftTexts: readonly string[];
  /** Versions of notes, oldest first. */
  readonly notes: readonly { readonly n: number; readonly standing: number; readonly sections: string }[];
}

/** Throws when the agent has no database yet, or during a write. */
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
    // A table is created by the first write to it.
    const all = <Row = Record<string, unknown>>(table: string, columns: string): Row[] => {
      const found = db.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table);
      return found === undefined ? [] : (db.prepare(`SELECT ${columns} FROM ${table}`).all() as Row[]);
    };
    const count = (table: string): number => all<{ n: number }>(table, "count(*) AS n")[0]?.n ?? 0;
    const drafts = all<{ text: string }>("palimpsest_drafts", "text");
    const rows = all<{ n: number; record: string }>("palimpsest_runs", "n, record").toSorted((a, b) => a.n - b.n);
    return {
      runs: rows.map(({ record }) => JSON.parse(record) as RunRecord),
      messages: count("palimpsest_messages"),
      overlays: all("palimpsest_overlays", "n").filter(({ n }) => Number(n) > 0).length,
      drafts: drafts.length,
      draftTexts: drafts.map(({ text }) => text),
      notes: all<Ledger["notes"][number]>(
        "palimpsest_overlays",
        "-n AS n, state = 'notes' AS standing, summary AS sections",
      )
        .filter(({ n }) => n > 0)
        .toSorted((a, b) => a.n - b.n),
    };
  } finally {
    db.close();
  }
}
