/**
 * A second, plain implementation of the span that notes replace. It walks cell by cell, sums anew at each place, and shares nothing with
 * the planner. Both must agree on any outline. It reads the steps with text from the messages themselves, where there are any.
 */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { planFromNotes, type NotesRange } from "../../../src/notes/steps/range.ts";
import { WHOLE_MESSAGE, type Outline, type OutlineRow } from "../../../src/steps/plan/outline.ts";
import type { Plan } from "../../../src/steps/plan/plan.ts";
import { resolvePolicy, type Policy } from "../../../src/steps/plan/policy.ts";
import { conversationOf, messageRow, outlineOf, overlayRow } from "../../steps/conversations.ts";

const RUNS = 1_500;

interface Asked {
  readonly outline: Outline;
  /** `id step` of every step in which something is said in words. */
  readonly said: ReadonlySet<string>;
  readonly covered: { readonly messageId: string; readonly step: number } | null;
  readonly policy: Policy;
  readonly notes: NotesRange;
}

/** One visible step of a message, or one overlay. */
interface Cell {
  readonly row: OutlineRow;
  readonly step: number;
  readonly tokens: number;
}

type Verdict =
  | { readonly nothing: string }
  | {
      readonly from: readonly [id: string, step: number];
      readonly to: readonly [id: string, step: number];
      readonly keptId: string | null;
      readonly keptTokens: number;
      readonly headTokens: number;
      readonly overlayIds: readonly string[];
      readonly level: number;
    };

// ---- The rule

const weigh = (cells: readonly Cell[]): number => cells.reduce((sum, { tokens }) => sum + tokens, 0);

const cellsOf = (rows: readonly OutlineRow[]): Cell[] =>
  rows.flatMap((row) => row.steps.map((tokens, n) => ({ row, step: row.firstStep + n, tokens })));

const holds = (cell: Cell, parts: OutlineRow["calls"]): string[] =>
  parts.filter(([, step]) => step === cell.step).map(([id]) => id);

/** A message that holds nothing, such as a reply that has not begun. */
const isPlace = ({ kind, tokens }: OutlineRow): boolean => kind === "message" && tokens <= 4;

/**
 * Cells of each answered call, with its result. A call whose id is used again meanwhile waits no longer. A call of the newest message may
 * be answered beyond the end. Rows that hold only results, and messages that hold nothing, do not count as the newest.
 */
function pairsOf(cells: readonly Cell[]): { call: number; result: number }[] {
  let waiting: { id: string; at: number }[] = [];
  const pairs: { call: number; result: number }[] = [];
  cells.forEach((cell, at) => {
    for (const id of holds(cell, cell.row.calls)) {
      waiting = [...waiting.filter((call) => call.id !== id), { id, at }];
    }
    for (const id of holds(cell, cell.row.results)) {
      pairs.push(...waiting.filter((call) => call.id === id).map((call) => ({ call: call.at, result: at })));
      waiting = waiting.filter((call) => call.id !== id);
    }
  });
  const answering = new Set(pairs.map(({ result }) => cells[result]?.row));
  const newest = cells.findLast(({ row }) => !answering.has(row) && !isPlace(row))?.row;
  const first = cells.findIndex(({ row }) => row === newest);
  const open = waiting.filter(({ at }) => newest === undefined || at >= first);
  return [...pairs, ...open.map(({ at }) => ({ call: at, result: cells.length }))];
}

/** Whether a boundary would part a call from its result, or the rows that one reply was stored as. */
function parts(cells: readonly Cell[], boundary: number): boolean {
  const before = cells.slice(0, boundary).map(({ row }) => row);
  const behind = cells.slice(boundary).map(({ row }) => row);
  return (
    pairsOf(cells).some(({ call, result }) => call < boundary && boundary <= result) ||
    before.some((row) => behind.some((other) => other !== row && isOneReply(cells, row, other)))
  );
}

