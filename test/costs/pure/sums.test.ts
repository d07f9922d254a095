/** What model calls cost, summed by what a provider charges for, and what they would have cost without compaction. */
import { array, assert, nat, property, record } from "fast-check";
import { expect, test } from "vitest";
import {
  checkPrices,
  dollarsOf,
  pricesOf,
  addCall,
  addSummary,
  reportCosts,
  type CostRow,
  type OwnCall,
} from "../../../src/costs/sums.ts";
import { checkModel, withoutModel } from "../../../src/model/chosen.ts";

import { tries } from "../../tries.ts";

const PRICES = { big: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }, small: { input: 0.1, output: 0.4 } };

/** Digits behind the point. Costs of some calls are below a cent. */
const EXACT = 9;

function call(counts: Partial<OwnCall>): OwnCall {
  const none = { cachedTokens: 0, writtenTokens: 0, sparedTokens: 0, pathSeq: 0, pathTokens: 0 };
  return { inputTokens: 0, outputTokens: 0, ...none, ...counts };
}

function sums(calls: readonly Partial<OwnCall>[], model = "big"): CostRow {
  const row = calls.reduce<CostRow | null>((before, each) => addCall(before, model, call(each)), null);
  if (row === null) throw new Error("There was no call.");
  return row;
}

test("a worked example: sent, read from the cache, written, answered, each at its price", () => {
  const row = sums([
    { inputTokens: 10_000, writtenTokens: 9_000, outputTokens: 500 },
    { inputTokens: 12_000, cachedTokens: 9_000, writtenTokens: 2_500, outputTokens: 500 },
  ]);
  const summary = addSummary(null, "small", { inputTokens: 20_000, outputTokens: 1_000 });
  const costs = reportCosts([row, summary], PRICES);
  // 1,500 sent, 9,000 read, 11,500 written, 1,000 answered.
  expect(costs.agent[0]?.cost).toBeCloseTo((1_500 * 3 + 9_000 * 0.3 + 11_500 * 3.75 + 1_000 * 15) / 1e6);
  expect(costs.summarisers[0]?.cost).toBeCloseTo((20_000 * 0.1 + 1_000 * 0.4) / 1e6);
  expect(costs.total).toBeCloseTo((costs.agent[0]?.cost ?? 0) + (costs.summarisers[0]?.cost ?? 0));
});

test("without compaction each prompt has what was spared, reads what the one before had, and pays no summariser", () => {
  const row = sums([
    { inputTokens: 50_000, writtenTokens: 50_000 },
    { inputTokens: 20_000, cachedTokens: 5_000, writtenTokens: 15_000, sparedTokens: 31_000 },
    { inputTokens: 21_000, cachedTokens: 20_000, writtenTokens: 1_000, sparedTokens: 31_000 },
  ]);
  const costs = reportCosts([row, addSummary(null, "big", { inputTokens: 40_000, outputTokens: 1_000 })], PRICES);
  expect(costs.withoutCompaction).toMatchObject({ inputTokens: 153_000, cachedTokens: 101_000 });
  expect(costs.withoutCompaction.total).toBeCloseTo((101_000 * 0.3 + 52_000 * 3.75) / 1e6);
});

test("where nothing was compacted, both sums are the same", () => {
  const row = sums([
    { inputTokens: 5_000, writtenTokens: 5_000, outputTokens: 100 },
    { inputTokens: 8_000, cachedTokens: 5_000, writtenTokens: 3_000, outputTokens: 100 },
  ]);
  const costs = reportCosts([row], PRICES);
  expect(costs.withoutCompaction.total).toBeCloseTo(costs.total ?? Number.NaN);
});

test("a first prompt that another conversation left in the cache costs the same in both sums", () => {
  const costs = reportCosts(
    [
      sums([
        { inputTokens: 25_000, cachedTokens: 20_000, writtenTokens: 5_000, outputTokens: 10 },
        { inputTokens: 26_000, cachedTokens: 25_000, writtenTokens: 1_000, outputTokens: 10 },
      ]),
    ],
    PRICES,
  );
  expect(costs.withoutCompaction.total).toBeCloseTo(costs.total ?? Number.NaN, EXACT);
});

test("a provider that reports no cache has none, in either sum, and one that reports no writes charges none", () => {
  const plain = reportCosts([sums([{ inputTokens: 5_000 }, { inputTokens: 6_000, sparedTokens: 4_000 }])], PRICES);
  expect(plain.withoutCompaction).toMatchObject({ inputTokens: 15_000, cachedTokens: 0 });
  expect(plain.withoutCompaction.total).toBeCloseTo((15_000 * 3) / 1e6);
  const read = reportCosts([sums([{ inputTokens: 5_000 }, { inputTokens: 6_000, cachedTokens: 5_000 }])], PRICES);
  expect(read.withoutCompaction.total).toBeCloseTo((5_000 * 0.3 + 6_000 * 3) / 1e6);
});

