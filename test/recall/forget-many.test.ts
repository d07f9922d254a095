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

test.each<readonly [string, (probe: Probe) => void]>([
  ["cleared", ({ history }) => history.clear()],
  ["deleted", ({ memory }) => memory.sessions.delete("")],
  ["emptied", ({ history }) => history.delete(Array.from({ length: 20 }, (_, n) => `m${n}`))],
  ["edited", ({ history }) => history.update(say("m20", "word"))],
])("large messages that are %s are removed at once, however few they are", async (_, work) => {
  await withProbe((probe) => {
    const { memory, history, storage } = probe;
    for (let n = 0; n < 20; n++) {
      memory.session("other").append(say(`o${n}`, wordsOf(n)));
      memory.search.find("w1", { sessionId: "other" });
    }
    for (let n = 0; n < 20; n++) history.append(say(`m${n}`, wordsOf(n, 2_000)));
    history.append(say("m20", wordsOf(20, 40_000)));
    memory.search.find("w1");
    // Only where they are removed at once is the index merged into one segment.
    const segments = (): unknown =>
      storage.sql.exec("SELECT count(DISTINCT segid) AS n FROM palimpsest_search_idx").one()["n"];
    expect(segments()).toBeGreaterThan(1);
    work(probe);
    expect(segments()).toBe(1);
  });
});