/** Whether two rows belong to one reply. They have the same id, and no user's message stands between them. */
function isOneReply(cells: readonly Cell[], first: OutlineRow, last: OutlineRow): boolean {
  const rows = [...new Set(cells.map(({ row }) => row))];
  const between = rows.slice(rows.indexOf(first), rows.indexOf(last) + 1);
  const said = between.some(({ kind, role, texts }) => kind === "message" && role === "user" && texts.length > 0);
  return first.group !== null && first.group === last.group && !said;
}

/** Start of the least tail of messages. Of a message of several steps that alone is larger than a tail, what fits, or its last step. */
function leastTail(cells: readonly Cell[], { minTailMessages, tailTokenBudget }: Policy): number {
  const rows = [...new Set(cells.map(({ row }) => row))];
  let left = minTailMessages;
  let start = cells.length;
  while (left > 0 && rows.length > 0) {
    const row = rows.pop();
    const first = cells.findIndex((cell) => cell.row === row);
    const own = cells.slice(first, start);
    if (own.length > 1 && weigh(own) > tailTokenBudget) {
      const fits = cells.findIndex((_, at) => weigh(cells.slice(at)) <= tailTokenBudget);
      return Math.min(Math.max(fits === -1 ? cells.length : fits, first + 1), start - 1);
    }
    start = first;
    if (row?.kind === "message") left--;
  }
  return start;
}

function expected({ outline, said, covered, policy, notes }: Asked): Verdict {
  const cells = cellsOf(outline.rows);
  if (cells.length === 0) return { nothing: "empty" };
  if (outline.truncated) return { nothing: "not-covered" };
  const floor = cells.findLastIndex(({ row }) => row.kind === "overlay") + 1;
  const lastCovered = cells.findLastIndex(
    ({ row, step }) => row.kind === "message" && row.id === covered?.messageId && step <= covered.step,
  );
  if (covered !== null && (lastCovered === -1 || lastCovered + 1 < floor)) return { nothing: "not-covered" };
  const start = covered === null ? cells.length : lastCovered + 1;

  const texts = (kept: readonly Cell[]): number =>
    new Set(kept.filter(({ row, step }) => said.has(`${row.id} ${step}`)).map(({ row }) => row.id)).size;
  const enough = (kept: readonly Cell[]): boolean =>
    weigh(kept) >= notes.minTokens && texts(kept) >= notes.minTextBlockMessages;
  let kept = start;
  while (kept > floor && !enough(cells.slice(kept)) && weigh(cells.slice(kept)) < notes.maxTokens) kept--;
  const most = Math.max(floor, Math.min(start, leastTail(cells, policy)));
  kept = Math.min(kept, most);
  if (kept === 0) return { nothing: "too-short" };

  const boundaries = [...cells.map((_, at) => at), cells.length];
  const free = boundaries.filter((at) => at >= floor && at > 0 && at <= most && !parts(cells, at));
  const at = free.findLast((boundary) => boundary <= kept) ?? free.find((boundary) => boundary > kept);
  if (at === undefined) return { nothing: "too-short" };

  const replaced = cells.slice(0, at);
  const fresh = weigh(replaced.filter(({ row }) => row.kind === "message"));
  if (fresh === 0 || fresh < policy.minSpanTokens) return { nothing: "too-small" };
  return verdict(cells, at);
}

function verdict(cells: readonly Cell[], at: number): Verdict {
  const [first, last] = [cells[0], cells[at - 1]];
  if (first === undefined || last === undefined) throw new Error("nothing is replaced");
  const overlays = cells.slice(0, at).filter(({ row }) => row.kind === "overlay");
  const toTheEnd = last.row.complete && last.step === last.row.firstStep + last.row.steps.length - 1;
  return {
    from: [first.row.id, first.step],
    to: [last.row.id, toTheEnd ? WHOLE_MESSAGE : last.step],
    keptId: cells[at]?.row.id ?? null,
    keptTokens: weigh(cells.slice(at)),
    headTokens: 0,
    overlayIds: overlays.map(({ row }) => row.id),
    level: Math.max(-1, ...overlays.map(({ row }) => row.overlay?.level ?? 0)) + 1,
  };
}

