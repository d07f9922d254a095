/** The rent rule, with the cost of carrying content that could have gone, and the moment when an edit is worth its price. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decide, decideMask, type Situation } from "../../../src/steps/decide/decide.ts";
import {
  PAID_SHARE,
  headTokensOf,
  weighRents,
  type Rent,
  type RentTerms,
  type ViewStep,
} from "../../../src/steps/decide/rent.ts";
import { waitFor } from "../../../src/steps/decide/why-not.ts";
import { never, QUIET } from "./situation.ts";

const PRICES = { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 } as const;
const TERMS: RentTerms = {
  prices: PRICES,
  protectTokens: 1_000,
  leastTokens: 0,
  headTokens: 0,
  tailTokens: 1_000,
  summaryTokens: 500,
  answerTokens: 300,
  promptTokens: 100,
};

const step = fc
  .record({ tokens: fc.integer({ min: 80, max: 3_000 }), tenths: fc.nat(9), isRequest: fc.boolean() })
  .map(({ tokens, tenths, isRequest }): Omit<ViewStep, "message"> => ({
    tokens,
    maskable: isRequest && tenths > 2 ? Math.floor((tokens * tenths) / 10) : 0,
    isRequest,
  }));
/** Long enough that some steps are older than the protected ones and were carried. */
const steps = fc
  .array(step, { minLength: 5, maxLength: 60, size: "max" })
  .map((all): ViewStep[] => all.map((each, message) => ({ ...each, message })));

function weigh(view: readonly ViewStep[], terms = TERMS) {
  return weighRents({ steps: view, sinceEdit: 0, sinceSummary: 0 }, terms);
}

test("a worked example: an output of 2,000 tokens, carried for 24 requests behind the protected end", () => {
  const user = { tokens: 500, maskable: 0, isRequest: false, message: 0 };
  const read = { tokens: 2_000, maskable: 1_900, isRequest: true, message: 1 };
  const later = Array.from({ length: 28 }, (_, at): ViewStep => ({
    tokens: 250,
    maskable: 0,
    isRequest: true,
    message: at + 2,
  }));
  const { mask, masks } = weigh([user, read, ...later]);
  // The first four stand within 1,000 tokens behind it, so 24 requests read it at a tenth.
  expect(mask.paid).toBeCloseTo(24 * 1_900 * 0.1);
  // Everything behind it is written anew instead of being read.
  expect(mask.price).toBeCloseTo((100 + 28 * 250) * 1.15);
  expect(masks).toEqual({ from: 1, to: 1 });
  expect(mask.isDue).toBe(false);
});

test("an edit is due only when it was paid for one and a half times by carrying, and frees something", () => {
  fc.assert(
    fc.property(steps, fc.nat(3), (view, sinceEdit) => {
      const rents = weighRents({ steps: view, sinceEdit, sinceSummary: 0 }, TERMS);
      for (const { paid, price, freedTokens, isDue } of [rents.mask, rents.summary]) {
        expect(isDue).toBe(freedTokens > 0 && paid > 0 && paid >= PAID_SHARE * price);
        if (isDue) expect(paid).toBeGreaterThanOrEqual(price);
      }
    }),
  );
});

test("what was paid never falls while a view grows, and only requests raise it", () => {
  fc.assert(
    fc.property(steps, step, (view, next) => {
      const [before, after] = [weigh(view), weigh([...view, { ...next, message: view.length }])];
      for (const kind of ["mask", "summary"] as const) {
        expect(after[kind].paid).toBeGreaterThanOrEqual(before[kind].paid);
        if (!next.isRequest) expect(after[kind].paid).toBe(before[kind].paid);
      }
    }),
  );
});

test("nothing within the protected end is masked, and everything before it is looked at", () => {
  fc.assert(
    fc.property(steps, (view) => {
      const { masks, mask } = weigh(view);
      const older = view.filter((_, at) => sum(view.slice(at + 1)) >= TERMS.protectTokens);
      expect(mask.freedTokens).toBe(older.reduce((all, { maskable }) => all + maskable, 0));
      if (masks === null) return;
      expect(sum(view.slice(masks.to + 1))).toBeGreaterThanOrEqual(TERMS.protectTokens);
      expect(view[masks.from]?.maskable).toBeGreaterThan(0);
    }),
  );
});

