/** The cost of a search in rows and in time per text, for any number of matches. */
import { expect, test } from "vitest";
import { fill, say, withProbe, type SearchedMemory } from "../memory/probe.ts";

function found(memory: SearchedMemory, query: string, sessionId = ""): string[] {
  return memory.search.find(query, { sessionId }).map((hit) => hit.id);
}

test("an append writes 1 row, before the first search and after; an update of an indexed message 3, a delete 1 more", async () => {
  await withProbe(({ memory, history, cost }) => {
    fill(history, 0, 20);
    expect(cost(() => history.append(say("before")))).toEqual({ rowsRead: 0, rowsWritten: 1 });
    expect(cost(() => history.update(say("before", "changed")))).toMatchObject({ rowsWritten: 1 });
    memory.search.find("message");
    expect(cost(() => history.append(say("after")))).toEqual({ rowsRead: 0, rowsWritten: 1 });
    expect(cost(() => history.update(say("after", "not yet indexed")))).toMatchObject({ rowsWritten: 1 });
    expect(cost(() => history.update(say("before", "indexed")))).toMatchObject({ rowsWritten: 3 });
    const leaf = cost(() => history.delete(["after"]));
    memory.search.find("message");
    fill(history, 30, 30);
    memory.search.find("message");
    expect(cost(() => history.delete(["m30"])).rowsWritten).toBe(leaf.rowsWritten + 1);
  });
});

test("deleting and updating read as many rows in a large index as in a small one", async () => {
  const reads: number[] = [];
  for (const size of [50, 3_000]) {
    await withProbe(({ memory, history, cost }) => {
      fill(history, 1, size);
      memory.search.find("message");
      reads.push(cost(() => history.update(say(`m${size - 1}`, "changed"))).rowsRead);
      reads.push(cost(() => history.delete([`m${size - 2}`])).rowsRead);
    });
  }
  expect(reads.slice(0, 2)).toEqual(reads.slice(2));
  expect(Math.max(...reads)).toBeLessThanOrEqual(30);
});

test("a search reads its session's matches and 2 rows a hit, writes nothing when nothing is new, and indexes each message once", async () => {
  await withProbe(({ memory, history, cost, reopen }) => {
    for (let n = 0; n < 50; n++) memory.session("other").append(say(`x${n}`, "needle"));
    found(memory, "needle", "other");
    fill(history, 1, 500);
    history.append(say("n1", "needle"));
    history.append(say("n2", "needle"));
    const first = cost(() => memory.search.find("needle", { sessionId: "" }));
    expect(first.rowsWritten).toBeLessThanOrEqual(502 + 8);
    const again = cost(() => expect(found(memory, "needle").length).toBe(2));
    // Each match twice because of the sort, each hit's snippet and message, and a look for hits that are indexed in part.
    expect(again).toEqual({ rowsRead: 2 * 2 + 2 * 2 + 1, rowsWritten: 0 });
    fill(history, 501, 502);
    expect(cost(() => found(memory, "needle")).rowsWritten).toBe(2 + 1);
    const cold = reopen();
    const before = { ...cold.db.meter };
    expect(found(cold, "needle").length).toBe(2);
    expect(cold.db.meter.rowsWritten - before.rowsWritten).toBe(0);
  });
});

test("a search that lets other work in between writes and reads no row for each of its pieces", async () => {
  await withProbe(({ memory, cost }) => {
    fill(memory.session("whole"), 1, 1_000);
    fill(memory.session("pieces"), 1, 1_000);
    const whole = cost(() => memory.search.find("needle", { sessionId: "whole" }));
    let pieces = 1;
    const inPieces = cost(() => {
      for (const _ of memory.search.catchUp("pieces")) pieces++;
    });
    expect(pieces).toBeGreaterThan(5);
    expect(inPieces.rowsWritten).toBeLessThanOrEqual(whole.rowsWritten);
    // Beside a look for edited messages.
    expect(inPieces.rowsRead).toBeLessThanOrEqual(whole.rowsRead + pieces);
  });
});

test("a search over twenty times the text takes at most thirty times as long, however often its words are in one message", async () => {
  await withProbe(async ({ memory }) => {
    const words = Array.from({ length: 32 }, (_, n) => `w${n}`).join(" ");
    const queries = [
      "error",
      '"error at line error"',
      "l* e* a*",
      "東".repeat(1_900),
      words,
      words.replaceAll(" ", "* "),
    ];
    const text = (n: number): string => `${"error at line\n".repeat(n)}${"東".repeat(n)}${`${words}\n`.repeat(n / 32)}`;
    for (const n of [2_000, 40_000]) {
      memory.session(`${n}`).append(say("m", text(n)));
      found(memory, "once", `${n}`);
    }
    for (const query of queries) {
      const [small, large] = [await fastest(memory, query, "2000"), await fastest(memory, query, "40000")];
      // The clock has whole milliseconds, so a time too short to be measured counts as two.
      expect([query.slice(0, 20), large <= 30 * Math.max(2, small)]).toEqual([query.slice(0, 20), true]);
    }
  });
});

test("clearing one session reads and writes that session's rows only", async () => {
  await withProbe(({ memory, cost }) => {
    fill(memory.session("large"), 1, 500);
    fill(memory.session("small"), 1, 5);
    memory.search.find("message");
    const { rowsRead, rowsWritten } = cost(() => memory.session("small").clear());
    expect(rowsRead).toBeLessThanOrEqual(5 * 5 + 15);
    expect(rowsWritten).toBeLessThanOrEqual(5 * 3 + 8);
  });
});

/** Milliseconds of the fastest of three searches, which finds the one message. */
async function fastest(memory: SearchedMemory, query: string, sessionId: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < 3; n++) {
    // The clock of an isolate stands still while it computes.
    await scheduler.wait(0);
    const before = performance.now();
    expect(found(memory, query, sessionId)).toEqual(["m"]);
    await scheduler.wait(0);
    times.push(performance.now() - before);
  }
  return Math.min(...times);
}

test("a search again, with no row written since, looks for new messages in no session; a rollback or a write makes it look", async () => {
  await withProbe(({ memory, history, cost }) => {
    for (let n = 0; n < 9; n++) memory.session(`s${n}`).append(say(`x${n}`, "thing"));
    history.append(say("n1", "needle"));
    const undone = () =>
      memory.db.transaction((): void => {
        memory.search.find("needle");
        throw new Error("undone");
      });
    expect(undone).toThrow("undone");
    expect(memory.search.find("needle").map(({ id }) => id)).toEqual(["n1"]);
    // The match twice because of the sort, its snippet and message, and a look whether it is indexed in part.
    expect(cost(() => memory.search.find("needle"))).toEqual({ rowsRead: 2 + 2 + 1, rowsWritten: 0 });
    memory.session("s3").append(say("n2", "needle"));
    expect(memory.search.find("needle").map(({ id }) => id)).toEqual(["n2", "n1"]);
  });
});
