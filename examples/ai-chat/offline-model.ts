/**
 * A chat model without a model, so that the example runs with no account. It understands "track 7" and "send 7", reads what its
 * tools answered, and says how much it was shown.
 */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from "@ai-sdk/provider";

const CHARS_PER_TOKEN = 4;
const WORDS = /(?:\S+\s*){1,4}/g;
const WORDS_MS = 20;

const TOOLS: Readonly<Record<string, string>> = { track: "trackParcel", send: "sendParcel" };

export function offlineModel(): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider: "example",
    modelId: "postmaster",
    supportedUrls: {},
    doGenerate: async (options) => {
      const content = decide(options);
      return { content: [content], finishReason: reasonOf(content), usage: usageOf(options), warnings: [] };
    },
    doStream: async (options) => ({ stream: streamOf(decide(options), usageOf(options)) }),
  };
}

function decide({ prompt }: LanguageModelV3CallOptions): LanguageModelV3Content {
  const last = prompt.at(-1);
  if (last?.role === "tool") {
    const results = last.content.flatMap((part) => (part.type === "tool-result" ? [JSON.stringify(part.output)] : []));
    const shown = results.join(" ").slice(0, 160);
    return {
      type: "text",
      text: `Done. ${shown === "" ? "It was not approved." : shown} I was shown ${prompt.length} messages of some ${tokensOf(prompt)} tokens.`,
    };
  }
  const said =
    last?.role === "user" ? last.content.map((part) => (part.type === "text" ? part.text : "")).join(" ") : "";
  const [, verb = "", number = "0"] = /\b(track|send)\s+(\d+)/i.exec(said) ?? [];
  const toolName = TOOLS[verb.toLowerCase()];
  if (toolName !== undefined) {
    const input = JSON.stringify({ number: Number(number) });
    return { type: "tool-call", toolCallId: `call-${crypto.randomUUID()}`, toolName, input };
  }
  return {
    type: "text",
    text: `You said: ${said.slice(0, 200)} I was shown ${prompt.length} messages of some ${tokensOf(prompt)} tokens.`,
  };
}

function reasonOf({ type }: LanguageModelV3Content): LanguageModelV3FinishReason {
  return type === "tool-call" ? { unified: "tool-calls", raw: undefined } : { unified: "stop", raw: undefined };
}

function tokensOf(prompt: LanguageModelV3CallOptions["prompt"]): number {
  return Math.ceil(JSON.stringify(prompt).length / CHARS_PER_TOKEN);
}

function usageOf({ prompt }: LanguageModelV3CallOptions): LanguageModelV3Usage {
  const input = tokensOf(prompt);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 30, text: 30, reasoning: 0 },
  };
}

function streamOf(
  content: LanguageModelV3Content,
  usage: LanguageModelV3Usage,
): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream({
    async start(controller) {
      controller.enqueue({ type: "stream-start", warnings: [] });
      if (content.type === "text") {
        controller.enqueue({ type: "text-start", id: "0" });
        for (const words of content.text.match(WORDS) ?? []) {
          await new Promise((resolve) => setTimeout(resolve, WORDS_MS));
          controller.enqueue({ type: "text-delta", id: "0", delta: words });
        }
        controller.enqueue({ type: "text-end", id: "0" });
      } else if (content.type === "tool-call") {
        controller.enqueue(content);
      }
      controller.enqueue({ type: "finish", finishReason: reasonOf(content), usage });
      controller.close();
    },
  });
}
