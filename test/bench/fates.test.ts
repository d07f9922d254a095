/** A call is counted by its state when its process died, not by its later state. */
import { expect, test } from "vitest";
import { fatesOf } from "../../bench/kills/fates.ts";

const call = (key: string, answered: boolean) => ({ key, kind: "chunk" as const, model: "held", answered });

test("an answer that had left and was not stored is told apart from no answer, and from one that was stored", () => {
  const fates = fatesOf({
    before: [call("stored", true), call("gone", true), call("hangs", false), call("given up", false)],
    after: [call("gone", true), call("hangs", true), call("new", true)],
    drafts: ["## Goal\n- Seen: stored"],
  });
  expect(fates).toEqual({
    unanswered: { calls: 2, again: 1 },
    unstored: { calls: 1, again: 1 },
    stored: { calls: 1, again: 0 },
  });
});

test("a stored answer that is asked for again is seen", () => {
  const { stored } = fatesOf({ before: [call("a", true)], after: [call("a", true)], drafts: ["- Seen: a"] });
  expect(stored).toEqual({ calls: 1, again: 1 });
});
