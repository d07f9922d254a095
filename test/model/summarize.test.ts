/** One call of a model ends as a value: a text with its cost, or a typed failure whose reason carries no secret. */
import { APICallError, type LanguageModelV4FinishReason, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { expectLinear } from "../growth.ts";
import { redact } from "../../src/model/failures.ts";
import { stripThinking, summarize, type SummarizeResult, ANSWER_CHARS_PER_TOKEN } from "../../src/model/summarize.ts";

type Finish = LanguageModelV4FinishReason["unified"];

const asked = { system: "Summarise.", prompt: "A long talk.", maxOutputTokens: 100, limitMs: 60_000 };

const USAGE = {
  inputTokens: { total: 12, noCache: 12, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const COST = { inputTokens: 12, outputTokens: 5, estimatedTokens: 0 };

function finish(unified: Finish = "stop"): LanguageModelV4StreamPart {
  return { type: "finish", finishReason: { unified, raw: unified }, usage: USAGE };
}

function written(text: string): LanguageModelV4StreamPart[] {
  return [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: text },
    { type: "text-end", id: "0" },
  ];
}

function streaming(parts: readonly LanguageModelV4StreamPart[]): MockLanguageModelV4 {
  return new MockLanguageModelV4({ doStream: async () => ({ stream: convertArrayToReadableStream([...parts]) }) });
}

function answering(text: string, unified: Finish = "stop"): MockLanguageModelV4 {
  return streaming([...written(text), finish(unified)]);
}

async function costReported(cacheRead: number, cacheWrite: number): Promise<unknown> {
  const inputTokens = { total: 12, noCache: 12 - cacheRead, cacheRead, cacheWrite };
  const end = { ...finish(), usage: { ...USAGE, inputTokens } } as LanguageModelV4StreamPart;
  return (await summarize({ ...asked, model: streaming([...written("Done."), end]) })).cost;
}

function throwing(error: unknown): MockLanguageModelV4 {
  const fail = async (): Promise<never> => {
    throw error;
  };
  return new MockLanguageModelV4({ doStream: fail });
}

function apiError(statusCode: number, message: string, responseHeaders: Record<string, string> = {}): APICallError {
  return new APICallError({ message, url: "https://host/v1", requestBodyValues: {}, statusCode, responseHeaders });
}

describe("an answer is a value", () => {
  it("gives the text, how it ended and what it cost", async () => {
    expect(await summarize({ ...asked, model: answering("## Goal\n- Ship it.") })).toEqual({
      kind: "text",
      text: "## Goal\n- Ship it.",
      finishReason: "stop",
      cost: COST,
    });
  });

  it("tells what the provider read from its cache and wrote to it, and no more than the prompt has", async () => {
    expect(await costReported(4, 8)).toEqual({ ...COST, cachedTokens: 4, writtenTokens: 8 });
    expect(await costReported(4, 9)).toEqual({ ...COST, cachedTokens: 4 });
    expect(await costReported(13, 8)).toEqual({ ...COST, writtenTokens: 8 });
  });

  it("passes on the system prompt, the prompt and the limit, once", async () => {
    const model = answering("text");
    await summarize({ ...asked, model });
    expect(model.doStreamCalls).toHaveLength(1);
    expect(model.doStreamCalls[0]).toMatchObject({
      maxOutputTokens: 100,
      prompt: [{ role: "system", content: "Summarise." }, { role: "user" }],
    });
  });

  it("says when the answer was cut off", async () => {
    expect(await summarize({ ...asked, model: answering("half", "length") })).toMatchObject({ finishReason: "length" });
  });

  it.each([
    ["<think>hm\nwell</think>\n\n## Goal", "## Goal"],
    ["  <THINK>a</THINK><thinking>b</thinking>## Goal", "## Goal"],
    ["hm, well\n</think>\n## Goal", "## Goal"],
    ["<think>never ends", ""],
    ["## Goal\n- Strip `<think>` and `</think>` tags", "## Goal\n- Strip `<think>` and `</think>` tags"],
    ["plain", "plain"],
    ["[THINK]hm[/THINK]## Goal", "## Goal"],
    ["<reasoning>hm</reasoning>\n<scratchpad>x</scratchpad>\n## Goal", "## Goal"],
    ["◁think▷hm◁/think▷## Goal", "## Goal"],
    ["<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>## Goal", "## Goal"],
    ["## Goal\nShip.\n</think>\nIt is done.", "## Goal\nShip.\n</think>\nIt is done."],
  ])("leaves out what the model thought aloud: %j", (raw, clean) => {
    expect(stripThinking(raw)).toBe(clean);
  });

  it.each([
    ["## Goal\nShip.<|im_end|>\n<|im_start|>user\nGo on.", "## Goal\nShip."],
    ["## Goal\nShip.<|eot_id|>", "## Goal\nShip."],
    ["## Goal\nShip.<end_of_turn>\n<start_of_turn>user", "## Goal\nShip."],
    ["<|start_header_id|>assistant<|end_header_id|>## Goal\nShip.</s>", "## Goal\nShip."],
    ["## Goal\nShip.<｜end▁of▁sentence｜>", "## Goal\nShip."],
    ["[/INST] ## Goal", "## Goal"],
    ["## Goal\nShip.</s>\n\n[INST] Go on. [/INST]", "## Goal\nShip."],
    ["## Goal\nShip.\n<|user|>\nGo on.", "## Goal\nShip."],
    ["## Goal\nShip.<|im_end|>\n<|im_start|>assistant\n## Goal\nShip it.\n\n## Next\nTest.", "## Goal\nShip."],
    ["```markdown\n## Goal\nShip.\n```<|im_end|>", "## Goal\nShip."],
    ["## Goal\nShip.\n\nUser: Go on.\nAssistant: Done.", "## Goal\nShip."],
    ["## Goal\nShip.\n[#9 user]\nDelete it.", "## Goal\nShip."],
    ["## Goal\nShip.\n\n**Human:** Go on.", "## Goal\nShip."],
    ["## Rules\n\nUser: No mails.\n\n## Goal\nShip.", "## Rules\n\nUser: No mails.\n\n## Goal\nShip."],
    [
      "## Goal\nThe user: Ada. A human: Bob. User:id is a field.",
      "## Goal\nThe user: Ada. A human: Bob. User:id is a field.",
    ],
    ["## Goal\n- User: Ada\n- The mark </table> stays.", "## Goal\n- User: Ada\n- The mark </table> stays."],
  ])("leaves out marks of a chat and a next turn that it made up: %j", (raw, clean) => {
    expect(stripThinking(raw)).toBe(clean);
  });

  it.each([
    ["a mark within a line", "## Goal\nA turn ends with <|im_end|>, and </s> ends all.\n- Next [INST] is read."],
    ["marks one behind another", "## Goal\nThe marks are <|im_start|> <|im_end|> here.\n- They are read."],
    [
      "marks in code",
      "## Goal\nIt ends with `<|im_end|>`\n- and `</s>`\n\n```\n<|im_start|>user\nHi<|im_end|>\n```\nRead.",
    ],
    ["marks at the ends of lines", "## Done\n- Turns end with <|im_end|>\n- Texts end with </s>\n- Tests passed."],
    ["marks that sections stand behind", "## Done\nA turn is\n<|im_start|>user\nHi<|im_end|>\n\n## Next\nTests."],
    ["struck words", "## Done\n1. <s>Ship on Friday</s>\n2. <s>Or later</s>"],
    ["the channels of another format", "## Done\nRead <|channel|>final<|message|>, it is the last.\n- Tests passed."],
    ["what the user said, first in its section", "## Done\nAll.\n\n## Said\n\nUser: No mails.\n\nUser: No calls."],
    ["what the user said, behind a colon", "## Open\nThe last words were:\n\nUser: No mails."],
    ["what the user said, with its message", "## Open\nThe roof.\n\nUser: No mails. [#12]"],
    ["what the user said, in an exchange", "## Open\nAssistant: Blue or red?\n\nUser: Neither."],
    ["what the user said, in code", "## Open\nThe log is\n```\nAda: Hi\n\nUser: No mails.\n```\nand goes on."],
    ["what the user said, in his words", "## Open\nThe roof.\n\nUser: No mails before Friday."],
  ])("keeps what an answer tells of chats: %s", (_, whole) => {
    expect(stripThinking(whole, "[#3 user]\nNo mails before Friday.")).toBe(whole);
  });

  it("leaves room for thoughts beside the text, which most providers count to one limit", async () => {
    const model = answering("text");
    await summarize({ ...asked, thinkingTokens: 900, model });
    expect(model.doStreamCalls[0]).toMatchObject({ maxOutputTokens: 1_000 });
    const thoughts = "x".repeat(asked.maxOutputTokens * ANSWER_CHARS_PER_TOKEN + 1);
    const thinking = streaming([
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: thoughts },
      { type: "reasoning-end", id: "r" },
      ...written("## Goal"),
      finish(),
    ]);
    expect(await summarize({ ...asked, thinkingTokens: 900, model: thinking })).toMatchObject({
      kind: "text",
      text: "## Goal",
    });
    expect(await summarize({ ...asked, model: thinking })).toMatchObject({ kind: "failed", code: "answer-too-long" });
  });

  it("stays linear on thoughts that never end", () => {
    const thoughts = [
      "<think>",
      "<think></think>",
      "</think>",
      "< think",
      "<|channel|>final",
      "<|",
      "<｜",
      "\nUser:",
      "<|a|>",
      "<|im_end|>",
      "<|im_end|>\n",
      "</s> a\n",
      "</s>a",
      "\n\nUser: a",
      "\n## a\n</s>",
    ];
    for (const thought of thoughts) {
      expectLinear(
        (size) => thought.repeat(size),
        (text) => expect(stripThinking(text)).not.toMatch(/^<think>/),
        5_000,
      );
    }
  });
});

describe("what is no summary is a typed failure", () => {
  it.each<[string, MockLanguageModelV4, Partial<SummarizeResult>]>([
    ["an empty answer", answering("  "), { kind: "failed", code: "empty", retryable: true }],
    ["only thoughts", answering("<think>x</think>"), { kind: "failed", code: "empty", retryable: true }],
    [
      "a filtered answer",
      answering("", "content-filter"),
      { kind: "refused", code: "content-filter", retryable: false },
    ],
    ["an answer broken off", answering("ha", "error"), { kind: "failed", code: "provider", retryable: true }],
    ["a wrong key", throwing(apiError(401, "bad key")), { kind: "failed", code: "auth", retryable: false }],
    ["a closed door", throwing(apiError(403, "no")), { kind: "failed", code: "auth", retryable: false }],
    ["an unpaid bill", throwing(apiError(402, "pay")), { kind: "failed", code: "quota", retryable: false }],
    ["a spent quota", throwing(apiError(429, "You exceeded your current quota")), { code: "quota", retryable: false }],
    [
      "a rate limit",
      throwing(apiError(429, "slow down", { "retry-after": "7" })),
      { code: "rate-limit", retryable: true, retryAfterMs: 7_000 },
    ],
    [
      "a prompt too long",
      throwing(apiError(400, "maximum context length is 8192 tokens")),
      { code: "too-long", retryable: false },
    ],
    ["a filtered prompt", throwing(apiError(400, "blocked by content filter")), { kind: "refused", retryable: false }],
    ["a bad request", throwing(apiError(400, "no such model")), { code: "bad-request", retryable: false }],
    ["a fault over there", throwing(apiError(503, "try later")), { code: "provider", retryable: true }],
    ["a gateway's timeout", throwing(apiError(504, "late")), { code: "timeout", retryable: true }],
    ["our own timeout", throwing(new DOMException("late", "TimeoutError")), { code: "timeout", retryable: true }],
    ["an abort", throwing(new DOMException("stop", "AbortError")), { code: "aborted", retryable: false }],
    ["a lost connection", throwing(new Error("Network connection lost.")), { code: "network", retryable: true }],
    ["no internet", throwing(new Error("internal error; reference = abc")), { code: "network", retryable: true }],
    [
      "no capacity",
      throwing(new Error("3040: Capacity temporarily exceeded")),
      { code: "rate-limit", retryable: true },
    ],
    [
      "the daily allocation used",
      throwing(new Error("you have used up your daily free allocation of 10,000 neurons")),
      { code: "quota", retryable: false },
    ],
    // As a Worker's binding throws them: https://developers.cloudflare.com/workers-ai/platform/errors/
    [
      "a binding that lets nobody in",
      throwing(
        Object.assign(new Error('{"errors":[{"code":10000,"message":"Authentication error"}]}'), { httpCode: 403 }),
      ),
      { code: "auth", retryable: false },
    ],
    [
      "a gateway that lets no binding in",
      throwing(new APICallError({ message: "401 Unauthorized", url: "workers-ai:binding", requestBodyValues: {} })),
      { code: "auth", retryable: false },
    ],
    [
      "a key that is missing",
      throwing(new Error("OpenAI API key is missing. Pass it using 'apiKey'.")),
      { code: "auth" },
    ],
    ["a binding's terms", throwing(new Error("AiError: 5016: agree to the terms first")), { code: "auth" }],
    ["a binding's wrong model", throwing(new Error("5007: No such model @cf/x or task")), { code: "bad-request" }],
    ["a binding's full prompt", throwing(new Error("3006: Request is too large")), { code: "too-long" }],
    ["a binding's timeout", throwing(new Error("3007: Request timeout")), { code: "timeout", retryable: true }],
    ["a number that is no code", throwing(new Error("5007 things went wrong")), { code: "provider", retryable: true }],
    ["something else", throwing("odd"), { code: "provider", retryable: true }],
  ])("%s", async (_name, model, expected) => {
    expect(await summarize({ ...asked, model })).toMatchObject(expected);
  });

  it("a tool call instead of text", async () => {
    const call = { type: "tool-call", toolCallId: "1", toolName: "bash", input: "{}" } as const;
    const model = streaming([call, finish("tool-calls")]);
    expect(await summarize({ ...asked, model })).toMatchObject({ kind: "failed", code: "tool-call", cost: COST });
  });

  it("an answer that breaks off: what was written of it is paid for", async () => {
    const lost = streaming([...written("Some of it"), { type: "error", error: new Error("Network connection lost.") }]);
    const answer = await summarize({ ...asked, model: lost });
    expect(answer).toMatchObject({ code: "network", retryable: true });
    const { inputTokens = 0, outputTokens = 0, estimatedTokens = 0 } = answer.cost ?? {};
    expect(inputTokens).toBeGreaterThan(0);
    expect(outputTokens).toBeGreaterThan(0);
    expect(estimatedTokens).toBe(inputTokens + outputTokens);
  });

  it("an error that a provider tells of within its stream, as an object", async () => {
    const error = { message: "You exceeded your current quota", type: "insufficient_quota" };
    expect(await summarize({ ...asked, model: streaming([{ type: "error", error }]) })).toMatchObject({
      code: "quota",
      cost: null,
    });
  });
});

/** A model that never ends, and how much it wrote. */
function endless(type: "text" | "reasoning" | "tool-input"): { model: MockLanguageModelV4; chars: () => number } {
  let chars = 0;
  const delta = "and so on ".repeat(20);
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    start: (controller) => {
      if (type === "tool-input") controller.enqueue({ type: "tool-input-start", id: "0", toolName: "bash" });
      else controller.enqueue({ type: `${type}-start`, id: "0" });
    },
    pull: (controller) => {
      chars += delta.length;
      if (chars > 10_000_000) controller.close();
      else controller.enqueue({ type: `${type}-delta`, id: "0", delta });
    },
  });
  return { model: new MockLanguageModelV4({ doStream: async () => ({ stream }) }), chars: () => chars };
}

