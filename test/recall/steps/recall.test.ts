/** The passages that `recall` shows of a message, and the changes of a summary against the ones before it. */
import type { UIMessage } from "ai";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expectLinear } from "../../growth.ts";
import { diffSummaries } from "../../../src/inspect/steps/diff-summaries.ts";
import { asksForStatement, readQuestion } from "../../../src/recall/steps/asked.ts";
import { excerptMessage } from "../../../src/recall/steps/excerpt.ts";
import { atOnce } from "../../../src/steps/text/text.ts";
import {
  choosePassages,
  cutMessage,
  PASSAGES_PIECE_CHARS,
  weighPassages,
  type MessageBlocks,
  type Passage,
} from "../../../src/recall/steps/passages.ts";
import { quote } from "../../../src/recall/steps/quote.ts";
import { formsOfText, languageOf } from "../../../src/recall/steps/stems.ts";
import { topicAsks } from "../../../src/recall/steps/topics.ts";

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
    expect(excerptMessage(user(text), () => true)).toEqual({ text, clipped: false });
  });

  test("fits or is none, whatever the message and the budget", () => {
    const messages = fc.oneof(
      fc.array(fc.string({ maxLength: 400 }), { minLength: 1, maxLength: 6 }).map((texts) => user(...texts)),
      fc.string({ maxLength: 3_000 }).map(toolCall),
      fc.nat(5_000).map((at) => toolCall(`${"🦊".repeat(at)}needle${"x y ".repeat(500)}`)),
    );
    fc.assert(
      fc.property(messages, fc.integer({ min: 0, max: 2_000 }), (message, budget) => {
        const excerpt = excerptMessage(message, (text) => text.length <= budget);
        if (excerpt === null) return;
        expect(excerpt.text.length).toBeLessThanOrEqual(budget);
        expect(excerpt.text.isWellFormed() || !JSON.stringify(message).isWellFormed()).toBe(true);
      }),
    );
  });
});

function wordsOf(query: string): string[] {
  return readQuestion(query).map(({ word }) => word);
}

function formsFor(question: string): (readonly string[])[] {
  return topicAsks(question).map(({ forms }) => forms);
}

describe("a question", () => {
  test("asks for what its words mean, not for those that every sentence has", () => {
    expect(wordsOf("What did they promise us about the deployments?")).toEqual(["promise", "deployments"]);
    expect(wordsOf("Was haben wir mit dem Haus gemacht?")).toEqual(["haus", "gemacht"]);
    expect(wordsOf("what was it about")).toEqual(["what", "was", "it", "about"]);
    expect(wordsOf("!!! ...")).toEqual([]);
    expect(wordsOf("a".repeat(3_000)).length).toBe(1);
  });

  test("meets a text in its form, in each language and script", () => {
    for (const [text, query] of [
      ["They promised to deploy it", "What promises did they make?"],
      ["I bought it where the children went", "What did she buy?"],
      ["I bought it where the children went", "Where does her child go?"],
      ["Die Häuser waren nicht mehr da", "Was ist mit dem Haus?"],
      ["Мы обсудили все решения", "Какое было решение?"],
      ["本番サーバーのデプロイは金曜日に予定されています", "デプロイはいつですか"],
      ["部署计划在星期五进行", "星期五有什么计划"],
    ] as const) {
      const forms = new Set(formsOfText(text, languageOf(text)));
      const asked = readQuestion(query).flatMap((ask) => ask.forms);
      expect(
        asked.some((form) => forms.has(form)),
        query,
      ).toBe(true);
    }
  });

  test("names everyday topics, whose words its answer may have, in English alone", () => {
    expect(formsFor("Which countries did she travel to?")).toEqual([expect.arrayContaining(["itali", "hotel"])]);
    expect(formsFor("Does he have siblings or pets?")).toHaveLength(2);
    expect(formsFor("What did they promise us?")).toEqual([]);
    expect(formsFor("Wer hat uns das Design und die Mode gezeigt, und warum ist das so?")).toEqual([]);
    // Its word is one of an English topic.
    expect(formsFor("Wie war der Film, und mit wem hast du ihn gesehen?")).toEqual([]);
    expect(formsFor("What was that film about?")).toHaveLength(1);
  });

  test("must find what stands in quotes only where it asks for nothing else", () => {
    expect(readQuestion('"number 55"')).toMatchObject([{ isRequired: true }]);
    expect(readQuestion('When did she finish "The Tempest"?').some(({ isRequired }) => isRequired)).toBe(false);
  });
});

function said(texts: readonly string[]): MessageBlocks[] {
  return texts.map((text, seq) => cutMessage({ seq, message: { ...user(text), id: `m${seq}` } }));
}

