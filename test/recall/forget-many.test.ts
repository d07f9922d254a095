/** A large session that was searched is cleared, deleted and emptied in less time than its index took, and the index keeps no word of it (S2). */
import { expect, test } from "vitest";
import type { Probe } from "../memory/probe.ts";
import { say, withProbe } from "../memory/probe.ts";
import { everyTable } from "../rows.ts";

const MESSAGES = 3_000;
const OTHERS = 800;
const ROUNDS = 4;
/** Every message of the session has a word of this kind, and no message of another has. */
const WORD = "zqcanary";

function wordsOf(n: number, words = 60): string {
  return Array.from({ length: words }, (_, at) => `w${(n * 7919 + at * 104_729) % 20_011}`).join(" ");
}

/** Stores and indexes the session and another, and returns how long the session's index took. */
function index({ memory, history }: Probe): number {
  for (let n = 0; n < OTHERS; n++) memory.session("other").append(say(`o${n}`, wordsOf(n)));
  memory.search.find("w1", { sessionId: "other" });
  for (let n = 0; n < MESSAGES; n++) history.append(say(`m${n}`, `${WORD}${n} ${wordsOf(n)}`));
  const began = performance.now();
  memory.search.find(WORD, { sessionId: "" });
  return performance.now() - began;
}

const holdsWord = ({ storage }: Probe): string[] =>
  [...everyTable(storage)].flatMap(([name, text]) => (text.toLowerCase().includes(WORD) ? [name] : []));

test.each<readonly [string, (probe: Probe) => void]>([
  ["cleared", ({ history }) => history.clear()],
  ["deleted", ({ memory }) => memory.sessions.delete("")],
  ["emptied", ({ history }) => history.delete(Array.from({ length: MESSAGES }, (_, n) => `m${n}`))],
])(
  "a searched session is %s in less time than its index took, and no block of the index has a word of it",
  async (_, work) => {
    const forget = (probe: Probe): boolean => {
      const indexing = index(probe);
      expect(holdsWord(probe)).not.toEqual([]);
      const began = performance.now();
      work(probe);
      const took = performance.now() - began;
      expect(holdsWord(probe)).toEqual([]);
      expect(probe.memory.search.find("w1", { sessionId: "other" }).length).toBeGreaterThan(0);
      // Single rows leave no word behind them either, as before.
      probe.memory.session("other").update(say("o1", `${WORD} once`));
      expect(holdsWord(probe)).not.toEqual([]);
      probe.memory.session("other").update(say("o1", "gone"));
      expect(holdsWord(probe)).toEqual([]);
      return took < indexing;
    };
    // Other work on the machine only adds time, and some of it meets either alone.
    let isSooner = false;
    for (let round = 0; round < ROUNDS && !isSooner; round++) isSooner = await withProbe(forget);
    expect(isSooner).toBe(true);
  },
);

test("a small session in a large index is removed row by row, so that the index is not merged for it", async () => {
  await withProbe(({ memory, history, cost }) => {
    for (let n = 0; n < MESSAGES; n++) memory.session("other").append(say(`o${n}`, "word"));
    for (let n = 0; n < 40; n++) history.append(say(`m${n}`, "word"));
    memory.search.find("word");
    expect(cost(() => history.clear()).rowsRead).toBeLessThan(MESSAGES / 10);
  });
});

const blocks = ({ storage }: Probe): number =>
  storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM palimpsest_search_data").one().n;
/** The sessions that are indexed to some message. */
const indexed = ({ storage }: Probe): unknown[] =>
  [
    ...storage.sql.exec<{ id: string }>(
      "SELECT session_id AS id FROM palimpsest_searched_sessions WHERE indexed_to >= 0 ORDER BY n",
    ),
  ].map(({ id }) => id);
/** An index that was made anew. One that was merged has those of the other session's words too. */
const EMPTY_BLOCKS = 2;

const FORGET: readonly (readonly [string, (probe: Probe) => void])[] = [
  ["cleared", ({ history }) => history.clear()],
  ["deleted", ({ memory }) => memory.sessions.delete("")],
  ["emptied", ({ history }) => history.delete(Array.from({ length: MESSAGES }, (_, n) => `m${n}`))],
];

