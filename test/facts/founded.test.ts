/** What a summary names although it stands nowhere in what its author was shown is found, and what stands there in another form is not. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findUnfounded, withoutLooseQuotes } from "../../src/facts/founded.ts";
import { renderTranscript } from "../../src/steps/draft/render.ts";
import { expectLinear } from "../growth.ts";
import { done, say, text } from "../steps/conversations.ts";

const SHOWN = renderTranscript(
  [
    say(
      "m1",
      "user",
      text(
        "Order W4680753 for Ada (ada@quay.example) came on 2026-03-04. The fee is 12,500 at 127.0.0.1 and “it can't be paid in parts”, she says.",
      ),
    ),
    say(
      "m2",
      "assistant",
      text("I look at https://quay.example/fees/2026 and at `src/fees/parse.ts`."),
      done("c1", {
        path: "src/fees/parse.ts",
        lines: 'export const VERSION = "3.2.1";\n// see docs/fees.md, src/notes.md, lib/notes.md',
        rows: 120000,
        id: "9f8e7d6c5b",
      }),
    ),
    say("m3", "assistant", text('The test fails with "ENOENT: no such file or directory" in step 3.')),
  ].map((message) => ({ kind: "message", message })),
);

const found = (answer: string): readonly string[] => findUnfounded(answer, SHOWN).all;

describe("is found", () => {
  test.each([
    ["a path", "- Changed src/fees/round.ts", "src/fees/round.ts"],
    ["a path with a line", "- See src/fees/round.ts:12:3.", "src/fees/round.ts"],
    ["a path in code", "- Changed `lib/fees/round.ts`", "lib/fees/round.ts"],
    ["a file", "- Wrote fees.csv", "fees.csv"],
    ["a file in one folder", "- Changed src/round.ts", "src/round.ts"],
    ["a file of another kind", "- Wrote Fees.vue", "Fees.vue"],
    ["a quotation in single marks", "- She said 'it may well be paid in parts'.", "it may well be paid in parts"],
    ["a quotation in single marks with an apostrophe", "- 'it won't ever be paid'", "it won't ever be paid"],
    ["a quotation in curved single marks", "- ‘it may well be paid in parts’", "it may well be paid in parts"],
    ["a quotation in low single marks", "- ‚das darf man ruhig später zahlen‘", "das darf man ruhig später zahlen"],
    ["a quotation in double corners", "- 『料金は分割で支払うことができる』", "料金は分割で支払うことができる"],
    ["a file in a folder that is not its own", "- Changed src/fees/fees.md", "src/fees/fees.md"],
    ["a path from the root", "- Read /etc/passwd.", "/etc/passwd"],
    ["a path from home, in code", "- Read `~/.ssh/keys`", "~/.ssh/keys"],
    ["a path with strokes the other way", "- Wrote C:\\fees\\out", "C:\\fees\\out"],
    ["a key in a store", "- Put s3://fees/2027", "s3://fees/2027"],
    ["an address", "- Read https://quay.example/fines/2026", "https://quay.example/fines/2026"],
    ["a short address", "- Read https://fines.example.", "https://fines.example"],
    ["a mail address", "- Wrote to bob@quay.example", "bob@quay.example"],
    ["an id", "- Order W4680754 was paid", "W4680754"],
    ["an id in small letters", "- It is order-4711", "order-4711"],
    ["a hash", "- Commit 0a1b2c3d4e", "0a1b2c3d4e"],
    ["a version", "- Version 3.2.2", "3.2.2"],
    ["a version with its letter", "- Version v3.3.0-beta", "v3.3.0-beta"],
    ["a number", "- The fee is 12600", "12600"],
    ["a number that is only a part of one", "- There are 20000 rows", "20000"],
    ["a sum of money", "- The fee is $12600", "$12600"],
    ["a number of a request", "- See #48211", "#48211"],
    ["a quotation", '- She said "it may well be paid in parts".', "it may well be paid in parts"],
    [
      "a quotation in other marks",
      "- Sie sagte: „das darf man ruhig später zahlen“",
      "das darf man ruhig später zahlen",
    ],
    ["a quotation in French marks", "- «on peut toujours payer plus tard»", "on peut toujours payer plus tard"],
    [
      "a quotation without blanks",
      "- 彼女は「料金は分割で支払うことができる」と言った",
      "料金は分割で支払うことができる",
    ],
    ["a quotation with a gap", '- "it can\'t be paid […] by other people"', "it can't be paid […] by other people"],
  ])("%s", (_, answer, piece) => {
    expect(found(answer)).toEqual([piece]);
  });

  test("each once, and at most sixty", () => {
    expect(found("- X1234567, X1234567 and `X1234567`")).toEqual(["X1234567"]);
    expect(found(Array.from({ length: 80 }, (_, n) => `X12345${n + 10}`).join(" "))).toHaveLength(60);
  });
});

describe("is marked, and asks for no repair", () => {
  test.each([
    ["an amount", "- The fee is $1,234.50", "$1,234.50"],
    ["an amount behind its number", "- Die Gebühr ist 1.234,50 €", "1.234,50 €"],
    ["an amount in zloty", "- It cost 640,50 zł", "640,50 zł"],
    ["an amount in rupees", "- It cost ₹1,234", "₹1,234"],
    ["an amount in a sentence without blanks", "- 费用是640元。", "640元"],
    ["a name of the environment", "- Set FEES_API_TOKEN", "FEES_API_TOKEN"],
    ["a share", "- It rose by 12.5 %", "12.5 %"],
    ["an amount of which an address on a network has a part", "- The fee is $12,700, read from 127.0.0.1", "$12,700"],
    ["an amount that is near another one", "- The fee is $12,540", "$12,540"],
    ["the number of a request", "- Merged PR #123", "#123"],
    ["a ticket", "- Closed ABC-12", "ABC-12"],
    ["a short id", "- Flight HAT271 is full", "HAT271"],
    ["a name in code marks", "- `roundFees` is tested", "roundFees"],
    ["a call in code marks", "- `fees.round()` is tested", "fees.round()"],
    ["a flag in code marks", "- Ran it with `--no-round`", "--no-round"],
  ])("%s", (_, answer, piece) => {
    expect(findUnfounded(answer, SHOWN)).toEqual({ all: [piece], asked: [] });
  });
});

describe("is not found", () => {
  test.each([
    [
      "what is shown",
      "- Order W4680753: src/fees/parse.ts at https://quay.example/fees/2026 by ada@quay.example, 9f8e7d6c5b",
    ],
    ["in another case", "- order w4680753, SRC/FEES/PARSE.TS"],
    ["in the marks of Markdown", "- **W4680753** in [`parse.ts`](src/fees/parse.ts), _3.2.1_"],
    ["with a line behind it", "- src/fees/parse.ts:88"],
    ["told by its parts", "- fees/parse.ts, quay.example/docs/fees.md and /fees/2026"],
    ["a name that stands in two folders", "- src/docs/notes.md beside lib/docs/notes.md"],
    ["a number without separators", "- The fee is 12500"],
    ["a number with other separators", "- The fee is 12.500 or 12 500, of 120,000 rows"],
    ["a version with its letter", "- v3.2.1"],
    ["text of JSON without its escapes", '- It has `VERSION = "3.2.1"` and "// see docs/fees.md, src/notes.md" in it'],
    ["a quotation in other marks", "- “It can’t be paid in parts,” she said"],
    ["a quotation with a full stop", '- "ENOENT: no such file or directory."'],
    ["a quotation with a gap", '- "it can\'t […] in parts" and "no such … directory"'],
    ["a quotation with a word put in", '- "[the fee] can\'t be paid in parts"'],
    [
      "what stands between two short quotations",
      '- She chose "red" for the roof of the boathouse and "blue" for the door',
    ],
    ["a date in another form", "- On 04.03.2026, 04/03/2026, 2026/03/04, 4-3-2026 and 2026-03-04T10:00:00Z"],
    ["a time and a measure", "- 10h30min, 250ms, 12.5kB, 1920x1080, 3-4 lines, 1/2, 24/7"],
    ["a small number, such as a sum", "- 7 of 12 boats, 1280 in all"],
    [
      "a number before a word, or behind one",
      "- a 10-minute talk, the 12-column page, a 24-hour-clock, phase-2, mid-2026, step 14, COVID-19",
    ],
    ["a word with a digit in it", "- The e2e-tests are IPv4-only, as are the i18n-keys and the k8s-cluster"],
    ["an amount in the smaller unit, and a share of one", "- 125.00 €"],
    ["words joined by strokes", "- red/green/blue, and/or/not"],
    ["what runs scripts", "- Node.js and Vue.js"],
    ["a reference", "- Paid [#3, @0a1b2c3] and [@9z8y7x6]"],
    [
      "a sentence without blanks, with numbers in it",
      "- 修复了3个错误并更新了12个文件的文档。第3次会议讨论了2026年的计划",
    ],
    ["a name in a sentence without blanks", "- 已修改src/fees/parse.ts文件，版本3.2.1"],
    ["an amount that stands there in another form", "- 12.500 €, $12500.00, EUR 12 500"],
    [
      "an amount that follows from others in its line",
      "- 12,500 − 500 = $12,000.00, 12,500 of 25,000 are 50.0 %, together 37,500 €",
    ],
    ["a date with its day and month in words", "- It came on March 4, 2026 (4. März 2026, le 4 mars 2026)"],
    ["a date without a year", "- It is due in May 12 or so"],
    ["a single digit, and a name of the world", "- Point #3, UTF-8, SHA-256, GPT-4, RFC-2119, ISO-8601"],
    ["a name in code by its parts", "- `parse.VERSION`, `fees/parse.ts:12`, `VERSION`, `true`, `main`, `parse()`"],
    ["apostrophes", "- The users' boats and the dogs' food aren't here, it's Ada's and Bob's, don't touch it"],
    ["words joined by one stroke", "- read/write, he/she"],
    ["a heading and a list", "## Done\n1. Read the page.\n2. **Open**: the fee [#2]"],
  ])("%s", (_, answer) => {
    expect(found(answer)).toEqual([]);
  });

  test("whatever words stand in what was shown, they are never found", () => {
    const words = SHOWN.split(/\s+/).filter((word) => word !== "");
    fc.assert(
      fc.property(fc.nat(words.length), fc.nat(12), (from, count) => {
        expect(found(words.slice(from, from + count).join(" "))).toEqual([]);
      }),
    );
  });
});

describe("a good summary raises no alarm", () => {
  const CODE = `[#1 user]\nThe login fails on Safari since the upgrade to 4.11.2. Please find out why, and keep src/auth/session.ts small.\n\n[#2 assistant]\nI read it first.\n[call read]\n{"path":"src/auth/session.ts"}\n[result]\n{"text":"export const TTL_MS = 1800000;\\nset-cookie: sid; SameSite=None"}\n[call bash]\n{"command":"npm test -- login"}\n[error]\nTypeError: Cannot read properties of undefined (reading 'sid')\n at src/auth/cookie.ts:41:7\n\n[#3 assistant]\nSafari drops cookies with SameSite=None without Secure. I added Secure in src/auth/cookie.ts and committed 7c1d9e4.`;
  const DESK = `[#1 user]\nHi, I want to change my flight HAT271 to the 14th, reservation Q69X3R. My id is mia_kim_4397.\n\n[#2 assistant]\n[call get_reservation]\n{"id":"Q69X3R"}\n[result]\n{"flights":[{"number":"HAT271","date":"2024-05-12","price":1284}],"payment":"gift_card_3823932","cabin":"economy","user":"mia_kim_4397"}\n[call update]\n{"flight":"HAT114","date":"2024-05-14","price":1310}\n[result]\nok`;
  const LAB = `[#1 user]\n请把三次滴定的结果写成报告，平均值用毫升。不要四舍五入。\n\n[#2 assistant]\n[call read]\n{"path":"data/titration-3.csv"}\n[result]\nflask,ml\n1,24.15\n2,24.80\n3,24.10\n\n[#3 assistant]\n第2瓶有裂纹，数值偏高。`;
  const TEAM = `[#1 user]\nHave the aisles counted. Report only differences above ten pieces.\n\n[#2 assistant]\n[result]\n{"aisle":1,"differences":[]}\n[result]\n{"aisle":2,"differences":[{"sku":"BRW-2041","expected":40,"found":26}]}\n\n[#3 user]\nthanks, order 14 new ones at Holm & Sons, they said "delivery within nine working days" on the phone`;
  const GARDEN = `[#1 user]\nPlane mir den Garten für 2027. Die Beete stehen in plan/beete.md. Keine Brassica nach Kohl.\n\n[#2 assistant]\n[call read]\n{"path":"plan/beete.md"}\n[result]\n# Beete\n1: Kohl (2026)\n2: Bohnen (2026)\n3: leer, 4,5 m²`;

  test.each([
    [
      "of work on code",
      CODE,
      "## Goal\nThe login must work in Safari again after the upgrade to 4.11.2; `session.ts` stays small.\n## Done\n1. Read src/auth/session.ts: `TTL_MS = 1800000` (30 minutes, 1,800,000 ms), cookie `sid` with SameSite=None. [#2]\n2. `npm test -- login` failed with \"TypeError: Cannot read properties of undefined (reading 'sid')\" at src/auth/cookie.ts:41. [#2]\n3. Added Secure in cookie.ts, commit 7c1d9e4. [#3]\n## State\nFixed; 1 of 1 test suites is to be run again.",
    ],
    [
      "of a service desk",
      DESK,
      "## Done\n1. Customer mia_kim_4397, reservation Q69X3R: moved from HAT271 on May 12, 2024 ($1,284) to HAT114 on 2024-05-14 ($1310), a difference of $26, paid with gift_card_3823932, economy. [#1, #2]\n## Open\nNothing is left for Q69X3R.",
    ],
    [
      "in Chinese",
      LAB,
      "## 目标\n把三次滴定的结果写成报告，单位毫升，不四舍五入。[#1]\n## 发现\n数据在data/titration-3.csv：第1瓶24.15、第2瓶24.80、第3瓶24.10毫升；三瓶平均24.35毫升。第2瓶有裂纹，所以只用第1和第3瓶时平均24.125毫升。[#2]\n## 状态\n报告还没有写。",
    ],
    [
      "of a count by several",
      TEAM,
      '## Done\n1. Aisle 1: no differences. Aisle 2: BRW-2041 has 26 of 40, so 14 are missing (35 %). [#2]\n## Decisions\n- Only differences of more than 10 pieces are reported. [#1]\n## Open\n- Order 14 pieces at Holm & Sons, who said "delivery within nine working days". [#3]\n- "Aisle 3" is not counted.',
    ],
    [
      "in German",
      GARDEN,
      "## Ziel\nGartenplan für 2027 nach plan/beete.md. [#1]\n## Feststellungen\n- Beet 1 hatte 2026 Kohl, darum 2027 keine Brassica („Keine Brassica nach Kohl“). [#1]\n- Beet 2: Bohnen, Beet 3: leer, 4,5 m² (4.5 m²). [#2]\n## Offen\n- Der 12-Monats-Plan fehlt noch; einen Stand gibt es nicht.",
    ],
  ])("%s", (_, shown, summary) => {
    expect(findUnfounded(summary, shown).all).toEqual([]);
  });
});

describe("time grows with the length alone", () => {
  test.each([
    "'",
    "'a ",
    "a' ",
    "‘",
    "‘a’b",
    "$1",
    "$1.",
    "1%",
    "1.1.",
    "2026-1-1 ",
    "1 May ",
    "May 1 ",
    "#12 ",
    "AB-1 ",
    "`a_b` ",
    "a",
    "@",
    "a/",
    "/",
    "/a",
    " ~/a",
    "/parse.ts ",
    "1元",
    "A_",
    "a-",
    "1",
    "1,",
    '"',
    '"a',
    "`",
    "“",
    "[",
    "[#1",
    "。",
    "a.",
    "x1-",
    ":1",
    "… ",
  ])("of %j", (piece) => {
    const make = (size: number): string => piece.repeat(size);
    expectLinear(make, (hostile) => findUnfounded(hostile, SHOWN), 20_000);
    expectLinear(make, (hostile) => findUnfounded("Order W4680753 and 12600.", hostile), 20_000);
  });
});

test("the address of a link in Markdown is known, and so is the sentence around its text", () => {
  const shown = "Read on [moving to DeerFlow 2.0](https://github.com/bytedance/deer-flow/issues/824) in February.";
  const said = 'See https://github.com/bytedance/deer-flow/issues/824: "moving to DeerFlow 2.0 in February".';
  expect(findUnfounded(said, shown).all).toEqual([]);
  expect(findUnfounded("See https://github.com/bytedance/deer-flow/issues/825.", shown).all).toHaveLength(1);
});

test("what stands between two quotations is no quotation, also where one quotes another", () => {
  const shown = 'He set "version" to "4.14.4" and then wrote: we keep the old file.';
  expect(
    findUnfounded('"set "version" to "4.14.4""; then he said that all was well "we keep the old file"', shown).all,
  ).toEqual([]);
});

function alternating(size: number): string {
  return "a b ".repeat(size);
}

describe("a quotation that leaves words out", () => {
  const shown =
    "[result]\nThe backend that receives the CLI pushes lives in `quay-monorepo`.\nNOT MET:\n  - extract_script: FAIL: no rows";

  test.each([
    ["loses its marks", '- The "backend lives in quay-monorepo" [#2]', "- The backend lives in quay-monorepo [#2]"],
    ["also over the end of a line", '- "NOT MET: extract_script: FAIL"', '- "NOT MET: extract_script: FAIL"'],
    ["keeps them where it says so", '- "backend … lives in `quay-monorepo`"', '- "backend … lives in `quay-monorepo`"'],
    ["keeps them where all of it stands", '- "receives the CLI pushes"', '- "receives the CLI pushes"'],
    [
      "is left where a word is invented",
      '- "backend never lives in quay-monorepo"',
      '- "backend never lives in quay-monorepo"',
    ],
    [
      "is left where the order differs",
      '- "quay-monorepo lives in the backend"',
      '- "quay-monorepo lives in the backend"',
    ],
    ["is left where it is code", "- `backend lives in quay-monorepo`", "- `backend lives in quay-monorepo`"],
    ["is left where it is a word or two", '- "backend lives"', '- "backend lives"'],
  ])("%s", (_, answer, text) => {
    expect(withoutLooseQuotes(answer, shown)).toBe(text);
  });

  test.each([
    ["asks for no repair", '- The "backend lives in quay-monorepo", "NOT MET: extract_script: FAIL"', []],
    [
      "asks for one where it is invented",
      '- "backend never lives in quay-monorepo"',
      ["backend never lives in quay-monorepo"],
    ],
  ])("%s", (_, answer, unfounded) => {
    expect(findUnfounded(withoutLooseQuotes(answer, shown), shown).asked).toEqual(unfounded);
  });

  test("is looked for in time that grows with what was shown alone, and with the answer alone", () => {
    expectLinear(alternating, (shownThen) => withoutLooseQuotes('"a b a b c"', shownThen), 20_000);
    expectLinear(alternating, (answer) => withoutLooseQuotes(answer.replaceAll("b", '"b a c d e"'), "a b b a"), 5_000);
  });
});
