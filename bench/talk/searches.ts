/**
 * Two ways to find the turns that answer a question: `recall` over our own index, and SQLite's full-text index with
 * stems and neighbours, as somebody would write it in an afternoon.
 *
 * Both run over `node:sqlite`, which is the same SQLite as a Durable Object's.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { UIMessage } from "ai";
import { recall, HiddenMessages } from "../../src/recall/recall.ts";
import { Db } from "../../src/memory/db.ts";
import { Memory } from "../../src/memory/memory.ts";
import type { Storage } from "../../src/memory/schema.ts";
import { MessageSearch } from "../../src/recall/search.ts";
import { atOnce } from "../../src/steps/text/text.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import type { Conversation } from "./conversations.ts";

/** The ids of the turns in one answer of so many tokens. */
export type Search = (question: string, maxTokens: number) => ReadonlySet<string>;

export function ours({ turns }: Conversation): Search {
  let now = 0;
  const db = new Db(storageOf(new DatabaseSync(":memory:")));
  const memory = new Memory(db, { now: () => now, counterOf: () => estimateTokens });
  const search = new MessageSearch(db, (sessionId, row) => memory.readContent(sessionId, row));
  const history = memory.session("");
  const first = turns[0]?.speaker;
  for (const { id, speaker, text, at } of turns) {
    now = at;
    const role: UIMessage["role"] = speaker === first ? "user" : "assistant";
    history.append({ id, role, parts: [{ type: "text", text: `${speaker}: ${text}` }] });
  }
  return (query, maxTokens) => {
    const originals = new HiddenMessages(history.tree, search);
    const work = recall({ originals, version: null }, { query, everywhere: true, maxTokens }, estimateTokens);
    const found = atOnce(work);
    return new Set(found.kind === "found" ? found.messages.map(({ id }) => id) : []);
  };
}

function storageOf(database: DatabaseSync): Storage {
  const known = new Map<string, StatementSync>();
  const exec = (sql: string, ...bindings: (string | number | null | Uint8Array)[]) => {
    // Several statements at once, as the tables of a family are made. Preparing them would run the first alone.
    if (sql.includes(";\n")) database.exec(sql);
    const statement = sql.includes(";\n") ? null : (known.get(sql) ?? database.prepare(sql));
    if (statement !== null) known.set(sql, statement);
    const rows = statement?.all(...bindings) ?? [];
    return { rowsRead: 0, rowsWritten: 0, toArray: () => rows, [Symbol.iterator]: () => rows[Symbol.iterator]() };
  };
  return {
    sql: { exec: exec as unknown as SqlStorage["exec"], databaseSize: 0 },
    transactionSync: (work) => work(),
  };
}

/** Turns either way beside each hit. */
const NEIGHBOURS = [0, -1, 1, -2, 2];
const MOST_HITS = 500;
const STOP_WORDS = new Set(
  `a about after all am an and any are as at be because been before being both but by can could did do does doing for from had
  has have he her here hers him his how i if in into is it its me more most my no not of off on once only or other our out over own
  she should so some such than that the their them then there these they this those to too under until up very was we were what when
  where which while who whom whose why will with would you your`.split(/\s+/),
);

export function fullText({ turns }: Conversation): Search {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE turns USING fts5 (text, tokenize = 'porter unicode61')");
  const texts = turns.map(({ speaker, text }) => `${speaker}: ${text}`);
  const insert = database.prepare("INSERT INTO turns (rowid, text) VALUES (?, ?)");
  for (const [at, text] of texts.entries()) insert.run(at + 1, text);
  const matches = database.prepare("SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT ?");
  return (question, maxTokens) => {
    const words = new Set(question.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
    const told = [...words].filter((word) => !STOP_WORDS.has(word));
    const asked = told.map((word) => `"${word}"`).join(" OR ");
    const shown = new Set<string>();
    let left = maxTokens;
    for (const { rowid } of asked === "" ? [] : matches.all(asked, MOST_HITS)) {
      for (const beside of NEIGHBOURS) {
        const at = Number(rowid) - 1 + beside;
        const turn = turns[at];
        if (turn === undefined || shown.has(turn.id)) continue;
        left -= estimateTokens(`${texts[at]}\n`);
        if (left < 0) return shown;
        shown.add(turn.id);
      }
    }
    return shown;
  };
}