test.each(FORGET)(
  "a large session that is %s is removed by no row of the index, and another's search indexes again in pieces",
  async (_, work) => {
    await withProbe((probe) => {
      index(probe);
      const found = probe.memory.search.find("w1 w2", { sessionId: "other", limit: 100 }).map(({ id }) => id);
      work(probe);
      expect(blocks(probe)).toBe(EMPTY_BLOCKS);
      expect(probe.memory.search.find(WORD)).toEqual([]);
      probe.history.clear();
      index(probe);
      work(probe);
      let pieces = 0;
      for (const _ of probe.memory.search.catchUp("other")) pieces++;
      expect(pieces).toBeGreaterThan(OTHERS / 250);
      const again = probe.memory.search.find("w1 w2", { sessionId: "other", limit: 100 }).map(({ id }) => id);
      expect(new Set(again)).toEqual(new Set(found));
    });
  },
);

test.each(FORGET)(
  "S2: a session that is %s and taken back is found again, and then nothing of it is left",
  async (_, work) => {
    await withProbe((probe) => {
      const { memory, storage, history, reopen } = probe;
      index(probe);
      const before = [history.pathLength(), memory.search.find(`${WORD}7`).length, blocks(probe), indexed(probe)];
      const crash = (): void =>
        storage.transactionSync(() => {
          work(probe);
          throw new Error("taken back");
        });
      expect(crash).toThrow("taken back");
      expect([history.pathLength(), memory.search.find(`${WORD}7`).length, blocks(probe), indexed(probe)]).toEqual(
        before,
      );
      work(probe);
      const woken = reopen();
      expect(holdsWord(probe)).toEqual([]);
      expect(woken.search.find(`${WORD}7`)).toEqual([]);
      expect(woken.search.find("w1", { sessionId: "other" }).length).toBeGreaterThan(0);
      woken.session("").append(say("new", `${WORD}7`));
      expect(woken.search.find(`${WORD}7`).map(({ id }) => id)).toEqual(["new"]);
    });
  },
);

test.each(FORGET)(
  "S2: a session that is %s while somebody reads the database leaves no word either",
  async (_, work) => {
    await withProbe((probe) => {
      index(probe);
      const cursor = probe.storage.sql.exec("SELECT rowid FROM palimpsest_search_content");
      cursor.next();
      work(probe);
      cursor.next();
      expect(holdsWord(probe)).toEqual([]);
      expect(probe.memory.search.find(WORD)).toEqual([]);
      expect(probe.memory.search.find("w1", { sessionId: "other" }).length).toBeGreaterThan(0);
    });
  },
);

test("a search of all sessions goes on where the index is dropped between its pieces", async () => {
  await withProbe((probe) => {
    const { memory, history } = probe;
    index(probe);
    for (let n = 0; n < OTHERS; n++) memory.session("third").append(say(`t${n}`, wordsOf(n)));
    const pieces = memory.search.catchUp();
    expect(pieces.next().done).toBe(false);
    history.clear();
    while (pieces.next().done !== true);
    expect(indexed(probe)).toEqual(["other", "third"]);
    expect(memory.search.find("w1").length).toBeGreaterThan(0);
  });
});

test("a session that is a small part of the index leaves the others' words in it", async () => {
  await withProbe((probe) => {
    const { memory, history } = probe;
    for (let n = 0; n < 100; n++) memory.session("other").append(say(`o${n}`, wordsOf(n, 4_000)));
    for (let n = 0; n < 20; n++) history.append(say(`m${n}`, `${WORD} ${wordsOf(n, 1_000)}`));
    memory.search.find("w1");
    history.clear();
    expect(holdsWord(probe)).toEqual([]);
    expect(indexed(probe)).toEqual(["other"]);
  });
});

test("a large message that is edited is removed at once", async () => {
  await withProbe(({ memory, history, storage }) => {
    for (let n = 0; n < 20; n++) {
      memory.session("other").append(say(`o${n}`, wordsOf(n)));
      memory.search.find("w1", { sessionId: "other" });
    }
    for (let n = 0; n < 20; n++) history.append(say(`m${n}`, wordsOf(n, 2_000)));
    history.append(say("m20", wordsOf(20, 40_000)));
    memory.search.find("w1");
    // Only where it is removed at once is the index merged into one segment.
    const segments = (): unknown =>
      storage.sql.exec("SELECT count(DISTINCT segid) AS n FROM palimpsest_search_idx").one()["n"];
    expect(segments()).toBeGreaterThan(1);
    history.update(say("m20", "word"));
    expect(segments()).toBe(1);
  });
});
