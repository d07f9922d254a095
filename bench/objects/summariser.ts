/**
 * Summarisers that need a known time and answer in a known way.
 *
 * An object's name selects one, as in `busy?delay=5000&answers=nothing`. It is the same for every store, and survives an eviction.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { DEFAULT_TEMPLATE } from "../../src/steps/draft/prompt.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { answeringModel } from "./answering-model.ts";
import { readSetting } from "./setting.ts";

/** A mark in every text that should never stand for a conversation. */
export const UNSOUND = "[unsound]";

const LINE = `- ${UNSOUND} And then the parser was spoken about once more, at length.\n`;

/** By the value of `answers`. */
const ANSWERS = {
  sound: () =>
    inSections((title) => `- ${title}: the parser keeps a trailing comma in an argument list, and its test passes.`),
  fails: (): string => {
    throw new Error("The provider is down.");
  },
  nothing: () => "",
  unstructured: () => `${UNSOUND} Everything is fine, they said, and went on.`,
  "over-budget": () => inSections((title) => `- ${title}\n${LINE.repeat(12)}`),
  longer: () => inSections((title) => `- ${title}\n${LINE.repeat(400)}`),
} as const;

export type Answers = keyof typeof ANSWERS;

/** Calls so far by the name of the object, which no two stores may share, because a workflow and its agent run in one process. */
const asked = new Map<string, number>();

/** How often the summariser of an object was asked, by any caller, answered or not. */
export function countCalls(objectName: string): number {
  return asked.get(objectName) ?? 0;
}

export class Summariser {
  readonly #objectName: string;
  readonly #delayMs: number;
  readonly #answer: () => string;

  /** Reads its settings from the name of its object. */
  constructor(objectName: string) {
    const answers = readSetting(objectName, "answers") ?? "sound";
    if (!isAnswers(answers)) throw new Error(`No summariser answers "${answers}".`);
    this.#objectName = objectName;
    this.#delayMs = Number(readSetting(objectName, "delay") ?? 0);
    this.#answer = ANSWERS[answers];
  }

  /** Ignores the prompt, like a useless model. */
  async ask(): Promise<string> {
    asked.set(this.#objectName, countCalls(this.#objectName) + 1);
    if (this.#delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#delayMs));
    return this.#answer();
  }

  /** As our workflow takes it. */
  asModel(): LanguageModelV4 {
    return answeringModel("scripted", async (prompt, system) => {
      const text = await this.ask();
      const inputTokens = estimateTokens(system) + estimateTokens(prompt);
      return { text, inputTokens, outputTokens: estimateTokens(text) };
    });
  }
}

/** Each section says something of its own, because one sentence under all headings is refused. */
function inSections(tell: (title: string) => string): string {
  return DEFAULT_TEMPLATE.sections.map(({ title }) => `## ${title}\n${tell(title)}`).join("\n\n");
}

function isAnswers(name: string): name is Answers {
  return Object.hasOwn(ANSWERS, name);
}
