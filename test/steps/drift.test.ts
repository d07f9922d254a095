/** The facts that survive many compactions, at equal size. docs/decisions/0007-a-stack-of-overlays.md has the whole table. */
import { expect, test } from "vitest";
import type { UIMessage } from "ai";
import { makeConversation } from "../../bench/drift/conversation.ts";
import { CONDITIONS, mean, measureDrift, policiesOf } from "../../bench/drift/measure.ts";
import { importTranscript } from "../../src/import/import.ts";
import { everything } from "../tries.ts";
import { readTranscript } from "./transcripts.ts";

const session = readTranscript("pi-coding-session.jsonl");

/** Most that chance moves a share, at the seeds that are drawn here. */
const CHANCE = 0.03;

function expectOrder(messages: readonly UIMessage[], thresholdTokens: number): void {
  const conditions = { ...CONDITIONS, seeds: everything ? [1, 2] : [1], thresholdTokens };
  const [one, stack, pinned] = measureDrift(messages, conditions);
  if (one === undefined || stack === undefined || pinned === undefined) throw new Error("Three policies are compared.");
  for (const { alive } of [one, stack, pinned]) expect(alive.length).toBe(CONDITIONS.compactions);

  expect(stack.alive.at(-1)).toBeGreaterThan((one.alive.at(-1) ?? 1) + 0.2);
  expect(mean(stack.alive)).toBeGreaterThan(mean(one.alive) + 0.12);
  expect(mean(pinned.alive)).toBeGreaterThan(mean(stack.alive) - CHANCE);
  expect(stack.aliveOldest).toBeGreaterThan(one.aliveOldest + 0.25);
  // None of the user's rules is lost, whatever the summariser drops.
  expect(pinned.aliveRules).toBe(1);
  expect(one.aliveRules).toBeLessThan(0.7);

  // Rules in force have a budget of their own beside each of three overlays.
  const room = Math.max(
    ...policiesOf(thresholdTokens).map(({ policy }) => policy.stackTokens + 3 * policy.pinnedTokens),
  );
  for (const { tokens } of [one, stack, pinned]) expect(Math.max(...tokens)).toBeLessThanOrEqual(room);
  expect([one.prefixKept, Math.min(stack.prefixKept, pinned.prefixKept) > 0.45]).toEqual([0, true]);
  expect(one.generation).toBeGreaterThanOrEqual(CONDITIONS.compactions);
  expect(Math.max(stack.generation, pinned.generation)).toBeLessThan(9);
}

test("in a generated session a stack keeps more than one growing overlay of the same size, pinned facts more still", () => {
  expectOrder(makeConversation(everything ? 500 : 250, 1), everything ? 20_000 : 10_000);
});

test.skipIf(session === null || !everything)("in a real coding session as well", () => {
  expectOrder(importTranscript(session ?? "").conversations[0]?.messages ?? [], 20_000);
});

test("the same seed draws the same curve", () => {
  const conditions = { ...CONDITIONS, seeds: [7], compactions: 6, thresholdTokens: 8_000 };
  const messages = makeConversation(60, 3);
  expect(measureDrift(messages, conditions)).toEqual(measureDrift(messages, conditions));
});
