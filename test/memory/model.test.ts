/** Any sequence of changes to a session reads like a naive model of it (naive.ts), with warm caches and with cold ones. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { History } from "../../src/memory/messages/history.ts";
import type { Memory } from "../../src/memory/memory.ts";
import type { CommitResult } from "../../src/memory/overlays/overlays.ts";
import { measureMessage } from "../../src/steps/message/message.ts";
import { WHOLE_MESSAGE, type Span } from "../../src/steps/plan/outline.ts";
import { summaryMessage } from "../../src/facts/render.ts";
import { Naive, type NaiveElement } from "./naive.ts";
import { steps, withProbe } from "./probe.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { everything, tries } from "../tries.ts";

/** Numbers pick from the things that exist at the step, by `at % count`. */
type Step =
  | { do: "append"; id: number; texts: string[]; parent: number | "leaf" | "root" }
  | { do: "upsert" | "update"; at: number; texts: string[] }
  | { do: "grow"; at: number; text: string }
  | { do: "delete"; at: number[] }
  | { do: "clear" }
  | { do: "overlay"; leaf: number; from: number; length: number; cut: "none" | "start" | "end"; words: number }
  | { do: "plan"; leaf: number; from: number; length: number }
  | { do: "commit" }
  | { do: "rollback"; at: number }
  | { do: "throw"; at: number }
  | { do: "reopen" };

const at = fc.nat({ max: 1_000 });
const texts = fc.array(fc.constantFrom("alpha", "beta", "gamma delta", "文字"), { minLength: 1, maxLength: 4 });

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      id: fc.nat({ max: 40 }),
      texts,
      parent: fc.oneof({ weight: 6, arbitrary: fc.constant("leaf" as const) }, at, fc.constant("root" as const)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("upsert" as const, "update" as const), at, texts }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("grow" as const), at, text: fc.constantFrom("more", "end") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), at: fc.array(at, { maxLength: 3 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("overlay" as const),
      leaf: at,
      from: at,
      length: fc.nat({ max: 8 }),
      cut: fc.constantFrom("none" as const, "none" as const, "start" as const, "end" as const),
      words: fc.constantFrom(1, 1, 1, 500),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("plan" as const), leaf: at, from: at, length: fc.nat({ max: 8 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "commit" as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("rollback" as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("throw" as const), at }) },
  { weight: 1, arbitrary: fc.constant({ do: "reopen" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "clear" as const }) },
);

/** One session, in the memory and as the naive model says it. */
interface Twin {
  readonly sessionId: string;
  model: Naive;
  planned: { span: Span; digest: string; source: string; runId: string; model: Naive } | null;
  runs: number;
  /** Counts of what the script met, shared by all twins. */
  readonly seen: Record<string, number>;
}

test("M1, V1, C2, C3, V3, S1: any sequence of changes reads like the naive model, warm and cold", async () => {
  await withProbe(({ memory, reopen }) => {
    let run = 0;
    const seen = { applied: 0, rebased: 0, changed: 0, gone: 0, overlap: 0, larger: 0, slices: 0, nested: 0 };
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 1 }), step), { minLength: 20, maxLength: 60 }), (script) => {
        run++;
        let current = memory;
        const twins = [0, 1].map((n): Twin => ({
          sessionId: `${run}-${n}`,
          model: new Naive(),
          planned: null,
          runs: 0,
          seen,
        }));
        for (const [which, each] of script) {
          const twin = twins[which] as Twin;
          if (each.do === "reopen") current = reopen();
          else apply(current, twin, each);
          check(current.session(twin.sessionId), twin);
        }
        const cold = reopen();
        for (const twin of twins) check(cold.session(twin.sessionId), twin);
      }),
      { numRuns: tries(150) },
    );
    // The script really went where it is meant to go. A part of the tries may not go everywhere.
    if (!everything) return;
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
  });
});

function pick<T>(from: readonly T[], n: number): T | undefined {
  return from[n % Math.max(1, from.length)];
}

function meet(twin: Twin, what: string): void {
  twin.seen[what] = (twin.seen[what] ?? 0) + 1;
}

