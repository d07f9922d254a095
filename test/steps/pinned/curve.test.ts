/** What pinning is worth on real conversations: docs/decisions/0006-pinned-facts.md has the whole curve. */
import { describe, expect, it } from "vitest";
import { byFrequency, byWorth, LONG, replay, replayPinned, SHORT, type Stage } from "../../../bench/pinned/replay.ts";
import { importTranscript } from "../../../src/import/import.ts";
import { readTranscript } from "../transcripts.ts";

const session = readTranscript("pi-coding-session.jsonl");
const service = readTranscript("tau-airline-100.json");
/** A change of the estimate or the planner may move a cut; a worse ranking moves more than this. */
const TOLERANCE = 0.03;

function expectCurve(stages: readonly Stage[], curve: readonly (readonly [budget: number, share: number])[]): void {
  for (const [budget, share] of curve) {
    const ours = replayPinned(stages, byWorth(budget), "written");
    expect(Math.abs(ours - share), `${budget} tokens: ${ours}`).toBeLessThan(TOLERANCE);
    expect(ours, `${budget} tokens`).toBeGreaterThanOrEqual(replayPinned(stages, byFrequency(budget), "written"));
    const anywhere = replayPinned(stages, byWorth(budget), "anywhere");
    const plain = replayPinned(stages, byFrequency(budget), "anywhere");
    expect(anywhere, `${budget} tokens, anywhere`).toBeGreaterThan(plain - 0.01);
  }
}

describe("of the names that are used again, more stay in view than by frequency, at every budget", () => {
  it.skipIf(session === null)("in a long coding session", () => {
    const stages = importTranscript(session ?? "").conversations.flatMap(({ messages }) => replay(messages, LONG));
    expect(stages.length).toBeGreaterThan(8);
    expectCurve(stages, [
      [0, 0.41],
      [500, 0.73],
      [1_000, 0.85],
      [2_000, 0.94],
      [4_000, 0.96],
    ]);
  });

  it.skipIf(service === null)("in conversations with customers", () => {
    const stages = importTranscript(service ?? "").conversations.flatMap(({ messages }) => replay(messages, SHORT));
    expect(stages.length).toBeGreaterThan(50);
    expectCurve(stages, [
      [0, 0.48],
      [100, 0.82],
      [200, 0.93],
      [400, 1],
    ]);
  });
});
