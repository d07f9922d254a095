/** A provider that binds each thought to all that stood before it, and would refuse a request in which that changed. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { hashId } from "../../src/steps/message/message.ts";

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};

/** What the provider binds a thought to: the tools, the speakers and what they said, one after the other. */
function bind(before: string, role: string, part: object): string {
  const { providerOptions: _options, ...rest } = part as { providerOptions?: unknown };
  const speaker = role === "assistant" || role === "system" ? role : "user";
  return String(hashId(`${before}${speaker}${JSON.stringify(rest)}`));
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
  /** Counts what is wrong in a prompt, and returns what a thought behind it is bound to. */
  const judge = (prompt: LanguageModelV4CallOptions["prompt"], tools: unknown): string => {
    let before = JSON.stringify(tools).replaceAll(" ", "");
    for (const { role, content } of prompt) {
      const parts = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
      const [first] = parts;
      const said = first?.type === "tool-call" ? first.toolCallId : first?.type === "text" ? first.text : "";
      if (role === "assistant" && thoughts.get(said)?.split(" ")[0] === before) told.needless++;
      for (const part of parts) {
        if (part.type === "reasoning") {
          told.sent++;
          const { signature } = part.providerOptions?.["anthropic"] ?? {};
          if (typeof signature !== "string" || signature.split(" ")[0] !== before) told.refused++;
        }
        before = bind(before, role, part);
      }
    }
    return before;
  };
  const answer = async ({ prompt, tools }: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> => {
    const before = judge(prompt, tools);
    const n = step++ % (steps + 1);
    const signature = `${before} ${told.made++}`;
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
