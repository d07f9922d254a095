/** The guarantees of every plan, for any conversation. The checks do not know how a cut is found. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { WHOLE_MESSAGE, type Outline, type OutlineRow, type Span } from "../../../src/steps/plan/outline.ts";
import { planCut, type Plan } from "../../../src/steps/plan/plan.ts";
import type { Policy } from "../../../src/steps/plan/policy.ts";
import { messageRow, say, scene, text } from "../conversations.ts";
import { tries } from "../../tries.ts";

interface Cell {
  readonly row: OutlineRow;
  readonly index: number;
  readonly step: number;
  readonly tokens: number;
}

const cellsOf = (outline: Outline): Cell[] =>
  outline.rows.flatMap((row, index) => row.steps.map((tokens, n) => ({ row, index, step: row.firstStep + n, tokens })));

/** Cells that a span names, found by its ids and steps only. */
function inside(cells: readonly Cell[], span: Span): Cell[] {
  const from = cells.findIndex(({ row, step }) => row.id === span.fromId && step === span.fromStep);
  const to = cells.findLastIndex(({ row, step }) => row.id === span.toId && step <= span.toStep);
  expect(from).toBeGreaterThanOrEqual(0);
  expect(to).toBeGreaterThanOrEqual(from);
  return cells.slice(from, to + 1);
}

/** Every call with the result that answers it. The plainest reading takes the latest open call. */
function pairs(cells: readonly Cell[]): [Cell, Cell][] {
  const open = new Map<string, Cell>();
  const found: [Cell, Cell][] = [];
  for (const cell of cells) {
    for (const [id, step] of cell.row.calls) if (step === cell.step) open.set(id, cell);
    for (const [id, step] of cell.row.results) {
      const call = step === cell.step ? open.get(id) : undefined;
      if (call === undefined) continue;
      found.push([call, cell]);
      open.delete(id);
    }
  }
  return found;
}

const policy: fc.Arbitrary<Policy> = fc.record({
  protectHead: fc.nat(5),
  headTokenBudget: fc.constantFrom(0, 50, 500, 100_000),
  headWithin: fc.constantFrom("budget", "hard-line"),
  firstMessageTokens: fc.constantFrom(0, 300, 2_000),
  openingTokens: fc.constantFrom(0, 50),
  tailTokenBudget: fc.nat(4_000),
  minTailMessages: fc.nat(4),
  minSpanTokens: fc.nat(1_000),
  chunkTokens: fc.integer({ min: 1, max: 3_000 }),
  thresholdTokens: fc.integer({ min: 1, max: 4_000 }),
  summaryTokens: fc.constant(400),
  pinnedTokens: fc.constant(100),
  loadedTokens: fc.constant(0),
  stackTokens: fc.constantFrom(400, 1_500, 100_000),
  maxSummaryRatio: fc.constant(0.8),
});

interface Planned {
  readonly outline: Outline;
  readonly policy: Policy;
  readonly manual: boolean;
  readonly plan: Extract<Plan, { kind: "span" }>;
  readonly cells: readonly Cell[];
  readonly head: readonly Cell[];
  readonly span: readonly Cell[];
  readonly tail: readonly Cell[];
}

/** Runs the check on every generated case that has a plan, and makes sure that enough of them do. */
function everyPlan(check: (planned: Planned) => void): void {
  let planned = 0;
  fc.assert(
    fc.property(scene, policy, fc.boolean(), ({ outline }, policy, manual) => {
      const plan = planCut(outline, policy, { manual });
      if (plan.kind !== "span") return;
      planned++;
      const cells = cellsOf(outline);
      const span = inside(cells, plan.span);
      const from = cells.indexOf(span[0] as Cell);
      check({
        outline,
        policy,
        manual,
        plan,
        cells,
        span,
        head: cells.slice(0, from),
        tail: cells.slice(from + span.length),
      });
    }),
    { numRuns: tries(1_500) },
  );
  expect(planned).toBeGreaterThan(tries(1_500) / 5);
}

const sum = (cells: readonly Cell[]): number => cells.reduce((total, { tokens }) => total + tokens, 0);

