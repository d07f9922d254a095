/** The stack of overlays over a long life. Tests how often a text is rewritten, what stays unchanged, and the size of a view. */
import { FOLD_BEYOND } from "../../../src/limits.ts";
import { MAX_GENERATION } from "../../../src/steps/plan/stack.ts";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  compactAlong,
  weigh,
  type Compaction,
  type SpanPlan,
  type Standing,
  type Summariser,
} from "../../../bench/drift/compact.ts";
import { makeConversation } from "../../../bench/conversation.ts";
import { layOut, type Layout } from "../../../src/steps/plan/align.ts";
import { WHOLE_MESSAGE, type OutlineRow } from "../../../src/steps/plan/outline.ts";
import { planCut } from "../../../src/steps/plan/plan.ts";
import { resolvePolicy, type Policy } from "../../../src/steps/plan/policy.ts";
import { conversationOf, outlineOf, overlayRow } from "../conversations.ts";
import { everything, tries } from "../../tries.ts";

/** Hundreds of compactions of long conversations: half a minute alone, and more beside others. */
const LONG_MS = 180_000;

const ENDLESS = 1_000_000;

/** Weighs all that it may, so that a stack is as heavy as it can be. */
const heavy: Summariser = {
  tell: (_messages, tokens) => ({ text: "told", tokens }),
  fold: (_drafts, tokens) => ({ text: "folded", tokens }),
};

const light: Summariser = {
  tell: () => ({ text: "told", tokens: 10 }),
  fold: () => ({ text: "folded", tokens: 10 }),
};

const small: Policy = { ...resolvePolicy({ thresholdTokens: 3_000 }), minSpanTokens: 50, pinnedTokens: 0 };

function compactions(more: Partial<Parameters<typeof compactAlong>[0]> = {}): Compaction[] {
  const messages = more.messages ?? makeConversation(400, 1);
  return [...compactAlong({ messages, policy: small, summariser: light, most: ENDLESS, rebuilds: true, ...more })];
}

/** Runs the check on each compaction of long random conversations, with what stood before it. */
function everyCompaction(
  replay: Partial<Parameters<typeof compactAlong>[0]>,
  check: (now: Compaction, before: readonly Standing[], n: number) => void,
): void {
  const runs = tries(30);
  let seen = 0;
  fc.assert(
    fc.property(conversationOf({ minLength: 40, maxLength: 90 }), (messages) => {
      let before: readonly Standing[] = [];
      compactions({ ...replay, messages }).forEach((now, at) => {
        seen++;
        check(now, before, at + 1);
        before = now.standing;
      });
    }),
    { numRuns: runs },
  );
  expect(seen).toBeGreaterThan(10 * runs);
}

test("a text is written at most ceil(log2 n) + 2 times in n compactions while the stack fits its budget", () => {
  const policy = { ...small, stackTokens: ENDLESS };
  everyCompaction({ policy }, ({ standing }, _before, n) => {
    for (const { level, generation } of standing) {
      expect(level + 1).toBeLessThanOrEqual(Math.ceil(Math.log2(n)) + 2);
      expect(generation).toBeLessThanOrEqual(Math.ceil(Math.log2(n)) + 2);
    }
    expect(standing.length).toBeLessThanOrEqual(Math.ceil(Math.log2(n)) + 2);
  });
});

test("no message is in more spans than that: what an overlay says of itself is what happened to its messages", () => {
  const times = new Map<string, number>();
  const covers = new Map<string, readonly string[]>();
  const made = compactions({ policy: { ...small, stackTokens: ENDLESS } });
  expect(made.length).toBeGreaterThan(60);
  made.forEach(({ outline, plan, standing }, at) => {
    const { cells } = layOut(outline);
    const [from, to] = endsOf(cells, plan);
    const covered = cells
      .slice(from, to)
      .flatMap(({ row, step }) => (row.kind === "overlay" ? (covers.get(row.id) ?? []) : [`${row.id}#${step}`]));
    for (const cell of covered) times.set(cell, (times.get(cell) ?? 0) + 1);
    const laid = standing.find(({ id }) => !covers.has(id));
    covers.set(laid?.id ?? "", covered);
    expect(Math.max(...covered.map((cell) => times.get(cell) ?? 0))).toBe((laid?.level ?? 0) + 1);
    expect(Math.max(...times.values())).toBeLessThanOrEqual(Math.ceil(Math.log2(at + 1)) + 2);
  });
});

test("the texts of a view's summaries together keep to their part of the stack, or there is one of them: names have the rest", () => {
  for (const stackTokens of everything ? [400, 1_200, 1_600] : [400, 1_600]) {
    const policy = { ...small, stackTokens };
    everyCompaction({ policy, summariser: heavy }, ({ standing }) => {
      const texts = standing.reduce((sum, { tokens }) => sum + tokens, 0);
      expect(texts).toBeLessThanOrEqual(Math.max(stackTokens / FOLD_BEYOND, policy.summaryTokens));
    });
  }
});

test("what is not folded in stays where it is, byte for byte: only the newest overlays ever change (V1)", () => {
  everyCompaction({ summariser: heavy }, ({ standing, plan }, before) => {
    const folded = new Set(plan.overlayIds);
    const stayed = before.filter(({ id }) => !folded.has(id));
    const fresh = standing.filter((each) => !before.includes(each));
    expect(fresh).toHaveLength(1);
    expect(standing.filter((each) => before.includes(each))).toEqual(stayed);
    for (const each of stayed) expect(standing).toContain(each);
    // Only neighbours, because the span is one stretch of the view.
    const places = before.flatMap(({ id }, at) => (folded.has(id) ? [at] : []));
    expect(places).toEqual(places.map((_, n) => (places[0] ?? 0) + n));
  });
});

