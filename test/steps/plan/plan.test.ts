/** The place of the cut in small conversations, and the numbers of policies. plan.property.test.ts has what holds in any. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WHOLE_MESSAGE, type OutlineRow } from "../../../src/steps/plan/outline.ts";
import { planCut, type Plan } from "../../../src/steps/plan/plan.ts";
import { resolvePolicy, type Policy } from "../../../src/steps/plan/policy.ts";
import { outlineOf, overlayRow } from "../conversations.ts";

const policy: Policy = {
  thresholdTokens: 1_000,
  protectHead: 1,
  headTokenBudget: 100_000,
  headWithin: "budget",
  firstMessageTokens: 0,
  openingTokens: 0,
  tailTokenBudget: 300,
  minTailMessages: 2,
  summaryTokens: 200,
  pinnedTokens: 0,
  loadedTokens: 0,
  stackTokens: 200,
  maxSummaryRatio: 0.8,
  minSpanTokens: 100,
  chunkTokens: 400,
};

/** A row of 100 tokens a step, `u` for user and `a` for assistant. */
function row(id: string, more: Partial<OutlineRow> = {}): OutlineRow {
  const steps = more.steps ?? [100];
  return {
    kind: "message",
    id,
    role: id.startsWith("u") ? "user" : "assistant",
    tokens: steps.reduce((a, b) => a + b, 0),
    firstStep: 0,
    steps,
    complete: true,
    calls: [],
    results: [],
    texts: [],
    group: null,
    ...more,
  };
}

/** `from..to` of a plan's span, with steps where it cuts messages, or the reason for no span. */
function cut(
  rows: readonly OutlineRow[],
  change: Partial<Policy> = {},
  more: Parameters<typeof outlineOf>[1] = {},
): string {
  const plan = planCut(outlineOf(rows, more), { ...policy, ...change });
  if (plan.kind === "nothing") return plan.reason;
  const { fromId, fromStep, toId, toStep } = plan.span;
  const from = fromStep === 0 ? fromId : `${fromId}#${fromStep}`;
  return `${from}..${toStep === WHOLE_MESSAGE ? toId : `${toId}#${toStep}`}`;
}

/** Fourteen messages with one user turn beside the first. */
function turnAt(turn: number): OutlineRow[] {
  return Array.from({ length: 14 }, (_, n) => row(n === turn || n === 0 ? `u${n}` : `a${n}`));
}

function moves(plan: Plan): readonly string[] {
  return plan.kind === "span" ? plan.moves.map(({ boundary, why, tokens }) => `${boundary} ${why} ${tokens}`) : [];
}

const chat = (count: number): OutlineRow[] =>
  Array.from({ length: count }, (_, n) => row(n % 2 === 0 ? `u${n}` : `a${n}`));

