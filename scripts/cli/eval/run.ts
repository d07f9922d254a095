/**
 * `palimpsest eval`: what does a reader still know? Its steps are those of docs/eval.md.
 *
 * A call that is not recorded and cannot be asked leaves its part out. The rest goes on, so that all such calls are listed at once.
 */
import { writeFile } from "node:fs/promises";
import type { PriceList } from "../../../src/costs/sums.ts";
import type { Live } from "../../demo/live.ts";
import { plural } from "../../report/text.ts";
import { CommandFailure, EXIT } from "../failure.ts";
import { listCandidates, type Candidate } from "./candidate.ts";
import { readQuestions, verifyExam, type Dropped, type Exam, type Question } from "./exam.ts";
import { Judge } from "./judge.ts";
import { Keep, NotRecorded, type Missing, type Usage } from "./keep.ts";
import type { EvalOptions } from "./options.ts";
import { playPlain, Stage, type Played } from "./play.ts";
import { sayView } from "./say.ts";
import { meanScore, scoreOf, type Graded, type Score } from "./score.ts";
import { readSession, tokensOf, type EvalSession } from "./session.ts";
import { dollarsOf, pricesOf } from "../in-package.ts";

export interface CandidateResult extends Score {
  readonly candidate: string;
  readonly view: { readonly messages: number; readonly tokens: number };
  readonly compactions: number;
  readonly degraded: number;
  /** Dollars are null where no price is known. */
  readonly summariser: Usage & { readonly dollars: number | null };
  readonly answers: readonly { readonly n: number; readonly answer: string; readonly grade: number }[];
}

export interface SessionResult {
  readonly session: string;
  /** Messages before the cut, and all of them. */
  readonly cut: number;
  readonly messages: number;
  readonly tokens: number;
  readonly hidden: number;
  readonly questions: readonly Question[];
  readonly dropped: readonly Dropped[];
  readonly candidates: readonly CandidateResult[];
}

export interface MeanResult extends Score {
  readonly candidate: string;
  readonly sessions: number;
}

export interface EvalResult {
  readonly judge: Usage & { readonly model: string; readonly dollars: number | null };
  readonly sessions: readonly SessionResult[];
  readonly means: readonly MeanResult[];
  /** Calls that went to an endpoint, and those whose answers were kept. */
  readonly requests: { readonly made: number; readonly found: number };
  /** Of the answers that the figures come from. Each is a file in the folder of kept answers. */
  readonly keys: readonly string[];
  readonly missing: readonly Missing[];
  /** What a reader of the figures should know. */
  readonly notes: readonly string[];
}

/** Most of the judge's window that a view may take beside the questions and the answers. */
const VIEW_SHARE = 0.9;

/** What became of one session so far. */
interface Paper {
  readonly session: EvalSession;
  readonly exam: Exam;
  readonly played: Map<string, Played>;
}

export async function evaluate(files: readonly string[], options: EvalOptions, live: Live): Promise<EvalResult> {
  if (options.exam !== null && files.length > 1) {
    throw new CommandFailure(
      EXIT.usage,
      "--exam goes with one session: give the others in runs of their own.",
      "invalid_options",
    );
  }
  const { format, index, until, choice } = options;
  const sessions: EvalSession[] = [];
  for (const file of files)
    sessions.push(await readSession(file, { format, index, until, thresholds: choice.thresholds }));
  return new Evaluation(options, live).run(sessions);
}

class Evaluation {
  readonly #options: EvalOptions;
  readonly #live: Live;
  readonly #keep: Keep;
  readonly #judge: Judge;
  readonly #candidates: readonly Candidate[];
  readonly #notes: string[] = [];

  constructor(options: EvalOptions, live: Live) {
    this.#options = options;
    this.#live = live;
    this.#keep = new Keep(options.keep);
    this.#judge = new Judge(this.#keep, options.judge, options.judgeWindow);
    this.#candidates = listCandidates(options.choice);
  }

