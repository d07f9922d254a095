/** The page's state of runs, and the input that it accepts as a secret. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RUN_EVENT, type RunEvent } from "../../src/agent/events.ts";
import { findOddSecret } from "../../dashboard/door.ts";
import { forgetLive, learn, liveIds, type KnownRuns } from "../../dashboard/runs/known-runs.ts";

function event(runId: string, done: number, ended = false): RunEvent {
  const sums = { modelCalls: 0, inputTokens: 0, outputTokens: 0 };
  const place = { sessionId: "s", n: 1, trigger: "manual", step: null, attempt: 0, total: 9, at: done } as const;
  const end = ended
    ? ({ state: "ended", outcome: { kind: "cancelled" }, reason: null } as const)
    : ({ state: "running", outcome: null, reason: null } as const);
  return { type: RUN_EVENT, runId, ...place, ...sums, ...end, done };
}

test("an outcome is final, whatever is told after it; before it the newest account holds (R1)", () => {
  const told = fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.nat(8), fc.boolean()));
  fc.assert(
    fc.property(told, (told) => {
      const events = told.map(([runId, done, ended]) => event(runId, done, ended));
      const known = events.reduce<KnownRuns>((before, each) => learn(before, [each]), new Map());
      expect(learn(new Map(), events)).toEqual(known);
      for (const runId of ["a", "b"]) {
        const of = events.filter((each) => each.runId === runId);
        const isOver = of.some(({ outcome }) => outcome !== null);
        expect(known.get(runId)?.outcome !== null && known.has(runId)).toBe(isOver);
        if (!isOver) expect(known.get(runId)).toEqual(of.at(-1));
      }
    }),
  );
});

test("after a loss nothing is taken for live until the ledger says so again (R1)", () => {
  const before = learn(new Map(), [event("over", 9, true), event("live", 3), event("waits", 5)]);
  expect(liveIds(before)).toEqual(["live", "waits"]);
  const after = forgetLive(before);
  expect([...after.keys()]).toEqual(["over"]);
  expect(liveIds(learn(after, [event("waits", 5)]))).toEqual(["waits"]);
});

test("a secret that no header can hold is told from one that the Worker may take", () => {
  for (const good of ["a-secret-of-more-than-24-characters", "~!@#$%^&*()_+{}|:\"<>?`-=[]\\;',./"]) {
    expect(findOddSecret(good)).toBeNull();
  }
  for (const [odd, why] of [
    ["“quoted”", "““”"],
    ["geheim-ü", "“ü”"],
    ["two words", "a space"],
    ["non breaking", "a space"],
    ["", "Give the secret."],
  ] as const) {
    expect(findOddSecret(odd)).toContain(why);
  }
});
