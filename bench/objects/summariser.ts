/** Summarisers that need a known time, and answer what passes as a summary. */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { DEFAULT_TEMPLATE } from "../../src/steps/template.ts";
import { estimateTokens } from "../../src/steps/tokens.ts";

/** Newest messages that the summary leaves. */
const KEPT = 10;

const ANSWER = DEFAULT_TEMPLATE.sections.map(({ title }) => `## ${title}\nNone.`).join("\n\n");

/** For the SDK's sessions: what their `onCompaction` takes. Counts its calls. */
export function slowSummariser(delayMs: number) {
  let count = 0;
  return {
    begun: () => count,
    summarise: async (messages: readonly { readonly id: string }[]) => {
      count += 1;
      await sleep(delayMs);
      const [first, last] = [messages[0], messages.at(-1 - KEPT)];
      if (first === undefined || last === undefined) return null;
      return { summary: ANSWER, fromMessageId: first.id, toMessageId: last.id };
    },
  };
}

/** For our workflow: a language model. */
export function slowModel(delayMs: number): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "constant",
    supportedUrls: {},
    doGenerate: async ({ prompt }) => {
      const [input, output] = [estimateTokens(JSON.stringify(prompt)), estimateTokens(ANSWER)];
      if (delayMs > 0) await sleep(delayMs);
      return {
        content: [{ type: "text", text: ANSWER }],
        finishReason: { unified: "stop", raw: "stop" },
        usage: {
          inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
          outputTokens: { total: output, text: output, reasoning: 0 },
        },
        warnings: [],
      };
    },
    doStream: () => Promise.reject(new Error("The summariser does not stream.")),
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