describe("where the cut falls", () => {
  test("head by count, tail by budget, the tail from a user turn", () => {
    expect(cut(chat(12))).toBe("a1..a7");
    expect(cut(chat(12), { tailTokenBudget: 400 })).toBe("a1..a7");
    expect(cut(chat(12), { protectHead: 4 })).toBe("u4..a7");
  });

  test("a user turn further back is taken while the budget stretches, else one further on while half of it is kept", () => {
    expect(cut(turnAt(10))).toBe("a1..a9");
    expect(cut(turnAt(12))).toBe("a1..a11");
    expect(cut(turnAt(13), { minTailMessages: 0 })).toBe("a1..a10");
    expect(cut(turnAt(8))).toBe("a1..a10");
  });

  test("a call of the newest message that waits for its answer is never in the span, whatever is kept else", () => {
    const open = { calls: [["ask", 2]] as const };
    const newest = row("a3", { steps: [100, 900, 800, 200, 90], ...open });
    const nothingKept = { tailTokenBudget: 0, minTailMessages: 0 };
    expect(cut([row("u0"), row("u1"), row("u2"), { ...newest, calls: [] }], nothingKept)).toBe("u1..a3");
    expect(cut([row("u0"), row("u1"), row("u2"), newest], nothingKept)).toBe("u1..a3#1");
    // Also where the message that holds the next turn's place is there already, or another call of it was answered.
    const place = row("a4", { steps: [4] });
    expect(cut([row("u0"), row("u1"), row("u2"), newest, place], nothingKept)).toBe("u1..a3#1");
    const answer = row("a4", { results: [["other", 0]] });
    const asking = { ...newest, calls: [...open.calls, ["other", 2]] as const };
    expect(cut([row("u0"), row("u1"), row("u2"), asking, answer], nothingKept)).toBe("u1..a3#1");
    // The conversation went on without an answer.
    expect(cut([row("u0"), row("u1"), row("u2"), newest, row("u4")], nothingKept)).toBe("u1..u4");
  });

  test("one enormous message is cut between its steps, and the least tail is waived for it", () => {
    const rows = [row("u0"), row("u1"), row("a2", { steps: [100, 900, 800, 200, 90] })];
    expect(cut(rows)).toBe("u1..a2#2");
    expect(cut([...rows, row("u3")])).toBe("u1..a2#3");
  });

  test("an outline that was cut off is compacted to its end, except into calls that are being answered", () => {
    expect(cut(chat(12), {}, { truncated: true })).toBe("a1..a11");
    const asking = [
      ...chat(10),
      row("a10", {
        calls: [
          ["x", 0],
          ["y", 0],
        ],
      }),
      row("a11", { results: [["x", 0]] }),
    ];
    expect(cut(asking, {}, { truncated: true })).toBe("a1..a9");
  });

  test("every reason for doing nothing", () => {
    expect(cut([])).toBe("empty");
    expect(cut(chat(10))).toBe("under-threshold");
    expect(cut(chat(10), {}, { overheadTokens: 500, tokens: 1_500 })).toBe("a1..a5");
    expect(cut([row("u0"), row("u1", { steps: [4_000] })])).toBe("too-short");
    expect(cut(chat(12), { minSpanTokens: 2_000 })).toBe("too-small");
    expect(cut([row("u0"), overlayRow("o1", 900), overlayRow("o2", 900), row("u1"), row("a2")])).toBe("too-small");
  });

  test("every move of a boundary says why", () => {
    expect(moves(planCut(outlineOf(chat(12)), policy))).toEqual(["tail user-turn 100"]);
    expect(moves(planCut(outlineOf(chat(12)), { ...policy, tailTokenBudget: 0 }))).toEqual(["tail min-tail 200"]);
    const tied = [row("u0", { calls: [["x", 0]] }), row("a1", { results: [["x", 0]] }), ...chat(12).slice(2)];
    expect(moves(planCut(outlineOf(tied), policy))).toEqual(["head tool-pair 100", "tail user-turn 100"]);
    const steps = [row("u0"), row("u1"), row("a2", { steps: [100, 900, 800, 200, 90] })];
    expect(moves(planCut(outlineOf(steps), policy))).toEqual(["tail inside-message 1800"]);
  });
});

describe("chunks", () => {
  test("are near each other in size: no tiny last one", () => {
    const plan = planCut(outlineOf(chat(12)), policy);
    expect(plan.kind === "span" && plan.chunks.map(({ tokens }) => tokens)).toEqual([400, 300]);
    const five = planCut(outlineOf([...chat(12), row("u12"), row("a13")]), policy);
    expect(five.kind === "span" && five.chunks.map(({ tokens }) => tokens)).toEqual([300, 300, 300]);
  });
});

/** The tokens of one summary and of all, at a threshold of 60,000 unless it is stated. */
function budgetsOf(options: Partial<Parameters<typeof resolvePolicy>[0]>): readonly number[] {
  const { summaryTokens, stackTokens } = resolvePolicy({ thresholdTokens: 60_000, ...options });
  return [summaryTokens, stackTokens];
}