test("V1: head, span and tail cover the view exactly once, and their tokens add up", () => {
  everyPlan(({ outline, plan, head, span, tail }) => {
    expect([plan.headTokens, plan.spanTokens, plan.tailTokens]).toEqual([sum(head), sum(span), sum(tail)]);
    expect(plan.headTokens + plan.spanTokens + plan.tailTokens + outline.overheadTokens).toBe(outline.tokens);
    const last = span.at(-1);
    const endsMessage = last?.row.kind === "overlay" || (last?.row.complete === true && tail[0]?.index !== last.index);
    expect(plan.span.toStep === WHOLE_MESSAGE).toBe(endsMessage);
  });
});

test("the plan says what is kept of the start: as many messages as were asked for, or why fewer, and of which only the beginning", () => {
  everyPlan(({ outline, plan, policy, head, span }) => {
    const { asked, kept, why, inWords, beginningOf } = plan.head;
    expect([asked, inWords]).toEqual([policy.protectHead, []]);
    const whole = new Set(head.map(({ index }) => index));
    expect(kept).toBeLessThanOrEqual(whole.size);
    expect(why === null).toBe(kept >= asked || kept === outline.rows.length);
    const first = outline.rows.findIndex(({ role, kind }) => kind === "overlay" || role === "user");
    const asking = outline.rows[first];
    const isHidden = asking?.kind === "message" && span.some(({ row }) => row === asking);
    expect(beginningOf).toBe(isHidden && policy.openingTokens > 0 ? asking.id : null);
    // Of a message that is not kept, so much would have been too much.
    if (isHidden && policy.protectHead > 0)
      expect(outline.rows.slice(0, first + 1).reduce((total, { tokens }) => total + tokens, 0)).toBeGreaterThan(
        policy.firstMessageTokens,
      );
  });
});

test("V1: chunks cover the span's messages exactly once, in order, and never an overlay", () => {
  everyPlan(({ plan, policy, cells, span }) => {
    expect(plan.overlayIds).toEqual(span.filter(({ row }) => row.kind === "overlay").map(({ row }) => row.id));
    const covered = plan.chunks.map((chunk) => inside(cells, chunk));
    expect(covered.flat()).toEqual(span.filter(({ row }) => row.kind === "message"));
    plan.chunks.forEach((chunk, index) => {
      expect(chunk.index).toBe(index);
      expect(chunk.tokens).toBe(sum(covered[index] ?? []));
      if (chunk.tokens > policy.chunkTokens) expect(covered[index]).toHaveLength(1);
    });
  });
});

test("V2: no boundary comes between a call and its result, in one message or in several", () => {
  everyPlan(({ cells, head, span, tail }) => {
    for (const [call, result] of pairs(cells)) {
      const sides = [head, span, tail].map((part) => [part.includes(call), part.includes(result)]);
      expect(sides.every(([one, other]) => one === other)).toBe(true);
    }
  });
});

test("V2: a chunk's edge comes between a call and its result only where keeping them together is too much for one call", () => {
  everyPlan(({ plan, policy, cells }) => {
    const ends = new Set(plan.chunks.map((chunk) => cells.indexOf(inside(cells, chunk).at(-1) as Cell)));
    for (const [call, result] of pairs(cells)) {
      const [from, to] = [cells.indexOf(call), cells.indexOf(result)];
      const parted = [...ends].some((end) => end >= from && end < to);
      if (!parted) continue;
      const tied = tiedTo(cells, from, to);
      if (tied.every(({ row }) => row.kind === "message")) expect(sum(tied)).toBeGreaterThan(policy.chunkTokens);
    }
  });
});

/** Cells tied, directly or through other pairs and replies, to those from `from` to `to`. */
function tiedTo(cells: readonly Cell[], from: number, to: number): Cell[] {
  const ties = [
    ...pairs(cells).map(([a, b]) => [cells.indexOf(a), cells.indexOf(b)] as const),
    ...[...new Set(cells.map(({ row }) => row.group))]
      .filter((group) => group !== null)
      .map(
        (group) =>
          [
            cells.findIndex(({ row }) => row.group === group),
            cells.findLastIndex(({ row }) => row.group === group),
          ] as const,
      ),
  ];
  for (let grown = true; grown;) {
    grown = false;
    for (const [a, b] of ties) {
      if (a <= to && b >= from && (a < from || b > to)) {
        [from, to, grown] = [Math.min(a, from), Math.max(b, to), true];
      }
    }
  }
  return cells.slice(from, to + 1);
}

test("messages of one provider reply stay on one side of every boundary", () => {
  everyPlan(({ outline, head, span, tail }) => {
    for (const group of new Set(outline.rows.map((row) => row.group))) {
      if (group === null || outline.rows.filter((row) => row.group === group).length === 1) continue;
      const sides = [head, span, tail].filter((part) => part.some(({ row }) => row.group === group));
      expect(sides).toHaveLength(1);
    }
  });
});

