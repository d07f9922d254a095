/** Calibration by a provider's own counts, and that no report can break it. */
import { TOOL_OVERHEAD_TOKENS } from "../../../src/steps/message/message.ts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MESSAGE_OVERHEAD_TOKENS } from "../../../src/limits.ts";
import {
  calibrate,
  calibrationRatio,
  predictTokens,
  type Calibration,
  type CountedPrompt,
} from "../../../src/steps/tokens/calibrate.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { readTranscript } from "../transcripts.ts";

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

interface Entry {
  readonly type: string;
  readonly summary?: string;
  readonly message?: {
    readonly role: string;
    readonly content?: string | readonly { type: string; text?: string; name?: string; arguments?: unknown }[];
    readonly usage?: { input: number; output: number; cacheRead: number; cacheWrite: number };
  };
}

/** A call as the session recorded it, what each way of counting said just before it, and what grew since the one before. */
interface Step {
  readonly counted: number;
  readonly predicted: number;
  readonly quarter: number;
  readonly grown: { readonly counted: number; readonly predicted: number; readonly quarter: number } | null;
}

/** Replays a session with a prediction before every call and its usage recorded after it. */
function replay(entries: readonly Entry[]): Step[] {
  const steps: Step[] = [];
  let calibration: Calibration | null = null;
  let view = { estimate: 0, chars: 0 };
  let last: { estimate: number; chars: number } | null = null;
  for (const { type, summary, message } of entries) {
    if (type === "compaction") {
      view = { estimate: estimateTokens(summary ?? ""), chars: summary?.length ?? 0 };
      last = null;
    }
    if (message?.content === undefined) continue;
    const { usage, content } = message;
    const counted = usage === undefined ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;
    // A call that was broken off before it began reports nothing.
    if (counted > 0) {
      const predicted = predictTokens(calibration, view.estimate);
      const grown: Step["grown"] = last && {
        counted: counted - (calibration?.lastCounted ?? 0),
        predicted: predicted - predictTokens(calibration, last.estimate),
        quarter: (view.chars - last.chars) / 4,
      };
      steps.push({ counted, predicted, quarter: view.chars / 4, grown });
      calibration = calibrate(calibration, { counted, estimate: view.estimate });
      last = view;
    }
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    for (const part of parts.filter((part) => part.type !== "thinking")) {
      const text = part.text ?? `${part.name}${JSON.stringify(part.arguments)}`;
      const overhead = part.type === "toolCall" ? TOOL_OVERHEAD_TOKENS : 0;
      view = { estimate: view.estimate + estimateTokens(text) + overhead, chars: view.chars + text.length };
    }
    view = { ...view, estimate: view.estimate + MESSAGE_OVERHEAD_TOKENS };
  }
  return steps;
}

type Guess = "predicted" | "quarter";

/** Median and 90th percentile. */
function errors(of: readonly { readonly counted: number; readonly predicted: number; readonly quarter: number }[]) {
  const at = (guess: Guess, share: number): number => {
    const sorted = of.map((each) => Math.abs(each[guess] - each.counted)).toSorted((a, b) => a - b);
    return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  };
  const both = (guess: Guess) => ({ median: Math.round(at(guess, 0.5)), p90: Math.round(at(guess, 0.9)) });
  return { predicted: both("predicted"), quarter: both("quarter") };
}

describe("a real coding session of 484 calls, each predicted from those before it", () => {
  const source = readTranscript("pi-coding-session.jsonl");
  const steps = replay(
    (source ?? "")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Entry),
  );
  const grown = steps.flatMap((step) => step.grown ?? []).filter(({ counted }) => counted > 0);

  test.skipIf(source === null).each([
    ["a whole prompt", steps],
    ["what a prompt grew by since the last call", grown],
  ])("%s is predicted with at most half of the error of characters / 4, median and p90", (what, calls) => {
    const { predicted, quarter } = errors(calls);
    console.log(`${what}, ${calls.length} calls, error in tokens:`, { predicted, quarter });
    expect(calls.length).toBeGreaterThan(400);
    expect(predicted.median).toBeLessThanOrEqual(quarter.median / 2);
    expect(predicted.p90).toBeLessThanOrEqual(quarter.p90 / 2);
  });

  test.skipIf(source === null)(
    "a trigger at 90% of 200,000 fires before the prompt that overflowed it, characters / 4 never",
    () => {
      const overflow = steps.findIndex((step) => step.counted === Math.max(...steps.map(({ counted }) => counted)));
      const fired = steps.findIndex((step) => step.predicted > 180_000);
      console.log(
        `fired before call ${fired} at ${steps[fired]?.counted} tokens; call ${overflow} had ${steps[overflow]?.counted}`,
      );
      expect(fired).toBeGreaterThan(0);
      expect(fired).toBeLessThan(overflow);
      expect(steps[fired]?.counted).toBeLessThan(200_000);
      expect(steps.some((step) => step.quarter > 180_000)).toBe(false);
    },
  );
});

test("6,250 estimated tokens weigh as much as the ratio 1 that it starts at", () => {
  const calls = [
    { counted: 0, estimate: 0 },
    { counted: 12_500, estimate: 6_250 },
  ];
  expect(calibrationRatio(learn(calls)!)).toBe(1.5);
});
