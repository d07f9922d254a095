/** What the command line says of shadows, and the sums that it says. */
import { expect, test } from "vitest";
import { showShadows } from "../../scripts/cli/show.ts";
import { compareRows } from "../../src/shadow/compare.ts";
import type { ShadowOutcome, ShadowRow } from "../../src/shadow/record.ts";
import type { Hindsight } from "../../src/facts/hindsight.ts";

const counts = (inView: number, missed: number): Hindsight => ({
  messages: 9,
  unread: 0,
  names: inView + missed,
  inView,
  recalled: 0,
  missed,
});

interface Told {
  readonly name?: string;
  readonly outcome?: ShadowOutcome | null;
  readonly hindsight?: Hindsight | null;
}

function row(n: number, told: Told = {}): ShadowRow {
  const { name = "cheap", outcome = { kind: "kept", tokens: 300 }, hindsight = null } = told;
  const spent = { calls: 1, inputTokens: 900, outputTokens: 100 };
  const real = { model: "large", tokens: 400, calls: 2, inputTokens: 1_800, outputTokens: 200 };
  const record = {
    ...spent,
    outcome,
    model: "small",
    createdAt: n,
    real,
    hindsight,
    reserved: [],
    billed: [],
    refused: {},
  };
  return { n, name, overlayId: `ov_${n}`, record, words: null };
}

test("names count the compactions of which both counts are known, calls and tokens all that were tried", () => {
  const rows = [
    row(3),
    row(2, { outcome: { kind: "failed", code: "auth" } }),
    row(1, { hindsight: counts(3, 1) }),
    row(1, { name: "other", hindsight: counts(1, 3) }),
  ];
  const known = new Map([
    ["ov_1", counts(2, 2)],
    ["ov_2", counts(5, 0)],
    ["ov_3", null],
  ]);
  const { shadows, compactions } = compareRows(rows, known);
  expect(compactions.map(({ n, shadows: beside }) => [n, beside.map(({ name }) => name)])).toEqual([
    [3, ["cheap"]],
    [2, ["cheap"]],
    [1, ["cheap", "other"]],
  ]);
  expect(shadows).toEqual([
    {
      name: "cheap",
      compactions: 3,
      kept: 2,
      compared: 1,
      names: 4,
      real: { inView: 2, recalled: 0, missed: 2, tokens: 400, calls: 6, inputTokens: 5_400, outputTokens: 600 },
      shadow: { inView: 3, recalled: 0, missed: 1, tokens: 300, calls: 3, inputTokens: 2_700, outputTokens: 300 },
    },
    expect.objectContaining({ name: "other", compactions: 1, kept: 1, compared: 1, names: 4 }),
  ]);
});

test("the command line tells which would have kept more, and for how much", () => {
  const known = new Map([["ov_1", counts(2, 2)]]);
  expect(showShadows(compareRows([row(2), row(1, { hindsight: counts(3, 1) })], known))).toEqual([
    "cheap: a summary for 2 of 2 compactions",
    "  of 4 hidden names that came up again it had 3 in view and missed 1, the real one 2 in view and missed 2",
    "  it cost 2.0k tokens in 2 calls, the real one 4.0k tokens in 4 calls",
  ]);
  expect(showShadows(compareRows([row(1, { outcome: null })], new Map()))).toEqual([
    "cheap: a summary for 0 of 1 compaction",
    "  not known yet",
    "  it cost 1.0k tokens in 1 call, the real one 2.0k tokens in 2 calls",
  ]);
  expect(showShadows({ shadows: [], compactions: [] })).toEqual(["No compaction of this session had a shadow."]);
});
