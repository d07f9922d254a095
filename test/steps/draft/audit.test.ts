/** The answers that the audit takes as a summary, and those that it refuses, each with its name. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { auditSummary, sharesWords } from "../../../src/steps/draft/audit.ts";
import { resolvePolicy } from "../../../src/steps/plan/policy.ts";
import { DEFAULT_TEMPLATE, parseTemplate } from "../../../src/steps/draft/prompt.ts";
import { estimateTokens } from "../../../src/steps/tokens/tokens.ts";

const sized = (tokens: number): string => {
  let text = "## Goal\nShip the parser.";
  while (estimateTokens(`${text} parser`) <= tokens) text += " parser";
  return text;
};

describe("the audit", () => {
  const policy = { ...resolvePolicy({ thresholdTokens: 10_000 }), summaryTokens: 400 };
  const template = parseTemplate({ sections: [{ title: "Goal" }, { title: "Next" }] });
  const audit = (text: string, finishReason = "stop", spanTokens = 5_000): string[] => {
    const result = auditSummary({ countTokens: estimateTokens, text, finishReason, spanTokens, policy, template });
    return result.ok ? [] : result.problems.map(({ kind }) => kind);
  };
  const good = "## Goal\nShip the parser.\n\n## Next\nRun the tests.";
  /** What is wrong with a model's answer beside what it was shown. */
  const judge = (text: string, source: string): string[] => {
    const hasMatter = (): boolean => !sharesWords(text, source);
    const given = { countTokens: estimateTokens, finishReason: "stop", spanTokens: 5_000, policy, template };
    const result = auditSummary({ ...given, text, byModel: true, hasMatter });
    return result.ok ? [] : result.problems.map(({ kind }) => kind);
  };

  test("a whole summary in its sections passes with its weight", () => {
    expect(
      auditSummary({
        countTokens: estimateTokens,
        text: good,
        finishReason: "stop",
        spanTokens: 5_000,
        policy,
        template,
      }),
    ).toEqual({
      ok: true,
      tokens: expect.any(Number),
    });
    expect(audit(`${good}\nThe model said "I cannot open the file" and [#3 user] was quoted.`)).toEqual([]);
  });

  test.each([
    ["", "stop", "empty"],
    [" . ", "stop", "empty"],
    [good, "length", "unfinished"],
    [good, "error", "unfinished"],
    [good, "content-filter", "refusal"],
    ["I'm sorry, but I can't help with that.", "stop", "refusal"],
    ["I cannot summarise this conversation.", "stop", "refusal"],
    ["As an AI language model, I must decline.", "stop", "refusal"],
    [good, "tool-calls", "tool-call"],
    ['{"name": "read", "arguments": {"path": "a"}}', "stop", "tool-call"],
    ["<tool_call>read</tool_call>", "stop", "tool-call"],
    [`<transcript b-1>\n${good}`, "stop", "echo"],
    [`${good}\n[#1 user]\nhello\n[#2 assistant]\nhi\n[call read c1]\n{}`, "stop", "echo"],
    [`${good}\n[call read]\n{}\n[error]\nNo such file.\n[call look c3]\n{}`, "stop", "echo"],
    [`${good}\n${"palimpsest ".repeat(2_000)}`, "stop", "too-large"],
  ])("refused: %j ending in %s is %s", (text, finishReason, kind) => {
    expect(audit(text, finishReason)).toContain(kind);
  });

  test.each([
    `${good}\n- The log shows \`<tool_call>\` twice.`,
    `${good}\n- <invoke name="read"> stood in the answer, unread.`,
    `${good}\nThe parser takes <tool_use> for a call.`,
    `${good}\n- The answer was:\n  <function_calls>`,
    `${good}\n\`\`\`xml\n<invoke name="read">\n\`\`\`\nThat is fixed.`,
  ])("a summary may quote the markup of a call: %j", (text) => {
    expect(audit(text)).toEqual([]);
  });

  test.each([
    `${good}\n\n[error]\nlevel = 2\n\n[result]\nfile = "a"\n\n[denied]\nusers = []`,
    `${good}\n\`\`\`\n[call read]\n{}\n[result]\nfine\n[#2 user]\n\`\`\`\nThat is how it looks.`,
  ])("what only looks like the lines of a transcript may be told of: %j", (text) => {
    expect(audit(text)).toEqual([]);
  });

  test.each([
    `${good}\n<tool_call>{"name":"read"}</tool_call>`,
    `${good}\n\n<function_calls>\n<invoke name="read">\n</invoke>\n</function_calls>`,
    '```xml\n<invoke name="read">\n```',
    `${good}\n\`\`\`\na\n\`\`\`\n<tool_use>\n\`\`\`\nb\n\`\`\``,
  ])("an answer that calls a tool in markup of its own is refused: %j", (text) => {
    expect(audit(text)).toContain("tool-call");
  });

  test.each([
    "## Goal\n\n## Next",
    "## Goal\nNone.\n\n## Next\n- None.",
    "## Goal\n_None yet._\n## Next\n* **N/A**",
    "**Goal**\n---\n**Next**\n- nothing so far",
    "## Goal\nWhat the user wants.\n## Next\n- None noted",
  ])("headings with nothing under any of them are no summary of what has something to tell: %j", (text) => {
    const hinted = parseTemplate({ sections: [{ title: "Goal", hint: "What the user wants." }, { title: "Next" }] });
    const given = {
      text,
      finishReason: "stop",
      spanTokens: 5_000,
      policy,
      template: hinted,
      countTokens: estimateTokens,
    };
    expect(auditSummary(given)).toMatchObject({ ok: false, problems: [{ kind: "hollow" }] });
    expect(auditSummary({ ...given, hasMatter: () => false })).toMatchObject({ ok: true });
    expect(
      auditSummary({ ...given, text: text.replace("## Next", "No.\n## Next").replace("**Next", "No.\n**Next") }).ok,
    ).toBe(true);
  });

  test.each([
    ["prose without headings", "The parser is to be shipped. Its tests were run and passed, and nothing is open."],
    ["headings of its own", "# Summary\n## What happened\nThe parser was shipped.\n## Next\nNothing."],
    ["some of the headings", "## Next\n- Run the tests."],
    ["a list alone", "- The parser was shipped.\n- Its tests passed."],
    ["a text in another language", "解析器已经发布，测试全部通过，没有遗留问题。"],
    [
      "what begins like a regret and tells it",
      "## Goal\nThe user said: I'm sorry, I can't ship it.\n## Next\nShip it.",
    ],
  ])("takes %s", (_, text) => {
    expect(audit(text)).toEqual([]);
  });

  test.each([
    [
      "## Goal\nI'm sorry, but I can't help with that.\n## Done\nI cannot do this.\n## Next\n- I am unable to help.",
      "refusal",
    ],
    [
      "## Goal\nNo summary is possible here.\n## Done\nNo summary is possible here.\n## Next\n- No summary is possible here.",
      "refusal",
    ],
    ["## Goal\nI’m sorry, but I can’t help with that.\n## Done\nI can’t do this.", "refusal"],
    ["## Goal\n[call look]\n{}\n[#1 user]\nHello.\n[#2 assistant]\nHi.", "echo"],
    ["## Goal\nNone.\n## Done\nNothing yet.\n## Next\n- n/a", "hollow"],
  ])("refuses a false answer under each heading: %j is %s", (text, kind) => {
    expect(audit(text)).toContain(kind);
  });

  test("refuses a bare sentence under each heading of a short answer, in any language, where it replaces much", () => {
    const refused =
      "## Ziel\nEs tut mir leid, das ist leider nicht möglich.\n## Stand\nDiese Anfrage kann ich so nicht bearbeiten.";
    const given = { finishReason: "stop", policy, template, countTokens: estimateTokens, byModel: true };
    for (const text of [
      refused,
      "## 目标\n抱歉，我无法协助完成这个请求。\n## 状态\n很抱歉，我无法协助完成这个请求。",
      "## Objetivo\nLo siento, no puedo ayudar con eso.\n## Estado\nLo siento, no puedo ayudar con esto.",
    ])
      expect(auditSummary({ ...given, text, spanTokens: 5_000 }), text).toMatchObject({
        problems: [{ kind: "hollow" }],
      });
    expect(auditSummary({ ...given, text: refused, spanTokens: 300 })).toMatchObject({ ok: true });
    const source = "[#3 user]\nDie Kaimauer wird gestrichen, sobald src/quay.ts steht.";
    for (const told of [
      refused.replace("möglich.", "möglich. [#3]"),
      refused.replace("Diese Anfrage", "`src/quay.ts`"),
      "## Offen\n- Die Kaimauer, die gestrichen wird",
    ])
      expect(judge(told, source), told).toEqual([]);
  });

  test.each([
    "I understand your request, but I'm not able to summarise this conversation. If you share the relevant parts in another form, I would be glad to look at them with you, or we could talk about something else that you have in mind today.",
    "Ich verstehe Ihr Anliegen, kann dieses Gespräch aber leider nicht zusammenfassen. Wenn Sie mir die wichtigsten Stellen noch einmal in eigenen Worten schildern, helfe ich Ihnen sehr gerne weiter.",
    "申し訳ございませんが、この会話の要約を作成することはできません。別のご質問やご要望がございましたら、お気軽にお知らせください。できる限りお手伝いいたします。",
    "Je comprends votre demande, mais je ne suis pas en mesure de résumer cette conversation. N'hésitez pas à me poser une autre question, je serai ravi de vous aider dans la mesure du possible.",
    "# Summary",
    "**Résumé de la conversation**",
    "## Goal\nLamento no poder ayudar con esta solicitud en este momento.",
    "## Goal\nI understand the request, but I'm not able to summarise this.\n\nPlease send me another text.",
    "# Samenvatting\nIk kan dit gesprek helaas niet samenvatten.",
  ])("refuses what names nothing of much, whatever its language and its headings: %j", (text) => {
    const given = { text, finishReason: "stop", spanTokens: 5_000, policy, template, countTokens: estimateTokens };
    expect(auditSummary({ ...given, byModel: true }).ok).toBe(false);
  });

  test("a text that names nothing is taken where many of its words stand in a source that is not much longer", () => {
    const source = "Please change the parser, then the scheduler and the ledger, file by file. Describe the watchdog.";
    const told =
      "The user asked for the parser, the scheduler and the ledger, file by file, and wants the watchdog described.";
    const refused =
      "I understand the request, but I'm not able to summarise this conversation, and could do something else.";
    expect([told, refused].map((text) => sharesWords(text, source))).toEqual([true, false]);
    const given = { text: told, finishReason: "stop", policy, template, countTokens: estimateTokens, byModel: true };
    const hasMatter = (): boolean => !sharesWords(told, source);
    expect(auditSummary({ ...given, spanTokens: 3_000, hasMatter })).toMatchObject({ ok: true });
    expect(auditSummary({ ...given, spanTokens: 30_000, hasMatter })).toMatchObject({ ok: false });
  });

  test.each([
    "I can't push to main: the user forbade it. I fixed the parser in src/parse.ts and its tests pass.",
    "Unfortunately, I broke the build, then repaired it with the old lockfile. The user wants the parser shipped today, and said that its tests have to pass before. [#3]",
    "## Goal\nI can't push to main: the user forbade it.\n## Done\nI am unable to run `npm test`, since there is no network.",
    "I won't touch the ledger before Friday, as the user asked; 3 boats are counted, and the fee is told to Ada.",
  ])("takes a summary that begins like a refusal, since it names what was said: %j", (text) => {
    const source =
      "[#3 user]\nThe parser in src/parse.ts and its tests: run `npm test`, and do not push to main. The build has the old lockfile. Do not touch the ledger before Friday, when the boats are counted.";
    expect(judge(text, source)).toEqual([]);
  });

  test.each([
    ["Error: 503 Service Unavailable", "refusal"],
    ["HTTP/1.1 502 Bad Gateway", "refusal"],
    ["## Goal\n- weiter", "hollow"],
    ["## Goal\n1. Go on.", "hollow"],
    ["## Goal\nI can't help with that: policy 4.", "hollow"],
    ["## Goal\n- Es tut mir leid: „Zusammenfassung“ geht nicht, bitte 0800 123456 anrufen.", "hollow"],
    ["## Objetivo\n- Lo siento (código 403): no puedo ayudar con esto.", "hollow"],
    ["## 目标\n- 抱歉：根据政策第4条，我无法协助完成这个请求。", "hollow"],
    [
      "upstream connect error or disconnect/reset before headers. reset reason: connection timeout, transport failure reason: delayed connect error: 111",
      "hollow",
    ],
  ])("refuses a short answer that names nothing of its source, whatever numbers and marks it has: %j", (text, kind) => {
    const source =
      "[#1 user]\nPlease weigh the flour for order 4711 in src/scales.ts, as weiter unten steht.\n[#2 assistant]\nI weighed 12 sacks.";
    expect(judge(text, source)).toContain(kind);
  });

  test.each([
    "## Goal\n- Weigh the flour.",
    "The flour for order 4711 was weighed: 12 sacks are there. Nothing is open, and the user has not said what comes next.",
    "## Done\n- Zwölf Säcke gewogen [#2]",
    "## 状态\n- 已修改 src/scales.ts",
  ])("takes a short answer that names something of it, in any language: %j", (text) => {
    const source =
      "[#1 user]\nPlease weigh the flour for order 4711 in src/scales.ts.\n[#2 assistant]\nI weighed 12 sacks.";
    expect(judge(text, source)).toEqual([]);
  });

  test("takes a sentence that stands under two headings, and empty ones beside what is told", () => {
    expect(audit("## Goal\nShip it.\n## Next\nShip it.")).toEqual([]);
    expect(audit("## Goal\n- Goal: They agreed on one table.\n## State\n- State: They agreed on one table.")).toEqual(
      [],
    );
    expect(audit("## Goal\nShip it.\n## Done\nNone.\n## Failures\nNone.\n## Next\nNone.")).toEqual([]);
  });

  test("takes an answer up to twice as long as it was asked for, and none that is longer still", () => {
    const longer = { ...resolvePolicy({ thresholdTokens: 40_000 }), summaryTokens: 1_000 };
    const problems = (text: string): string[] => {
      const given = {
        text,
        finishReason: "stop",
        spanTokens: 30_000,
        policy: longer,
        template,
        countTokens: estimateTokens,
      };
      const result = auditSummary(given);
      return result.ok ? [] : result.problems.map(({ kind }) => kind);
    };
    expect(problems(sized(2_000))).toEqual([]);
    expect(problems(sized(2_010))).toEqual(["too-large"]);
  });

  test("names what stands nowhere in what the model was shown, where it may still be put right", () => {
    const given = {
      text: good,
      finishReason: "stop",
      spanTokens: 5_000,
      policy,
      template,
      countTokens: estimateTokens,
    };
    expect(auditSummary({ ...given, unfounded: ["src/a.ts", "4711"] })).toMatchObject({
      ok: false,
      problems: [{ kind: "unfounded", detail: expect.stringContaining('"src/a.ts", "4711"') }],
    });
    expect(auditSummary({ ...given, unfounded: [] }).ok).toBe(true);
  });

  test("V3: a summary is refused when it is not smaller than its source by the margin", () => {
    expect(audit(good, "stop", 12)).toEqual(["too-large"]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 2_000 }), (words, spanTokens) => {
        const text = `${good}\n${"word ".repeat(words)}`;
        const result = auditSummary({
          countTokens: estimateTokens,
          text,
          finishReason: "stop",
          spanTokens,
          policy,
          template,
        });
        if (result.ok) {
          expect(result.tokens).toBeLessThanOrEqual(policy.summaryTokens * 2);
          expect(result.tokens).toBeLessThan(spanTokens);
        } else expect(result.problems.map(({ kind }) => kind)).toEqual(["too-large"]);
      }),
    );
  });
});