function apply(memory: Memory, twin: Twin, step: Exclude<Step, { do: "reopen" }>): void {
  const { model } = twin;
  const history = memory.session(twin.sessionId);
  if (step.do === "append") append(history, model, step);
  if (step.do === "upsert" || step.do === "update" || step.do === "grow") change(history, model, step);
  if (step.do === "overlay") addOverlay(history, twin, step);
  if (step.do === "plan") plan(history, twin, step);
  if (step.do === "commit") commit(history, twin);
  if (step.do === "throw") throwAfterChanges(memory, twin, step.at);
  if (step.do === "delete") {
    const ids = step.at.flatMap((n) => pick(model.ids, n) ?? []);
    expect(history.delete([...ids, "never stored"])).toBe(new Set(ids).size);
    model.delete(ids);
  }
  if (step.do === "clear") {
    history.clear();
    model.clear();
  }
  const cover = step.do === "rollback" ? pick(model.covers, step.at) : undefined;
  if (cover !== undefined) {
    history.overlays.rollback(cover.id);
    cover.active = false;
  }
}

function append(history: History, model: Naive, step: Step & { do: "append" }): void {
  const message = steps(`m${step.id}`, ...step.texts);
  const parent = step.parent === "leaf" ? undefined : step.parent === "root" ? null : pick(model.ids, step.parent);
  if (parent === message.id) return;
  const existed = model.find(message.id)?.message;
  const result = history.append(message, parent);
  expect(result).toEqual({ inserted: existed === undefined, synthetic: false, message: existed ?? message });
  model.append(message, parent);
}

function change(history: History, model: Naive, step: Step & { do: "upsert" | "update" | "grow" }): void {
  const id = pick(model.ids, step.at) ?? "nobody";
  const old = model.find(id)?.message;
  const message =
    step.do === "grow"
      ? { ...steps(id), parts: [...(old?.parts ?? []), ...steps(id, step.text).parts] }
      : steps(id, ...step.texts);
  if (step.do === "upsert") history.upsert(message);
  else expect(history.update(message)).toEqual(old === undefined ? null : message);
  if (step.do === "upsert") model.append(message, undefined);
  model.update(message);
}

function plan(history: History, twin: Twin, step: Step & { do: "plan" }): void {
  const { model } = twin;
  const span = pickSpan(model, step);
  const found = span === null ? null : history.spans.digest(span);
  if (span === null || found === null) return;
  expect(found.tokens).toBe(sum(model.inside(span)));
  const runId = `run${twin.runs++}`;
  twin.planned = { span, digest: found.digest, source: source(model, span), runId, model: model.copy() };
}

function throwAfterChanges(memory: Memory, twin: Twin, at: number): void {
  const history = memory.session(twin.sessionId);
  expect(() =>
    memory.db.transaction((): void => {
      const id = pick(twin.model.ids, at) ?? "nobody";
      history.append(steps("lost", "lost"));
      history.update(steps(id, "lost"));
      history.delete([id]);
      if (at % 2 === 0) history.clear();
      history.tokens();
      throw new Error("on purpose");
    }),
  ).toThrow("on purpose");
}

function pickSpan(model: Naive, step: { leaf: number; from: number; length: number }): Span | null {
  const path = model.path(pick(model.ids, step.leaf) ?? null);
  const from = step.from % Math.max(1, path.length);
  const [fromId, toId] = [path[from], path[Math.min(path.length - 1, from + step.length)]];
  return fromId === undefined || toId === undefined ? null : { fromId, fromStep: 0, toId, toStep: WHOLE_MESSAGE };
}

function addOverlay(history: History, twin: Twin, step: Step & { do: "overlay" }): void {
  const { model } = twin;
  const whole = pickSpan(model, step);
  if (whole === null) return;
  const cut = step.cut === "start" ? { fromStep: 1 } : step.cut === "end" ? { toStep: 1 } : {};
  const span = { ...whole, ...cut };
  if (span.fromId === span.toId && span.fromStep > span.toStep) return;
  if (!model.fits(span)) {
    expect(() => history.overlays.add({ span, summary: "S" })).toThrow("[invalid_range]");
    return;
  }
  const inside = model.inside(span);
  const result = history.overlays.add({ span, summary: "word ".repeat(step.words) });
  settle(history, twin, { span, inside, result, summary: "word ".repeat(step.words) });
}

interface Answer {
  span: Span;
  inside: NaiveElement[];
  result: CommitResult;
  summary: string;
}

