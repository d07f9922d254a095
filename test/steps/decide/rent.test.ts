/** The rent rule, with the cost of carrying content that could have gone, and the moment when a summary is worth its price. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  judge,
  PAID_SHARE,
  weighEnds,
  weighRent,
  type RentTerms,
  notDue,
  type ViewStep,
} from "../../../src/steps/decide/decide.ts";
import type { Outline } from "../../../src/steps/plan/outline.ts";
import { planCut } from "../../../src/steps/plan/plan.ts";
import { resolvePolicy } from "../../../src/steps/plan/policy.ts";

const PRICES = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 } as const;
const TERMS: RentTerms = {
  prices: PRICES,
  headTokens: 0,
  tailTokens: 1_000,
  summaryTokens: 500,
  answerTokens: 300,
  promptTokens: 100,
};

const step = fc.record({ tokens: fc.integer({ min: 80, max: 3_000 }), role: fc.constantFrom("assistant", "user") });
/** Long enough that some steps are older than the kept ones and were carried. */
const steps = fc
  .array(step, { minLength: 5, maxLength: 200, size: "max" })
  .map((all): ViewStep[] => all.map((each, message) => ({ ...each, message })));

function weigh(view: readonly ViewStep[], sinceSummary = 0, terms = TERMS) {
  return weighRent({ steps: view, sinceSummary }, terms);
}

test("a worked example: 500 tokens beyond what a summary keeps, carried for 24 requests", () => {
  const user = { tokens: 2_000, role: "user", message: 0 } as const;
  const later = Array.from({ length: 24 }, (_, at): ViewStep => ({ tokens: 0, role: "assistant", message: at + 1 }));
  const rent = weigh([user, ...later]);
  expect(rent.paid).toBeCloseTo(24 * 500 * 0.1);
  // The kept part and the summary are written anew, and the summariser reads the rest and answers.
  expect(rent.price).toBeCloseTo(1_500 * 1.15 + (1_000 + 100) + 300 * 5);
  expect(rent).toMatchObject({ freedTokens: 500, isDue: false });
});

test("a summary is due only when it was paid for one and a half times by carrying, and frees something", () => {
  let due = 0;
  fc.assert(
    fc.property(steps, fc.nat(3), (view, since) => {
      const { paid, price, freedTokens, isDue } = weigh(view, since);
      expect(isDue).toBe(freedTokens > 0 && paid > 0 && paid >= PAID_SHARE * price);
      if (isDue) due++;
    }),
  );
  expect(due).toBeGreaterThan(0);
});

test("what was paid never falls while a view grows, and only requests raise it", () => {
  fc.assert(
    fc.property(steps, step, (view, next) => {
      const [before, after] = [weigh(view), weigh([...view, { ...next, message: view.length }])];
      expect(after.paid).toBeGreaterThanOrEqual(before.paid);
      if (next.role !== "assistant") expect(after.paid).toBe(before.paid);
    }),
  );
});

test("what was paid before a summary counts no more", () => {
  fc.assert(
    fc.property(steps, fc.nat(60), (view, since) => {
      expect(weigh(view, since).paid).toBeLessThanOrEqual(weigh(view).paid);
      expect(weigh(view, view.length).paid).toBe(0);
    }),
  );
});

/** A long conversation under the rule, in tokens alone. Returns its bill and its summaries. */
function play(view: readonly ViewStep[], alpha: number): { bill: number; summaries: number } {
  const { tailTokens, summaryTokens } = TERMS;
  let shown: ViewStep[] = [];
  let [bill, cached, summaries, since] = [0, 0, 0, 0];
  for (const each of view) {
    const now = sum(shown);
    if (each.role === "assistant") {
      bill += Math.min(cached, now) * PRICES.cacheRead + Math.max(0, now - cached) * PRICES.cacheWrite;
      cached = now;
    }
    shown.push(each);
    const { isDue, price } = weigh(shown, since, { ...TERMS, alpha });
    if (!isDue) continue;
    summaries++;
    // The price has the writing of what stays, which the next request pays.
    bill += price - (tailTokens + summaryTokens) * (PRICES.cacheWrite - PRICES.cacheRead);
    cached = 0;
    const summary = { tokens: summaryTokens, role: null, message: -summaries };
    shown = [summary, { tokens: tailTokens, role: "user", message: each.message }];
    since = shown.length;
  }
  return { bill, summaries };
}

