/** Which call costs less is arithmetic over tokens and prices alone. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { chargesOf, type CallTokens } from "../../../src/prompt-cache/cheaper.ts";
import { DEFAULT_PRICES } from "../../../src/limits.ts";

const tokens = fc.integer({ min: 0, max: 1_000_000 });
const price = fc.double({ min: 0.001, max: 10, noNaN: true });
const someCalls: fc.Arbitrary<CallTokens> = fc.record({
  plainTokens: tokens,
  cachedTokens: tokens,
  addedTokens: tokens,
  answerTokens: tokens,
});
const somePrices = fc.record({ input: price, output: price, cacheRead: price, cacheWrite: price });

test("a worked example: 60,000 tokens in the cache against 25,000 sent anew, at the prices of a large provider", () => {
  const calls = { plainTokens: 25_000, cachedTokens: 60_000, addedTokens: 2_000, answerTokens: 1_500 };
  const { plain, continued } = chargesOf(calls, DEFAULT_PRICES);
  expect(plain).toBeCloseTo(25_000 + 1_500 * 5);
  expect(continued).toBeCloseTo(60_000 * 0.1 + 2_000 + 1_500 * 5);
});

test("without a cache the prompt is only continued where it is the smaller one", () => {
  fc.assert(
    fc.property(someCalls, price, (calls, output) => {
      const { plain, continued } = chargesOf(calls, { input: 1, output, cacheRead: 1, cacheWrite: 1 });
      expect(continued < plain).toBe(calls.cachedTokens + calls.addedTokens < calls.plainTokens);
    }),
  );
});

test("more in the cache, more behind it and a dearer cache make a continued call dearer, and never change the plain one", () => {
  fc.assert(
    fc.property(someCalls, somePrices, fc.integer({ min: 1, max: 10_000 }), (calls, prices, more) => {
      const before = chargesOf(calls, prices);
      const dearer = [
        chargesOf({ ...calls, cachedTokens: calls.cachedTokens + more }, prices),
        chargesOf({ ...calls, addedTokens: calls.addedTokens + more }, prices),
        chargesOf(calls, { ...prices, cacheRead: prices.cacheRead + more }),
      ];
      for (const { plain, continued } of dearer) {
        expect(plain).toBe(before.plain);
        expect(continued).toBeGreaterThanOrEqual(before.continued);
      }
    }),
  );
});

test("a cheaper summariser makes the plain call cheaper, and the agent's own answer costs what it did", () => {
  fc.assert(
    fc.property(someCalls, somePrices, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (calls, prices, share) => {
      const own = chargesOf(calls, prices);
      const cheap = chargesOf(calls, { ...prices, input: prices.input * share, output: prices.output * share });
      expect(cheap.plain).toBeLessThanOrEqual(own.plain);
      expect(cheap.continued).toBeCloseTo(own.continued, 3);
    }),
  );
});

test("a summariser that charges nothing for input is never the dearer one", () => {
  fc.assert(
    fc.property(someCalls, somePrices, (calls, prices) => {
      const { plain, continued } = chargesOf(calls, { ...prices, input: 0 });
      expect(continued).toBeGreaterThan(plain);
    }),
  );
});
