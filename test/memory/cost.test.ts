/** The purpose of the schema, which is rows read and written, to the row. */
import { describe, expect, test } from "vitest";
import type { History } from "../../src/memory/messages/history.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { Meter } from "../../src/memory/db.ts";
import { fill, measure, say, span, withProbe } from "./probe.ts";

const SIZES = [100, 5_000];

describe("an append", () => {
  test("writes exactly 1 row and reads none while warm, one more row every 64, and two more for a session's first", async () => {
    await withProbe(({ history, cost }) => {
      expect(cost(() => history.append(say("m0")))).toMatchObject({ rowsWritten: 3 });
      const costs = Array.from({ length: 199 }, (_, n) => cost(() => history.append(say(`m${n + 1}`))));
      expect(costs.filter((each) => each.rowsWritten === 1).length).toBe(196);
      expect(costs.filter((each) => each.rowsWritten === 2).length).toBe(3);
      expect(Math.max(...costs.map((each) => each.rowsRead))).toBe(0);
    });
  });

  test("to an older message writes its index entry too, and a repeated id writes nothing", async () => {
    await withProbe(({ history, cost }) => {
      fill(history, 1, 10);
      expect(cost(() => history.append(say("branch"), "m3"))).toEqual({ rowsRead: 1, rowsWritten: 2 });
      expect(cost(() => history.append(say("m5", "other")))).toEqual({ rowsRead: 1, rowsWritten: 0 });
    });
  });

  test.each(SIZES)("after a cold start reads no more than a view and 4 rows, at %i messages", async (size) => {
    await withProbe(({ history, reopen }) => {
      fill(history, 1, size - 14);
      history.overlays.add({ span: span("m4", `m${size - 14}`), summary: "S" });
      fill(history, size - 13, size);
      const view = measureCold(reopen, (cold) => cold.view());
      const append = measureCold(reopen, (cold) => cold.append(say("next")));
      expect(append.rowsWritten).toBe(1);
      expect(append.rowsRead).toBeLessThanOrEqual(view.rowsRead + 4);
    });
  });
});