function settle(history: History, twin: Twin, what: Answer): void {
  const { model } = twin;
  const { span, inside, result, summary } = what;
  if (result.kind === "already") return;
  if (result.kind === "stale") {
    meet(twin, result.reason);
    // One message is told of in more words than several.
    const framed = [1, 9].map((spanMessages) =>
      summaryMessage({ overlayId: "ov_0123456789abcdef", summary, spanMessages }),
    );
    const tokens = Math.max(...framed.map((message) => measureMessage(message, estimateTokens).tokens));
    if (result.reason === "overlap") expect(model.crossed(span)).toBe(true);
    if (result.reason === "larger") expect(tokens).toBeGreaterThanOrEqual(sum(inside) - 1);
    return;
  }
  meet(twin, result.kind === "applied" && result.rebased ? "rebased" : result.kind);
  if (overlayIds(inside).length > 0) meet(twin, "nested");
  expect(model.crossed(span), "C2").toBe(false);
  expect(result.overlay.spanTokens).toBe(sum(inside));
  expect(result.overlay.tokens, "V3").toBeLessThan(sum(inside));
  expect(result.overlay).toEqual(history.overlays.get(result.overlay.id));
  model.cover(result.overlay);
}

function commit(history: History, twin: Twin): void {
  const { planned, model } = twin;
  if (planned === null) return;
  const { span, digest, runId } = planned;
  const inside = model.fits(span) ? model.inside(span) : [];
  const result = history.overlays.add({
    span,
    digest,
    runId,
    summary: "S",
    overlayIds: overlayIds(planned.model.inside(span)),
  });
  if (result.kind === "stale" && result.reason === "gone") expect(model.fits(span)).toBe(false);
  if (result.kind === "applied") expect(source(model, span), "C3").toBe(planned.source);
  if (result.kind === "applied" && !result.rebased)
    expect(overlayIds(inside)).toEqual(overlayIds(planned.model.inside(span)));
  settle(history, twin, { span, inside, result, summary: "S" });
  if (result.kind !== "stale")
    expect(history.overlays.add({ span, digest, runId, summary: "S" }).kind, "C1").toBe("already");
}

function overlayIds(elements: readonly NaiveElement[]): string[] {
  return elements.flatMap((each) => (each.kind === "overlay" ? [each.id] : []));
}

/** The exact source of a span. */
function source(model: Naive, span: Span): string {
  const path = model.path(span.toId);
  return JSON.stringify(path.slice(path.indexOf(span.fromId)).map((id) => model.find(id)?.message));
}

function sum(elements: readonly { tokens: number }[]): number {
  return elements.reduce((total, each) => total + each.tokens, 0);
}

function check(history: History, twin: Twin): void {
  const { model } = twin;
  expect(history.leafId()).toBe(model.leaf);
  expect(history.branches(null).map((each) => each.id)).toEqual(model.children(null));
  expect(history.tokens()).toBe(sum(model.view(model.leaf)));
  for (const id of model.ids) {
    expect(history.get(id)).toEqual(model.find(id)?.message);
    expect(history.branches(id).map((each) => each.id)).toEqual(model.children(id));
  }
  for (const leaf of model.ids.filter((id) => model.children(id).length === 0)) {
    const path = model.path(leaf);
    expect([...history.originals(leaf)], "M1").toEqual(path.map((id) => model.find(id)?.message));
    expect(history.pathLength(leaf)).toBe(path.length);
    const view = history.view(leaf);
    const expected = model.view(leaf);
    expect(
      view.elements.map((each) => ({ fromStep: 0, toStep: 0, ...each, span: undefined })),
      "V1",
    ).toEqual(expected.map((each) => ({ ...each, span: undefined })));
    expect(view.tokens).toBe(sum(expected));
    expect(history.tokens(leaf)).toBe(sum(expected));
    const outline = history.outline(leaf);
    expect(outline?.rows.map((row) => row.tokens)).toEqual(expected.map((each) => each.tokens));
    expect([...history.history({ leafId: leaf })]).toEqual(history.getHistory(leaf));
    if (expected.some((each) => each.kind === "message" && (each.fromStep > 0 || each.toStep < WHOLE_MESSAGE))) {
      meet(twin, "slices");
    }
  }
  for (const cover of model.covers) {
    expect(history.overlays.get(cover.id)?.state === "active", `${cover.summary} in force`).toBe(cover.active);
  }
}
