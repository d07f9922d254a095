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