test("what was paid before an edit counts no more, and a summary's rent outlives a mask", () => {
  fc.assert(
    fc.property(steps, fc.nat(60), (view, since) => {
      const rents = weighRents({ steps: view, sinceEdit: since, sinceSummary: 0 }, TERMS);
      expect(rents.mask.paid).toBeLessThanOrEqual(weigh(view).mask.paid);
      const fresh = weighRents({ steps: view, sinceEdit: view.length, sinceSummary: 0 }, TERMS);
      expect(fresh.mask.paid).toBe(0);
      expect(rents.summary.paid).toBe(weigh(view).summary.paid);
      expect(weighRents({ steps: view, sinceEdit: view.length, sinceSummary: view.length }, TERMS).summary.paid).toBe(
        0,
      );
    }),
  );
});

/** A long conversation under the rule, in tokens alone. Returns its bill, its edits, and the reading cost without edits. */
function play(view: readonly ViewStep[], alpha: number): { bill: number; edits: number; everything: number } {
  let shown: ViewStep[] = [];
  let [bill, everything, cached, tokens, edits, since] = [0, 0, 0, 0, 0, 0];
  for (const each of view) {
    const now = sum(shown);
    if (each.isRequest) {
      bill += Math.min(cached, now) * PRICES.cacheRead + Math.max(0, now - cached) * PRICES.cacheWrite;
      everything += tokens * PRICES.cacheRead;
      cached = now;
    }
    shown.push(each);
    tokens += each.tokens;
    const { masks, mask } = weighRents({ steps: shown, sinceEdit: since, sinceSummary: 0 }, { ...TERMS, alpha });
    if (masks === null || !mask.isDue) continue;
    edits++;
    cached = Math.min(cached, sum(shown.slice(0, masks.from)));
    shown = shown.map((old, at) => (at > masks.to ? old : { ...old, tokens: old.tokens - old.maskable, maskable: 0 }));
    since = shown.length;
  }
  return { bill, everything, edits };
}

test("alpha between a half and two changes the bill of a long conversation by little", () => {
  const long = fc
    .array(
      fc.record({
        tokens: fc.integer({ min: 200, max: 1_500 }),
        share: fc.double({ min: 0.4, max: 0.9, noNaN: true }),
      }),
      {
        minLength: 250,
        maxLength: 300,
      },
    )
    .map((all): ViewStep[] =>
      all.map(({ tokens, share }, message) => ({
        tokens,
        maskable: Math.floor(tokens * share),
        isRequest: true,
        message,
      })),
    );
  fc.assert(
    fc.property(long, (view) => {
      const bills = [0.5, 1, 2].map((alpha) => play(view, alpha).bill);
      expect(Math.max(...bills) / Math.min(...bills)).toBeLessThan(1.1);
      expect(play(view, 1).edits).toBeGreaterThan(2);
    }),
    { numRuns: 8 },
  );
});

test("the start that a summary would leave ends with its messages or with its budget", () => {
  const view: ViewStep[] = [300, 400, 500].map((tokens, message) => ({
    tokens,
    maskable: 0,
    isRequest: false,
    message,
  }));
  expect(headTokensOf(view, { protectHead: 2, headTokenBudget: 10_000 })).toBe(700);
  expect(headTokensOf(view, { protectHead: 3, headTokenBudget: 800 })).toBe(700);
  expect(headTokensOf(view, { protectHead: 0, headTokenBudget: 800 })).toBe(0);
});

// --- decide ---------------------------------------------------------------------------------------------------------------

const DOWN = waitFor("breaker-open", "It does not answer.");
const DUE = { paid: 10, price: 5, freedTokens: 100, isDue: true };
const IDLE = { ...DUE, paid: 1, isDue: false };

test("a view is never past the hard line without a run: no soft reason holds there, in either mode", () => {
  const isDue = fc.constantFrom(DUE, IDLE, null);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3_000 }), isDue, (tokens, summary) => {
      const rents = summary === null ? null : { masks: null, mask: IDLE, summary };
      const decision = decide({ ...QUIET, tokens, rents, obstacle: () => DOWN });
      const trigger = summary?.isDue === true ? "rent" : "threshold";
      if (tokens > 1_500) expect(decision).toEqual({ kind: "start", trigger });
      else expect(decision.kind).toBe("wait");
    }),
  );
});

