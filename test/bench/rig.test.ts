/** A time is the time of one operation, however many share a stretch. The rows of a start are kept for a later call. */
import type { UIMessage } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { batchOf } from "../../bench/objects/batch.ts";
import { Meter } from "../../bench/objects/meter.ts";
import { Rig, type Contender, type Operation } from "../../bench/objects/rig.ts";

/** A clock that ticks once a millisecond, and goes on by a hundredth of one whenever it is read. */
let hundredths = 0;

beforeEach(() => {
  hundredths = 0;
  vi.spyOn(performance, "now").mockImplementation(() => Math.floor(hundredths++ / 100));
});

afterEach(() => {
  vi.restoreAllMocks();
});

function fakeContext(): DurableObjectState {
  const keys = new Map<string, unknown>();
  const storage = {
    sql: { exec: () => ({ rowsRead: 2, rowsWritten: 0 }) },
    kv: { get: () => undefined, put: () => undefined },
    get: async (key: string) => keys.get(key),
    put: async (key: string, value: unknown) => void keys.set(key, value),
  };
  return { id: { name: "fake" }, storage } as unknown as DurableObjectState;
}

/** A store in memory that forks nothing, and what was asked of it. */
function fakeStore() {
  const asked: string[] = [];
  const messages: UIMessage[] = [];
  const contender: Contender = {
    append: async (message) => {
      asked.push("append");
      messages.push(message);
    },
    appendAll: async (all) => void messages.push(...all),
    addSummary: async () => undefined,
    view: async () => {
      asked.push("view");
      hundredths += 50;
      return messages;
    },
    update: async () => asked.push("update"),
    remove: async (id) => {
      asked.push("remove");
      expect(messages.pop()?.id).toBe(id);
    },
    branches: async () => [],
    search: async () => [{}],
    fork: null,
    compactAfter: () => async () => undefined,
  };
  return { contender, asked, messages };
}

async function openRig(changed: Partial<Contender> = {}) {
  const store = fakeStore();
  Object.assign(store.contender, changed);
  const ctx = fakeContext();
  const meter = new Meter(ctx.storage, true);
  ctx.storage.sql.exec("SELECT 1");
  const rig = new Rig(ctx, meter, store.contender);
  await rig.answer(["fill", 20]);
  return { rig, ...store };
}

/** Waits by the fake clock alone. The fifth wait ends late. */
function fakeWaits(lateMs: number): void {
  let waits = 0;
  vi.spyOn(Date, "now").mockImplementation(() => Math.floor(hundredths / 100));
  vi.stubGlobal("setTimeout", (done: () => void, ms: number) => {
    hundredths += 100 * (ms + (++waits === 5 ? lateMs : 0));
    queueMicrotask(done);
  });
}

describe("a stretch", () => {
  it("of appends is of few, because what is appended stays, and of deletions leaves what was there", async () => {
    const { rig, messages } = await openRig();
    expect(await rig.time("append", { times: 3, stretchMs: 1_000 })).toHaveLength(3);
    // Three to know how long one takes, and thirty as warm-up and three times.
    const stored = 20 + 3 + 4 * 30;
    expect(messages.map(({ id }) => id)).toEqual(Array.from({ length: stored }, (_, n) => `m${n + 1}`));
    await rig.time("delete", { times: 3, stretchMs: 1_000 });
    expect(messages).toHaveLength(stored);
  });

  it("is as long after an operation that was timed alone as after none", async () => {
    const { rig, asked } = await openRig();
    await rig.time("view", { times: 1, stretchMs: 0 });
    const alone = asked.length;
    await rig.time("view", { times: 1, stretchMs: 20 });
    expect(asked.length - alone).toBeGreaterThanOrEqual(3 + 2 * 38);
  });

  it("is divided by how many operations it was of", async () => {
    const { rig, asked } = await openRig();
    const [ms] = await rig.time("view", { times: 1, stretchMs: 20 });
    expect(ms).toBeCloseTo(0.5, 2);
    // Three to know how long one takes, and 40 of half a millisecond, as warm-up and once.
    expect(asked.length).toBeGreaterThanOrEqual(3 + 2 * 38);
  });

  it("is one operation where no stretch is asked for", async () => {
    const { rig, asked } = await openRig();
    await rig.time("view", { times: 2, stretchMs: 0 });
    expect(asked).toEqual(["view", "view"]);
  });

  it("of what a store does not have is no time", async () => {
    const { rig } = await openRig();
    expect(await rig.time("fork" satisfies Operation, { times: 2, stretchMs: 0 })).toEqual([]);
  });
});

describe("an append that is due", () => {
  const [EVERY, TIMES] = [10, 12];

  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it("is timed from then on, whether its caller was late or the append before had not returned", async () => {
    fakeWaits(25);
    let appended = 0;
    const append = async (): Promise<void> => {
      if (++appended === 3) hundredths += 3_500;
    };
    const { rig } = await openRig({ append });
    const { ms, dueMs, latestMs } = await rig.appendBehind({ thresholdTokens: 1, times: TIMES, everyMs: EVERY });
    // One append takes 35 ms, and two more are due before the next can begin. One begins 25 ms late, and another is due meanwhile.
    expect([Math.round(Math.max(...ms)), latestMs]).toEqual([35, 25]);
    expect([ms.length, dueMs.length]).toEqual([TIMES - 3, TIMES]);
    // With the two or three that the clock itself takes to be read.
    expect(dueMs.filter((each) => each > EVERY).map((each) => Math.round(each))).toEqual([35, 28, 18, 25, 18]);
  });
});

describe("a start", () => {
  it("is what was read before the first call, however much was read since", async () => {
    const { rig } = await openRig();
    expect(await rig.count("start", 1)).toEqual([{ read: 2, written: 0 }]);
  });
});

describe("a batch", () => {
  it("fills its stretch, with one operation at least and no more than it may", () => {
    expect(batchOf(0.5, { stretchMs: 20, most: 1_000 })).toBe(40);
    expect(batchOf(90, { stretchMs: 20, most: 1_000 })).toBe(1);
    expect(batchOf(0, { stretchMs: 20, most: 1_000 })).toBe(1_000);
    expect(batchOf(0.01, { stretchMs: 20, most: 50 })).toBe(50);
    expect(batchOf(0, { stretchMs: 0, most: 50 })).toBe(1);
  });
});
