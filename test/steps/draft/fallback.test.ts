/** The summary without a model: it fits any budget, quotes and counts, invents nothing, and is the same each time. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readAnswer } from "../../../src/facts/instructions.ts";
import { findUnfounded } from "../../../src/facts/founded.ts";
import { fallbackSummary, hasWords, type FallbackInput } from "../../../src/steps/draft/fallback.ts";
import { numberMessages, parseReferences, referencesIn } from "../../../src/steps/draft/provenance.ts";
import { renderTranscript } from "../../../src/steps/draft/render.ts";
import { DEFAULT_TEMPLATE } from "../../../src/steps/draft/prompt.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";
import { expectLinear } from "../../growth.ts";
import { tries } from "../../tries.ts";
import { call, conversation, done, say, text } from "../conversations.ts";

const titles = DEFAULT_TEMPLATE.sections.map(({ title }) => title);

function render(messages: readonly UIMessage[]): string {
  return renderTranscript(messages.map((message) => ({ kind: "message", message })));
}

function summarise(transcript: string | null, more: Partial<FallbackInput> = {}): string {
  return fallbackSummary({
    transcript,
    previous: null,
    drafts: [],
    titles,
    summaryTokens: 2_000,
    countTokens: estimateTokens,
    ...more,
  });
}

const failed = (id: string, errorText: string): never =>
  ({ type: "tool-edit", toolCallId: id, state: "output-error", input: { path: "a.ts" }, errorText }) as never;

const TALK = [
  say("u1", "user", text("Please count the boats of the old harbour.\nNever touch the ledger.")),
  say("a1", "assistant", text("I look."), done("c1"), done("c1"), failed("c2", "Locked by Ada"), call("c3")),
  say(
    "a2",
    "assistant",
    { type: "steering-message", parts: [text("and the new harbour, too")] } as never,
    text("There are 41 boats."),
  ),
];

const long = (name: string): string => `## Done\n${`- ${name} was counted.\n`.repeat(200)}`;

const make = (size: number): string =>
  render(
    Array.from({ length: size }, (_, n) =>
      say(`m${n}`, n % 2 === 0 ? "user" : "assistant", text(`word ${n}`), done(`c${n}`)),
    ),
  );

describe("the summary without a model", () => {
  test("quotes what the user said, tells the calls with their number and their errors, and the last reply", () => {
    expect(summarise(render(TALK))).toBe(
      [
        "## What the user said",
        "- Please count the boats of the old harbour. Never touch the ledger.",
        "- and the new harbour, too",
        "",
        "## Done",
        '- look {"q":"c1"} (2 times)',
        '- edit {"path":"a.ts"}, failed: Locked by Ada',
        '- look {"q":"c3"}, has no result',
        "",
        "## State",
        "- Last reply: There are 41 boats.",
      ].join("\n"),
    );
  });

  test("ends its lines with the numbers of their messages where they are asked for", () => {
    const summary = summarise(render(TALK), { references: true });
    expect(summary).toContain("Never touch the ledger. [#1]\n");
    expect(summary).toContain("failed: Locked by Ada [#2]\n");
    const parsed = parseReferences(summary, numberMessages(TALK));
    expect(referencesIn(parsed)).toHaveLength(referencesIn(summary).length);
  });

  test("cuts the newest texts before it drops their numbers, in a budget for less than one of them", () => {
    const messages = [0, 1, 2, 3].map((n) => {
      const said = `Step ${n}: the store keeps its promise, and its test says so. `.repeat(6);
      return say(`m${n}`, n % 2 === 0 ? "user" : "assistant", text(said));
    });
    const summary = summarise(render(messages), { references: true, summaryTokens: 60 });
    expect(estimateTokens(summary)).toBeLessThanOrEqual(60);
    expect(summary).toMatch(/^- Step 2: .+ \[…\] \[#3\]$/m);
    expect(summary).toMatch(/^- Last reply: Step 3: .+ \[…\]$/m);
  });

  test("has the earlier summaries in front, in their order, and alone where nothing else is given", () => {
    const fold = summarise(null, { previous: "## Goal\n- Count.", drafts: ["## Done\n- One.", "", "## Done\n- Two."] });
    expect(fold).toBe("## Goal\n- Count.\n\n## Done\n- One.\n\n## Done\n- Two.");
    const carried = summarise(render(TALK), { previous: "## Goal\n- Count." });
    expect(carried.startsWith("## Goal\n- Count.\n\n## What the user said\n")).toBe(true);
  });

  test("has a summary that stands among the messages in front, and not as the user's words", () => {
    const elements = [
      { kind: "overlay" as const, summary: "## Goal\n- Count." },
      ...TALK.map((message) => ({ kind: "message" as const, message })),
    ];
    const summary = summarise(renderTranscript(elements));
    expect(summary.startsWith("## Goal\n- Count.\n\n## What the user said\n- Please count")).toBe(true);
  });

  test("leaves at least half of a budget for what is new, and shortens the oldest summary first", () => {
    const summary = summarise(render(TALK), { previous: long("Eel"), drafts: [long("Gull")], summaryTokens: 600 });
    expect(estimateTokens(summary)).toBeLessThanOrEqual(600);
    for (const each of ["Never touch the ledger", "Locked by Ada", "41 boats"]) expect(summary).toContain(each);
    const fold = summarise(null, {
      previous: long("Eel"),
      drafts: ["## Done\n- Gull was counted."],
      summaryTokens: 300,
    });
    expect(fold).toContain("- Gull was counted.");
    // In whole lines.
    expect(fold.split("\n").filter((line) => line === "- Eel was counted.").length).toBeGreaterThan(10);
    expect(fold).not.toMatch(/Eel(?! was counted\.)/);
    expect(estimateTokens(fold)).toBeLessThanOrEqual(300);
  });

  test("drops the oldest lines first where not all have room, and says how many", () => {
    const many = Array.from({ length: 60 }, (_, n) =>
      say(`u${n}`, "user", text(`Count the boats of quay ${n}, please.`)),
    );
    const summary = summarise(render([...many, ...TALK.slice(1)]), { summaryTokens: 250 });
    expect(estimateTokens(summary)).toBeLessThanOrEqual(250);
    const [, left] = /^- \((\d+) earlier ones are left out\)$/m.exec(summary) ?? [];
    expect(summary).toContain("quay 59");
    expect(summary).not.toContain("quay 0,");
    expect(summary.match(/quay \d+/g)).toHaveLength(61 - Number(left) - 1);
  });

  test("shortens a long text, input and error, and says that it did", () => {
    const summary = summarise(
      render([say("u", "user", text("word ".repeat(900))), say("a", "assistant", failed("c", "E ".repeat(900)))]),
    );
    expect(summary.match(/\[…\]/g)).toHaveLength(2);
    expect(summary.length).toBeLessThan(800);
  });

  test("has each heading once, also in a template of one section", () => {
    for (const only of [["Progress"], ["State"], []]) {
      const headings = summarise(render(TALK), { titles: only }).match(/^## .*/gm) ?? [];
      expect(new Set(headings).size).toBe(headings.length);
    }
  });

  test("says so where nothing was said", () => {
    for (const transcript of [null, "", render([])]) expect(summarise(transcript)).toBe("## Goal\n- Nothing was said.");
    expect(summarise("no transcript at all")).toBe("## Goal\n- Nothing was said.");
  });

  const input = fc.record({
    transcript: fc.oneof(conversation.map(render), fc.string(), fc.constant(null)),
    previous: fc.option(fc.string({ maxLength: 3_000 })),
    drafts: fc.array(fc.string({ maxLength: 2_000 }), { maxLength: 3 }),
    titles: fc.array(fc.constantFrom(...titles, "Offen", "次"), { maxLength: 4 }),
    summaryTokens: fc.oneof(fc.nat(40), fc.nat(3_000)),
    references: fc.boolean(),
  });

  test("fits any budget, never fails, and is the same each time, whatever it is given", () => {
    fc.assert(
      fc.property(input, (given) => {
        const summary = summarise(given.transcript, given);
        expect(estimateTokens(summary)).toBeLessThanOrEqual(given.summaryTokens);
        expect(summary.isWellFormed()).toBe(true);
        expect(summarise(given.transcript, given)).toBe(summary);
      }),
      { numRuns: tries(500) },
    );
  });

  test("fits a budget of any counter", () => {
    for (const countTokens of [
      (words: string) => words.length,
      (words: string) => Math.ceil(words.length / 9),
      (words: string) => words.split(" ").length,
    ]) {
      for (const summaryTokens of [0, 1, 7, 30, 33, 36, 40, 80, 200]) {
        const previous = "## Done\n".padEnd(5_000, "counted ");
        expect(countTokens(summarise(render(TALK), { previous, summaryTokens, countTokens }))).toBeLessThanOrEqual(
          Math.max(1, summaryTokens),
        );
      }
    }
  });

  test("names nothing that was not shown, and lists no instruction", () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const summary = summarise(render(messages));
        expect(findUnfounded(summary, render(messages)).asked).toEqual([]);
        expect(readAnswer(summary)).toMatchObject({ standing: [], ended: [] });
      }),
      { numRuns: tries(50) },
    );
  });

  test("takes time that grows with the transcript alone", () => {
    expectLinear(make, (transcript) => summarise(transcript), 2_000);
  });
});

test.each([
  ["[#1 user]\nHello.", true],
  ["[#1 user]", false],
  ["[#1 user]\n(Ada, 2026-03-04T05:06)", false],
  ["[#1 assistant]\n[reasoning]\nhm", false],
  ["[#1 assistant]\n[call look]\n{}", false],
  ['[#1 assistant]\n[call look]\n{"q":1}', true],
  ["[#1 user]\n...", false],
  ["## Goal\nNone.", false],
  ["## Goal\n- Count.", true],
  ["", false],
])("a source tells something, or nothing: %j, %s", (source, tells) => {
  expect(hasWords(source)).toBe(tells);
});
