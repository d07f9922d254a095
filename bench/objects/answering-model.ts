/** A language model over a function for our workflow. It streams an answer that is complete from the start. */
import type { LanguageModelV4 } from "@ai-sdk/provider";

export interface ModelAnswer {
  readonly text: string;
  readonly inputTokens: number;
  /** The part of them that is read from the cache. Default 0. */
  readonly cachedTokens?: number;
  readonly outputTokens: number;
}

export function answeringModel(
  modelId: string,
  answer: (prompt: string, system: string) => Promise<ModelAnswer>,
): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The summariser only streams.")),
    doStream: async ({ prompt }) => {
      const [system, asked]: [string[], string[]] = [[], []];
      for (const message of prompt) {
        if (message.role === "system") system.push(message.content);
        else for (const part of message.content) if (part.type === "text") asked.push(part.text);
      }
      const { text, inputTokens, cachedTokens = 0, outputTokens } = await answer(asked.join("\n"), system.join("\n"));
      const stream: Awaited<ReturnType<LanguageModelV4["doStream"]>>["stream"] = new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "text-start", id: "0" });
          controller.enqueue({ type: "text-delta", id: "0", delta: text });
          controller.enqueue({ type: "text-end", id: "0" });
          controller.enqueue({
            type: "finish",
            finishReason: { unified: "stop", raw: "stop" },
            usage: {
              inputTokens: {
                total: inputTokens,
                noCache: inputTokens - cachedTokens,
                cacheRead: cachedTokens,
                cacheWrite: 0,
              },
              outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
            },
          });
          controller.close();
        },
      });
      return { stream };
    },
  };
}
