/**
 * The agent's own model of a comparison, and a summariser that continues its prompt.
 *
 * What a continued prompt is answered is what the plain one would be, so that the two differ in price alone.
 */
import type { Continues } from "../../src/model/chosen.ts";
import { continuePrompt } from "../../src/prompt-cache/continue.ts";
import { estimateTokens } from "../../src/steps/tokens/tokens.ts";
import { summarise, type Answer } from "../policies/summariser.ts";
import type { Terms } from "../policies/host.ts";
import { answeringModel } from "./answering-model.ts";

const SILENCE: Answer = { text: "", inputTokens: 0, outputTokens: 0 };

export const AGENT_MODEL = answeringModel("agent", async () => SILENCE);

export function continuing(terms: Pick<Terms, "summariser" | "seed">, windowTokens: number): Continues {
  const continues = continuePrompt(AGENT_MODEL, { windowTokens });
  return {
    ...continues,
    ask: (question) => {
      const call = continues.ask(question);
      if (call === null) return null;
      const { system, prompt } = question.plain;
      const model = answeringModel("agent", async () => {
        const cachedTokens = estimateTokens(call.before);
        const inputTokens = cachedTokens + estimateTokens(call.system) + estimateTokens(call.prompt);
        return { ...(await summarise(prompt, system)), inputTokens, cachedTokens };
      });
      return { ...call, model: { ...call.model, model } };
    },
  };
}
