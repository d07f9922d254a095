/** A model for each provider, whose package makes the body of each request, which the provider's rules judge. The answers are a test's. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { bodyOf, nameOf, type Provider } from "../steps/view/providers/bodies.ts";
import { judge } from "../steps/view/providers/refusals.ts";

const usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export interface Judged {
  readonly model: MockLanguageModelV4;
  /** What the provider would refuse of the requests so far. */
  readonly refused: string[];
  readonly bodies: Record<string, unknown>[];
}

/** `answer` says what the model says to its nth request. */
export function judging(provider: Provider, answer: (request: number) => LanguageModelV4Content[]): Judged {
  const refused: string[] = [];
  const bodies: Record<string, unknown>[] = [];
  const ask = async (options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> => {
    try {
      const body = await bodyOf(provider, async (model, providerOptions) =>
        model.doGenerate({ ...options, providerOptions }),
      );
      refused.push(...judge(provider, body));
      bodies.push(body);
    } catch (error) {
      refused.push(`${provider}: ${String(error)}`);
    }
    const content = answer(bodies.length - 1);
    const isCalling = content.some(({ type }) => type === "tool-call");
    const finishReason = { unified: isCalling ? "tool-calls" : "stop", raw: undefined } as const;
    return { content, finishReason, usage, warnings: [] };
  };
  const { provider: name, modelId } = nameOf(provider);
  const model = new MockLanguageModelV4({
    provider: name,
    modelId,
    doGenerate: ask,
    doStream: async (options) => {
      const { content, finishReason } = await ask(options);
      const parts: LanguageModelV4StreamPart[] = [
        { type: "stream-start", warnings: [] },
        ...content.flatMap(streamed),
        { type: "finish", finishReason, usage },
      ];
      return { stream: convertArrayToReadableStream(parts) };
    },
  });
  return { model, refused, bodies };
}

function streamed(part: LanguageModelV4Content, at: number): LanguageModelV4StreamPart[] {
  if (part.type !== "text" && part.type !== "reasoning") return [part];
  const { type, text, providerMetadata } = part;
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  return [
    { type: `${type}-start`, id: `${at}`, ...metadata },
    { type: `${type}-delta`, id: `${at}`, delta: text },
    { type: `${type}-end`, id: `${at}`, ...metadata },
  ];
}
