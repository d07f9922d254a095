/** A span's messages are read in slices, so that a run over a long conversation, or a huge message, holds up no writer. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Db } from "../../src/memory/db.ts";
import { Memory } from "../../src/memory/memory.ts";
import type { History } from "../../src/memory/messages/history.ts";
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
        const reader = history.spans.reader(asked);
        read.bytes = 0;
        const messages = readAll(reader, () => {
          expect(read.bytes).toBeLessThan(MAX_SLICE_BYTES + BESIDE);
          read.bytes = 0;
        });
        expect(messages).toEqual(history.spans.messages(asked));
        expect(reader !== null && reader.digest === history.spans.sourceDigest(asked)).toBe(true);
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
    readAll(history.spans.reader(span("small", "huge")), () => {
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
      const planned = history.spans.sourceDigest(asked) ?? "";
      const reader = history.spans.reader(asked);
      readAll(reader, (slice) => {
        if (slice === 0) change(history);
      });
      expect(reader !== null && reader.digest === planned, name).toBe(name === "append");
    });
  }
});

/** The words of messages, which is what a summary can tell. */
const wordsOf = (messages: readonly UIMessage[] | null): string =>
  JSON.stringify(messages?.map(({ role, parts }) => [role, parts]) ?? null);

/** What may happen to `part`, of which a span covers the step that says "two", and to a message that it covers whole. */
const BETWEEN: Record<string, (history: History, part: UIMessage) => unknown> = {
  "an edit of the part": (history, part) => history.update(withStep(part, 1, "other")),
  "an edit of the part that is taken back later": (history, part) => history.update(part),
  "growth behind the part": (history, part) =>
    history.update({ ...part, parts: [...part.parts, ...said("more").parts] }),
  "another step of the message": (history, part) => history.update(withStep(part, 0, "new")),
  "metadata alone": (history, part) => history.update({ ...part, metadata: { seen: true } }),
  "a deletion": (history) => history.delete(["part"]),
  "a deletion, and the same message again": (history, part) => {
    history.delete(["part"]);
    history.append(part);
  },
  "an edit of a whole message": (history) => history.update(say("m2", "another text")),
  "the whole message as it was": (history) => history.update(say("m2", FILLING)),
  "an append": (history) => history.append(say(`later-${history.leafId()?.length}`)),
  nothing: () => undefined,
};
const FILLING = "x".repeat(SLICE_BYTES / 2);

const said = (...texts: readonly string[]): UIMessage => steps("part", ...texts);

function withStep(message: UIMessage, step: number, text: string): UIMessage {
  const parts = message.parts.map((part, at) => (at === 2 * step + 1 ? { type: "text" as const, text } : part));
  return { ...message, parts };
}

test("C3: what counts as read has the very words that stand there, whatever was changed and taken back between two slices", async () => {
  const changes = fc.array(fc.constantFrom(...Object.keys(BETWEEN)), { minLength: 1, maxLength: 8 });
  let [read, missed] = [0, 0];
  await fc.assert(
    fc.asyncProperty(changes, fc.boolean(), fc.boolean(), async (names, isFirst, isLong) => {
      await withProbe(({ history }) => {
        const part = isLong ? said("one", "two ".repeat(8_000), "three") : said("one", "two", "three");
        if (isFirst) history.append(part);
        for (let n = 0; n < 4; n++) history.append(say(`m${n}`, FILLING));
        if (!isFirst) history.append(part);
        const asked = isFirst ? span("part", "m3", [1, WHOLE_MESSAGE]) : span("m0", "part", [0, 1]);
        const planned = { digest: history.spans.sourceDigest(asked), words: wordsOf(history.spans.messages(asked)) };
        const reader = history.spans.reader(asked);
        const words = wordsOf(readAll(reader, (slice) => BETWEEN[names[slice] ?? "nothing"]?.(history, part)));
        if (reader?.digest === planned.digest) expect(words).toBe(planned.words);
        const isCurrent = reader !== null && history.spans.isAsRead(reader, asked);
        if (isCurrent) expect(words).toBe(wordsOf(history.spans.messages(asked)));
        if (isCurrent) read++;
        else missed++;
      });
    }),
    { numRuns: tries(120) },
  );
  expect(Math.min(read, missed)).toBeGreaterThan(0);
});

/** Whether the covered part has the same words after the change. */
const KEEPS_PART: Record<string, boolean> = {
  "an edit of the part": false,
  "another step of the message": false,
  "growth behind the part": true,
  "metadata alone": true,
};

test("C3: an edit of a part after it was read is noticed, and growth behind it is no edit", async () => {
  for (const [name, isKept] of Object.entries(KEEPS_PART)) {
    await withProbe(({ history }) => {
      for (let n = 0; n < 4; n++) history.append(say(`m${n}`, FILLING));
      history.append(said("one", "two", "three"));
      const asked = span("m0", "part", [0, 1]);
      const planned = history.spans.sourceDigest(asked);
      const reader = history.spans.reader(asked);
      readAll(reader, (slice) => {
        if (slice === 0) BETWEEN[name]?.(history, said("one", "two", "three"));
      });
      expect(reader?.digest, name).toBe(planned);
      expect(reader !== null && history.spans.isAsRead(reader, asked), name).toBe(isKept);
    });
  }
});

test("C3: a part that was read with other words is not what was planned, although the words are back", async () => {
  for (const [name, isKept] of Object.entries(KEEPS_PART)) {
    await withProbe(({ history }) => {
      const part = said("one", "two", "three");
      for (let n = 0; n < 4; n++) history.append(say(`m${n}`, FILLING));
      history.append(part);
      const asked = span("m0", "part", [0, 1]);
      const planned = history.spans.sourceDigest(asked);
      BETWEEN[name]?.(history, part);
      const reader = history.spans.reader(asked);
      readAll(reader, (slice) => {
        if (slice === 0) history.update(part);
      });
      expect(reader?.digest === planned, name).toBe(isKept);
      expect(reader !== null && history.spans.isAsRead(reader, asked), name).toBe(isKept);
    });
  }
});

