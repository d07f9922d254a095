/** Sessions in families, and runs in bars and words. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { layWaterfall } from "../../dashboard/runs/waterfall.ts";
import { describeOutcome } from "../../dashboard/runs/words.ts";
import { duration } from "../../dashboard/format.ts";
import { orderByLineage } from "../../dashboard/sessions/lineage.ts";
import type { StepRecord } from "../../src/memory/runs/runs.ts";
import type { SessionInfo } from "../../src/memory/sessions/sessions.ts";

function session(id: string, more: Partial<SessionInfo> = {}): SessionInfo {
  const nothing = { name: null, lastMessageAt: null, parentSessionId: null, model: null, source: null, metadata: null };
  const sums = { inputTokens: 0, outputTokens: 0, cost: 0 };
  return { id, createdAt: 0, ...nothing, ...sums, endedAt: null, endReason: null, continuedBy: null, ...more };
}

function step(name: string, startedAt: number, endedAt: number | null): StepRecord {
  const costs = { inputTokens: 0, outputTokens: 0, estimatedTokens: 0, calls: 0, askedMs: 0 };
  return { name, attempts: 1, startedAt, endedAt, ...costs, reused: false };
}

describe("families of sessions", () => {
  test("a fork and what a split goes on in stand under where they came from; the newest family comes first", () => {
    const list = [
      session("old", { createdAt: 1 }),
      session("root", { createdAt: 2, continuedBy: "next" }),
      session("fork", { createdAt: 3, parentSessionId: "root" }),
      session("next", { createdAt: 4, parentSessionId: "root" }),
      session("orphan", { createdAt: 0, parentSessionId: "deleted" }),
    ];
    expect(orderByLineage(list).map(({ session, depth, kind }) => `${session.id} ${depth} ${kind}`)).toEqual([
      "root 0 begun",
      "fork 1 forked",
      "next 1 continued",
      "old 0 begun",
      "orphan 0 begun",
    ]);
  });

  test("every session stands in the list once, also when links run in a circle", () => {
    const ids = fc.constantFrom("a", "b", "c", "d", "e");
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(ids, ids), { selector: ([id]) => id }), (links) => {
        const list = links.map(([id, parentSessionId]) => session(id, { parentSessionId }));
        const placed = orderByLineage(list).map(({ session }) => session.id);
        expect(placed.toSorted()).toEqual(links.map(([id]) => id).toSorted());
      }),
    );
  });
});

describe("the steps of a run", () => {
  test("bars lie where the time was spent; one without an end is at work, or was cut off by the run's end", () => {
    const steps = [step("read", 100, 200), step("think", 200, null)];
    const live = layWaterfall({ createdAt: 0, endedAt: null, steps }, 400);
    expect(live).toMatchObject({ ms: 400, waited: 0.25 });
    expect(live.bars).toMatchObject([
      { from: 0.25, width: 0.25, ms: 100, state: "done" },
      { from: 0.5, width: 0.5, ms: 200, state: "running" },
    ]);
    expect(layWaterfall({ createdAt: 0, endedAt: 300, steps }, 999).bars[1]?.state).toBe("cut-off");
  });

  test("every bar lies inside the run's time, whatever the clocks said", () => {
    const time = fc.integer({ min: 0, max: 1_000 });
    const timed = fc.record({ startedAt: time, endedAt: fc.option(time) });
    fc.assert(
      fc.property(fc.array(timed), time, fc.option(time), (times, createdAt, endedAt) => {
        const steps = times.map((each, at) => step(`s${at}`, each.startedAt, each.endedAt));
        const { bars, waited } = layWaterfall({ createdAt, endedAt, steps }, 500);
        expect(waited).toBeGreaterThanOrEqual(0);
        for (const { from, width } of bars) {
          expect(from).toBeGreaterThanOrEqual(0);
          expect(width).toBeGreaterThanOrEqual(0);
          expect(from + width).toBeLessThanOrEqual(1 + 1e-9);
        }
      }),
    );
  });
});

test("outcomes and times in words", () => {
  const applied = {
    kind: "applied",
    overlayId: "o",
    tokensBefore: 9_000,
    tokensAfter: 1_000,
    degraded: true,
  } as const;
  expect(describeOutcome(applied)).toBe("9,000 → 1,000 tokens, without a model");
  expect(describeOutcome({ kind: "failed", reason: "no key" })).toBe("failed: no key");
  expect([duration(840), duration(12_400), duration(200_000), duration(7_500_000)]).toEqual([
    "840 ms",
    "12.4 s",
    "3 min 20 s",
    "2 h 5 min",
  ]);
});
