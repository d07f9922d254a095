/** What the agent's own models told: the tokens of their calls, and what their signed thoughts were made on. */
import { textLength } from "../../steps/message/message.ts";
import { columns, type Db } from "../db.ts";
import { digest } from "../../steps/text/digest.ts";
import type { Calibration } from "../../steps/tokens/calibrate.ts";
import { madeOn, marksOf, newIn, saidBy, staying, type Said } from "../../steps/view/thoughts.ts";
import type { UIMessage } from "ai";

/** Sums over the calls of one model, and the calibration of the session's estimates learned from them. */
export type UsageRow = { [Field in keyof Calibration]: number } & {
  model: string;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  /** Epoch ms of the newest call. */
  recordedAt: number;
};

const LEARNED = ["countedGrowth", "estimatedGrowth", "lastCounted", "lastEstimate", "recordedAt"] as const;
const USAGE = columns("model", "calls", "inputTokens", "outputTokens", ...LEARNED);

export class UsageTable {
  readonly #db: Db;
  /** Cached rows of sessions, so that a warm append reads none. */
  readonly #rows: Map<string, readonly UsageRow[]>;

  constructor(db: Db) {
    this.#db = db;
    this.#rows = db.cached(new Map());
  }

  /** The last called model comes first. */
  rows(sessionId: string): readonly UsageRow[] {
    const sql = `SELECT ${USAGE} FROM palimpsest_usage WHERE session_id = ? ORDER BY recorded_at DESC, model`;
    const rows = this.#rows.get(sessionId) ?? this.#db.run<UsageRow>(sql, sessionId);
    this.#rows.set(sessionId, rows);
    return rows;
  }

  put(sessionId: string, row: UsageRow): void {
    this.#db.replace("palimpsest_usage", { sessionId, ...row });
    this.#rows.delete(sessionId);
  }

  /**
   * Copies the calibration of another session to a new one, whose sums begin at 0, because it has made no call yet. Call it inside the
   * transaction that creates the session.
   */
  copy(from: string, to: string): void {
    for (const row of this.rows(from)) this.put(to, { ...row, calls: 0, inputTokens: 0, outputTokens: 0 });
  }

  /** For a session that is deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#db.run("DELETE FROM palimpsest_usage WHERE session_id = ?", sessionId);
  }
}

/** Most prompts that are held, and most characters of those before the newest. A model is asked about the newest. */
const MOST_PROMPTS = 32;
const MOST_CHARS = 8_000_000;

/** A prompt that was handed out, and whose answer is stored by the caller. */
export interface OpenPrompt {
  /** The message that it ended with. */
  readonly leafId: string | null;
  /** What the thoughts of the answer were made on. */
  readonly madeOf: (reply: readonly Said[]) => ReadonlyMap<string, string>;
  /** Characters that it keeps in memory. */
  readonly chars?: number;
}

type ThoughtRow = { mark: string; prefix: string };

export class ThoughtsTable {
  readonly #db: Db;
  /** Held in memory. After an eviction the thoughts of an answer under way stay without notes. */
  #open: readonly (OpenPrompt & { readonly sessionId: string })[] = [];

  constructor(db: Db) {
    this.#db = db;
  }

  /** The digests of what stood before these thoughts, by the marks of the thoughts. */
  prefixes(marks: readonly string[]): ReadonlyMap<string, string> {
    const sql = `SELECT mark, prefix FROM palimpsest_thoughts WHERE mark IN (SELECT value FROM json_each(?))`;
    const rows = marks.length === 0 ? [] : this.#db.run<ThoughtRow>(sql, JSON.stringify(marks));
    return new Map(rows.map(({ mark, prefix }) => [mark, prefix]));
  }

  put(sessionId: string, prefixes: ReadonlyMap<string, string>): void {
    if (prefixes.size === 0) return;
    this.#db.transaction(() => {
      for (const [mark, prefix] of prefixes) this.#db.replace("palimpsest_thoughts", { mark, sessionId, prefix });
    });
  }

  /** A view without the thoughts that have something else before them than in the view that they were made on. */
  boundView(messages: UIMessage[]): UIMessage[] {
    const said = messages.map(({ role, parts }) => parts.map((part) => saidBy(role, part)));
    const whole = said.flat(2);
    const marks = marksOf(whole);
    if (marks.length === 0) return messages;
    const prefixes = this.prefixes(marks.map(ofView));
    const stays = staying(whole, {}, (mark) => prefixes.get(ofView(mark)));
    if (stays.every(Boolean)) return messages;
    let at = 0;
    return messages.map((message, index) => {
      const parts = message.parts.filter((_, n) => {
        const many = said[index]?.[n]?.length ?? 0;
        at += many;
        return many === 0 || stays[at - 1] === true;
      });
      return parts.length === message.parts.length ? message : { ...message, parts };
    });
  }

  /** Notes that a view was handed out, which a model may be asked about. */
  showed(sessionId: string, leafId: string | null, messages: readonly UIMessage[]): void {
    const said = (): Said[] => messages.flatMap(({ role, parts }) => parts.flatMap((part) => saidBy(role, part)));
    const madeOf = (reply: readonly Said[]): ReadonlyMap<string, string> => {
      const prompt = said();
      const made = madeOn(prompt, {}, newIn(reply, prompt));
      return new Map([...made].map(([mark, prefix]) => [ofView(mark), prefix]));
    };
    this.opened(sessionId, { leafId, madeOf, chars: textLength(messages) });
  }

  opened(sessionId: string, prompt: OpenPrompt): void {
    let left = MOST_CHARS;
    const earlier = this.#open.slice(1 - MOST_PROMPTS).toReversed();
    const kept = earlier.filter(({ chars = 0 }) => (left -= chars) >= 0);
    this.#open = [...kept.toReversed(), { ...prompt, sessionId }];
  }

  /**
   * Notes what the thoughts of a reply were made on, by the prompts that ended with it or with its parent. Where several prompts could have been its own and differ, they
   * count as made on none of them, so that the provider is not sent them. Call it inside the transaction that stores the reply.
   */
  stored(sessionId: string, { id, role, parts }: UIMessage, parentOf: () => string | null): void {
    const own = this.#open.filter((each) => each.sessionId === sessionId);
    if (role !== "assistant" || own.length === 0) return;
    const reply = parts.flatMap((part) => saidBy(role, part));
    if (marksOf(reply).length === 0) return;
    const parentId = parentOf();
    const prompts = own.filter(({ leafId }) => leafId === parentId || leafId === id);
    const made = new Map<string, string>();
    for (const { madeOf } of prompts) {
      for (const [mark, prefix] of madeOf(reply)) {
        const other = made.get(mark);
        made.set(mark, other === undefined || other === prefix ? prefix : UNCLEAR);
      }
    }
    const known = this.prefixes([...made.keys()]);
    this.put(sessionId, new Map([...made].filter(([mark]) => !known.has(mark))));
  }

  /** For a session whose messages are all deleted. Call it inside that transaction. */
  delete(sessionId: string): void {
    this.#open = this.#open.filter((each) => each.sessionId !== sessionId);
    this.#db.run("DELETE FROM palimpsest_thoughts WHERE session_id = ?", sessionId);
  }
}

/** No prompt has it. */
const UNCLEAR = "";

/** A view's messages and a prompt's are compared each with their own kind, because tools may show a model their outputs in another form. */
function ofView(mark: string): string {
  return digest("view", mark);
}