describe("policies", () => {
  test("by default a summary takes a twelfth of the threshold, at least 700 tokens where a fifth of it allows, and all a quarter", () => {
    const sizes = [500, 2_000, 3_500, 8_400, 12_000, 60_000, 96_000, 400_000].map((thresholdTokens) => {
      const { summaryTokens, stackTokens } = resolvePolicy({ thresholdTokens });
      return [thresholdTokens, summaryTokens, stackTokens];
    });
    expect(sizes).toEqual([
      [500, 100, 125],
      [2_000, 400, 500],
      [3_500, 700, 875],
      [8_400, 700, 2_100],
      [12_000, 1_000, 3_000],
      [60_000, 5_000, 15_000],
      [96_000, 8_000, 24_000],
      // A model writes no more in one answer.
      [400_000, 8_000, 100_000],
    ]);
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 2_000_000 }), (thresholdTokens) => {
        const { summaryTokens, stackTokens } = resolvePolicy({ thresholdTokens });
        expect(stackTokens).toBeGreaterThanOrEqual(summaryTokens);
        expect(stackTokens).toBeLessThanOrEqual(Math.max(thresholdTokens / 4, summaryTokens));
        expect(summaryTokens).toBeLessThanOrEqual(Math.max(Math.ceil(thresholdTokens / 5), thresholdTokens / 12 + 1));
        if (thresholdTokens >= 3_500) expect(summaryTokens).toBeGreaterThanOrEqual(700);
      }),
    );
  });

  test("a stated share means what it says, in the smallest view as well", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 100, max: 1_000_000 }),
        fc.double({ min: 0.001, max: 1 / 3, noNaN: true }),
        (thresholdTokens, share) => {
          const { summaryTokens, stackTokens } = resolvePolicy({ thresholdTokens, share, tail: 0 });
          expect(stackTokens).toBe(Math.max(1, Math.floor(thresholdTokens * share)));
          expect(summaryTokens).toBe(Math.min(8_000, Math.ceil(stackTokens / 3)));
        },
      ),
    );
    expect(budgetsOf({ share: 1 / 30 })).toEqual([667, 2_000]);
    expect(budgetsOf({ share: 1 / 30, thresholdTokens: 3_000 })).toEqual([34, 100]);
  });

  test.each([0, -1, 0.4, Number.NaN])("a share of %d is refused", (share) => {
    expect(() => resolvePolicy({ thresholdTokens: 60_000, share })).toThrowError(/share is/);
  });

  test("defaults scale with the threshold, and always leave something to compact", () => {
    expect(resolvePolicy({ thresholdTokens: 100_000 })).toEqual({
      thresholdTokens: 100_000,
      protectHead: 3,
      headTokenBudget: 10_000,
      headWithin: "budget",
      firstMessageTokens: 25_000,
      openingTokens: 1_000,
      tailTokenBudget: 20_000,
      minTailMessages: 2,
      summaryTokens: 8_000,
      pinnedTokens: 5_000,
      loadedTokens: 10_000,
      stackTokens: 25_000,
      maxSummaryRatio: 0.8,
      minSpanTokens: 5_000,
      chunkTokens: 120_000,
    });
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 2_000_000 }), (thresholdTokens) => {
        const policy = resolvePolicy({ thresholdTokens });
        expect(policy.tailTokenBudget * 1.5 + policy.summaryTokens).toBeLessThanOrEqual(thresholdTokens + 1);
      }),
    );
  });

  test.each([
    [{ thresholdTokens: 10_000, model: " " }, /model is " "/],
    [{ thresholdTokens: 10_000, model: 7 as unknown as string }, /model is 7/],
    [{ thresholdTokens: 0 }, /thresholdTokens is 0/],
    [{ thresholdTokens: Number.NaN }, /thresholdTokens is NaN/],
    [{ thresholdTokens: -5 }, /thresholdTokens is -5/],
    [{ thresholdTokens: 10.5 }, /thresholdTokens is 10.5/],
    [{ thresholdTokens: 1_000, tail: 1_000 }, /thresholdTokens \(1000\).*a tail of 1000/],
    [{ thresholdTokens: 1_000, tail: { tokens: 800 }, share: 1 / 4 }, /a tail of 800.*summaries of 250/],
    [{ thresholdTokens: 1_000, overheadTokens: 1_000 }, /thresholdTokens \(1000\).*overheadTokens \(1000\)/],
    [{ thresholdTokens: 1_000, chunkTokens: 0 }, /chunkTokens is 0/],
    [{ thresholdTokens: 1_000, share: 0 }, /share is 0/],
    [{ thresholdTokens: 1_000, tail: { tokens: -1 } }, /tail\.tokens is -1/],
    [{ thresholdTokens: 1_000, head: -1 }, /head is -1/],
    [{ thresholdTokens: 1_000, head: { messages: 0.5 } }, /head\.messages is 0\.5/],
    [{ thresholdTokens: 1_000, tail: { rows: 1 } as never }, /tail: rows: no such option/],
    [{ thresholdTokens: 1_000, tail: null as never }, /tail takes an object with: messages, tokens/],
  ])("refused with its numbers and what to change: %j", (options, message) => {
    expect(() => resolvePolicy(options)).toThrow(message);
    expect(() => resolvePolicy(options)).toThrow(/\[invalid_options\]/);
  });
});