function asVerdict(plan: Plan): Verdict {
  if (plan.kind === "nothing") return { nothing: plan.reason };
  const { span, keptId, tailTokens, headTokens, overlayIds, level } = plan;
  const [from, to] = [[span.fromId, span.fromStep] as const, [span.toId, span.toStep] as const];
  return { from, to, keptId, keptTokens: tailTokens, headTokens, overlayIds, level };
}

// ---- Outlines

/** Rows of messages, and the steps in which something is said. */
interface Told {
  readonly rows: OutlineRow[];
  readonly said: ReadonlySet<string>;
}

/** Rows that are all ties, with few ids for many calls and results, answered twice or never, and replies in several rows. */
const tangled: fc.Arbitrary<Told> = fc
  .array(
    fc.record({
      sizes: fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 4 }),
      tools: fc.array(fc.record({ id: fc.nat(5), step: fc.nat(3), result: fc.boolean() }), { maxLength: 2 }),
      quiet: fc.boolean(),
      asks: fc.nat(4).map((n) => n === 0),
      texts: fc.uniqueArray(fc.nat(3)),
      group: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(2) }),
    }),
    { maxLength: 16 },
  )
  .map((given) => {
    const rows = given.map(({ sizes, tools, quiet, asks, texts, group }, n) => {
      const placed = (result: boolean): [string, number][] =>
        quiet
          ? []
          : tools.filter((tool) => tool.result === result).map(({ id, step }) => [`c${id}`, step % sizes.length]);
      return {
        kind: "message" as const,
        id: `m${n}`,
        role: asks ? ("user" as const) : ("assistant" as const),
        tokens: sizes.reduce((sum, size) => sum + size, 0),
        firstStep: 0,
        steps: sizes,
        complete: true,
        calls: placed(false),
        results: placed(true),
        texts: texts.filter((step) => step < sizes.length),
        group: group === null ? null : `g${Math.floor(n / 4)}-${group}`,
      };
    });
    return { rows, said: new Set(rows.flatMap(({ id, texts }) => texts.map((step) => `${id} ${step}`))) };
  });

/** Parts in place of a message's texts, such as reasoning, a blank, data of the page, or a steering message. */
const disguises: readonly ((body: string) => UIMessage["parts"][number])[] = [
  (body) => ({ type: "text", text: body }),
  (body) => ({ type: "reasoning", text: body }),
  () => ({ type: "text", text: " \n" }),
  () => ({ type: "data-empty", data: {} }),
  (body) => ({ type: "steering-message", parts: [{ type: "text", text: body }] }) as never,
];

const messages = fc
  .tuple(conversationOf({ maxLength: 14 }), fc.array(fc.nat(9), { minLength: 1, maxLength: 20 }))
  .map(([conversation, kinds]) =>
    conversation.map((message, n) => {
      const disguise = disguises[kinds[n % kinds.length] ?? 0] ?? disguises[0];
      const parts = message.parts.map((part) => (part.type === "text" ? (disguise?.(part.text) ?? part) : part));
      return { ...message, parts };
    }),
  );

