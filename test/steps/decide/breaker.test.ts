/** When the breaker stops calls to a summariser, and when it lets one through again. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { COOLDOWNS_MS } from "../../../src/limits.ts";
import {
  admit,
  afterFailure,
  CLOSED,
  explainFailure,
  isOpen,
  type Breaker,
  FAILURES_TO_OPEN,
} from "../../../src/steps/decide/breaker.ts";

const HOUR = 3_600_000;

function fail(breaker: Breaker, times: number, { code = "network", now = 0 } = {}): Breaker {
  let folded = breaker;
  for (let n = 0; n < times; n++) folded = afterFailure(folded, code, now);
  return folded;
}

test("failures in a row open it, and fewer do not", () => {
  expect(admit(fail(CLOSED, FAILURES_TO_OPEN - 1), "run", 0).kind).toBe("yes");
  expect(admit(fail(CLOSED, FAILURES_TO_OPEN), "run", 0).kind).toBe("no");
});

test.each(["auth", "quota"])("a failure of %s opens it at once: no further call would fare better", (code) => {
  expect(isOpen(fail(CLOSED, 1, { code }), 0)).toBe(true);
});

test.each(["content-filter", "too-long", "aborted"])("%s tells of one source and never opens it", (code) => {
  expect(fail(CLOSED, 100, { code })).toEqual(CLOSED);
});

test("it is open up to the end of its cooldown, and not at it", () => {
  const open = fail(CLOSED, 1, { code: "auth", now: 1_000 });
  expect(isOpen(CLOSED, -1)).toBe(false);
  expect(isOpen(open, 1_000 + COOLDOWNS_MS[0]! - 1)).toBe(true);
  expect(isOpen(open, 1_000 + COOLDOWNS_MS[0]!)).toBe(false);
});

test.each([
  ["auth", /set a valid one/],
  ["quota", /raise it/],
  ["rate-limit", /fewer calls/],
  ["answer-too-long", /keeps to a limit/],
  ["unusable", /no summaries/],
  ["bad-request", /name and endpoint/],
  ["network", /does not answer \(network\)/],
])("what is to be done about %s is said, and of no other", (code, advice) => {
  const codes = ["auth", "quota", "rate-limit", "answer-too-long", "unusable", "bad-request", "network"];
  expect(codes.filter((each) => advice.test(explainFailure(each)))).toEqual([code]);
});

test("calls that were under way when it opened come in late and change neither the cooldown nor its rung", () => {
  const open = fail(CLOSED, FAILURES_TO_OPEN);
  expect(fail(open, 20, { now: 30_000 })).toEqual({ ...open, failures: FAILURES_TO_OPEN + 20 });
});

test("after a cooldown one run may ask, and gets the same answer when its step is repeated", () => {
  const now = COOLDOWNS_MS[0]!;
  const probing = admit(fail(CLOSED, FAILURES_TO_OPEN), "one", now);
  expect(probing.kind).toBe("probe");
  expect(admit(probing.breaker, "one", now + 1).kind).toBe("probe");
  expect(admit(probing.breaker, "other", now + 1).kind).toBe("no");
});

test("a probe that is never heard of again blocks nobody for longer than a cooldown", () => {
  const now = COOLDOWNS_MS[0]!;
  const { breaker } = admit(fail(CLOSED, FAILURES_TO_OPEN), "lost", now);
  expect(admit(breaker, "next", now + COOLDOWNS_MS[0]!).kind).toBe("probe");
});

test("each probe in vain waits for longer, up to an hour", () => {
  let breaker = fail(CLOSED, FAILURES_TO_OPEN);
  let now = 0;
  const waits: number[] = [];
  for (let probe = 0; probe < 6; probe++) {
    waits.push((breaker.until ?? 0) - now);
    now = breaker.until ?? 0;
    breaker = afterFailure(admit(breaker, `run ${probe}`, now).breaker, "network", now);
  }
  expect(waits).toEqual([60_000, 300_000, 900_000, HOUR, HOUR, HOUR]);
});

test("whoever asks and however it fails: a model that is down for an hour is asked a handful of times", () => {
  const asked = fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 100, maxLength: 2_000 });
  fc.assert(
    fc.property(asked, fc.constantFrom("network", "timeout", "auth", "quota", "provider"), (gaps, code) => {
      let [breaker, now, calls] = [CLOSED, 0, 0];
      for (const [n, gap] of gaps.entries()) {
        now += gap;
        if (now > HOUR) break;
        const admitted = admit(breaker, `run ${n}`, now);
        breaker = admitted.breaker;
        if (admitted.kind === "no") continue;
        calls++;
        breaker = afterFailure(breaker, code, now);
      }
      expect(calls).toBeLessThanOrEqual(FAILURES_TO_OPEN + COOLDOWNS_MS.length);
    }),
  );
});
