/** What `recall` shows of a message, and what a summary changed against the ones before it. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectLinear } from "../growth.ts";
import { diffSummaries } from "../../src/steps/recall/diff-summaries.ts";
import { clipAround, excerptMessage, wordsOf } from "../../src/steps/recall/excerpt.ts";

function user(...texts: readonly string[]): UIMessage {
  return { id: "m", role: "user", parts: texts.map((text) => ({ type: "text", text })) };
}

function toolCall(output: string): UIMessage {
  const part = { type: "dynamic-tool", toolName: "read", toolCallId: "c1", state: "output-available" } as const;
  return { id: "m", role: "assistant", parts: [{ ...part, input: { path: "a.ts" }, output }] };
}

describe("an excerpt", () => {
  test("is the message word for word where it fits", () => {
    const text = "  One\n\n\ttwo — drei 三\n[1] four";
    expect(excerptMessage(user(text), [], () => true)).toEqual({ text, clipped: false });
  });

  test("of a long tool output is what surrounds the word that was looked for, and says what is missing", () => {
    const noise = "line of noise\n".repeat(2_000);
    const excerpt = excerptMessage(
      toolCall(`${noise}THE NEEDLE IS HERE\n${noise}`),
      ["needle"],
      (text) => text.length < 1_200,
    );
    expect(excerpt?.clipped).toBe(true);
    expect(excerpt?.text).toContain("THE NEEDLE IS HERE");
    expect(excerpt?.text).toContain('[call read]\n{"path":"a.ts"}');
    expect(excerpt?.text.match(/\[… \d+ characters left out …\]/g)).toHaveLength(2);
  });

  test("fits or is none, whatever the message and the room; a hit is in it", () => {
    const messages = fc.oneof(
      fc.array(fc.string({ maxLength: 400 }), { minLength: 1, maxLength: 6 }).map((texts) => user(...texts)),
      fc.string({ maxLength: 3_000 }).map(toolCall),
      fc.nat(5_000).map((at) => toolCall(`${"🦊".repeat(at)}needle${"x y ".repeat(500)}`)),
    );
    fc.assert(
      fc.property(messages, fc.integer({ min: 0, max: 2_000 }), (message, room) => {
        const excerpt = excerptMessage(message, ["needle"], (text) => text.length <= room);
        if (excerpt === null) return;
        expect(excerpt.text.length).toBeLessThanOrEqual(room);
        expect(excerpt.text.isWellFormed() || !JSON.stringify(message).isWellFormed()).toBe(true);
        if (JSON.stringify(message).includes("needle")) expect(excerpt.text).toContain("needle");
      }),
    );
  });

  test("cuts around the longest word; at the edges it leaves one side out", () => {
    const text = `${"a ".repeat(500)}the kumquat${" b".repeat(500)}`;
    expect(wordsOf('the "kumquat tree" of* (kumquat)')).toEqual(["kumquat tree", "kumquat", "the", "of"]);
    expect(clipAround(text, ["kumquat"], 200)).toContain("kumquat");
    expect(clipAround(`kumquat ${"b ".repeat(500)}`, ["kumquat"], 200)).toMatch(/^kumquat[^]*left out …\]$/);
    expect(clipAround(`${"b ".repeat(500)} kumquat`, ["kumquat"], 200)).toMatch(/^\[… \d+ characters[^]*kumquat$/);
    expect(clipAround("a.b(c", ["b(c"], 3)).toBeTypeOf("string");
  });
});

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