/** Steps are separated by their marks, and a user's steering in between counts as said. */
function listSaid({ id, parts }: UIMessage): string[] {
  let step = 0;
  let begun = false;
  const said: string[] = [];
  for (const part of parts) {
    if (part.type === "step-start" && begun) step++;
    begun = part.type !== "step-start";
    if (/"type":"text","text":" *[a-z]/.test(JSON.stringify(part))) said.push(`${id} ${step}`);
  }
  return said;
}

const told = fc.oneof(
  tangled,
  messages.map((all): Told => ({ rows: all.map(messageRow), said: new Set(all.flatMap(listSaid)) })),
);

/** The visible part of a message between two of its steps. */
function piece(row: OutlineRow, from: number, to: number): OutlineRow[] {
  const steps = row.steps.slice(from, to);
  if (steps.length === 0) return [];
  const shown = ([, step]: readonly [string, number]): boolean => step >= from && step < to;
  return [
    {
      ...row,
      tokens: steps.reduce((sum, size) => sum + size, 0),
      firstStep: from,
      steps,
      complete: to >= row.steps.length,
      calls: row.calls.filter(shown),
      results: row.results.filter(shown),
      texts: row.texts.filter((step) => shown(["", step])),
    },
  ];
}

/** Overlays from any step to any later one, also of one message. */
function laid(all: readonly OutlineRow[], cuts: readonly number[], levels: readonly number[]): OutlineRow[] {
  const total = cellsOf(all).length;
  const edges = cuts.map((share) => Math.floor(share * total)).toSorted((a, b) => a - b);
  const shown: OutlineRow[] = [];
  let before = 0;
  for (const row of all) {
    let from = 0;
    row.steps.forEach((_, step) => {
      const opens = edges.findIndex((edge, n) => n % 2 === 0 && edge === before && (edges[n + 1] ?? 0) > edge);
      if (opens !== -1) {
        shown.push(...piece(row, from, step));
        const overlay = { level: levels[opens / 2] ?? 0, generation: 1, degraded: false };
        shown.push({ ...overlayRow(`overlay${opens}`, 20 + opens), overlay });
      }
      before++;
      const hidden = edges.some((edge, n) => n % 2 === 0 && edge < before && before <= (edges[n + 1] ?? 0));
      if (hidden) from = step + 1;
    });
    shown.push(...piece(row, from, row.steps.length));
  }
  return shown;
}

const share = (max: number): fc.Arbitrary<number> => fc.nat(1_000).map((n) => (n * max) / 1_000);

const asked: fc.Arbitrary<Asked> = fc
  .record({
    told,
    overlays: fc.integer({ min: 0, max: 3 }),
    cuts: fc.array(share(1), { minLength: 6, maxLength: 6 }),
    levels: fc.array(fc.nat(3), { minLength: 3, maxLength: 3 }),
    truncated: fc.nat(19),
    covered: fc.nat(9),
    coveredStep: fc.oneof(fc.constant(WHOLE_MESSAGE), fc.nat(3)),
    fromEnd: fc.oneof(fc.nat(3), fc.nat(40)),
    least: share(0.6),
    more: share(0.6),
    minTextBlockMessages: fc.integer({ min: 1, max: 6 }),
    protectHead: fc.nat(4),
    headShare: share(0.5),
    spanShare: share(0.3),
    minTail: fc.nat(4),
  })
  .map((given) => {
    const shown = laid(given.told.rows, given.cuts.slice(0, 2 * given.overlays), given.levels);
    const outline = outlineOf(shown, { truncated: given.truncated === 0 });
    const part = (of: number): number => Math.floor(of * outline.tokens);
    const policy: Policy = {
      ...resolvePolicy({ thresholdTokens: 2_000 }),
      protectHead: given.protectHead,
      headTokenBudget: part(given.headShare),
      minSpanTokens: part(given.spanShare),
      minTailMessages: given.minTail,
    };
    const minTokens = 1 + part(given.least);
    const row = shown.at(-1 - (given.fromEnd % Math.max(1, shown.length)));
    const messageId = given.covered === 1 ? "gone" : (row?.id ?? "gone");
    const covered = given.covered === 0 ? null : { messageId, step: given.coveredStep };
    const notes = {
      minTokens,
      minTextBlockMessages: given.minTextBlockMessages,
      maxTokens: minTokens + part(given.more),
    };
    return { outline, said: given.told.said, covered, policy, notes };
  });

test("V1, V2: the planner keeps behind notes exactly what the rule says, or gives the rule's reason for nothing", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(asked, (one) => {
      const wanted = expected(one);
      seen.add("nothing" in wanted ? wanted.nothing : wanted.overlayIds.length > 0 ? "over overlays" : "fresh");
      expect(asVerdict(planFromNotes(one.outline, one))).toEqual(wanted);
    }),
    { numRuns: RUNS },
  );
  expect([...seen].toSorted()).toEqual(["empty", "fresh", "not-covered", "over overlays", "too-short", "too-small"]);
});
