/** The stack of summaries over a long life: which is carried on, which stays as it is, and when all are folded. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { SUMMARY_FRAME_TOKENS } from "../../../src/limits.ts";
import { WHOLE_MESSAGE, type OutlineRow } from "../../../src/steps/plan/outline.ts";
import { planCut, type SpanPlan, MAX_GENERATION } from "../../../src/steps/plan/plan.ts";
import { resolvePolicy, type Policy } from "../../../src/steps/plan/policy.ts";
import { outlineOf, overlayRow } from "../conversations.ts";
import { tries } from "../../tries.ts";

/** Tokens of a summary's text, from those of the texts that it replaces and its budget. */
type Growth = (replaced: number, budget: number) => number;

/** Weighs all that it may. */
const heavy: Growth = (_, budget) => budget;
/** Adds the same share of a budget for each compaction that it tells of. */
const growing =
  (share: number): Growth =>
  (replaced, budget) =>
    Math.min(budget, Math.ceil(replaced + share * budget));

interface Compaction {
  readonly plan: SpanPlan;
  readonly before: readonly OutlineRow[];
  readonly after: readonly OutlineRow[];
  /** Model calls that it takes. */
  readonly calls: number;
}

/** Compacts a growing conversation of plain messages, each time it is due. */
function* live(policy: Policy, grow: Growth, most: number): Generator<Compaction, void> {
  let rows: OutlineRow[] = [];
  for (let n = 0, done = 0; done < most; n++) {
    rows.push(...plain(n % 2 === 0 ? `u${n}` : `a${n}`));
    const plan = planCut(outlineOf(rows), policy);
    if (plan.kind !== "span") continue;
    const after = lay(rows, plan, { policy, grow, id: `o${done}` });
    yield { plan, before: rows, after, calls: callsOf(rows, plan) };
    rows = [...after];
    done++;
  }
}

interface Laid {
  readonly policy: Policy;
  readonly grow: Growth;
  readonly id: string;
}

function lay(
  rows: readonly OutlineRow[],
  { span, level, rebuild }: SpanPlan,
  { policy, grow, id }: Laid,
): OutlineRow[] {
  const [from, to] = [span.fromId, span.toId].map((end) => rows.findIndex((row) => row.id === end));
  const replaced = rows.slice(from, (to ?? 0) + 1);
  const overlays = replaced.flatMap(({ overlay }) => (overlay === undefined ? [] : [overlay]));
  const texts = overlays.reduce((sum, { summaryTokens = 0 }) => sum + summaryTokens - SUMMARY_FRAME_TOKENS, 0);
  const budget =
    overlays.length > 1
      ? Math.max(policy.summaryTokens, Math.min(1.5 * policy.summaryTokens, policy.stackTokens / 2))
      : policy.summaryTokens;
  const summaryTokens = SUMMARY_FRAME_TOKENS + Math.floor(grow(texts, budget));
  const sourceTokens = replaced.reduce((sum, { tokens, overlay }) => sum + (overlay?.sourceTokens ?? tokens), 0);
  const generation = rebuild ? 1 : 1 + Math.max(0, ...overlays.map((each) => each.generation ?? 1));
  const overlay = { level, generation, degraded: false, summaryTokens, sourceTokens };
  return [...rows.slice(0, from), { ...overlayRow(id, summaryTokens), overlay }, ...rows.slice((to ?? 0) + 1)];
}

/** One call for each chunk, and one for the fold of several texts. The only chunk is told with the summaries before it in one. */
function callsOf(rows: readonly OutlineRow[], { chunks, parts, rebuild, overlayIds, chunkTokens }: SpanPlan): number {
  const source = rows
    .filter(({ id }) => overlayIds.includes(id))
    .reduce((sum, { overlay }) => sum + (overlay?.sourceTokens ?? 0), 0);
  const own = chunks.reduce((sum, { tokens }) => sum + tokens, 0);
  const read = rebuild ? Math.ceil((source + own) / chunkTokens) : chunks.length;
  const isWhole = read === 1 && (rebuild || parts.at(-1)?.kind === "chunk");
  return isWhole ? 1 : read + 1;
}

function overlaysOf(rows: readonly OutlineRow[]): OutlineRow[] {
  return rows.filter(({ kind }) => kind === "overlay");
}

function textOf({ overlay }: OutlineRow): number {
  return (overlay?.summaryTokens ?? 0) - SUMMARY_FRAME_TOKENS;
}

test("the last summary is carried on until it is six tenths full, then it is closed and a new one begins beside it", () => {
  const policy = resolvePolicy({ thresholdTokens: 60_000 });
  let closed = 0;
  for (const { plan, before, after } of live(policy, growing(0.25), 8)) {
    const last = overlaysOf(before).at(-1);
    if (last === undefined) continue;
    const isFull = textOf(last) > 0.6 * policy.summaryTokens;
    if (isFull) closed++;
    // With a quarter of its budget for each compaction it is full after three.
    expect(plan.overlayIds).toEqual(isFull ? [] : [last.id]);
    if (isFull) expect(overlaysOf(after)).toContain(last);
  }
  expect(closed).toBeGreaterThan(1);
});

