/** A span's messages are read in slices, so that a run over a long conversation, or a huge message, holds up no writer. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Db } from "../../src/memory/db.ts";
import { Memory } from "../../src/memory/memory.ts";
import { MAX_SLICE_BYTES, SLICE_BYTES, type SpanReader } from "../../src/memory/messages/span-reader.ts";
import { WHOLE_MESSAGE } from "../../src/steps/plan/outline.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { tries } from "../tries.ts";
import { say, span, steps, withProbe } from "./probe.ts";

/** A memory whose reads are counted in characters, which is bytes here. */
function countReads(storage: DurableObjectStorage): { memory: Memory; read: { bytes: number } } {
  const read = { bytes: 0 };
  const count = <Row extends Record<string, SqlStorageValue>>(row: Row): Row => {
    for (const value of Object.values(row)) read.bytes += typeof value === "string" ? value.length : 8;
    return row;
  };
  const exec = <Row extends Record<string, SqlStorageValue>>(sql: string, ...bindings: unknown[]) => {
    const cursor = storage.sql.exec<Row>(sql, ...(bindings as SqlStorageValue[]));
    return {
      toArray: () => cursor.toArray().map(count),
      *[Symbol.iterator]() {
        for (const row of cursor) yield count(row);
      },
      get rowsRead() {
        return cursor.rowsRead;
      },
      get rowsWritten() {
        return cursor.rowsWritten;
      },
    };
  };
  const counted = {
    sql: { exec: exec as unknown as SqlStorage["exec"], databaseSize: 0 },
    transactionSync: storage.transactionSync.bind(storage),
  };
  return { memory: new Memory(new Db(counted), { counterOf: () => estimateTokens, now: () => 1 }), read };
}

/** Reads everything, with `between` after each slice. */
function readAll(reader: SpanReader | null, between: (slice: number) => void = () => undefined): UIMessage[] {
  const newestFirst: UIMessage[][] = [];
  for (let slice = 0; ; slice++) {
    const messages = reader?.next() ?? null;
    if (messages === null) return newestFirst.toReversed().flat();
    newestFirst.push(messages);
    between(slice);
  }
}

/** Columns beside the content, and a row that is read to find a message's place. */
const BESIDE = 20_000;

test("no slice reads more than the stated bytes, whatever the sizes of the messages, and the messages are the span's", async () => {
  const size = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 30_000 }) },
    { weight: 2, arbitrary: fc.integer({ min: 100_000, max: 1_700_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1_800_000, max: 9_000_000 }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 12 }), fc.nat(4), async (sizes, cut) => {
      await withProbe(({ storage }) => {
        const { memory, read } = countReads(storage);
        const history = memory.session("");
        history.append(steps("m0", "one", "two", "three", "four", "five"));
        for (const [at, chars] of sizes.entries()) history.append(say(`m${at + 1}`, "x".repeat(chars)));
        const asked = span("m0", `m${sizes.length}`, [cut, WHOLE_MESSAGE]);
        const reader = history.spanReader(asked);
        read.bytes = 0;
        const messages = readAll(reader, () => {
          expect(read.bytes).toBeLessThan(MAX_SLICE_BYTES + BESIDE);
          read.bytes = 0;
        });
        expect(messages).toEqual(history.spanMessages(asked));
        expect(reader !== null && history.hasRead(reader, history.sourceDigest(asked) ?? "")).toBe(true);
      });
    }),
    { numRuns: tries(16) },
  );
});

test("a message of the largest size is read in as many slices as it has rows", async () => {
  await withProbe(({ storage }) => {
    const { memory, read } = countReads(storage);
    const history = memory.session("");
    history.append(say("small"));
    history.append(say("huge", "x".repeat(16_000_000)));
    const most: number[] = [];
    read.bytes = 0;
    readAll(history.spanReader(span("small", "huge")), () => {
      most.push(read.bytes);
      read.bytes = 0;
    });
    expect(Math.max(...most)).toBeLessThan(MAX_SLICE_BYTES + BESIDE);
    expect(most.length).toBeGreaterThan(8);
  });
});

