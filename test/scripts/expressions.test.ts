/**
 * No regular expression of the sources takes more than linear time, whatever text it meets. A text comes from a page, a tool or a mail, and an
 * object that reads one for seconds answers nobody meanwhile.
 *
 * Every literal reads texts that are made to hurt it: its own words and signs, repeated, with an end that does not fit.
 */
import { readdirSync, readFileSync } from "node:fs";
import * as fc from "fast-check";
import { parseAst } from "vite";
import { describe, expect, test } from "vitest";
import { stripThinking } from "../../src/model/summarize.ts";
import { secretRules } from "../../src/redact/secret-rules.ts";
import { expectLinear } from "../growth.ts";
import { everything } from "../tries.ts";

interface Literal {
  readonly at: string;
  readonly pattern: string;
  readonly flags: string;
}

/**
 * Expressions that are not linear and read short texts only. Each names what bounds its text. A longer text for one of them, or another
 * expression, has to be linear.
 */
const SHORT: readonly (readonly [file: string, pattern: string, bound: string])[] = [
  ["model/failures.ts", "(\\bhttps?:\\/\\/[^\\s?#]+)\\?[^\\s]*", "4,000 characters of an error"],
  ["recall/index-text.ts", "\\s+\\S{0,20}$", "SNIPPET_CHARS"],
  ["recall/question.ts", "\\*+$", "MAX_QUESTION_CHARS"],
  ["recall/passages.ts", "(?:^|[\\s\\])*>-])(\\p{L}", "LABEL_CHARS"],
  ["steps/message/message.ts", '"\\w+":\\s*(?:null', "HEAD_CHARS"],
];

const SIGNS = [
  "a",
  "A",
  "0",
  "-",
  "_",
  ".",
  "/",
  ":",
  "<",
  "(",
  ")",
  '"',
  "'",
  "`",
  "#",
  "*",
  "=",
  "+",
  " ",
  "\t",
  "\n",
];
/** Ends that most expressions do not expect. */
const ENDS = ["\0", "\u2028x", "1b2$"];
/** An exponential expression takes minutes for so many characters, and any other one no time. */
const FEW_CHARS = 26;
/** One with three repeats in a row takes seconds for so many. */
const SOME_CHARS = 400;
const FEW_MS = 100;
const CHARS = 4_000;
/** Linear work on {@link CHARS} takes a small part of that. */
const QUICK_MS = 3;
const STEEP_MS = 500;

function literals(): readonly Literal[] {
  return readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file))
    .toSorted()
    .flatMap((file) => {
      const code = readFileSync(`src/${file}`, "utf8");
      return [...regularExpressions(parseAst(code, { lang: file.endsWith("x") ? "tsx" : "ts" }))].map((regex) => ({
        at: file,
        ...regex,
      }));
    });
}

function* regularExpressions(node: unknown): Generator<{ pattern: string; flags: string }> {
  if (typeof node !== "object" || node === null) return;
  if ("regex" in node && node.regex !== undefined) yield node.regex as { pattern: string; flags: string };
  for (const value of Object.values(node)) yield* regularExpressions(value);
}

/** What is repeated: signs, the words of the expression, each before a blank or a sign as well, and random tokens. */
function pumpsFor({ pattern }: Literal): readonly string[] {
  const words = [...new Set(pattern.match(/[A-Za-z]{2,}|[^\w\s\\]{2,4}/g) ?? [])].slice(0, everything ? 40 : 6);
  const tokens = fc.sample(fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/), { numRuns: 3, seed: 7 });
  return [
    ...SIGNS,
    ...words,
    ...words.flatMap((word) => [`${word} `, `${word}-`]),
    "a-",
    "a_",
    "a.",
    "a ",
    "://",
    ...tokens,
  ];
}

/** Whether it takes that long every time. A busy machine is slow once. */
const isSlow = (literal: Literal, text: string, ms: number): boolean =>
  [1, 2, 3].every(() => timeOf(literal, text) > ms);

function timeOf({ pattern, flags }: Literal, text: string): number {
  const expression = new RegExp(pattern, flags.includes("y") ? flags : `${flags.replace("g", "")}g`);
  const began = performance.now();
  if (flags.includes("y")) expression.test(text);
  else for (const _ of text.matchAll(expression));
  return performance.now() - began;
}

/** The first text of a kind that takes more than linear time, or null. */
function hurtBy(literal: Literal, onlyExponential: boolean): string | null {
  for (const pump of pumpsFor(literal)) {
    for (const end of ENDS) {
      const make = (chars: number): string => pump.repeat(Math.ceil(chars / pump.length)) + end;
      if (isSlow(literal, make(FEW_CHARS), FEW_MS)) return `${JSON.stringify(pump)} repeated, exponential`;
      if (onlyExponential) continue;
      if (isSlow(literal, make(SOME_CHARS), FEW_MS)) return `${JSON.stringify(pump)} repeated, steep`;
      if (!isSlow(literal, make(CHARS), QUICK_MS)) continue;
      if (isSlow(literal, make(CHARS), STEEP_MS)) return `${JSON.stringify(pump)} repeated, steep`;
      try {
        expectLinear(make, (text) => timeOf(literal, text), everything ? CHARS / 4 : 2 * CHARS);
      } catch (error) {
        return `${JSON.stringify(pump)} repeated: ${String(error).split("\n", 1)[0] ?? ""}`;
      }
    }
  }
  return null;
}

const isShort = ({ at, pattern }: Literal): boolean =>
  SHORT.some(([file, beginning]) => file === at && pattern.startsWith(beginning));

test("every expression of the sources is linear, or reads short texts only", () => {
  const all = literals();
  expect(all.length).toBeGreaterThan(100);
  const found = all.flatMap((literal) => {
    const hurt = hurtBy(literal, isShort(literal));
    return hurt === null ? [] : [`src/${literal.at}: /${literal.pattern.slice(0, 80)}/ ${hurt}`];
  });
  expect(found).toEqual([]);
});

test("the list of expressions for short texts names only such as exist", () => {
  const all = literals();
  const gone = SHORT.filter(
    ([file, beginning]) => !all.some(({ at, pattern }) => at === file && pattern.startsWith(beginning)),
  );
  expect(gone).toEqual([]);
});

describe("functions that read whole texts take linear time for hostile ones", () => {
  const { redactText } = secretRules();
  test.each<readonly [string, (size: number) => string]>([
    ["letters before a digit", (size) => `token: ${"a".repeat(size)}1b2\n`],
    ["words with dashes", (size) => `token: ${"ab-".repeat(size)}!`],
    ["a key's line without an end", (size) => `${"0//0+00".repeat(size)}\0\n-----END RSA PRIVATE KEY-----\n`],
    ["a table of stars", (size) => `| password | value |\n|---|---|\n| password | ${"*".repeat(size)} |\n`],
  ])("redaction: %s", (_, make) => expectLinear(make, redactText, 4_000));

  test("redaction of tokens of letters and digits is quick", () => {
    const lines = fc
      .sample(fc.stringMatching(/^[A-Za-z0-9]{40}$/), { numRuns: 300, seed: 11 })
      .map((token) => `auth:\n  token: lin_api_${token}\n  user: bob\n`);
    const began = performance.now();
    for (const line of lines) redactText(line);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  test("an answer with many turns that it made up before its last section", () =>
    expectLinear(
      (size) => `## Goal\n- Ship.${"\n\nUser: And now?".repeat(size)}\n## State\n- Done.`,
      stripThinking,
      4_000,
    ));
});
