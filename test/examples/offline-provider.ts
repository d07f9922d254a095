/** Stands in for the provider of Workers AI, which has no local copy. Its model calls the first tool once a question, and says what it got. */
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider";

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function partsFor({ prompt, tools = [] }: LanguageModelV3CallOptions): LanguageModelV3StreamPart[] {
  const last = prompt.at(-1);
  const [tool] = tools;
  const isAsked = last?.role === "user" && JSON.stringify(last.content).includes("?");
  if (isAsked && tool?.type === "function") {
    return [
      { type: "tool-call", toolCallId: crypto.randomUUID(), toolName: tool.name, input: "{}" },
      { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage: USAGE },
    ];
  }
  const said =
    last?.role === "tool"
      ? JSON.stringify(last.content)
      : "## Goal\nTo keep the ledger in one table.\n- Open: the name of a run.";
  return [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: said },
    { type: "text-end", id: "1" },
    { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage: USAGE },
  ];
}

export function createWorkersAI() {
  return (modelId: string): LanguageModelV3 => ({
    specificationVersion: "v3",
    provider: "offline",
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("Everything here streams.")),
    doStream: async (options) => ({
      stream: new ReadableStream<LanguageModelV3StreamPart>({
        start(controller) {
          for (const part of partsFor(options)) controller.enqueue(part);
          controller.close();
        },
      }),
    }),
  });
}
