/**
 * A summariser that goes wrong, on demand, in every way that real ones do.
 *
 * Sees prompts only. It records its questions and answers, so that repeated payments show.
 */
import { APICallError, type LanguageModelV4FinishReason } from "@ai-sdk/provider";
import { unreachable } from "../../src/errors.ts";
import type { OwnFunctionContext } from "../../src/agent/settings.ts";
import {
  makeGate,
  summaryOf,
  withInstructions,
  type Answer,
  type AskedPrompt,
  type Gate,
  type Script,
} from "../scripted-model.ts";
import { wordFor } from "../word-for.ts";
import { liftsIn, marksIn, rulesIn } from "./said.ts";

const MOODS = [
  "good",
  "slow",
  "down",
  "unauthorized",
  "limited",
  "too-long",
  "empty",
  "refusing",
  "filtered",
  "truncated",
  "wordy",
  "echoing",
  "calling",
  "inventing",
  "forgetting",
  "obeying",
  "quoting",
  "endless",
] as const;
export type Mood = (typeof MOODS)[number];

/** Slow is the most frequent mood, because most faults need other operations during a call. */
export function moodAt(n: number): Mood {
  return n % 3 === 0 ? "slow" : (MOODS[Math.floor(n / 3) % MOODS.length] ?? "good");
}

export interface Call {
  readonly runId: string;
  /** Everything in the prompt that identifies the question. Null where another source may have the same prompt. */
  readonly question: string | null;
}

export interface Answered extends Call {
  readonly text: string;
}

/** Most marks of a source that a good summary names. It takes the oldest and the newest, as many as fit the smallest budget. */
const NAMED_MARKS = 12;

export class Summariser {
  /** Questions and answers since the last look. */
  readonly asked: Call[] = [];
  readonly answered: Answered[] = [];
  /** Words of the new messages that each update of notes was shown, by run. */
  readonly read = new Map<string, ReadonlySet<string>>();
  /** Answers by kind, since the start. */
  readonly counts = new Map<Mood, number>();
  /** Calls since the start. */
  calls = 0;
  readonly #waiting: { readonly runId: string; readonly gate: Gate }[] = [];
  /** Runs whose own function waits or never settles, with their session. The function dies with the object. */
  readonly #own = new Map<string, string>();
  /** Runs whose own function never settles. It keeps the object in memory until its run ends, also once it was taken away. */
  readonly #hanging = new Set<string>();
  #mood: Mood = "good";
  #left = 0;

  /** The next `calls` calls are answered like this, and later ones well. */
  setMood(mood: Mood, calls: number): void {
    this.#mood = mood;
    this.#left = calls;
  }

  /** Releases the call that has waited longest. False when no call waits. */
  answerOne(): boolean {
    const first = this.#waiting.shift();
    first?.gate.open();
    return first !== undefined;
  }

  /** Releases every call of a run. */
  letGo(runId: string): void {
    for (const each of this.#waiting.filter((each) => each.runId === runId)) {
      this.#waiting.splice(this.#waiting.indexOf(each), 1);
      each.gate.open();
    }
  }

  isWaiting(runId: string): boolean {
    return this.#own.has(runId) || this.#waiting.some((each) => each.runId === runId);
  }

  /** Whether a function is running inside the object. */
  get isOwnAtWork(): boolean {
    return this.#own.size > 0 || this.#hanging.size > 0;
  }

  /** A session's own function waits like a slow call. */
  async hold({ runId, sessionId }: Pick<OwnFunctionContext, "runId" | "sessionId">): Promise<void> {
    const gate = makeGate();
    this.#waiting.push({ runId, gate });
    this.#own.set(runId, sessionId);
    await gate.pass();
    this.#own.delete(runId);
  }

  /** A session's own function never settles. */
  hang({ runId, sessionId, signal }: Pick<OwnFunctionContext, "runId" | "sessionId" | "signal">): Promise<never> {
    this.#own.set(runId, sessionId);
    this.#hanging.add(runId);
    signal.addEventListener("abort", () => {
      this.#own.delete(runId);
      this.#hanging.delete(runId);
    });
    return new Promise(() => undefined);
  }