test("under its line a view starts nothing and nothing is read for it; with its rent due it starts by rent", () => {
  const blind = { ...QUIET, live: never, quiet: never, obstacle: never, isServed: never, nothingToDo: never };
  expect(decide(blind)).toMatchObject({ kind: "wait", waiting: { reason: "under-threshold" } });
  const idle = { masks: null, mask: IDLE, summary: IDLE };
  expect(decide({ ...blind, rents: idle })).toMatchObject({ kind: "wait", waiting: { reason: "not-due" } });
  expect(decide({ ...QUIET, rents: { ...idle, summary: DUE } })).toEqual({ kind: "start", trigger: "rent" });
  expect(decide({ ...QUIET, tokens: 1_001 })).toEqual({ kind: "start", trigger: "threshold" });
  expect(decide({ ...QUIET, thresholds: null })).toEqual({ kind: "idle" });
});

test("reasons come first things first: ended, at work, quiet, an obstacle that notes do away with, a plan that finds nothing", () => {
  const over = { ...QUIET, tokens: 1_200 };
  const small = waitFor("too-small", "It is small.");
  expect(reason({ ...over, leafId: null })).toBe("empty");
  expect(reason({ ...over, hasEnded: true })).toBe("session-ended");
  expect(reason({ ...over, live: () => ({ id: "r", isWaiting: false }), quiet: never })).toBe("run-in-flight");
  expect(reason({ ...over, live: () => ({ id: "r", isWaiting: true }) })).toBe("approval-pending");
  expect(reason({ ...over, quiet: () => small, obstacle: never })).toBe("too-small");
  expect(reason({ ...over, obstacle: () => DOWN })).toBe("breaker-open");
  expect(reason({ ...over, obstacle: () => DOWN, isServed: () => true, nothingToDo: never })).toBe("start");
  expect(reason({ ...over, nothingToDo: () => small })).toBe("too-small");
});

test("masks wait for their rent and for a run at work; where one brings a view back under its ceiling or the hard line, only for the run", () => {
  const thresholds = { newTokens: 0, leastTokens: 10, ceilingTokens: 100, hardTokens: 150 };
  const isMasked = (mask: Rent, tokens: number, atWork = false): boolean =>
    decideMask({ ...thresholds, mask, tokens: () => tokens, isAtWork: () => atWork });
  expect(isMasked(DUE, 50)).toBe(true);
  expect(isMasked(DUE, 50, true)).toBe(false);
  expect(isMasked(IDLE, 50)).toBe(false);
  expect(isMasked({ ...IDLE, freedTokens: 10 }, 110)).toBe(true);
  expect(isMasked({ ...IDLE, freedTokens: 10 }, 110, true)).toBe(false);
  // It would stay over its ceiling, so every step that is large enough would make an edit.
  expect(isMasked({ ...IDLE, freedTokens: 10 }, 111)).toBe(false);
  expect(isMasked({ ...IDLE, freedTokens: 10 }, 151)).toBe(true);
  // It would stay past the hard line, so it would cost what it costs and help nothing.
  expect(isMasked({ ...IDLE, freedTokens: 10 }, 161)).toBe(false);
  expect(isMasked({ ...IDLE, freedTokens: 11 }, 161)).toBe(true);
});

test("a mask that frees less than the least is made where it brings the view back under a line, once as much was added since the last edit", () => {
  const thresholds = { leastTokens: 10, ceilingTokens: 100, hardTokens: 150 };
  const isMasked = (freedTokens: number, tokens: number, newTokens = 10): boolean =>
    decideMask({
      ...thresholds,
      mask: { ...DUE, freedTokens },
      newTokens,
      tokens: () => tokens,
      isAtWork: () => false,
    });
  expect(isMasked(9, 109)).toBe(true);
  expect(isMasked(9, 109, 9)).toBe(false);
  expect(isMasked(9, 110)).toBe(false);
  expect(isMasked(9, 100)).toBe(false);
  expect(isMasked(9, 159)).toBe(true);
  expect(isMasked(9, 159, 9)).toBe(false);
  expect(isMasked(9, 160)).toBe(false);
  expect(isMasked(1, 101)).toBe(true);
  expect(isMasked(0, 101)).toBe(false);
});

