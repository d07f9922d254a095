/** The changes of a summary against the ones before it. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffSummaries } from "../../../src/inspect/room.ts";
import { expectLinear } from "../../growth.ts";

function count(summary: string): number {
  return summary.split("\n").filter((line) => /^- [a-z]/.test(line)).length;
}

function bullets(count: number, text: (n: number) => string): string {
  return `## Progress\n${Array.from({ length: count }, (_, n) => `- ${text(n)}`).join("\n")}`;
}

describe("a summary's change", () => {
  const before = `## Goal\n- Ship the parser by Friday. [@0a1b2c3]\n- Keep the old format readable\n\n## Progress\nNone.`;

  test("is told by bullet: added, dropped, kept, and kept in other words", () => {
    const after = `## Goal\n- Ship the parser by Friday.\n\n## Progress\n- The parser reads all 40 fixtures.\n- Keep the old format readable for now`;
    expect(diffSummaries([before], after)).toEqual({
      added: [{ section: "Progress", text: "The parser reads all 40 fixtures." }],
      dropped: [],
      kept: [
        { section: "Goal", text: "Ship the parser by Friday.", before: null },
        { section: "Progress", text: "Keep the old format readable for now", before: "Keep the old format readable" },
      ],
    });
    expect(diffSummaries([], after)).toMatchObject({ added: { length: 3 }, dropped: [], kept: [] });
  });

  test.each<[string, (n: number) => string, (n: number) => string]>([
    ["nothing alike", (n) => `the reader ${n} reads file-${n}`, (n) => `the parser ${n} parses page-${n}`],
    ["everything alike", () => "the parser reads all forty fixtures", () => "the parser reads all forty fixtures"],
    [
      "everything nearly alike",
      (n) => `the parser reads all forty fixtures again and again: ${n}`,
      (n) => `the parser reads all forty fixtures again: ${n}`,
    ],
    [
      "words shared, and nothing alike",
      (n) => `parser reader ledger old-${n} was-${n} so-${n}`,
      (n) => `parser reader ledger new-${n} is-${n} so-${n}`,
    ],
    [
      "the other way round",
      (n) => `module mod-${n} is done, as was said`,
      (n) => `module mod-${1_000_000 - n} is done, as was said`,
    ],
  ])("takes time in proportion to the summaries: %s", (_what, old, fresh) => {
    const make = (count: number) => ({ before: bullets(count, old), after: bullets(count, fresh) });
    expectLinear(make, ({ before, after }) => diffSummaries([before], after), 250);
  });

  test("a bullet without a word of meaning is the same only as itself", () => {
    expect(diffSummaries(["## S\n- it is on\n- x"], "## S\n- x\n- the parser reads pages")).toEqual({
      added: [{ section: "S", text: "the parser reads pages" }],
      dropped: [{ section: "S", text: "it is on" }],
      kept: [{ section: "S", text: "x", before: null }],
    });
  });

  test("accounts for every bullet exactly once, whatever the summaries", () => {
    const bullet = fc.constantFrom("alpha beta gamma", "alpha beta gamma delta", "one two three", "x", "None.", "");
    const summary = fc
      .array(bullet, { maxLength: 8 })
      .map((all) => `## S\n${all.map((each) => `- ${each}`).join("\n")}`);
    fc.assert(
      fc.property(fc.array(summary, { maxLength: 3 }), summary, (older, newer) => {
        const { added, dropped, kept } = diffSummaries(older, newer);
        expect(added.length + kept.length).toBe(count(newer));
        expect(dropped.length + kept.length).toBe(older.reduce((sum, each) => sum + count(each), 0));
        expect(diffSummaries([newer], newer)).toMatchObject({ added: [], dropped: [] });
      }),
    );
  });
});
