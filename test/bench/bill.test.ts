/** The arithmetic of the bill. It includes wakes and stored runs, stays within limits, and the page agrees with the stored tables. */
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../bench/bill/cloudflare.ts";
import { rounded, writeCosts, type CostsPage } from "../../bench/bill/page.ts";
import { ASSUMED, boundsOf, meanShareOf, monthOf, type Counted } from "../../bench/bill/workload.ts";

const NOTHING: Counted = {
  first: { read: 0, written: 0 },
  append: { read: 0, written: 0 },
  wake: { read: 0, readPerMessage: 0, written: 0 },
  view: { read: 0, readPerMessage: 0 },
  run: { read: 0, written: 0, requests: 0, modelCalls: 0, inputTokens: 0, outputTokens: 0, storedBytes: 0 },
  mostSteps: 0,
  messageBytes: 0,
  emptyBytes: 0,
  resultBytes: 0,
};

describe("a month", () => {
  it("has the rows of every wake, and the more of them the more is in view", () => {
    const still = monthOf(1_000, NOTHING);
    expect(still.wakes).toBe(still.messages * ASSUMED.wakesPerMessage);
    const woken = monthOf(1_000, { ...NOTHING, wake: { read: 3, readPerMessage: 0, written: 2 } });
    expect(woken.units.rowsRead - still.units.rowsRead).toBe(3 * woken.wakes);
    expect(woken.units.rowsWritten - still.units.rowsWritten).toBe(2 * woken.wakes);
    const read = monthOf(1_000, { ...NOTHING, wake: { read: 0, readPerMessage: 1, written: 0 } });
    expect(read.units.rowsRead).toBeGreaterThan(still.units.rowsRead + woken.wakes);
  });

  it("stores what every run leaves behind, as long as all else is stored", () => {
    const still = monthOf(1_000, NOTHING);
    const stored = monthOf(1_000, { ...NOTHING, run: { ...NOTHING.run, storedBytes: 20_000 } });
    const more = (stored.units.storedGigabytes - still.units.storedGigabytes) * 1_000_000_000;
    expect(still.runs).toBeGreaterThan(0);
    expect(more).toBeCloseTo(still.runs * 20_000 * ASSUMED.monthsStored, 0);
  });

  it("holds the steps of the largest run to those that an instance may have", () => {
    const bounds = boundsOf(monthOf(1_000, NOTHING), { ...NOTHING, mostSteps: 11 });
    expect(bounds.find(({ limit }) => limit.startsWith("steps"))).toMatchObject({
      used: 11,
      most: LIMITS.instanceSteps,
    });
  });
});

const EMPTY = { columns: ["limit"], rows: [] };
const PAGE: CostsPage = {
  operations: EMPTY,
  runs: EMPTY,
  months: EMPTY,
  bills: EMPTY,
  bounds: EMPTY,
  overloaded: [],
  stored: { messageBytes: 1, textBytes: 1, emptyBytes: 1, firstWritten: 1, runBytes: 12_345 },
  times: { append: 1, view: 1, wake: 1, run: 1 },
  chunksToLimit: 1,
};

describe("the page of costs", () => {
  it("says that waiting does not help where the mean hour is over the limit of calls, and only there", () => {
    expect(meanShareOf({ limit: "calls", used: 3 * ASSUMED.peak, most: 2 })).toBe(1.5);
    expect(writeCosts(PAGE)).not.toContain("waiting does not help");
    const page = writeCosts({ ...PAGE, overloaded: [{ at: "5 conversations", share: 1.5 }] });
    expect(page).toContain("At 5 conversations the mean hour asks for 1.50 times as many calls");
    expect(page).toContain("at least 33 of 100 calls");
  });

  it("has the digits that results are kept with", () => {
    const rows = [["rows read", 452_403_478_260.87, 17_530_625_000, 0.73021]];
    expect(rounded({ columns: [], rows }).rows).toEqual([["rows read", 452_400_000_000, 17_530_625_000, 0.7302]]);
  });

  it("says that its times were measured once", () => {
    expect(writeCosts(PAGE).match(/measured once/gi)).toHaveLength(2);
  });
});