test("C3: a message of several rows that changes between two of them and back is not as it was read, whole or in part", async () => {
  for (const cut of [0, 1]) {
    await withProbe(({ history }) => {
      const part = said("one", "two ".repeat(30_000), "three");
      history.append(part);
      history.append(say("end"));
      const asked = span("part", "end", [cut, WHOLE_MESSAGE]);
      const reader = history.spans.reader(asked);
      let slices = 0;
      readAll(reader, () => {
        slices++;
        if (slices === 2) history.update(withStep(part, 1, "other ".repeat(600_000)));
        if (slices === 3) history.update(part);
      });
      expect(slices).toBeGreaterThan(3);
      expect(reader !== null && history.spans.isAsRead(reader, asked)).toBe(false);
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
  history.overlays.add({ span: span("m300", "m320"), summary: "S" });
  history.overlays.add({ span: span("m500", "m510"), summary: "T" });
  return span("m2", "m990", [1, 2]);
}

test("C3: the compare of a commit is read before it in slices of the stated bytes, and the commit reads no row of its span", async () => {
  await withProbe(({ storage }) => {
    const { memory, read } = countReads(storage);
    const history = memory.session("");
    const asked = fillLong(history);
    const reader = history.spans.reader(asked);
    readAll(reader);
    read.bytes = 0;
    let slices = 0;
    for (const _ of history.spans.survey(asked)) {
      expect(read.bytes).toBeLessThan(MAX_SLICE_BYTES);
      history.append(say(`later-${slices++}`));
      read.bytes = 0;
    }
    expect(slices).toBeGreaterThan(1);
    const before = memory.db.meter.rowsRead;
    expect(reader !== null && history.spans.isAsRead(reader, asked)).toBe(true);
    const found = history.spans.digest(asked);
    const details = { facts: null, draftKey: "known" };
    const commit = history.overlays.add({ span: asked, summary: "U", digest: found?.digest ?? "", details });
    expect(memory.db.meter.rowsRead - before).toBeLessThan(20);
    expect(commit.kind).toBe("applied");
    expect(found?.digest).toBe(history.spans.sourceDigest(asked));
    expect(found?.messages).toBe(989);
  });
});

test("C3: an edit, a deletion and a rollback after the slices are seen by the compare, and between them too", async () => {
  const changes = {
    edit: (history: ReturnType<Memory["session"]>) => history.update(say("m700", "another text")),
    deletion: (history: ReturnType<Memory["session"]>) => history.delete(["m700"]),
    rollback: (history: ReturnType<Memory["session"]>) =>
      history.overlays.list().map(({ id }) => history.overlays.rollback(id)),
  };
  for (const [name, change] of Object.entries(changes)) {
    for (const isBetween of [true, false]) {
      await withProbe(({ history, reopen }) => {
        const asked = fillLong(history);
        const reader = history.spans.reader(asked);
        readAll(reader);
        let slices = 0;
        for (const _ of history.spans.survey(asked)) if (slices++ === 0 && isBetween) change(history);
        if (!isBetween) change(history);
        expect(reader !== null && history.spans.isAsRead(reader, asked), name).toBe(name === "rollback");
        expect(history.spans.digest(asked), name).toEqual(reopen().session("").spans.digest(asked));
      });
    }
  }
});

test("a survey reads no content, also of messages that its range or its overlays cut", async () => {
  await withProbe(({ storage, reopen }) => {
    const { memory, read } = countReads(storage);
    const history = memory.session("");
    history.append(steps("part", "one", "z".repeat(12_000_000 / 80), "three"));
    for (let n = 0; n < 5; n++) history.append(steps(`m${n}`, "one", "z".repeat(1_500_000 / 80), "three"));
    for (let n = 0; n < 4; n++) history.overlays.add({ span: span(`m${n}`, `m${n + 1}`, [2, 0]), summary: "S" });
    expect(history.view().elements.filter(({ kind }) => kind === "overlay")).toHaveLength(4);
    const asked = span("part", "m4", [1, WHOLE_MESSAGE]);
    read.bytes = 0;
    for (const _ of history.spans.survey(asked));
    const found = history.spans.digest(asked);
    expect(read.bytes).toBeLessThan(BESIDE);
    expect(found).toEqual(reopen().session("").spans.digest(asked));
  });
});

test("C3: the commit over thousands of messages reads none of them once more where another message grew meanwhile", async () => {
  await withProbe(({ storage }) => {
    const { memory, read } = countReads(storage);
    const history = memory.session("");
    const asked = fillLong(history);
    let grown = 0;
    const grow = (): unknown => history.upsert(steps("live", "one", `more ${grown++}`));
    const reader = history.spans.reader(asked);
    readAll(reader, grow);
    for (const _ of history.spans.survey(asked)) grow();
    grow();
    expect(grown).toBeGreaterThan(4);
    read.bytes = 0;
    expect(reader !== null && history.spans.isAsRead(reader, asked)).toBe(true);
    const found = history.spans.digest(asked);
    expect(read.bytes).toBeLessThan(BESIDE);
    expect(found?.digest).toBe(history.spans.sourceDigest(asked));
    history.update(say("m700", "another text"));
    expect(reader !== null && history.spans.isAsRead(reader, asked)).toBe(false);
    expect(history.spans.digest(asked)?.digest).not.toBe(found?.digest);
  });
});
