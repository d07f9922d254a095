/** A provider that binds each thought to all that stood before it, and would refuse a request in which that changed. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { digest } from "../../src/steps/text/digest.ts";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** What the provider binds a thought to: the tools, the speakers and what they said, one after the other. */
function seal(tools: unknown, messages: readonly LanguageModelV4Message[], ofLast = 0): string {
  const said = messages.flatMap(({ role, content }, at) => {
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const shown = at === messages.length - 1 && ofLast > 0 ? parts.slice(0, ofLast - 1) : parts;
    return shown.map((part) => {
      const { providerOptions: _options, ...rest } = part as { providerOptions?: unknown };
      return [role === "assistant" ? "assistant" : role === "system" ? "system" : "user", rest];
    });
  });
  return digest(JSON.stringify([tools, said]));
}

/**
 * Thinks before each step, and signs it. Counts the thoughts that came back, those that it would refuse, and those that it would have taken and
 * that were left out.
 */
export function signing(perTurn: number) {
  const told = { sent: 0, refused: 0, made: 0, needless: 0 };
  /** By call id or text, the signature of the thought before it. */
  const thoughts = new Map<string, string>();
  let [step, steps] = [0, perTurn];
  const answer = async ({ prompt, tools }: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> => {
    for (const [at, { role, content }] of prompt.entries()) {
      if (role !== "assistant") continue;
      for (const [n, part] of content.entries()) {
        if (part.type !== "reasoning") continue;
        told.sent++;
        const { signature } = part.providerOptions?.["anthropic"] ?? {};
        if (typeof signature !== "string" || signature.split(" ")[0] !== seal(tools, prompt.slice(0, at + 1), n + 1))
          told.refused++;
      }
      const [first] = content;
      const said = first?.type === "tool-call" ? first.toolCallId : first?.type === "text" ? first.text : "";
      const left = thoughts.get(said);
      if (left?.split(" ")[0] === seal(tools, prompt.slice(0, at))) told.needless++;
    }
    const n = step++ % (steps + 1);
    const signature = `${seal(tools, prompt)} ${told.made++}`;
    const thought = {
      type: "reasoning",
      text: `Thought ${told.made}.`,
      providerMetadata: { anthropic: { signature } },
    };
    const said =
      n < steps
        ? { type: "tool-call", toolCallId: `c${told.made}`, toolName: "look", input: JSON.stringify({ n }) }
        : { type: "text", text: `Done ${told.made}.` };
    thoughts.set("toolCallId" in said ? (said.toolCallId ?? "") : (said.text ?? ""), signature);
    return {
      content: [thought, said] as never,
      finishReason: { unified: n < steps ? "tool-calls" : "stop", raw: undefined },
      usage,
      warnings: [],
    };
  };
  const model = new MockLanguageModelV4({
    doGenerate: answer,
    doStream: async (options) => {
      const { content, finishReason } = await answer(options);
      const [thought, said] = content as readonly { type: string; text: string; providerMetadata: object }[];
      const { text = "", providerMetadata } = thought ?? {};
      const metadata = { providerMetadata } as object;
      const parts = [
        { type: "stream-start", warnings: [] },
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: text },
        { type: "reasoning-end", id: "r", ...metadata },
        ...(said?.type === "text"
          ? [
              { type: "text-start", id: "t" },
              { type: "text-delta", id: "t", delta: said.text },
              { type: "text-end", id: "t" },
            ]
          : [said]),
        { type: "finish", finishReason, usage },
      ] as LanguageModelV4StreamPart[];
      return { stream: convertArrayToReadableStream(parts) };
    },
  });
  return {
    model,
    told,
    /** How many calls the next turn has. */
    steps: (many: number): void => void ([step, steps] = [0, many]),
  };
}