  async run(sessions: readonly EvalSession[]): Promise<EvalResult> {
    const papers: Paper[] = [];
    for (const session of sessions) {
      const exam = await recorded(() => this.#examine(session));
      if (exam !== null) papers.push({ session, exam, played: new Map() });
    }
    for (const candidate of this.#candidates) await this.#play(candidate, papers);
    const results: SessionResult[] = [];
    for (const paper of papers) results.push(await this.#mark(paper));
    const { judge, prices } = this.#options;
    const { usage } = this.#judge;
    return {
      judge: { model: judge.name, ...usage, dollars: dollarsFor(prices, judge.name, usage) },
      sessions: results,
      means: this.#means(results),
      requests: { made: this.#keep.made, found: this.#keep.found },
      keys: this.#keep.keys,
      missing: this.#keep.missing,
      notes: this.#notes,
    };
  }

  async #examine(session: EvalSession): Promise<Exam> {
    const { exam: own, questions } = this.#options;
    this.#live.line(`${session.name}: ${own === null ? "the judge writes an exam" : "reading the exam"}`);
    const exam = own === null ? await this.#judge.examine(session, questions) : verifyExam(readOwn(own), session);
    const { length } = exam.dropped;
    if (length > 0)
      this.#note(
        `${session.name}: ${length} of ${length + exam.questions.length} questions dropped: ${firstOf(exam.dropped)}`,
      );
    if (exam.questions.length > 0) return exam;
    throw new CommandFailure(
      EXIT.no,
      `No question on ${session.name} has evidence that stands in a hidden message (${firstOf(exam.dropped)}). Try another judge, or a smaller --threshold, so that more is hidden.`,
      "unreadable",
    );
  }

  /** A candidate takes part in each session that it could be played through. */
  async #play(candidate: Candidate, papers: readonly Paper[]): Promise<void> {
    if (papers.length === 0) return;
    if (candidate.kind !== "ours") {
      for (const paper of papers) this.#playPlain(candidate, paper);
      return;
    }
    let stage: Stage | null = null;
    try {
      for (const { session, played } of papers) {
        if (stage === null) this.#live.line(`${candidate.name}: starting the Worker`);
        const open: Stage = (stage ??= await Stage.open(candidate, this.#keep, this.#options.modelWindow));
        const result = await recorded(() => open.play(session, this.#progress(candidate, session)));
        if (result !== null) {
          played.set(candidate.name, result);
          this.#tellPlayed(candidate, session, result);
          continue;
        }
        // Its run may still be calling the summariser, which the next session must not be blamed for.
        await open.close();
        stage = null;
      }
    } finally {
      await stage?.close();
    }
  }

  #progress({ name }: Candidate, session: EvalSession): (count: number) => void {
    const { length } = session.messages;
    return (count) => this.#live.progress(count, length, `${name}, ${session.name}: ${count} of ${length} messages`);
  }

  #tellPlayed({ name }: Candidate, session: EvalSession, { compactions, degraded, summariser }: Played): void {
    const done = `${plural(compactions, "compaction")}, ${plural(summariser.calls, "call")}`;
    this.#live.line(`${name}: ${session.name} played, ${done}`);
    if (compactions === 0) this.#note(`${session.name}: ${name} never compacted, so its view is the whole.`);
    if (degraded > 0) {
      const what = plural(degraded, "compaction");
      this.#note(`${session.name}: ${name} has ${what} without a sound answer of its model.`);
    }
  }

  #playPlain(candidate: Exclude<Candidate, { kind: "ours" }>, { session, played }: Paper): void {
    const result = playPlain(candidate, session);
    const { judgeWindow } = this.#options;
    if (tokensOf(result.view) <= judgeWindow * VIEW_SHARE) played.set(candidate.name, result);
    else this.#note(`${session.name}: ${candidate.name} does not fit the judge's window of ${judgeWindow} tokens.`);
  }

  /** Reads and grades one session's exam. */
  async #mark({ session, exam, played }: Paper): Promise<SessionResult> {
    const read = new Map<string, ReadonlyMap<number, string>>();
    for (const [name, { view }] of played) {
      this.#live.line(`${session.name}: answering from the view of ${name}`);
      const answers = await recorded(() =>
        this.#judge.read(sayView(view), exam.questions, `answers of ${name} on ${session.name}`),
      );
      if (answers?.size === 0) this.#note(`${session.name}: no answer of ${name} could be read, so it is left out.`);
      else if (answers !== null) read.set(name, answers);
    }
    this.#live.line(`${session.name}: grading`);
    const dropped: Dropped[] = [];
    const questions = exam.questions.filter(({ n, question }) => {
      const without = [...read].find(([, answers]) => !answers.has(n));
      if (without !== undefined) dropped.push({ n, question, why: `the answer of ${without[0]} could not be read` });
      return without === undefined;
    });
    const answersTo = ({ n }: Question): string[] => [...read.values()].map((answers) => answers.get(n) ?? "");
    const grades = (await recorded(() => this.#judge.grade(questions, answersTo, session.name))) ?? new Map();
    const graded = questions.filter((each) => {
      const isWhole = answersTo(each).every((answer) => grades.get(each.n)?.has(answer) === true);
      if (!isWhole && grades.size > 0)
        dropped.push({ n: each.n, question: each.question, why: "its grades could not be read" });
      return isWhole;
    });
    for (const { n, why } of dropped) this.#note(`${session.name}: question ${n} dropped, ${why}.`);
    const candidates = grades.size === 0 ? [] : this.#candidates.filter(({ name }) => read.has(name));
    const marks = (name: string): Graded[] =>
      graded.map((question) => {
        const answer = read.get(name)?.get(question.n) ?? "";
        return { question, answer, grade: grades.get(question.n)?.get(answer) ?? 0 };
      });
    return {
      session: session.name,
      cut: session.messages.length,
      messages: session.messages.length + session.rest.length,
      tokens: session.tokens,
      hidden: session.hidden.to - session.hidden.from,
      questions: graded,
      dropped: [...exam.dropped, ...dropped],
      candidates: candidates.flatMap((each) => {
        const result = played.get(each.name);
        return result === undefined ? [] : [this.#resultOf(each, result, marks(each.name))];
      }),
    };
  }

  #resultOf(
    candidate: Candidate,
    { view, compactions, degraded, summariser }: Played,
    graded: readonly Graded[],
  ): CandidateResult {
    const { prices } = this.#options;
    const none = prices === null ? null : 0;
    const dollars = candidate.kind === "ours" ? dollarsFor(prices, candidate.model.name, summariser) : none;
    return {
      candidate: candidate.name,
      ...scoreOf(graded),
      view: { messages: view.length, tokens: tokensOf(view) },
      compactions,
      degraded,
      summariser: { ...summariser, dollars },
      answers: graded.map(({ question, answer, grade }) => ({ n: question.n, answer, grade })),
    };
  }

  #means(results: readonly SessionResult[]): MeanResult[] {
    return this.#candidates.flatMap(({ name }) => {
      const own = results.flatMap(({ candidates }) => candidates.filter(({ candidate }) => candidate === name));
      return own.length === 0 ? [] : [{ candidate: name, sessions: own.length, ...meanScore(own) }];
    });
  }

