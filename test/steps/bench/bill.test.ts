/** The arithmetic of the bill: wakes are in it, and the steps of the largest run are held to their limit. */
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../bench/bill/cloudflare.ts";
import { ASSUMED, boundsOf, monthOf, type Counted } from "../../../bench/bill/workload.ts";

const NOTHING: Counted = {
  first: { read: 0, written: 0 },
  append: { read: 0, written: 0 },
  wake: { read: 0, readPerMessage: 0, written: 0 },
  view: { read: 0, readPerMessage: 0 },
  run: { read: 0, written: 0, requests: 0, modelCalls: 0, inputTokens: 0, outputTokens: 0 },
  mostSteps: 0,
  messageBytes: 0,
  emptyBytes: 0,
  outlineBytesPerMessage: 0,
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

  it("holds the steps of the largest run to those that an instance may have", () => {
    const bounds = boundsOf(monthOf(1_000, NOTHING), { ...NOTHING, mostSteps: 11 });
    expect(bounds.find(({ limit }) => limit.startsWith("steps"))).toMatchObject({
      used: 11,
      most: LIMITS.instanceSteps,
    });
  });
});
