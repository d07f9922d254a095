/** The judge's three parts. Each is a fresh call that sees nothing of the others, and an answer that cannot be read is asked for once more. */
import { createHash } from "node:crypto";
import { CommandFailure, EXIT } from "../failure.ts";
import { readQuestions, verifyExam, type Exam, type Question } from "./exam.ts";
import { noUsage, type Keep, type Model } from "./keep.ts";
import { answersPrompt, examPrompt, gradesPrompt, type Sheet } from "./prompts.ts";
import { sayNumbered } from "./say.ts";
import type { EvalSession } from "./session.ts";
import { estimateTokens } from "../in-package.ts";

export const GRADES = [1, 0.5, 0, -0.5] as const;
export type Grade = (typeof GRADES)[number];

/** Questions that are graded in one call. More of them make a grader careless. */
const SHEETS_PER_CALL = 10;
/** Share of the judge's window for what it reads. The rest is for the prompt around it and the answer. */
const READ_SHARE = 0.75;
/** Share of that for what happened after the cut. */
const AFTER_SHARE = 0.25;

const UNKNOWN = /^["'`*_\s]*unknown["'`*_.\s]*$/i;

export class Judge {
  readonly #keep: Keep;
  readonly #model: Model;
  readonly #windowTokens: number;
  readonly usage = noUsage();

  constructor(keep: Keep, model: Model, windowTokens: number) {
    this.#keep = keep;
    this.#model = model;
    this.#windowTokens = windowTokens;
  }

  /** Writes an exam on what the session hides, and keeps the questions whose evidence stands. */
  async examine(session: EvalSession, questions: number): Promise<Exam> {
    const { name, messages, rest, hidden } = session;
    const room = this.#windowTokens * READ_SHARE;
    const after = rest.length === 0 ? "" : sayNumbered(rest, messages.length + 1, room * AFTER_SHARE);
    const before = sayNumbered(messages, 1, room - estimateTokens(after ?? ""));
    if (before === null || after === null) {
      throw new CommandFailure(
        EXIT.usage,
        `${name} does not fit the judge's window of ${this.#windowTokens} tokens, with its tool outputs cut as well. Give --judge-window its real size, a judge with a larger one, or a smaller --until.`,
        "invalid_input",
      );
    }
    const prompt = examPrompt({ before, after, hidden: [`m${hidden.from + 1}`, `m${hidden.to}`], questions });
    const written = await this.#ask(prompt, `exam of ${name}`, (text) => readQuestions(jsonIn(text)));
    if (written === null) {
      throw new CommandFailure(
        EXIT.no,
        `The judge wrote no exam of ${name} that can be read, in two tries. Try another judge.`,
        "unreadable",
      );
    }
    return verifyExam(named(written, session), session);
  }

  /** Answers by number, from the view alone. A question without one was not answered in a readable way, in two tries. */
  async read(view: string, questions: readonly Question[], purpose: string): Promise<ReadonlyMap<number, string>> {
    const answers = new Map<number, string>();
    await this.#ask(answersPrompt(view, questions), purpose, (text) => {
      for (const [n, answer] of answersIn(text, questions)) answers.set(n, answer);
      const left = questions.filter(({ n }) => !answers.has(n)).map(({ n }) => n);
      if (left.length > 0) throw new Error(`there is no line \`N. answer\` for ${left.join(", ")}: give only those`);
    });
    return answers;
  }

  /** Grades by question and answer. An answer of `unknown` is 0 without a call, and equal answers are graded once. */
  async grade(
    questions: readonly Question[],
    answersTo: (question: Question) => readonly string[],
    purpose: string,
  ): Promise<ReadonlyMap<number, ReadonlyMap<string, Grade>>> {
    const sheets = questions.map((question) => ({ question, answers: lettered(question, answersTo(question)) }));
    const grades = new Map<number, Map<string, Grade>>(
      sheets.map(({ question }) => [
        question.n,
        new Map(answersTo(question).flatMap((said) => (isUnknown(said) ? [[said, 0]] : []))),
      ]),
    );
    const open = sheets.filter(({ answers }) => answers.size > 0);
    for (let from = 0; from < open.length; from += SHEETS_PER_CALL) {
      const asked = open.slice(from, from + SHEETS_PER_CALL);
      const take = (text: string): void => takeGrades(jsonIn(text), asked, grades);
      await this.#ask(gradesPrompt(asked), `grades, ${purpose}, from question ${asked[0]?.question.n}`, take);
    }
    return grades;
  }

  /** What `take` makes of the answer. Null where it threw twice. */
  async #ask<T>(prompt: string, purpose: string, take: (text: string) => T): Promise<T | null> {
    const messages = [{ role: "user", content: prompt }];
    const about = { purpose, usage: this.usage };
    const first = await this.#keep.ask(this.#model, { messages }, about);
    try {
      return take(first.text);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const again = `That could not be read: ${why}. Answer once more, in exactly the form that was asked for.`;
      const talk = [...messages, { role: "assistant", content: first.text }, { role: "user", content: again }];
      const second = await this.#keep.ask(this.#model, { messages: talk }, { ...about, purpose: `${purpose}, again` });
      try {
        return take(second.text);
      } catch {
        return null;
      }
    }
  }
}