test.for(everything ? [8_000, 20_000, 60_000] : [5_000])(
  "by default more than half of the summaries' tokens outlive a compaction as they are; one growing overlay keeps none: %i",
  { timeout: LONG_MS },
  (thresholdTokens) => {
    const messages = makeConversation(thresholdTokens / 40, 1);
    const policy = resolvePolicy({ thresholdTokens });
    const kept = (replay: Partial<Parameters<typeof compactAlong>[0]>): number => {
      const made = compactions({ messages, summariser: heavy, ...replay });
      expect(made.length).toBeGreaterThan(8);
      const shares = made.slice(1).map(({ standing }, n) => {
        const before = made[n]?.standing ?? [];
        const changed = before.findIndex((each, at) => standing[at] !== each);
        return weightOf(changed === -1 ? before : before.slice(0, changed)) / weightOf(before);
      });
      return shares.reduce((sum, each) => sum + each, 0) / shares.length;
    };
    expect(kept({ policy }), `${thresholdTokens}`).toBeGreaterThan(0.5);
    expect(kept({ policy: { ...policy, stackTokens: policy.summaryTokens } })).toBe(0);
  },
);

test.runIf(everything)(
  "a text that was written anew too often is made from its first drafts again",
  { timeout: LONG_MS },
  () => {
    const policy = { ...small, stackTokens: small.summaryTokens };
    const made = compactions({ policy, summariser: heavy });
    expect(made.length).toBeGreaterThan(2 * MAX_GENERATION);
    const generations = made.map(({ standing }) => standing[0]?.generation ?? 0);
    expect(Math.max(...generations)).toBe(MAX_GENERATION);
    made.forEach(({ plan }, at) => {
      expect(plan.rebuild).toBe((generations[at - 1] ?? 0) >= MAX_GENERATION);
      // Many drafts are folded in rounds, and each round writes the text once.
      if (plan.rebuild) expect(generations[at]).toBeLessThanOrEqual(4);
    });
    expect(made.filter(({ plan }) => plan.rebuild).length).toBeGreaterThan(1);
  },
);

test("a degraded overlay is made from its first drafts again when it is folded, and alone", () => {
  const shape = { level: 0, generation: 1, degraded: true };
  const rows = [{ ...overlayRow("o", 300), overlay: shape }, ...plain("u1", "a2", "u3", "a4", "u5", "a6", "u7")];
  const policy = { ...small, thresholdTokens: 500, tailTokenBudget: 200, stackTokens: 400 };
  expect(planCut(outlineOf(rows), policy)).toMatchObject({ overlayIds: ["o"], rebuild: true, level: 1 });
  const sound = [{ ...overlayRow("o", 300), overlay: { ...shape, degraded: false } }, ...rows.slice(1)];
  expect(planCut(outlineOf(sound), policy)).toMatchObject({ overlayIds: ["o"], rebuild: false });
});

test("a gap between overlays gets an overlay of its own, over exactly the gap, whatever stands around it (V1)", () => {
  const size = fc.integer({ min: 1, max: 6 });
  const shape = fc.record({ level: fc.nat(5), generation: fc.integer({ min: 1, max: 9 }), degraded: fc.boolean() });
  fc.assert(
    fc.property(size, fc.array(shape, { minLength: 2, maxLength: 4 }), fc.nat(3), (length, shapes, at) => {
      const gap = plain(...Array.from({ length }, (_, n) => `g${n}`));
      const overlays = shapes.map((overlay, n) => ({ ...overlayRow(`o${n}`, 200), overlay }));
      const place = 1 + (at % (overlays.length - 1));
      const rows = [
        ...overlays.slice(0, place),
        ...gap,
        ...overlays.slice(place),
        ...plain("u1", "a2", "u3", "a4", "u5", "a6"),
      ];
      const plan = planCut(outlineOf(rows), { ...small, thresholdTokens: 100, tailTokenBudget: 200 });
      expect(plan).toMatchObject({
        span: { fromId: "g0", fromStep: 0, toId: `g${length - 1}`, toStep: WHOLE_MESSAGE },
        overlayIds: [],
        level: 0,
        rebuild: false,
      });
    }),
  );
});

test("no boundary of a stack's life comes between a call and its result, or inside one reply (V2)", () => {
  everyCompaction({ summariser: heavy }, ({ outline, plan }) => {
    const { cells, ties } = layOut(outline);
    expect(endsOf(cells, plan).map((boundary) => ties[boundary])).toEqual([null, null]);
  });
});

/** The boundaries of a plan's span, found by its ids and steps. */
function endsOf(cells: Layout["cells"], { span }: SpanPlan): [from: number, to: number] {
  const from = cells.findIndex(({ row, step }) => row.id === span.fromId && step === span.fromStep);
  return [from, cells.findLastIndex(({ row, step }) => row.id === span.toId && step <= span.toStep) + 1];
}

function weightOf(standing: readonly Standing[]): number {
  return standing.reduce((sum, each) => sum + weigh(each, true), 0);
}

/** Rows of 100 tokens. An id that begins with `u` is a user's, any other an assistant's. */
function plain(...ids: string[]): OutlineRow[] {
  return ids.map((id) => ({
    kind: "message",
    id,
    role: id.startsWith("u") ? "user" : "assistant",
    tokens: 100,
    firstStep: 0,
    steps: [100],
    complete: true,
    calls: [],
    results: [],
    texts: [],
    group: null,
  }));
}
