/** A bound on the messages of a view, beside the one on its tokens: when it is due, what is cut, and which bounds are refused. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { changedThreshold } from "../../../src/agent/settings.ts";
import { MAX_OUTLINE_ROWS } from "../../../src/limits.ts";
import { judge, notDue } from "../../../src/steps/decide/decide.ts";
import type { OutlineRow } from "../../../src/steps/plan/outline.ts";
import { planCut } from "../../../src/steps/plan/plan.ts";
import { messageShares, resolvePolicy, type Policy, type PolicyOptions } from "../../../src/steps/plan/policy.ts";
import { messageRow, outlineOf, overlayRow, say, scene, text } from "../conversations.ts";

/** A threshold that none of these views comes near. */
const FAR = 1_000_000;

const bound = fc
  .record({
    maxMessages: fc.integer({ min: 7, max: 300 }),
    head: fc.nat(5),
    tail: fc.record({ messages: fc.integer({ min: 1, max: 6 }) }),
  })
  .filter((options) => resolved({ thresholdTokens: FAR, ...options }) !== null)
  .map((options) => resolvePolicy({ thresholdTokens: FAR, ...options }));

function resolved(options: PolicyOptions): Policy | null {
  try {
    return resolvePolicy(options);
  } catch {
    return null;
  }
}

function row(n: number, chars: number): OutlineRow {
  return messageRow(say(`m${n}`, n % 2 === 0 ? "user" : "assistant", text("word ".repeat(chars))));
}

test("a view with one message too many has a plan, however short its messages are, and fits its bound afterwards", () => {
  const sizes = fc.array(fc.nat(400), { minLength: 301, maxLength: 301 });
  fc.assert(
    fc.property(bound, sizes, fc.nat(60), (policy, sizes, summaries) => {
      const { maxMessages = 0 } = policy;
      const shares = messageShares(policy);
      if (shares === null) throw new Error("The policy counts messages.");
      const standing = Math.min(summaries, shares.overlays);
      const head = Array.from({ length: policy.protectHead }, (_, n) => row(n, sizes[n] ?? 0));
      const overlays = Array.from({ length: standing }, (_, n) => overlayRow(`o${n}`, 60));
      const rest = maxMessages + 1 - head.length - standing;
      const rows = [...head, ...overlays, ...Array.from({ length: rest }, (_, n) => row(100 + n, sizes[n] ?? 0))];
      const plan = planCut(outlineOf(rows), policy);
      if (plan.kind !== "span") throw new Error(`No plan: ${plan.detail}`);
      const from = rows.findIndex(({ id }) => id === plan.span.fromId);
      const to = rows.findIndex(({ id }) => id === plan.span.toId);
      const messages = rows.slice(from, to + 1).filter(({ kind }) => kind === "message").length;
      expect(messages).toBeGreaterThanOrEqual(shares.span);
      expect(rows.length - (to - from)).toBeLessThanOrEqual(maxMessages);
      expect(standing - plan.overlayIds.length + 1).toBeLessThanOrEqual(shares.overlays);
      expect(rows.length - 1 - to).toBeGreaterThanOrEqual(policy.minTailMessages);
    }),
  );
});

test("a bound on messages changes no plan of a view that is within it and whose tail is", () => {
  fc.assert(
    fc.property(scene, fc.boolean(), ({ outline }, manual) => {
      const policy = { ...resolvePolicy({ thresholdTokens: 2_000 }), minSpanTokens: 50 };
      const wide = { ...policy, maxMessages: MAX_OUTLINE_ROWS };
      fc.pre(!outline.truncated);
      expect(planCut(outline, wide, { manual })).toEqual(
        expect.objectContaining({ kind: planCut(outline, policy, { manual }).kind }),
      );
      const [counted, plain] = [planCut(outline, wide, { manual }), planCut(outline, policy, { manual })];
      if (counted.kind === "span") expect(counted).toEqual(plain);
    }),
  );
});

test("a view is due by its messages over their bound, beside its tokens", () => {
  const view = { tokens: 100, messages: 50 };
  const bounds = { thresholdTokens: 1_000, maxMessages: 50 };
  expect(judge(view, bounds)).toEqual([]);
  expect(notDue(view, bounds).detail).toContain(
    "100 tokens in 50 messages; the bounds are 1000 tokens and 50 messages",
  );
  expect(judge({ ...view, messages: 51 }, bounds)).toEqual(["messages"]);
  expect(judge({ ...view, messages: 51, tokens: 1_001 }, bounds)).toEqual(["threshold", "messages"]);
});

/** The message with which options are refused, or `taken`. */
function refused(options: object): string {
  try {
    changedThreshold(60_000, options);
    return "taken";
  } catch (error) {
    return (error as Error).message;
  }
}

test("a bound that no view could keep is refused before anything is stored, with what to change", () => {
  for (const maxMessages of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "50", null, true, 6]) {
    expect(refused({ maxMessages }), String(maxMessages)).toMatch(/^\[invalid_options\] maxMessages/);
  }
  expect(refused({ maxMessages: 30, head: 20 })).toMatch(/^\[invalid_options\] maxMessages \(30\).*head/);
  expect(refused({ maxMessages: 30, tail: { messages: 28 } })).toMatch(/^\[invalid_options\] .*tail\.messages/);
  expect(refused({ maxMessages: MAX_OUTLINE_ROWS + 1 })).toMatch(/^\[invalid_options\] .*from 1 to 4000/);
  for (const maxMessages of [7, 60, MAX_OUTLINE_ROWS, undefined]) expect(refused({ maxMessages })).toBe("taken");
});

test("a policy without the bound is recorded as before", () => {
  expect(Object.keys(resolvePolicy({ thresholdTokens: 60_000 }))).not.toContain("maxMessages");
});