test("alpha between a half and two changes the bill of a long conversation by less than a half", () => {
  const long = fc
    .array(fc.integer({ min: 200, max: 1_500 }), { minLength: 250, maxLength: 300 })
    .map((all): ViewStep[] => all.map((tokens, message) => ({ tokens, role: "assistant", message })));
  fc.assert(
    fc.property(long, (view) => {
      const bills = [0.5, 1, 2].map((alpha) => play(view, alpha).bill);
      expect(Math.max(...bills) / Math.min(...bills)).toBeLessThan(1.5);
      expect(play(view, 1).summaries).toBeGreaterThan(2);
    }),
    { numRuns: 8 },
  );
});

test("what the rule takes as kept at both ends is what the plan keeps there", () => {
  const policy = { ...resolvePolicy({ thresholdTokens: 4_000, tail: { tokens: 400, messages: 2 } }), minSpanTokens: 1 };
  // The first message of the user is over the budget of the head, and the newest two are together over that of the tail.
  const rows = [
    ["user", [500]],
    ["assistant", [100]],
    ["assistant", [3_900]],
    ["assistant", [100, 100, 100]],
    ["user", [300]],
  ] as const;
  const plan = planCut(outlineOf(rows), policy);
  const view = rows.flatMap(([role, tokens], message) =>
    tokens.map((each): ViewStep => ({ tokens: each, role, message })),
  );
  const { headTokens, tailTokens, hidden } = weighEnds({ steps: view, fresh: 1 }, policy);
  expect(plan).toMatchObject({ kind: "span", headTokens: 500, tailTokens: 600 });
  expect({ headTokens, tailTokens }).toEqual({ headTokens: 500, tailTokens: 600 });
  expect(hidden).toBe(4_000);
});

function outlineOf(rows: readonly (readonly ["user" | "assistant", readonly number[]])[]): Outline {
  const none = {
    kind: "message",
    firstStep: 0,
    complete: true,
    calls: [],
    results: [],
    texts: [0],
    group: null,
  } as const;
  const all = rows.map(([role, steps], at) => ({ ...none, id: `m${at}`, role, steps, tokens: sumOf(steps) }));
  const tokens = sumOf(all.map((row) => row.tokens));
  return { sessionId: "", leafId: `m${rows.length - 1}`, overheadTokens: 0, tokens, rows: all, truncated: false };
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

// --- decide ---------------------------------------------------------------------------------------------------------------

const DUE = { paid: 10, price: 5, freedTokens: 100, isDue: true };
const IDLE = { ...DUE, paid: 1, isDue: false };

test("a view is due by its rent or by its threshold, and while it is not, it says how far it is from that", () => {
  const view = { tokens: 100, messages: 10 };
  const bounds = { thresholdTokens: 1_000 };
  expect(judge(view, bounds)).toEqual([]);
  expect(notDue(view, bounds)).toMatchObject({ reason: "under-threshold" });
  expect(judge({ ...view, rent: IDLE }, bounds)).toEqual([]);
  expect(notDue({ ...view, rent: IDLE }, bounds)).toMatchObject({ reason: "not-due" });
  expect(judge({ ...view, rent: DUE }, bounds)).toEqual(["rent"]);
  for (const rent of [null, IDLE]) expect(judge({ ...view, rent, tokens: 1_001 }, bounds)).toEqual(["threshold"]);
});

function sum(view: readonly ViewStep[]): number {
  return sumOf(view.map(({ tokens }) => tokens));
}