/** A conversation that no summary shortens, with the masks that the decision makes. Returns the tokens before each edit. */
function playMasks(
  view: readonly ViewStep[],
  thresholds: { ceilingTokens: number; hardTokens: number },
  terms: RentTerms,
) {
  const { leastTokens } = terms;
  let [shown, sinceEdit, added]: [ViewStep[], number, number] = [[], 0, 0];
  const edits: number[] = [];
  for (const each of view) {
    shown.push(each);
    added += each.tokens;
    const { masks, mask } = weighRents({ steps: shown, sinceEdit, sinceSummary: 0 }, terms);
    const [size, newTokens] = [sum(shown), sum(shown.slice(sinceEdit))];
    const situation = { ...thresholds, mask, newTokens, leastTokens, tokens: () => size, isAtWork: () => false };
    if (masks === null || !decideMask(situation)) continue;
    edits.push(added);
    shown = shown.map((old, at) => (at > masks.to ? old : { ...old, tokens: old.tokens - old.maskable, maskable: 0 }));
    sinceEdit = shown.length;
  }
  return edits;
}

test("edits stay few at both thresholds and over them, with a cache and without one", () => {
  const shape = fc.record({
    prices: fc.constantFrom(PRICES, { ...PRICES, cacheRead: 1, cacheWrite: 1 }),
    talk: fc.integer({ min: 0, max: 40_000 }),
    output: fc.integer({ min: 80, max: 3_000 }),
    part: fc.double({ min: 0.3, max: 0.99, noNaN: true }),
    leastTokens: fc.integer({ min: 2_000, max: 4_000 }),
  });
  fc.assert(
    fc.property(shape, ({ prices, talk, output, part, leastTokens }) => {
      const protectTokens = 2 * leastTokens;
      const said: ViewStep = { tokens: talk, maskable: 0, isRequest: false, message: 0 };
      const read: Omit<ViewStep, "message"> = { tokens: output, maskable: Math.floor(output * part), isRequest: true };
      const view = [said, ...Array.from({ length: 200 }, (_, at): ViewStep => ({ ...read, message: at + 1 }))];
      const thresholds = { ceilingTokens: 30_000, hardTokens: 45_000 };
      const edits = playMasks(view, thresholds, { ...TERMS, prices, protectTokens, leastTokens });
      // Each edit frees the least, or the least was added since the one before. At first the protected end may be freed as well.
      for (const [first, from] of edits.entries()) {
        for (const [at, to] of edits.slice(first).entries()) {
          expect(at * leastTokens).toBeLessThanOrEqual(2 * (to - from) + protectTokens + output);
        }
      }
    }),
  );
});

test("no edit frees less than the least under both lines or far over them, whatever is paid", () => {
  const thresholds = { newTokens: 0, ceilingTokens: 100, hardTokens: 150, tokens: () => 1_000, isAtWork: never };
  expect(decideMask({ ...thresholds, leastTokens: 10, mask: { ...DUE, freedTokens: 9 } })).toBe(false);
  expect(decideMask({ ...thresholds, leastTokens: 0, mask: { ...DUE, freedTokens: 0 } })).toBe(false);
  const free = { ...TERMS, prices: { ...PRICES, cacheRead: 1, cacheWrite: 1 } };
  fc.assert(
    fc.property(steps, fc.integer({ min: 0, max: 20_000 }), (view, leastTokens) => {
      const { freedTokens, paid, isDue } = weigh(view, { ...free, leastTokens }).mask;
      expect(isDue).toBe(paid > 0 && freedTokens >= Math.max(1, leastTokens));
    }),
  );
});

function reason(situation: Situation): string {
  const decision = decide(situation);
  return decision.kind === "wait" ? decision.waiting.reason : decision.kind;
}

function sum(view: readonly ViewStep[]): number {
  return view.reduce((all, { tokens }) => all + tokens, 0);
}
