/**
 * The one summariser of a comparison. It takes a prompt of any policy and returns an answer with its price. No network, and no chance.
 */
import { extractiveModel } from "../../src/model/extractive.ts";
import { buildPrompt, parsePrompt } from "../../src/steps/draft/prompt.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { readAsked } from "./asked.ts";
import type { Spent } from "./host.ts";

export interface Answer {
  readonly text: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export async function summarise(prompt: string, system = ""): Promise<Answer> {
  const text = await extract(prompt, system);
  return { text, inputTokens: estimateTokens(system) + estimateTokens(prompt), outputTokens: estimateTokens(text) };
}

/** Our offline model. It reads prompts of other policies after their conversion into the form of ours. */
async function extract(prompt: string, system: string): Promise<string> {
  const { content } = await extractiveModel().doGenerate({
    prompt: [
      { role: "system", content: system },
      { role: "user", content: [{ type: "text", text: parsePrompt(prompt) === null ? translate(prompt) : prompt }] },
    ],
  });
  const [answer] = content;
  if (answer?.type !== "text") throw new Error("The extractive model gave no text.");
  return answer.text;
}

function translate(prompt: string): string {
  const { transcript, earlier, sections, tokens } = readAsked(prompt);
  return buildPrompt({
    kind: "chunk",
    transcript,
    previous: earlier[0],
    template: { sections },
    summaryTokens: tokens,
    boundary: "bench",
  }).prompt;
}

/** Adds up what answers cost. */
export class Bill {
  #spent: Spent = { calls: 0, inputTokens: 0, outputTokens: 0 };

  get spent(): Spent {
    return this.#spent;
  }

  add({ inputTokens, outputTokens }: Answer): void {
    const { calls, ...before } = this.#spent;
    this.#spent = {
      calls: calls + 1,
      inputTokens: before.inputTokens + inputTokens,
      outputTokens: before.outputTokens + outputTokens,
    };
  }
}
