/** Calibration by a provider's own counts, and that no report can break it. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  calibrate,
  calibrationRatio,
  predictTokens,
  type Calibration,
  type CountedPrompt,
} from "../../../src/steps/tokens/calibrate.ts";

const size = fc.integer({ min: 0, max: 2_000_000 });
const prompts = fc.array(fc.record({ counted: size, estimate: size }), { minLength: 1, maxLength: 30 });

function learn(calls: readonly CountedPrompt[]): Calibration | null {
  return calls.reduce<Calibration | null>(calibrate, null);
}

test("before the first call, a view is what it is estimated at", () => {
  fc.assert(fc.property(size, (estimate) => predictTokens(null, estimate) === estimate));
});

test("the prompt that was counted last is what was counted, unless that is under half of its estimate", () => {
  fc.assert(
    fc.property(prompts, (calls) => {
      const { counted, estimate } = calls.at(-1)!;
      expect(predictTokens(learn(calls), estimate)).toBe(Math.max(counted, Math.round(estimate / 2)));
    }),
  );
});

test("whatever was reported, a larger view is never predicted smaller, and none under half of its estimate", () => {
  fc.assert(
    fc.property(prompts, size, size, (calls, estimate, more) => {
      const calibration = learn(calls);
      const predicted = predictTokens(calibration, estimate);
      expect(Number.isInteger(predicted)).toBe(true);
      expect(predicted).toBeGreaterThanOrEqual(Math.round(estimate / 2));
      expect(predictTokens(calibration, estimate + more)).toBeGreaterThanOrEqual(predicted);
    }),
  );
});

test("a constant error and a system prompt nobody estimated are learned, through compactions", () => {
  const share = fc.double({ min: 0.6, max: 2.5, noNaN: true });
  fc.assert(
    fc.property(share, fc.integer({ min: 0, max: 60_000 }), (ratio, overhead) => {
      const count = (estimate: number): number => Math.round(overhead + ratio * estimate);
      const estimates = Array.from({ length: 300 }, (_, call) => 3_000 + (call % 60) * 1_500);
      const calibration = learn(estimates.map((estimate) => ({ counted: count(estimate), estimate })))!;
      expect(Math.abs(calibrationRatio(calibration) / ratio - 1)).toBeLessThan(0.05);
      for (const estimate of [5_000, 50_000, 100_000]) {
        expect(Math.abs(predictTokens(calibration, estimate) - count(estimate))).toBeLessThan(0.02 * (ratio * 100_000));
      }
    }),
  );
});

test("a large system prompt is no reason to distrust the estimates", () => {
  const calibration = learn(
    Array.from({ length: 50 }, (_, call) => ({ counted: 20_000 + call * 10, estimate: call * 10 })),
  );
  expect(calibrationRatio(calibration!)).toBeCloseTo(1, 5);
  expect(predictTokens(calibration, 490 + 15_000)).toBe(35_490);
});

test("the ratio stays between a half and three, whatever was reported", () => {
  for (const [counted, ratio] of [
    [100_000_000, 3],
    [0, 0.5],
    [2_900_000, 2.888],
  ] as const) {
    const grown = learn([
      { counted: 0, estimate: 0 },
      { counted, estimate: 1_000_000 },
    ]);
    expect(calibrationRatio(grown!)).toBeCloseTo(ratio, 3);
  }
});

test("a prompt that shrank, in either count, teaches nothing of the ratio", () => {
  const before = { counted: 10_000, estimate: 10_000 };
  for (const call of [
    { counted: 50_000, estimate: 9_000 },
    { counted: 50_000, estimate: 10_000 },
    { counted: 9_999, estimate: 50_000 },
  ]) {
    expect(calibrationRatio(learn([before, call])!), JSON.stringify(call)).toBe(1);
  }
  const same = learn([before, { counted: 10_000, estimate: 10_001 }])!;
  expect(same).toMatchObject({ countedGrowth: 0, estimatedGrowth: 1 });
});

test("one wild count does not turn the ratio", () => {
  const steady = Array.from({ length: 20 }, (_, call) => ({ counted: call * 1_000, estimate: call * 1_000 }));
  const wild = calibrate(learn(steady), { counted: 19_000 + 5_000, estimate: 19_000 + 500 });
  expect(calibrationRatio(wild)).toBeLessThan(1.2);
});

test("6,250 estimated tokens weigh as much as the ratio 1 that it starts at", () => {
  const calls = [
    { counted: 0, estimate: 0 },
    { counted: 12_500, estimate: 6_250 },
  ];
  expect(calibrationRatio(learn(calls)!)).toBe(1.5);
});