test("the protected head is kept whole, up to an earlier overlay and within its budget", () => {
  everyPlan(({ outline, policy, span }) => {
    const overlay = outline.rows.findIndex((row) => row.kind === "overlay");
    let left = policy.headTokenBudget;
    const tooDear = outline.rows.findIndex((row) => (left -= row.tokens) < 0);
    const ends = [overlay, tooDear].map((at) => (at === -1 ? outline.rows.length : at));
    const kept = Math.min(policy.protectHead, ...ends);
    for (const { index } of span) expect(index).toBeGreaterThanOrEqual(kept);
  });
});

test("the least tail is kept; only a message of several steps that outweighs the whole budget waives it", () => {
  everyPlan(({ outline, policy, tail }) => {
    if (outline.truncated) return;
    const messages = new Set(tail.filter(({ row }) => row.kind === "message").map(({ index }) => index));
    const first = tail[0];
    const partial = first !== undefined && first.step > first.row.firstStep;
    const whole = messages.size - (partial ? 1 : 0);
    if (whole >= policy.minTailMessages) return;
    expect(tail.some(({ row }) => row.steps.length > 1 && row.tokens > policy.tailTokenBudget)).toBe(true);
  });
});

test("a span always holds something that no summary covers yet, and enough of it unless forced", () => {
  everyPlan(({ policy, manual, span }) => {
    const fresh = sum(span.filter(({ row }) => row.kind === "message"));
    expect(fresh).toBeGreaterThanOrEqual(manual ? 1 : Math.max(1, policy.minSpanTokens));
  });
});

test("a dangling call blocks nothing: where every tool part is left without a result, plans are those of plain text", () => {
  fc.assert(
    fc.property(scene, policy, ({ outline }, policy) => {
      fc.pre(!outline.truncated);
      // The newest message's calls can still be answered.
      const rows = [...outline.rows, messageRow(say("end", "user", text("Go on.")))];
      const dangling = rows.map((row) => ({ ...row, calls: [...row.calls, ...row.results], results: [] }));
      const plain = rows.map((row) => ({ ...row, calls: [], results: [] }));
      expect(planCut({ ...outline, rows: dangling }, policy)).toEqual(planCut({ ...outline, rows: plain }, policy));
    }),
  );
});

test("asked for by hand, a plan skips the threshold and the least span, and nothing else", () => {
  fc.assert(
    fc.property(scene, policy, ({ outline }, policy) => {
      const plan = planCut(outline, policy);
      const forced = planCut(outline, policy, { manual: true });
      if (plan.kind === "span") expect(forced.kind).toBe("span");
      else if (plan.reason === "empty" || plan.reason === "too-short") expect(forced).toEqual(plan);
      else expect(["span", "nothing"]).toContain(forced.kind);
    }),
  );
});

test("where a user turn begins near the budget, the tail begins at a user turn", () => {
  everyPlan(({ outline, plan, policy, cells, head, span, tail }) => {
    if (outline.truncated || tail.some(({ row }) => row.kind === "overlay")) return;
    const start = cells.length - tail.length;
    const crossed = new Set<number>();
    for (const [call, result] of pairs(cells))
      for (let at = cells.indexOf(call) + 1; at <= cells.indexOf(result); at++) crossed.add(at);
    const turns = cells.flatMap(({ row, step }, at) => {
      const kept = sum(cells.slice(at));
      const near = kept <= policy.tailTokenBudget * 1.5 && kept >= policy.tailTokenBudget;
      const enough =
        sum(cells.slice(head.length, at).filter((cell) => cell.row.kind === "message")) >=
        Math.max(1, policy.minSpanTokens);
      const lastMessages = cells
        .slice(at)
        .filter((cell, n, all) => cell.row.kind === "message" && all[n - 1]?.index !== cell.index);
      const fits = near && enough && at > head.length && lastMessages.length >= policy.minTailMessages;
      return fits && row.kind === "message" && row.role === "user" && step === 0 && !crossed.has(at) ? [at] : [];
    });
    if (turns.length === 0) return;
    expect(cells[start]?.row.role).toBe("user");
    expect(cells[start]?.row.kind).toBe("message");
    expect(span.length).toBeGreaterThan(0);
    expect(plan.kind).toBe("span");
  });
});