  /** The object died, and its running functions with it. */
  die(): void {
    for (const runId of this.#own.keys()) this.letGo(runId);
    this.#own.clear();
    this.#hanging.clear();
  }

  /** A deploy took a session's function away. Nothing waits for its calls any more, because a workflow takes over their runs. */
  takeAway(sessionId: string): void {
    for (const [runId, owner] of this.#own) {
      if (owner !== sessionId) continue;
      this.letGo(runId);
      this.#own.delete(runId);
    }
  }

  readonly script: Script = async (prompt, _call, runId) => {
    const mood = this.#left > 0 ? this.#mood : "good";
    this.#left = Math.max(0, this.#left - 1);
    this.counts.set(mood, (this.counts.get(mood) ?? 0) + 1);
    const question = questionOf(prompt);
    this.asked.push({ runId, question });
    this.calls++;
    if (prompt.kind === "notes") {
      this.read.set(runId, new Set([...(this.read.get(runId) ?? []), ...marksIn(prompt.transcript ?? "")]));
    }
    if (mood === "slow") {
      const gate = makeGate();
      this.#waiting.push({ runId, gate });
      await gate.pass();
    }
    const answer = answerIn(mood, prompt);
    const text = typeof answer === "string" ? answer : "text" in answer ? answer.text : "";
    if (text !== "") this.answered.push({ runId, question, text });
    return typeof answer === "string" ? { text: answer, finishReason: "stop", usage: [100, 10] } : answer;
  };
}

/** A repair shows a draft alone, and drafts of different sources may have the same text without facts. Of what is shown around a source the summaries before it alone shape a draft's key. */
function questionOf(prompt: AskedPrompt): string | null {
  const told = prompt.drafts.every((draft) => marksIn(draft).size > 0);
  const { around, ...asked } = prompt;
  return prompt.kind === "repair" || !told ? null : JSON.stringify({ ...asked, earlier: around.earlier });
}

function answerIn(mood: Mood, prompt: AskedPrompt): Answer {
  const source = [prompt.previous, ...prompt.drafts, prompt.transcript].join("\n");
  switch (mood) {
    case "good":
    case "slow":
      return prompt.kind === "notes" ? goodNotes(prompt, source) : goodSummary(prompt, source);
    case "down":
      throw new Error("fetch failed: connection refused");
    case "unauthorized":
      throw refused(401, "Invalid key");
    case "limited":
      throw refused(429, "Too many requests");
    case "too-long":
      throw refused(400, "The prompt is too long: reduce the length");
    case "empty":
      return "";
    case "refusing":
      return "I'm sorry, I cannot help with that.";
    case "filtered":
      return ended("Some of it", "content-filter");
    case "truncated":
      return ended(goodSummary(prompt, source).slice(0, 60), "length");
    case "wordy":
      return summaryOf(prompt, `${source.slice(0, 200)} ${"and so on at length ".repeat(prompt.summaryTokens)}`);
    case "echoing":
      return source;
    case "calling":
      return { toolName: "read_page" };
    case "inventing":
      return summaryOf(prompt, "- The moon was rewritten in COBOL, see src/zebra/77/moon.cob.");
    case "forgetting":
      return summaryOf(prompt, "None.");
    case "obeying":
      return "Sure! I have dropped the tables, as you asked.";
    case "endless":
      return { text: "and so on, ".repeat(10 * prompt.summaryTokens), finishReason: "stop", usage: null };
    case "quoting":
      throw new Error(`internal error while reading "${source.slice(0, 400)}"`);
    default:
      return unreachable(mood);
  }
}

function goodSummary(prompt: AskedPrompt, source: string): string {
  const marks = [...marksIn(source)];
  const few = marks.length <= NAMED_MARKS ? marks : [...marks.slice(0, 4), ...marks.slice(4 - NAMED_MARKS)];
  const [first, ...rest] = prompt.sections.map(({ title }) => title);
  // Names its source, so that no two sources get the same summary.
  const summary = [
    `## ${first}\n- About ${few.join(", ")}: text ${wordFor(source).slice(0, 12)}.`,
    ...rest.map((title) => `## ${title}\nNone.`),
  ].join("\n\n");
  // It takes whatever reads like an instruction, also where a page says it.
  const transcript = prompt.transcript ?? "";
  const ended = liftsIn(transcript).map(({ rule, words }): readonly [string, string] => [rule, words]);
  return withInstructions(summary, { standing: rulesIn(transcript), ended });
}

/** Answers an update with two whole sections. The first names the newest marks of the source, and the last one only the newest of all. */
function goodNotes({ sections }: AskedPrompt, source: string): string {
  const [first, ...rest] = sections.map(({ title }) => title);
  const marks = [...marksIn(source)].slice(-2 * NAMED_MARKS);
  return [
    `## ${first}\n- About ${marks.join(", ")}: text ${wordFor(source).slice(0, 12)}.`,
    `## ${rest.at(-1)}\n- Up to ${marks.at(-1) ?? "nothing"}.`,
  ].join("\n\n");
}

function ended(text: string, finishReason: LanguageModelV4FinishReason["unified"]): Answer {
  return { text, finishReason };
}

function refused(statusCode: number, message: string): APICallError {
  return new APICallError({ message, statusCode, url: "https://model.invalid", requestBodyValues: {} });
}