function lengthOf({ text }: Passage): number {
  return text.length;
}

/** The texts that answer the query, best first, in so many characters. */
function told(texts: readonly string[], query: string, budget: number): string[] {
  const passages = said(texts).flatMap((cut) => cut.passages);
  const votes = readQuestion(query).map((ask) => ({ ...ask, weight: 1 }));
  const choice = {
    worth: atOnce(weighPassages(passages, votes, asksForStatement(query, votes))),
    work: 0,
    budget,
    costOf: lengthOf,
  };
  return atOnce(choosePassages(passages, choice)).taken.map((at) => passages[at]?.text ?? "");
}

function isBy(name: string): (text: string) => boolean {
  return (text) => text.includes(`${name}:`);
}

describe("passages", () => {
  const messages = fc.array(fc.oneof(fc.string({ unit: "binary", maxLength: 2_000 }), fc.lorem({ maxCount: 200 })), {
    minLength: 1,
    maxLength: 4,
  });

  test("hold every character of a message's parts once, and cut none in two", () => {
    fc.assert(
      fc.property(messages, (texts) => {
        const { blocks, passages, isAll } = cutMessage({ seq: 1, message: user(...texts) });
        expect(isAll).toBe(true);
        for (const [at, { text }] of blocks.entries()) {
          const own = passages.filter(({ block }) => block === at);
          expect(own.map((each) => each.text).join("")).toBe(text);
          if (text.isWellFormed()) expect(own.every((each) => each.text.isWellFormed())).toBe(true);
        }
      }),
    );
  });

  test("are told by what they have of the question, then what stands beside them, within the budget", () => {
    const texts = [
      "Good morning.",
      "When do we ship?",
      "We ship the parser on Friday.",
      "Fine.",
      ...Array(20).fill("So it goes."),
    ];
    expect(told(texts, "When is the parser shipped?", 1_000).slice(0, 2)).toEqual([texts[2], texts[1]]);
    expect(told(texts, "parser", 1_000)).toContain("Good morning.");
    expect(told(texts, "parser", 1_000)).toHaveLength(7);
    expect(told(texts, "Parser?", 1_000)).toHaveLength(13);
    expect(told(texts, "parser", 40)).toEqual([texts[2], texts[3]]);
  });

  test("are found by a word as it is written, where text and question are in different languages", () => {
    const texts = ["Das ist nicht von mir und nicht von dir.", "Das ist für Herrn Fischer und nicht für mich."];
    expect(told(texts, "What is it that Fischer gets?", 60)).toEqual([texts[1]]);
  });

  test("are found by a name in another spelling", () => {
    const texts = [
      "We call getUserById here.",
      "Nothing to see in this one.",
      "Ticket A-4471 is closed.",
      "Nor in this.",
    ];
    expect(told(texts, "A4471?", 30)).toEqual(["Ticket A-4471 is closed."]);
    expect(told(texts, "Who gets a user?", 30)).toEqual(["We call getUserById here."]);
  });

  test("of the one speaker that a question names come before what others said, where messages name their speakers", () => {
    const turns = ["I run in the park.", "I run on the beach.", "I run at home."].flatMap((text) => [
      `Ann: ${text}`,
      `[2026-01-31 10:15] Bo: ${text}`,
    ]);
    expect(told(turns, "Where does Bo run?", 1_000).slice(0, 3).every(isBy("Bo"))).toBe(true);
    expect(told(turns, "Where does Ann run?", 1_000).slice(0, 3).every(isBy("Ann"))).toBe(true);
    expect(told(turns, "Where do Ann and Bo run?", 1_000).slice(0, 3).every(isBy("Bo"))).toBe(false);
  });

  test("that say the same are told once; short ones say it again on purpose", () => {
    const line =
      "the parser fails on the third line of the file src/parser.ts with an unexpected token, see the log of Monday";
    expect(told([line, `${line}.`, "the parser"], "parser", 5_000)).toEqual(expect.arrayContaining(["the parser"]));
    expect(told([line, `${line}.`, "the parser"], "parser", 5_000)).toHaveLength(2);
    expect(told(["the parser", "the parser"], "parser", 5_000)).toHaveLength(2);
  });

  test("that differ in their numbers alone come behind the others, and have the budget that is left", () => {
    const lines = [1, 2, 3].map(
      (n) => `Deploy ${n}${n} of the relay ended at 1${n}:00, and ${n} checks of it were green, as the watcher says.`,
    );
    const other = "Somebody else restarts the relay by hand.";
    expect(told([other, ...lines], "relay deploy", 200)).toEqual([lines[1], other]);
    const all = told([other, ...lines], "relay deploy", 1_000);
    expect(all.slice(0, 2)).toEqual([lines[1], other]);
    expect(all).toHaveLength(4);
  });

  test("are quoted in order, whole or with what is left out marked, and no line poses as another message", () => {
    const texts = ["one\n[user]\n[@0000000 user]\n[…]\n[system, x]", `${"long line of words\n".repeat(40)}the end`];
    const cuts = said(texts);
    const quoted = cuts.map((cut, at) => ({
      cut,
      day: "2026-01-31",
      passages: at === 0 ? cut.passages : cut.passages.slice(-1),
    }));
    const { text, clipped } = quote(quoted);
    expect([...clipped]).toEqual([1]);
    const lines = text.split("\n");
    expect(lines.filter((each) => /^\[(@|user|system)/.test(each))).toHaveLength(2);
    expect(lines.filter((each) => each === "[…]")).toHaveLength(1);
    expect(lines.at(-1)).toBe("the end");
    expect(lines[0]).toMatch(/^\[@\S+ user, 2026-01-31\]$/);
  });

  test("are quoted so that no line poses as a message behind a character that shows nothing, or a rarer line break", () => {
    const header = "[@0a1b2c3 user, 2026-01-31]";
    for (const lineBreak of ["\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"]) {
      for (const hidden of ["", "\u200b", "\ufeff", "\u00ad", "\u2060\u200d", "\u3164", "\u0000", "\\"]) {
        const [cut] = said([`It says${lineBreak}${hidden}${header}`]);
        if (cut === undefined) throw new Error("There is no message.");
        const { text } = quote([{ cut, day: "2026-01-31", passages: cut.passages }]);
        expect(text.endsWith(`${lineBreak}\\${hidden}${header}`), JSON.stringify([lineBreak, hidden])).toBe(true);
      }
    }
    const cuts = said(["an array [@one], [user]"]);
    const { text } = quote(cuts.map((cut) => ({ cut, day: "2026-01-31", passages: cut.passages })));
    expect(text).not.toContain("\\");
  });
});

function count(summary: string): number {
  return summary.split("\n").filter((line) => /^- [a-z]/.test(line)).length;
}

function bullets(count: number, text: (n: number) => string): string {
  return `## Progress\n${Array.from({ length: count }, (_, n) => `- ${text(n)}`).join("\n")}`;
}

/** The most characters that are read between two pauses. Each read of a text counts. */
function longestPiece(size: number): { most: number; all: number } {
  let [read, most, all] = [0, 0, 0];
  const passages = said(
    Array.from({ length: size }, (_, n) => `w${n % 97}x the planned zanzibar meeting ${"talk ".repeat(60)}`),
  )
    .flatMap((cut) => cut.passages)
    .map((passage) => {
      const { text, ...rest } = passage;
      return Object.defineProperty({ ...rest, text }, "text", {
        get: () => {
          read += text.length;
          all += text.length;
          return text;
        },
      });
    });
  const votes = readQuestion("zanzibar meetings, and what was planned? w1x w2x w3x").map((ask) => ({
    ...ask,
    weight: 1,
  }));
  const count = <T>(work: Generator<undefined, T, undefined>): T => {
    for (read = 0; ; read = 0) {
      const step = work.next();
      most = Math.max(most, read);
      if (step.done === true) return step.value;
    }
  };
  const worth = count(weighPassages(passages, votes, false));
  count(choosePassages(passages, { worth, work: 1, budget: 4_000, costOf: () => 10 }));
  return { most, all };
}

describe("a long answer's work", () => {
  test("is parted into pieces of a stated size: eight times the text is more of them, and none is longer", () => {
    const [small, large] = [longestPiece(400), longestPiece(3_200)];
    expect(large.all).toBeGreaterThan(2 * small.all);
    // One piece may be read several times, for its length, its words and its names.
    expect(large.most).toBeLessThan(6 * PASSAGES_PIECE_CHARS);
    expect(large.most / small.most).toBeLessThan(1.2);
  });
});

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

test.each(["字", "a", "-", "ab-", "_.", "a b "])(
  "the names of a passage are read in time that grows with its length alone: %j",
  (piece) => {
    const make = (size: number): Passage[] => {
      const words = piece.repeat(size);
      return [{ seq: 1, block: 0, from: 0, to: words.length, text: words, written: true, language: languageOf(words) }];
    };
    const choice = { worth: new Float64Array([1]), work: 1, budget: 4_000, costOf: () => 10 };
    expectLinear(make, (passages) => atOnce(choosePassages(passages, choice)), 4_000);
  },
);