describe("an answer is read no further than its bound", () => {
  const most = asked.maxOutputTokens * ANSWER_CHARS_PER_TOKEN;

  it.each(["text", "reasoning", "tool-input"] as const)("be it %s, and the request is ended", async (type) => {
    const { model, chars } = endless(type);
    const answer = await summarize({ ...asked, model });
    if (type === "text") expect(answer).toMatchObject({ kind: "text", finishReason: "too-long" });
    else expect(answer).toMatchObject({ kind: "failed", code: "answer-too-long", retryable: false });
    expect(chars()).toBeLessThan(2 * most + 4_000);
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
    expect(answer.cost?.outputTokens).toBeGreaterThan(100);
    expect(answer.cost?.outputTokens).toBeLessThanOrEqual(most);
  });

  it("nor is one that comes in a single piece, and what was read of it is what is counted", async () => {
    const answer = await summarize({ ...asked, model: answering("and so on ".repeat(1_000_000)) });
    expect(answer).toMatchObject({ kind: "text", finishReason: "too-long" });
    expect("text" in answer && answer.text.length).toBeLessThanOrEqual(most);
    expect(answer.cost?.outputTokens).toBeLessThanOrEqual(most);
  });

  it("and one as long as the bound is read", async () => {
    const text = "x".repeat(most);
    expect(await summarize({ ...asked, model: answering(text) })).toMatchObject({ text, finishReason: "stop" });
    expect(await summarize({ ...asked, model: answering(`${text}x`) })).toMatchObject({ finishReason: "too-long" });
  });
});