  #note(note: string): void {
    this.#notes.push(note);
    this.#live.line(note);
  }
}

/** Null where the work needs an answer that is not recorded. The keep lists which. */
async function recorded<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NotRecorded) return null;
    throw error;
  }
}

function readOwn(json: string): Exam {
  try {
    return readQuestions(JSON.parse(json));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(EXIT.usage, `--exam is no exam: ${why}. docs/eval.md shows one.`, "invalid_input");
  }
}

function firstOf(dropped: readonly Dropped[]): string {
  const [first] = dropped;
  return first === undefined ? "" : `${first.n} because ${first.why}${dropped.length > 1 ? ", and others" : ""}`;
}

/** Null where there is no price. A summariser that was not asked costs nothing. */
function dollarsFor(list: PriceList | null, model: string, { inputTokens, outputTokens }: Usage): number | null {
  const prices = list === null ? null : pricesOf(list, model);
  if (prices === null) return null;
  return dollarsOf({ input: inputTokens, output: outputTokens, cacheRead: 0, cacheWrite: 0 }, prices);
}

export async function writeReport(file: string, html: string): Promise<void> {
  await writeFile(file, html, { mode: 0o600 }).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandFailure(EXIT.usage, `${file} cannot be written: ${why}`, "invalid_input");
  });
}