test("what changes between two slices is noticed: an edit, a deletion, and not an append", async () => {
  const changes = {
    edit: (history: ReturnType<Memory["session"]>) => history.update(say("m1", "another text")),
    deletion: (history: ReturnType<Memory["session"]>) => history.delete(["m1"]),
    append: (history: ReturnType<Memory["session"]>) => history.append(say("later")),
  };
  for (const [name, change] of Object.entries(changes)) {
    await withProbe(({ history }) => {
      for (let n = 0; n < 6; n++) history.append(say(`m${n}`, "x".repeat(SLICE_BYTES / 2)));
      const asked = span("m0", "m5");
      const planned = history.sourceDigest(asked) ?? "";
      const reader = history.spanReader(asked);
      readAll(reader, (slice) => {
        if (slice === 0) change(history);
      });
      expect(reader !== null && history.hasRead(reader, planned), name).toBe(name === "append");
    });
  }
});

/** Steps with tools, so that a row is some hundred bytes without its content. */
function work(id: string): UIMessage {
  const part = (n: number) => ({
    type: "tool-read",
    toolCallId: `${id}-call-${n}`,
    state: "output-available",
    output: "line of code",
  });
  const parts = Array.from({ length: 14 }, (_, n) => [{ type: "step-start" }, part(n)]).flat();
  return { id, role: "assistant", parts: parts as UIMessage["parts"] };
}

/** 1,000 messages, with two summaries inside the span. */
function fillLong(history: ReturnType<Memory["session"]>): ReturnType<typeof span> {
  for (let n = 0; n < 1_000; n++) history.append(work(`m${n}`));
  history.addOverlay({ span: span("m300", "m320"), summary: "S" });
  history.addOverlay({ span: span("m500", "m510"), summary: "T" });
  return span("m2", "m990", [1, 2]);
}

test("C3: the compare of a commit is read before it in slices of the stated bytes, and the commit reads no row of its span", async () => {
  await withProbe(({ storage }) => {
    const { memory, read } = countReads(storage);
    const history = memory.session("");
    const asked = fillLong(history);
    const reader = history.spanReader(asked);
    readAll(reader);
    read.bytes = 0;
    let slices = 0;
    for (const _ of history.survey(asked)) {
      expect(read.bytes).toBeLessThan(MAX_SLICE_BYTES);
      history.append(say(`later-${slices++}`));
      read.bytes = 0;
    }
    expect(slices).toBeGreaterThan(1);
    const before = memory.db.meter.rowsRead;
    expect(reader !== null && history.isAsRead(reader, asked)).toBe(true);
    const found = history.spanDigest(asked);
    const details = { facts: null, draftKey: "known" };
    const commit = history.addOverlay({ span: asked, summary: "U", digest: found?.digest ?? "", details });
    expect(memory.db.meter.rowsRead - before).toBeLessThan(20);
    expect(commit.kind).toBe("applied");
    expect(found?.digest).toBe(history.sourceDigest(asked));
    expect(found?.messages).toBe(989);
  });
});

test("C3: an edit, a deletion and a rollback after the slices are seen by the compare, and between them too", async () => {
  const changes = {
    edit: (history: ReturnType<Memory["session"]>) => history.update(say("m700", "another text")),
    deletion: (history: ReturnType<Memory["session"]>) => history.delete(["m700"]),
    rollback: (history: ReturnType<Memory["session"]>) => history.overlays().map(({ id }) => history.rollback(id)),
  };
  for (const [name, change] of Object.entries(changes)) {
    for (const isBetween of [true, false]) {
      await withProbe(({ history, reopen }) => {
        const asked = fillLong(history);
        const reader = history.spanReader(asked);
        readAll(reader);
        let slices = 0;
        for (const _ of history.survey(asked)) if (slices++ === 0 && isBetween) change(history);
        if (!isBetween) change(history);
        expect(reader !== null && history.isAsRead(reader, asked), name).toBe(name === "rollback");
        expect(history.spanDigest(asked), name).toEqual(reopen().session("").spanDigest(asked));
      });
    }
  }
});