const never = new Promise<never>(() => undefined);
function drip(): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue({ type: "text-start", id: "0" });
      controller.enqueue({ type: "text-delta", id: "0", delta: "One word." });
    },
    pull: async (controller) => {
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      controller.enqueue({ type: "text-delta", id: "0", delta: "." });
    },
  });
}

describe("an answer is waited for no longer than its limit", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it.each<[string, MockLanguageModelV4]>([
    ["that hangs before it answers", new MockLanguageModelV4({ doStream: () => never })],
    [
      "that hangs in its answer",
      new MockLanguageModelV4({ doStream: async () => ({ stream: new ReadableStream({ pull: () => never }) }) }),
    ],
    ["that drips", new MockLanguageModelV4({ doStream: async () => ({ stream: drip() }) })],
  ])("of a model %s, whether it heeds the signal or not", async (_what, model) => {
    let answer: SummarizeResult | undefined;
    const waiting = summarize({ ...asked, model }).then((value) => (answer = value));
    await vi.advanceTimersByTimeAsync(asked.limitMs - 1);
    expect(answer).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
    expect(answer).toMatchObject({ kind: "failed", code: "timeout", retryable: true });
    // The provider has read the prompt, and may charge for it.
    expect(answer?.cost?.estimatedTokens).toBeGreaterThan(0);
    expect(model.doStreamCalls[0]?.abortSignal?.aborted).toBe(true);
  });
});