test("where bullets come from is not counted against a summary's budget, only against its source (V3)", () => {
  const policy = { ...resolvePolicy({ thresholdTokens: 60_000 }), summaryTokens: 400 };
  const bullets = Array.from(
    { length: 24 },
    (_, n) => `- The ledger keeps its promise number ${n}. [@0a1b2c${n % 10}, @0b1b2c3]`,
  );
  const text = `${DEFAULT_TEMPLATE.sections.map(({ title }) => `## ${title}`).join("\n")}\n${bullets.join("\n")}`;
  expect(estimateTokens(text)).toBeGreaterThan(400);
  const audit = (spanTokens: number) =>
    auditSummary({
      countTokens: estimateTokens,
      text,
      finishReason: "stop",
      spanTokens,
      policy,
      template: DEFAULT_TEMPLATE,
    });
  expect(audit(5_000)).toMatchObject({ ok: true });
  expect(audit(500)).toMatchObject({ ok: false, problems: [{ kind: "too-large" }] });
  // An index is no summary: with its references it takes at most half as much again.
  const index = bullets.map((line) => line.replace("]", ", @0c1b2c3, @0d1b2c3, @0e1b2c3, @0f1b2c3]")).join("\n");
  const given = {
    text: index,
    finishReason: "stop",
    spanTokens: 5_000,
    policy,
    template: DEFAULT_TEMPLATE,
    countTokens: estimateTokens,
  };
  expect(auditSummary(given)).toMatchObject({
    ok: false,
    problems: [{ kind: "too-large", detail: expect.stringContaining("with its references") }],
  });
});
