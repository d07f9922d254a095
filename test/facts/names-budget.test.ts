/** The room of the names beside a summary: what the summaries leave, and half of it all at most for an early one. */
import { assert, boolean, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { NOTHING_PINNED, type FactKind, type Pinned, type PinnedFact } from "../../src/facts/fact.ts";
import { EARLY_NAMES_SHARE, exceedsShare, namesBudget, tellsWithout } from "../../src/facts/names-budget.ts";

const tokens = integer({ min: 0, max: 20_000 });

test("names never get more than the summaries leave, and nothing below none", () => {
  assert(
    property(tokens, tokens, boolean(), (stackTokens, takenTokens, isEarly) => {
      const room = namesBudget({ stackTokens, takenTokens, isEarly });
      expect(room).toBeGreaterThanOrEqual(0);
      expect(room).toBeLessThanOrEqual(Math.max(0, stackTokens - takenTokens));
      if (!isEarly) expect(room).toBe(Math.max(0, stackTokens - takenTokens));
    }),
  );
});

test("an early summary has half of the room for names at most, and loses none where the summaries take that much", () => {
  assert(
    property(tokens, tokens, (stackTokens, takenTokens) => {
      const early = namesBudget({ stackTokens, takenTokens, isEarly: true });
      const later = namesBudget({ stackTokens, takenTokens, isEarly: false });
      expect(early).toBeLessThanOrEqual(stackTokens * EARLY_NAMES_SHARE);
      expect(early).toBeLessThanOrEqual(later);
      if (takenTokens >= Math.ceil(stackTokens * EARLY_NAMES_SHARE)) expect(early).toBe(later);
    }),
  );
});

test("more room for all never means less for names", () => {
  assert(
    property(tokens, tokens, tokens, boolean(), (stackTokens, more, takenTokens, isEarly) => {
      const room = namesBudget({ stackTokens, takenTokens, isEarly });
      expect(namesBudget({ stackTokens: stackTokens + more, takenTokens, isEarly })).toBeGreaterThanOrEqual(room);
    }),
  );
});

const SENTENCE = "## Goal\n- Please move the billing table to the new database before Friday.";
const ACTION = '## State\n- Last action: search ({"query":"the timetable of the southern line"})';

test("a summary exceeds its share beyond a twelfth of the room", () => {
  const enough = Math.ceil((SENTENCE.length * 12) / 3.3);
  expect(exceedsShare(SENTENCE, enough - 1)).toBe(true);
  expect(exceedsShare(SENTENCE, enough)).toBe(false);
});

const beside = (more: Partial<Pinned>): Pinned => ({ ...NOTHING_PINNED, names: ["billing"], ...more });
const fact = (kind: FactKind): PinnedFact => ({ kind, value: "Move the table.", messageId: "m1" });
const text = (kind: "plan" | "call" | "document"): Pinned["loaded"][number] => ({
  kind,
  name: "n",
  text: "- [pending] Move the table.",
  characters: 27,
  messageId: "m1",
});

test("a view tells of the work without a summary's sentences beside names and what is open, or before the next action", () => {
  for (const more of [{ facts: [fact("task")] }, { facts: [fact("failure")] }, { loaded: [text("plan")] }])
    expect(tellsWithout(SENTENCE, beside(more))).toBe(true);
  expect(tellsWithout(SENTENCE, beside({ loaded: [text("call")] }))).toBe(true);
  expect(tellsWithout(SENTENCE, beside({ loaded: [{ ...text("plan"), text: "" }] }))).toBe(false);
  expect(tellsWithout(SENTENCE, beside({ facts: [fact("change")], loaded: [text("document")] }))).toBe(false);
  expect(tellsWithout(SENTENCE, beside({ rules: [fact("rule")] }))).toBe(false);
  expect(tellsWithout(SENTENCE, beside({ facts: [fact("task")], names: [] }))).toBe(false);
  expect(tellsWithout(ACTION, beside({}))).toBe(true);
  expect(tellsWithout(ACTION, NOTHING_PINNED)).toBe(false);
  expect(tellsWithout(`${ACTION}\n- Last said: The line is closed.`, beside({}))).toBe(false);
});