test("what is not folded in stays where it is, byte for byte, and the rest is one stretch up to the end (V1)", () => {
  const shapes = fc.record({
    threshold: fc.integer({ min: 1_000, max: 60_000 }),
    share: fc.double({ min: 0.02, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(shapes, ({ threshold, share }) => {
      for (const { plan, before, after } of live(resolvePolicy({ thresholdTokens: threshold }), growing(share), 30)) {
        const stayed = overlaysOf(before).filter(({ id }) => !plan.overlayIds.includes(id));
        const now = overlaysOf(after);
        expect(now.slice(0, -1)).toEqual(stayed);
        for (const each of stayed) expect(now).toContain(each);
        expect(plan.overlayIds).toEqual(
          overlaysOf(before)
            .slice(stayed.length)
            .map(({ id }) => id),
        );
      }
    }),
    { numRuns: tries(60) },
  );
});

test("the texts of a view's summaries keep to their part of the threshold, or there is one of them", () => {
  for (const stackTokens of [400, 900, 2_000, 15_000]) {
    for (const grow of [heavy, growing(0.1), growing(0.4)]) {
      const policy = { ...resolvePolicy({ thresholdTokens: 60_000 }), summaryTokens: 300, stackTokens };
      for (const { after } of live(policy, grow, 80)) {
        const texts = overlaysOf(after).map(textOf);
        const sum = texts.reduce((all, each) => all + each, 0);
        if (texts.length > 1) expect(sum).toBeLessThanOrEqual(stackTokens);
      }
    }
  }
});

test("where another one has no room, all are folded into one, from their messages where those take at most two and a half thresholds", () => {
  const policy = resolvePolicy({ thresholdTokens: 60_000 });
  let [reread, folded] = [0, 0];
  for (const { plan, before } of live(policy, growing(0.3), 60)) {
    const all = overlaysOf(before);
    if (plan.overlayIds.length < 2) continue;
    expect(plan.overlayIds).toEqual(all.map(({ id }) => id));
    const standing = all.reduce((sum, each) => sum + textOf(each), 0);
    expect(standing).toBeGreaterThan(policy.stackTokens - policy.summaryTokens - 0.6 * policy.summaryTokens);
    const source = all.reduce((sum, { overlay }) => sum + (overlay?.sourceTokens ?? 0), 0);
    expect(plan.rebuild).toBe(source <= 2.5 * policy.thresholdTokens);
    if (plan.rebuild) reread++;
    else folded++;
  }
  expect(folded).toBeGreaterThan(0);
  // In a smaller one that folds early, the messages are few enough.
  const early = { ...resolvePolicy({ thresholdTokens: 20_000 }), stackTokens: 3_400 };
  for (const { plan } of live(early, heavy, 6)) if (plan.overlayIds.length > 1) reread += plan.rebuild ? 1 : 0;
  expect(reread).toBeGreaterThan(0);
});

test("a text that was written anew eight times is made from its messages, where those are few enough to be read again", () => {
  const policy = {
    ...resolvePolicy({ thresholdTokens: 20_000 }),
    summaryTokens: 6_000,
    stackTokens: 6_000,
    minSpanTokens: 1_000,
  };
  const manual = { manual: true };
  const of = (generation: number, sourceTokens: number): unknown => {
    const overlay = { level: 0, generation, degraded: false, summaryTokens: 1_000, sourceTokens };
    const messages = Array.from({ length: 120 }, (_, n) => plain(n % 2 === 0 ? `u${n}` : `a${n}`)).flat();
    return planCut(outlineOf([{ ...overlayRow("o", 1_000), overlay }, ...messages]), policy, manual);
  };
  expect(of(MAX_GENERATION - 1, 30_000)).toMatchObject({ overlayIds: ["o"], rebuild: false });
  expect(of(MAX_GENERATION, 30_000)).toMatchObject({ overlayIds: ["o"], rebuild: true });
  // Beside what is new it would not fit into one call, so the summary is carried on.
  expect(of(MAX_GENERATION, 48_000)).toMatchObject({ overlayIds: ["o"], rebuild: false });
});

test.each([8_000, 20_000, 60_000, 120_000])(
  "a compaction takes one model call, and over a long life at most 1.15 on average, at a threshold of %i",
  (thresholdTokens) => {
    for (const share of [0.15, 0.25, 0.4]) {
      const made = [...live(resolvePolicy({ thresholdTokens }), growing(share), 60)];
      const calls = made.reduce((sum, each) => sum + each.calls, 0);
      expect(calls / made.length, `${share}`).toBeLessThanOrEqual(1.15);
    }
  },
);

const small: Policy = { ...resolvePolicy({ thresholdTokens: 3_000 }), minSpanTokens: 50, pinnedTokens: 0 };

test("a degraded overlay is made from its messages again when it is carried on", () => {
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

test("messages between closed summaries, too few each for an overlay of their own, are folded in with them (V1)", () => {
  const rows = [...plain("a1"), closed("o1"), ...plain("a2"), closed("o2"), ...plain("u3", "a4")];
  const policy = { ...small, protectHead: 0, summaryTokens: 300, stackTokens: 9_000, tailTokenBudget: 200 };
  const least = (minSpanTokens: number): unknown =>
    planCut(outlineOf(rows), { ...policy, thresholdTokens: 100, minSpanTokens });
  expect(least(150)).toMatchObject({ span: { fromId: "a1", toId: "o2" }, overlayIds: ["o1", "o2"] });
  expect(least(250)).toMatchObject({ kind: "nothing", reason: "too-small" });
});

/** A summary that is full. */
function closed(id: string): OutlineRow {
  const overlay = { level: 0, generation: 1, degraded: false, summaryTokens: 400 };
  return { ...overlayRow(id, 400), overlay };
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