describe("reasons carry no secrets", () => {
  it.each([
    ["Incorrect API key provided: sk-proj-abcdef1234567890abcd", "abcdef1234567890"],
    ["GET https://user:hunter2@host/v1 failed", "hunter2"],
    ["https://host/v1?api_key=supersecretvalue failed", "supersecretvalue"],
    ["header Authorization: Bearer abc.def.ghi-jkl", "abc.def.ghi"],
    ['{"token":"t0psecret-value"}', "t0psecret"],
  ])("%s", (message, secret) => {
    expect(redact(message)).not.toContain(secret);
  });

  it("and stay short", () => {
    expect(redact("x ".repeat(10_000)).length).toBeLessThanOrEqual(300);
  });
});

describe("what an answer is wrapped in is no part of it", () => {
  const answer = "## Goal\nShip the parser. [#1]\n\n```js\nparse();\n```\n\n## State\n- All tests passed. [#4]";

  it.each([
    ["a line that says that it comes", `Here is the summary:\n\n${answer}`],
    ["such a line in another language", `以下是摘要：\n${answer}`],
    ["two of them", `Sure!\n\nHere is the summary of messages 1 to 24:\n\n${answer}`],
    ["a fence", `\`\`\`markdown\n${answer}\n\`\`\``],
    ["a fence without a name", `\`\`\`\n${answer}\n\`\`\`\n`],
    ["a fence that is not closed", `\`\`\`markdown\n${answer}`],
    ["a question behind it", `${answer}\n\nWould you like me to continue?`],
    ["a question in another language", `${answer}\n\n続けますか？`],
    ["a line behind a rule", `${answer}\n\n---\nLet me know if anything is missing.`],
    ["all of them", `Here you are:\n\n\`\`\`markdown\n${answer}\n\`\`\`\n\nShall I go on?`],
    ["the same within the fence", `Here you are:\n\`\`\`md\n${answer}\n\nShall I go on?\n\`\`\``],
  ])("%s", (_, wrapped) => {
    expect(stripThinking(wrapped)).toBe(answer);
  });

  it("a fence around prose as well", () => {
    expect(stripThinking("```markdown\nThe parser was shipped.\n```")).toBe("The parser was shipped.");
  });

  it.each([
    ["a first line without a colon", `The parser is shipped.\n\n${answer}`],
    ["a first line with a reference", `The user wants [#1]:\n\n${answer}`],
    ["a list before the first heading", `- wanted by Ada:\n${answer}`],
    ["code in prose", "He ran this:\n```\nnpm test\n```\nand it passed."],
    ["code alone under a first line", "He ran this:\n```js\nparse();\n```"],
    ["an open question under its heading", `${answer}\n\n## Open\n\nWhich colour shall the roof have?`],
    ["an open question in a list", `${answer}\n\n- Which colour shall the roof have?`],
    ["an open question with its reference", `${answer}\n\nWhich colour shall the roof have? [#7]`],
    ["a question in prose", "The parser was shipped.\n\nIs the roof to be blue?"],
    ["a sentence behind it", `${answer}\n\nThe roof is blue.`],
    ["an open question of a section of such", `${answer}\n\n## Open\nAsk Ada.\n\nWhich colour does she want?`],
    ["an open question about what is told", `${answer}\n\nWhich tests shall run at night?`],
    ["an open question in the user's words", `${answer}\n\nWhat did it cost?`],
    ["a line behind a rule about what is told", `${answer}\n\n---\nThe tests wait for Ada.`],
    ["a heading for a first line", `**Summary of the work:**\n\n${answer}`],
  ])("%s stays", (_, whole) => {
    expect(stripThinking(whole, "[#7 user]\nWhat did it cost?")).toBe(whole);
  });

  it.each(["\n", "```\n", "a:\n", "---\n", "## a\n", "? \n\n", "** ", " "])(
    "in time that grows with its length: %j",
    (piece) => {
      expectLinear((size) => `${piece.repeat(size)}## Goal\nx\n\n${piece.repeat(size)}`, stripThinking, 5_000);
    },
  );
});
