/** What the scripts print is aligned, safe against text that steers a terminal, and shows a failed check. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { showProposal } from "../../scripts/cli/show.ts";
import type { Proposal } from "../../src/approval/room.ts";
import { lineChart } from "../../scripts/report/chart.ts";
import { createPaint, wantsColor } from "../../scripts/report/paint.ts";
import { renderReport, type DemoReport } from "../../scripts/report/report.ts";
import { strata } from "../../scripts/report/strata.ts";
import { progressBar, table } from "../../scripts/report/table.ts";
import { clip, columns, count, duration, inert, wrap } from "../../scripts/report/text.ts";
import { tries } from "../tries.ts";

const plain = createPaint(false);
const colored = createPaint(true);

describe("numbers and text", () => {
  test.each([
    [0, "0"],
    [999, "999"],
    [1000, "1.0k"],
    [99_949, "99.9k"],
    [99_999, "100k"],
    [999_499, "999k"],
    [999_999, "1.00M"],
  ])("count(%d) is %s", (value, text) => expect(count(value)).toBe(text));

  test.each([
    [0.42, "0.4 ms"],
    [9.99, "10 ms"],
    [999.9, "1.0 s"],
    [59_999, "1 min 00 s"],
    [125_000, "2 min 05 s"],
  ])("duration(%d) is %s", (value, text) => expect(duration(value)).toBe(text));

  test("columns are a terminal's: colour is nothing, CJK is two", () => {
    expect(columns(colored("見る", "red", "bold"))).toBe(4);
    expect(columns("e\u0301")).toBe(1);
    expect(clip("見る見る", 4)).toBe("見…");
  });

  test("text of a transcript cannot steer the terminal", () => {
    expect(inert("a\u001B[2Jb\u001B]0;title\u0007c\rd\u202Ee\tf\ng")).toBe("abc␍d⟨U+202E⟩e  f\ng");
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        // oxlint-disable-next-line no-control-regex -- their absence is what this shows
        expect(inert(text)).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
      }),
    );
  });

  test("of what is approved nothing is left out: what nobody sees, and what a terminal would obey, stands there by name", () => {
    const proposal: Proposal = {
      runId: "r",
      tokens: 1,
      spanTokens: 2,
      degraded: false,
      askedAt: 0,
      expiresAt: 0,
      onTimeout: "discard",
      summary: "Run \u202egnp.exe\u{e0041}\n\u001b[2Jnow",
    };
    expect(showProposal(proposal, plain).slice(2)).toEqual(["Run ⟨U+202E⟩gnp.exe⟨U+E0041⟩", "␛[2Jnow"]);
  });

  test("wrapped lines keep to the width and lose no word that fits", () => {
    const words = fc.array(fc.string({ minLength: 1, maxLength: 12 }).filter((word) => !/\s/.test(word)));
    fc.assert(
      fc.property(words, fc.integer({ min: 24, max: 60 }), (all, width) => {
        const lines = wrap(all.join(" "), width);
        for (const line of lines) expect(columns(line)).toBeLessThanOrEqual(width);
        expect(lines.join(" ")).toBe(all.join(" "));
      }),
    );
  });
});

describe("colour", () => {
  test("FORCE_COLOR wins over NO_COLOR, which wins over the terminal", () => {
    expect(wantsColor({}, true)).toBe(true);
    expect(wantsColor({}, false)).toBe(false);
    expect(wantsColor({ NO_COLOR: "1" }, true)).toBe(false);
    expect(wantsColor({ NO_COLOR: "" }, true)).toBe(true);
    expect(wantsColor({ NO_COLOR: "1", FORCE_COLOR: "1" }, false)).toBe(true);
    expect(wantsColor({ FORCE_COLOR: "0" }, true)).toBe(false);
    expect(wantsColor({ TERM: "dumb" }, true)).toBe(false);
  });
});

describe("drawings", () => {
  test("a progress bar is exact to an eighth and never leaves its width", () => {
    expect(progressBar(1, 2, 4)).toBe("██░░");
    expect(progressBar(1, 16, 2)).toBe("▏░");
    expect(progressBar(9, 3, 3)).toBe("███");
    expect(progressBar(1, 0, 3)).toBe("░░░");
  });

  test("a table's columns line up whatever is coloured", () => {
    const head = [{ title: "run" }, { title: "ms", align: "right" as const }];
    expect(
      table(head, [
        ["a", "5"],
        [colored("long", "red"), "1000"],
      ]),
    ).toEqual(["run     ms", "a        5", `${colored("long", "red")}  1000`]);
  });

  test("a chart names each series where it ends, and marks the threshold", () => {
    const chart = {
      series: [
        { name: "stored", values: [0, 50, 100] },
        { name: "in view", values: [0, 50, 10] },
      ],
      width: 40,
      height: 5,
      threshold: 60,
      end: "3 messages",
    };
    expect(lineChart(chart)).toMatchInlineSnapshot(`
      [
        "100 │               ⡏⠉⠉⠉⠉⠉⠉ stored 100",
        "    │               ⡇      ",
        "    │⠉⠁ ⠉⠁ ⠉⢡⠤⠭⠥⠤⠭⠥⠤⡏⠁ ⠉⠁ ⠉ threshold 60",
        "    │       ⢸       ⡇      ",
        "    │⣀⣀⣀⣀⣀⣀⣀⣸       ⠓⠒⠒⠒⠒⠒⠒ in view 10",
        "  0 └──────────────────────",
        "                 3 messages",
      ]
    `);
  });

  test("wider overlays lie above narrower ones, and what they cover is no longer solid", () => {
    const overlays = [
      { from: 3, to: 29, label: "wide" },
      { from: 3, to: 12, label: "one" },
      { from: 20, to: 29, label: "two" },
      { from: 33, to: 36, label: "gone", active: false },
    ];
    expect(strata({ messages: 40, overlays, width: 40 })).toEqual([
      "   ╭───────── wide ──────────╮",
      "   ╭─ one ──╮       ╭─ two ──╮   ╭g…╮",
      "███░░░░░░░░░░░░░░░░░░░░░░░░░░░██████████",
      "1                                     40",
    ]);
  });

  test("a kept head and tail of one message show, however narrow the drawing", () => {
    const [, path] = strata({ messages: 1000, overlays: [{ from: 1, to: 998, label: "" }], width: 20 });
    expect(path).toBe(`█${"░".repeat(18)}█`);
  });
});

test("overlays that touch leave nothing between them that looks as if it were sent", () => {
  const overlays = [
    { from: 0, to: 90, label: "" },
    { from: 91, to: 149, label: "" },
  ];
  for (const width of [58, 60, 77]) {
    const drawing = strata({ messages: 150, overlays, width });
    expect(drawing.at(-2)).toBe("░".repeat(width));
  }
});

test("neighbours that share a column do not push each other past the end of the drawing", () => {
  const narrow = fc.tuple(fc.integer({ min: 2, max: 400 }), fc.integer({ min: 10, max: 80 }));
  fc.assert(
    fc.property(narrow, ([messages, width]) => {
      const overlays = Array.from({ length: messages }, (_, at) => ({ from: at, to: at, label: "" }));
      for (const line of strata({ messages, overlays, width })) expect(columns(line)).toBeLessThanOrEqual(width);
    }),
  );
});

describe("the page", () => {
  const size = fc.integer({ min: 0, max: 2_000_000 });
  const time = fc.double({ min: 0, max: 500_000, noNaN: true });
  const word = fc.string({ maxLength: 60 });
  const step = fc.record({ name: word, attempts: fc.integer({ min: 1, max: 9 }), ms: time, inputTokens: size });
  const run = fc.record({
    id: word,
    trigger: word,
    outcome: fc.oneof(fc.constantFrom("applied", "stale", "failed"), word),
    steps: fc.array(step, { maxLength: 6 }),
    spanTokens: size,
    summaryTokens: size,
    modelCalls: fc.nat(99),
    ms: time,
  });
  const facts = { id: word, spanTokens: size, summaryTokens: size, active: fc.boolean() };
  const overlay = fc
    .tuple(fc.nat(199), fc.nat(199))
    .chain(([a, b]) => fc.record({ ...facts, from: fc.constant(Math.min(a, b)), to: fc.constant(Math.max(a, b)) }));
  const report: fc.Arbitrary<DemoReport> = fc.record({
    transcript: word,
    conversations: fc.constantFrom(1, 100),
    storedTokens: size,
    visibleTokens: size,
    messages: fc.constant(200),
    chartedMessages: fc.constant(200),
    samples: fc.array(fc.record({ storedTokens: size, visibleTokens: size }), { maxLength: 300 }),
    thresholdTokens: size,
    runs: fc.array(run, { maxLength: 4 }),
    overlays: fc.array(overlay, { maxLength: 6 }),
    lastSummary: fc.array(word).map((lines) => lines.join("\n")),
    pinned: fc.record({ rules: fc.array(word, { maxLength: 9 }), names: fc.array(word, { maxLength: 40 }) }),
    slowestAppendMs: time,
    medianAppendMs: time,
    links: fc.constantFrom([], ["http://localhost:8787/"]),
    keepCommand: fc.constant("npm run demo -- --keep"),
    checks: fc.array(fc.record({ name: word, ok: fc.boolean(), detail: word }), { maxLength: 4 }),
  });

  test("no line is wider than the terminal, and colour changes nothing but colour", () => {
    fc.assert(
      fc.property(report, fc.integer({ min: 20, max: 200 }), (data, width) => {
        const page = renderReport(data, { width, paint: plain });
        for (const line of page.split("\n")) expect(columns(line)).toBeLessThanOrEqual(Math.max(60, width));
        expect(inert(renderReport(data, { width, paint: colored }))).toBe(page);
      }),
      { numRuns: tries(300) },
    );
  });

  test("a failed check is seen", () => {
    const [data] = fc.sample(report, { numRuns: 1, seed: 7 });
    const failed = { ...(data as DemoReport), checks: [{ name: "R1", ok: false, detail: "run 3 has no outcome" }] };
    expect(renderReport(failed)).toContain("✗ R1: run 3 has no outcome");
  });
});