export function isUnknown(answer: string): boolean {
  return UNKNOWN.test(answer);
}

/**
 * The answers to one question by letter. Their order is that of digests, so it tells nothing of the candidates, and differs from question to
 * question.
 */
export function lettered({ n, question }: Question, answers: readonly string[]): Map<string, string> {
  const mixed = (answer: string): string => createHash("sha256").update(`${n}\n${question}\n${answer}`).digest("hex");
  const different = [...new Set(answers)].filter((answer) => !isUnknown(answer));
  const ordered = different.toSorted((a, b) => (mixed(a) < mixed(b) ? -1 : 1));
  return new Map(ordered.map((answer, at) => [letterOf(at), answer]));
}

/** `A` to `Z`, then `A2` and so on. */
function letterOf(at: number): string {
  const letter = String.fromCodePoint(65 + (at % 26));
  return at < 26 ? letter : `${letter}${Math.floor(at / 26) + 1}`;
}

/** Takes what can be used, and throws where something is missing, so that the whole is asked for again. */
function takeGrades(value: unknown, sheets: readonly Sheet[], grades: Map<number, Map<string, Grade>>): void {
  const missing: string[] = [];
  for (const { question, answers } of sheets) {
    const given = (value as Record<string, unknown> | null)?.[String(question.n)];
    for (const [letter, said] of answers) {
      const grade = (given as Record<string, unknown> | null | undefined)?.[letter];
      if (isGrade(grade)) grades.get(question.n)?.set(said, grade);
      else if (grades.get(question.n)?.has(said) !== true) missing.push(`${question.n}${letter}`);
    }
  }
  if (missing.length > 0) throw new Error(`no grade of ${GRADES.join(", ")} for ${missing.join(", ")}`);
}

function isGrade(value: unknown): value is Grade {
  return (GRADES as readonly unknown[]).includes(value);
}

function answersIn(text: string, questions: readonly Question[]): Map<number, string> {
  const asked = new Set(questions.map(({ n }) => n));
  const answers = new Map<number, string>();
  let last = 0;
  let goesOn = false;
  for (const line of text.split("\n")) {
    const [, number = "0", said = line] = /^[\s*_`]*(\d+)[*_`]*[.):][*_`]*\s*(.*)$/.exec(line) ?? [];
    const n = Number(number);
    const begins = asked.has(n) && n > last;
    if (begins) last = n;
    // A blank line ends an answer, so that no farewell becomes a part of the last one.
    goesOn = begins || (goesOn && line.trim() !== "");
    if (!goesOn) continue;
    const whole = `${begins ? "" : (answers.get(last) ?? "")} ${begins ? said : line}`.trim();
    if (whole !== "") answers.set(last, whole);
  }
  return answers;
}

/** The JSON in an answer, which may have words or a fence around it. */
function jsonIn(text: string): unknown {
  const starts = [text.indexOf("["), text.indexOf("{")].filter((at) => at >= 0);
  const end = Math.max(text.lastIndexOf("]"), text.lastIndexOf("}"));
  const start = Math.min(...starts);
  if (starts.length === 0 || end < start) throw new Error("there is no JSON in it");
  try {
    return JSON.parse(text.slice(start, end + 1)) as unknown;
  } catch (error) {
    throw new Error(`it is no JSON (${error instanceof Error ? error.message : String(error)})`, { cause: error });
  }
}

/** The judge's names of messages, `m12`, as their ids. */
function named({ questions, dropped }: Exam, { messages }: EvalSession): Exam {
  const idOf = (name: string): string => messages[Number(/^m(\d+)$/.exec(name.trim())?.[1] ?? 0) - 1]?.id ?? name;
  return {
    questions: questions.map((question) => ({
      ...question,
      evidence: question.evidence.map(({ message, quote }) => ({ message: idOf(message), quote })),
    })),
    dropped,
  };
}