test("a model without a price makes the total unknown and is named, unless a price for all others is given", () => {
  const row = sums([{ inputTokens: 1_000 }], "other");
  expect(reportCosts([row], PRICES)).toMatchObject({ total: null, unpriced: ["other"] });
  expect(reportCosts([row], PRICES).withoutCompaction.total).toBeNull();
  expect(reportCosts([row], { "*": { input: 1, output: 1 } })).toMatchObject({ total: 0.001, unpriced: [] });
  expect(pricesOf(PRICES, "toString")).toBeNull();
});

test("the offline summariser is free, whatever the list says of all other models", () => {
  const { name } = checkModel(withoutModel());
  const summary = addSummary(null, name, { inputTokens: 20_000, outputTokens: 1_000 });
  const rows = [sums([{ inputTokens: 1_000 }]), summary];
  for (const list of [PRICES, { ...PRICES, "*": { input: 3, output: 15 } }]) {
    expect(reportCosts(rows, list)).toMatchObject({ total: 0.003, unpriced: [] });
  }
});

test("a count that cannot be is no more than the whole prompt", () => {
  const row = sums([{ inputTokens: 1_000, cachedTokens: 900, writtenTokens: 900 }]);
  expect(row).toMatchObject({ cachedTokens: 900, writtenTokens: 100 });
  expect(dollarsOf({ input: 0, cacheRead: 0, cacheWrite: 0, output: 0 }, { ...PRICES.big })).toBe(0);
});

test("a summariser's call is priced by what was read from the cache and written to it", () => {
  const tokens = { inputTokens: 10_000, outputTokens: 1_000, cachedTokens: 6_000, writtenTokens: 3_000 };
  const { summarisers } = reportCosts([addSummary(null, "big", tokens)], PRICES);
  expect(summarisers[0]?.cost).toBeCloseTo((1_000 * 3 + 6_000 * 0.3 + 3_000 * 3.75 + 1_000 * 15) / 1e6, EXACT);
});

const counts = record({
  inputTokens: nat(100_000),
  outputTokens: nat(10_000),
  cachedTokens: nat(200_000),
  writtenTokens: nat(200_000),
});

/** All tokens at the dearest price of the list. */
function dearest(all: readonly { readonly inputTokens: number; readonly outputTokens: number }[]): number {
  return all.reduce((sum, each) => sum + each.inputTokens * 3.75 + each.outputTokens * 15, 0) / 1e6;
}

test("whatever counts a provider reports, no cost is negative and none exceeds its tokens at the dearest price", () => {
  assert(
    property(array(counts, { minLength: 1, maxLength: 5 }), (all) => {
      const summary = all.reduce<CostRow | null>((before, each) => addSummary(before, "big", each), null);
      const rows = [sums(all), ...(summary === null ? [] : [summary])];
      const { agent, summarisers, total, withoutCompaction } = reportCosts(rows, PRICES);
      for (const { cost } of [...agent, ...summarisers]) {
        expect(cost).toBeGreaterThanOrEqual(0);
        expect(cost).toBeLessThanOrEqual(dearest(all) + 1e-9);
      }
      expect(total).toBeLessThanOrEqual(2 * dearest(all) + 1e-9);
      expect(withoutCompaction.total).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: tries(500) },
  );
});

test("prices that are no numbers, and fields that there are not, are refused", () => {
  const refused = expect.objectContaining({ code: "invalid_options" });
  expect(() => checkPrices({ big: { input: -1, output: 1 } })).toThrow(refused);
  expect(() => checkPrices({ big: { input: Number.NaN, output: 1 } })).toThrow(refused);
  expect(() => checkPrices({ big: { input: 1 } as never })).toThrow(refused);
  // Quotes tell a text from the number.
  expect(() => checkPrices({ big: { input: "1", output: 1 } as never })).toThrow('input is "1": give what a million');
  expect(() => checkPrices({ big: { input: 1, output: 1, cacheRead: null } as never })).toThrow(refused);
  for (const none of [null, [], 5]) expect(() => checkPrices(none as never), String(none)).toThrow(refused);
  expect(() => checkPrices({ big: { input: 1, output: 1, cached: 1 } as never })).toThrow(refused);
});