describe("a view", () => {
  test("reads the same rows whatever is stored: 14 visible of 100 and of 5,000", async () => {
    const reads: number[] = [];
    for (const size of SIZES) {
      await withProbe(({ history, reopen }) => {
        fill(history, 1, size - 10);
        history.overlays.add({ span: span("m4", `m${size - 10}`), summary: "S" });
        fill(history, size - 9, size);
        expect(history.view().elements.length).toBe(14);
        reads.push(measureCold(reopen, (cold) => cold.view()).rowsRead);
        expect(measureCold(reopen, (cold) => cold.outline()).rowsRead).toBe(reads.at(-1));
        expect(measureCold(reopen, (cold) => cold.tokens()).rowsRead).toBe(reads.at(-1));
      });
    }
    expect(reads[0]).toBe(reads[1]);
    expect(reads[0]).toBeLessThanOrEqual(14 + 6);
  });

  test("reads at most 2 rows per visible element and 4, over stacks, dead overlays and other branches", async () => {
    await withProbe(({ history, reopen }) => {
      fill(history, 1, 3);
      for (let n = 0; n < 20; n++) {
        fill(history, 100 * n + 100, 100 * n + 109);
        const added = history.overlays.add({ span: span(`m${100 * n + 101}`, `m${100 * n + 108}`), summary: `S${n}` });
        if (n % 3 === 0 && added.kind === "applied") history.overlays.rollback(added.overlay.id);
        // A branch that leaves from the middle and is summarised too.
        for (let k = 0; k < 4; k++) history.append(say(`b${n}-${k}`), k === 0 ? `m${100 * n + 104}` : `b${n}-${k - 1}`);
        history.overlays.add({ span: span(`b${n}-0`, `b${n}-3`), summary: "B" });
        history.append(say(`next${n}`), `m${100 * n + 109}`);
      }
      const visible = history.view().elements.length;
      const { rowsRead } = measureCold(reopen, (cold) => cold.view());
      expect(rowsRead).toBeLessThanOrEqual(2 * visible + 4);
    });
  });

  test("reads at most 2 rows per visible element and 4 when every row beside the path is another branch", async () => {
    await withProbe(({ history, reopen }) => {
      history.append(say("a0"));
      for (let n = 1; n <= 60; n++) {
        history.append(say(`x${n}`), `a${n - 1}`);
        if (n % 2 === 0) history.append(say(`y${n}`), `x${n}`);
        if (n % 2 === 0) history.overlays.add({ span: span(`x${n}`, `y${n}`), summary: "S" });
        history.append(say(`a${n}`), `a${n - 1}`);
      }
      const { rowsRead } = measureCold(reopen, (cold) => cold.view());
      expect(history.view().elements.length).toBe(61);
      expect(rowsRead).toBeLessThanOrEqual(2 * 61 + 4);
    });
  });

  test("total of the active leaf costs no row while warm, through appends and streamed updates", async () => {
    await withProbe(({ history, cost }) => {
      fill(history, 1, 50);
      history.tokens();
      const { rowsRead } = cost(() => {
        fill(history, 51, 60);
        history.tokens();
      });
      expect(rowsRead).toBe(0);
      history.update(say("m60", "streamed ".repeat(50)));
      expect(cost(() => history.tokens()).rowsRead).toBe(0);
    });
  });

  test("the total is still known after the active leaf was deleted, and after what is appended then", async () => {
    await withProbe(({ history, cost }) => {
      fill(history, 1, 50);
      history.tokens();
      history.delete(["m50"]);
      // Reads the active leaf, and does not walk the view.
      expect(cost(() => history.tokens()).rowsRead).toBeLessThanOrEqual(2);
      expect(history.tokens()).toBe(history.view().tokens);
      fill(history, 50, 51);
      expect(cost(() => history.tokens()).rowsRead).toBe(0);
      expect(history.tokens()).toBe(history.view().tokens);
    });
  });

  test("the total is right after a leaf that a summary ends on was deleted, and one with another branch beside it (V1)", async () => {
    await withProbe(({ history }) => {
      fill(history, 1, 20);
      history.overlays.add({ span: span("m2", "m20"), summary: "Short." });
      history.tokens();
      history.delete(["m20"]);
      expect(history.tokens()).toBe(history.view().tokens);
      history.append(say("aside"), "m5");
      history.tokens();
      history.delete(["aside"]);
      expect(history.leafId()).toBe("m19");
      expect(history.tokens()).toBe(history.view().tokens);
    });
  });

  test("newest first reads only what is taken", async () => {
    await withProbe(({ history, cost }) => {
      fill(history, 1, 200);
      const read = cost(() => {
        let taken = 0;
        for (const message of history.history({ newestFirst: true })) if (message.id !== "" && ++taken === 5) break;
      });
      expect(read.rowsRead).toBeLessThanOrEqual(8);
    });
  });
});

describe("a change", () => {
  test("streamed into the leaf writes 1 row each time; equal content writes none", async () => {
    await withProbe(({ history, cost }) => {
      fill(history, 1, 100);
      history.overlays.add({ span: span("m1", "m50"), summary: "S" });
      for (let n = 0; n < 20; n++) {
        expect(cost(() => history.update(say("m100", `so far ${n}`)))).toMatchObject({ rowsWritten: 1 });
      }
      expect(cost(() => history.update(say("m100", "so far 19")))).toEqual({ rowsRead: 1, rowsWritten: 0 });
    });
  });

  test("newer than every overlay costs the same however long the covered span is", async () => {
    const costs: Meter[] = [];
    for (const size of SIZES) {
      await withProbe(({ history, cost }) => {
        fill(history, 1, size);
        history.overlays.add({ span: span("m2", `m${size - 5}`), summary: "S" });
        costs.push(cost(() => history.update(say(`m${size - 2}`, "changed"))));
        costs.push(cost(() => history.delete([`m${size - 1}`])));
      });
    }
    expect(costs.slice(0, 2)).toEqual(costs.slice(2));
    expect(Math.max(...costs.map((each) => each.rowsRead))).toBeLessThanOrEqual(8);
  });

  test("deleting a prefix of 19 writes each row once, the re-hung child and its index entry", async () => {
    await withProbe(({ history, cost }) => {
      fill(history, 1, 40);
      const ids = Array.from({ length: 19 }, (_, n) => `m${n + 1}`);
      expect(cost(() => history.delete(ids)).rowsWritten).toBe(21);
      expect(history.getHistory().map((message) => message.id)[0]).toBe("m20");
    });
  });
});

function measureCold(reopen: () => Memory, work: (cold: History) => unknown) {
  const memory = reopen();
  return measure(memory, () => work(memory.session("")));
}
